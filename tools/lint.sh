#!/usr/bin/env bash
# Every static check, in the order of their speed; all of them run, the exit code says whether all were clean.
# ansible-lint, which takes as long as all others, runs beside them.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

failed=()
check() {
    printf -- '--- %s\n' "$*"
    "$@" || failed+=("$1 ${2:-}")
}

# Without a playbook there is nothing to lint, and ansible-lint takes a while to say so.
playbooks=
if compgen -G 'playbooks/*.yml' >/dev/null; then
    said=$(mktemp)
    ansible-lint --offline playbooks >"$said" 2>&1 &
    playbooks=$!
    trap 'rm -f "$said"; kill "$playbooks" 2>/dev/null' EXIT
fi

check ruff check .
check ruff format --check .
check yamllint --strict .
check lint-imports
check mypy
if [ -n "$playbooks" ]; then
    printf -- '--- ansible-lint --offline playbooks\n'
    wait "$playbooks" || failed+=("ansible-lint --offline")
    cat "$said"
fi

if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint: failed: %s\n' "${failed[*]}" >&2
    exit 1
fi
echo 'lint: clean'
