#!/bin/sh
# step.sh TITLE COMMAND...: says what it runs, runs it, says how long that took, and ends as the command ended.
title=$1
shift
began=$(date +%s)
printf '==> %s\n' "$title"
if "$@"; then status=0; else status=$?; fi
took=$(($(date +%s) - began))
if [ "$status" -eq 0 ]; then
    printf '==> %s: done in %s s\n' "$title" "$took"
else
    printf '==> %s: FAILED after %s s\n' "$title" "$took" >&2
fi
exit "$status"
