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
millrace mcp </dev/null
# The console comes whole out of the package, its libraries too.
millrace serve --root "$folder/root" --port 0 2>/dev/null &
daemon=$!
trap 'kill "$daemon"; wait "$daemon"; rm -rf "$folder"' EXIT
until millrace status --root "$folder/root" >/dev/null 2>&1; do sleep 0.2; done
node --input-type=module - "$(cat "$folder/root/daemon.json")" <<'EOS'
const { url } = JSON.parse(process.argv[2]);
for (const path of ['/', '/console/app.js', '/console/style.css', '/console/vendor/cytoscape.js', '/console/vendor/uplot.js']) {
  const answer = await fetch(url + path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
}
process.stdout.write('the console is served from the package\n');
EOS
