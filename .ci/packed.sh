#!/usr/bin/env bash
# Packs the product, installs the package into an empty folder and runs it there: what is published works without a checkout.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
npm run --silent build
tarball=$(npm pack --silent --pack-destination "$folder")
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-fund --no-audit "./$tarball" node@24
PATH="$folder/node_modules/.bin:$PATH"
millrace version --json
millrace lab model --commands 200 --json
