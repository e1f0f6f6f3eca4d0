#!/usr/bin/env bash
# Every static check, in the order of their speed; all of them run, the exit code says whether all were clean.
set -uo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

failed=()
check() {
    printf -- '--- %s\n' "$*"
    "$@" || failed+=("$1 ${2:-}")
}

check ruff check .
check ruff format --check .
check yamllint --strict .
check lint-imports
check mypy
# Without a playbook there is nothing to lint, and ansible-lint takes a while to say so.
if compgen -G 'playbooks/*.yml' >/dev/null; then
    check ansible-lint --offline playbooks
fi

if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint: failed: %s\n' "${failed[*]}" >&2
    exit 1
fi
echo 'lint: clean'
