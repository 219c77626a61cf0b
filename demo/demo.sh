#!/bin/sh
# The main job, on a real noisy run: what the model sees, and how it gets more.
cd "$(dirname "$0")" || exit 1
OVERSPILL_DIR=$(mktemp -d) && export OVERSPILL_DIR
trap 'rm -rf "$OVERSPILL_DIR"' EXIT
bright() { if [ -t 1 ] && [ -z "$NO_COLOR" ]; then printf '\033[1m%s\033[0m\n' "$1"; else printf '%s\n' "$1"; fi; }

bright "# 1. A test suite prints this much:"
python noisy_suite.py 2>&1 | wc -lc | awk '{ printf "%d lines, %d bytes; one of 1200 tests fails, somewhere in the middle\n\n", $1, $2 }'

bright "$ overspill run -- python noisy_suite.py"
overspill run -- python noisy_suite.py 2>&1
echo

handle=$(overspill ls --json | python -c 'import json, sys; print(json.load(sys.stdin)[0]["handle"])')
bright "# 2. Nothing is lost: the whole is one call away."
bright "$ overspill grep $handle 'case 617' -C 6"
overspill grep "$handle" 'case 617' -C 6
