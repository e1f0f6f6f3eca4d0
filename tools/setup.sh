#!/usr/bin/env bash
# Makes this checkout ready to work: Debian packages, the virtual environment .venv, the Python packages of one extra.
#
#   tools/setup.sh EXTRA [DEBIAN-PACKAGE...]      e.g. tools/setup.sh dev git make python3-venv
#
#   tools/setup.sh --lab DEBIAN-PACKAGE...        what the virtual lab runs; only told, not refused, where it cannot be installed
#
# Does only what is missing, and nothing at all (no apt-get, no pip) when nothing is. Needs root or sudo only for apt-get.
set -euo pipefail
cd "$(dirname "$0")/.."

extra=${1:?usage: tools/setup.sh EXTRA|--lab [DEBIAN-PACKAGE...]}
shift

fail() { printf 'setup: %s\n' "$1" >&2; exit 1; }

# The first Python >= 3.11 that can make a virtual environment; $PYTHON, when set, is the only candidate.
find_python() {
    local candidate
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$candidate"
            return
        fi
    done
    return 1
}

# A browser is there under any of its names; python3-venv counts as there when .venv is, or any Python can make one; a package named like its command when the command is.
is_there() {
    case $1 in
        python3-venv) [ -x .venv/bin/python ] || find_python >/dev/null ;;
        chromium-headless-shell) command -v chromium-headless-shell || command -v chromium || command -v google-chrome ;;
        *) command -v "$1" >/dev/null || dpkg-query -W -f='${Status}\n' "$1" 2>/dev/null | grep -qx 'install ok installed' ;;
    esac
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "missing packages: ${missing[*]}; run this as root, or install them"
    fi
}

# A name that was given and does not work is the user's to mend; installing another Python would not be what was asked for.
if [ -n "${PYTHON:-}" ] && [ ! -x .venv/bin/python ] && ! find_python >/dev/null; then
    fail "PYTHON=$PYTHON is no Python >= 3.11 that can make virtual environments"
fi

missing=()
for package in "$@"; do
    is_there "${package%\?}" >/dev/null && continue
    # What the lists of packages do not have is not looked for again each time.
    case $package in *\?) [ ! -e /var/cache/apt/pkgcache.bin ] || apt-cache show "${package%\?}" >/dev/null 2>&1 || continue ;; esac
    missing+=("$package")
done
if [ "$extra" = --lab ] && [ ${#missing[@]} -gt 0 ] && [ "$(id -u)" -ne 0 ]; then
    echo "setup: the virtual lab needs root rights and ${missing[*]}; going on without it" >&2
    exit
fi
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get >/dev/null || fail "this is no Debian or Ubuntu machine; install what gives: ${missing[*]}"
    echo "setup: installing ${missing[*]}" >&2
    as_root apt-get update -q >&2
    wanted=()
    for package in "${missing[@]}"; do
        case $package in *\?) apt-cache show "${package%\?}" >/dev/null 2>&1 || continue ;; esac
        wanted+=("${package%\?}")
    done
    # The programs are wanted, not the services that Debian would start with them (frr, lldpd, sshd): 101 forbids that for this once.
    policy=/usr/sbin/policy-rc.d
    if [ "$extra" = --lab ] && [ ! -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\nexit 101\n' >"$policy"
        chmod 755 "$policy"
    fi
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${wanted[@]}" >&2
fi
[ "$extra" != --lab ] || exit 0

if [ ! -x .venv/bin/python ]; then
    python=$(find_python) || fail "no Python >= 3.11 with venv found; install one, or name it: make setup PYTHON=/path/to/python3"
    echo "setup: making .venv with $("$python" --version)" >&2
    "$python" -m venv .venv
fi

# The stamp holds the checksum of pyproject.toml, so that pip runs again exactly when the declared packages may have changed.
stamp=.venv/.setup-stamp-$extra
wanted=$(sha256sum pyproject.toml)
if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
    echo "setup: installing the Python packages of [$extra] into .venv" >&2
    .venv/bin/python -m pip install -qq --disable-pip-version-check -e ".[$extra]" >&2
    printf '%s\n' "$wanted" >"$stamp"
fi
