#!/bin/sh
# Writes constraints.txt: every package that a fresh install of all extras brings, as it is today.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3.11}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -qq --no-compile uv --editable ".[workbench,viz,java,dev]"
{
    echo "# The versions that set-up installs, for Python 3.11 to 3.13. Written by 'make lock'."
    # Without the project itself, and without a build's local suffix (torch 2.13.0+cpu): any build of a version will do.
    "$work/venv/bin/python" -m pip freeze --all --exclude contexture --exclude pip | sed 's/+.*//'
} >"$work/constraints.txt"
mv "$work/constraints.txt" constraints.txt
