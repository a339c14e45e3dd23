#!/usr/bin/env bash
# The short benches of this commit beside those of the one before, in one run on one machine: reported, never a reason to fail. The output of a run of
# this commit that was just made may be named: it is the first of its two.
set -u
cd "$(dirname "$0")/.." || exit 0
questions=(counts ingest)

before=$(git rev-parse --verify --quiet HEAD~1) || {
  echo "no commit before this one is here to compare with"
  exit 0
}
place=$(mktemp -d)
trap 'git worktree remove --force "$place/tree" >/dev/null 2>&1; rm -rf "$place"' EXIT
git worktree add --quiet --detach "$place/tree" "$before" || exit 0
if ! cmp --silent package-lock.json "$place/tree/package-lock.json"; then
  echo "the commit before has other packages: not compared"
  exit 0
fi
ln -s "$PWD/node_modules" "$place/tree/node_modules"

# measure TREE FILE
measure() {
  (cd "$1" && npm run --silent bench -- "${questions[@]}" --smoke) >"$2" 2>/dev/null
}

# Now, before, before, now: drift of the machine falls on both.
names=$(IFS='|' && echo "${questions[*]}")
grep -E "^\{\"bench\":\"($names)\"" "${1:-/dev/null}" >"$place/now-1" || measure . "$place/now-1"
measure "$place/tree" "$place/before-1"
measure "$place/tree" "$place/before-2"
measure . "$place/now-2"
node .ci/compare.mjs "$place"
exit 0
