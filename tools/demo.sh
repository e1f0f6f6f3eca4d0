#!/usr/bin/env bash
# `make demo`: from one spec to every switch's configuration, then a change and what it would do. Needs no network and no root.
#
# Every step says what exit code it must have; the script ends with a summary, and non-zero when a step was not as said.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

out=out/demo
failures=0
summary=()

# expect CODE COMMAND...: run it, show it, compare its exit code. Long output is cut to what fits a screen.
expect() {
    local wanted=$1 code=0 log=$out/last.log started=$SECONDS
    shift
    printf '\n$ %s\n' "$*"
    "$@" >"$log" 2>&1 || code=$?
    head -n 40 "$log"
    local lines
    lines=$(wc -l <"$log")
    [ "$lines" -le 40 ] || printf '  ... %d more lines\n' $((lines - 40))
    note "$code" "$wanted" "$* (exit $code, $((SECONDS - started)) s)"
}

# note FOUND WANTED TEXT: one line of the summary, a failure when the two differ.
note() {
    if [ "$1" = "$2" ]; then
        summary+=("ok      $3")
    else
        summary+=("FAILED  $3: expected $2, found $1")
        failures=$((failures + 1))
    fi
}

rm -rf "$out"
mkdir -p "$out"

for cluster in lab roce-24k; do
    spec=inventories/$cluster/cluster.yaml
    echo
    echo "=== $cluster: from $spec to files"
    expect 0 fabric check "$spec"
    expect 0 fabric show summary --spec "$spec"
    expect 0 fabric render "$spec" -o "$out/$cluster"
    files=$(find "$out/$cluster" -type f 2>/dev/null | wc -l)
    note "$((files > 0))" 1 "$files files in $out/$cluster, its manifest among them"
done

echo
echo "=== lab: nothing changed, so a plan against what was just rendered is empty"
expect 0 fabric plan inventories/lab/cluster.yaml --against "$out/lab"

echo
echo "=== lab: another MTU, in a copy of the spec; what would it change, and on which devices?"
cp -r inventories/lab "$out/lab-changed"
changed=$out/lab-changed/cluster.yaml
if grep -q '^mtu:' "$changed"; then
    sed -i -E '/^mtu:/,/^[^ #]/ s/\bip: *[0-9]+/ip: 8192/' "$changed"
else
    printf '\nmtu:\n  ip: 8192\n' >>"$changed"
fi
expect 1 diff inventories/lab/cluster.yaml "$changed"
expect 2 fabric plan "$changed" --against "$out/lab"

rm -f "$out/last.log"
echo
echo "=== what was done"
printf '%s\n' "${summary[@]}"
if [ "$failures" -gt 0 ]; then
    echo "demo: $failures of ${#summary[@]} steps were not as expected" >&2
    exit 1
fi
echo "demo: all ${#summary[@]} steps as expected; the files are in $out"
