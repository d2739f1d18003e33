#!/usr/bin/env bash
# Makes the virtual environment and installs the project into it.   scripts/setup.sh VENV [EXTRAS]   e.g. .venv dev,hnsw
# Says in plain words what is missing. Uses $PYTHON if it is set; pip's own settings decide where packages come from.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
extras=${2:-}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore

fits() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }

if ! { [ -x "$venv/bin/python" ] && fits "$venv/bin/python"; }; then
    python=
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if command -v "$candidate" >/dev/null && fits "$candidate"; then python=$candidate && break; fi
    done
    if [ -z "$python" ]; then
        echo "mindnetd needs Python 3.11, 3.12 or 3.13, found: $(python3 --version 2>&1 || echo none)." >&2
        echo "Install one (Debian, Ubuntu: apt install python3 python3-venv; Fedora: dnf install python3.12), or set PYTHON=." >&2
        exit 1
    fi
    echo "Making $venv with $($python --version)"
    rm -rf "$venv"
    if ! "$python" -m venv "$venv" >/dev/null 2>&1; then
        # Debian without python3-venv: an environment without pip, filled by the pip outside
        rm -rf "$venv"
        if ! { "$python" -m venv --without-pip "$venv" && "$python" -m pip --python "$venv/bin/python" install -q pip; }; then
            rm -rf "$venv"
            echo "This Python cannot make virtual environments. Debian, Ubuntu: apt install python3-venv" >&2
            exit 1
        fi
    fi
fi

echo "Installing mindnetd${extras:+ with $extras} into $venv (some 250 MB at the first time)"
if ! "$venv/bin/python" -m pip install -q -e ".${extras:+[$extras]}"; then
    echo "The packages could not be installed. Is the package index reachable (pip config list)? Is the disk full?" >&2
    exit 1
fi

# systemd-python has no wheel; take it where it can be built, our own notification serves elsewhere
if ! "$venv/bin/python" -c 'import systemd.daemon' 2>/dev/null && command -v gcc pkg-config >/dev/null &&
    pkg-config --exists libsystemd; then
    "$venv/bin/python" -m pip install -q -e '.[systemd]' >/dev/null 2>&1 || echo "(systemd-python cannot be built here; it is not needed)"
fi
