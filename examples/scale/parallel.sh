#!/bin/bash
# Reads the traces of a folder with GNU parallel, or with xargs where that is not installed, and then writes the
# report of all ranks.
#
#     parallel.sh FOLDER [JOBS]     JOBS traces at a time (default: one per core)
#
# PARALLEL_OPTIONS="--sshloginfile hosts" uses the machines of a list, which must see the folder under the same
# path. GPUTALLY names the program if it is not on the PATH.
set -eu

folder=$(realpath "$1") jobs=${2:-$(nproc)} gputally=${GPUTALLY:-gputally}

traces() {
    find "$folder" -maxdepth 1 -name '*rank*.json*' ! -name '*.gtpart' ! -name '*.gtindex' -print0
}

# A trace that cannot be read is named and does not stop the others; the report says which rank is missing.
if command -v parallel >/dev/null; then
    # shellcheck disable=SC2086 # several options
    traces | parallel -0 --will-cite -j "$jobs" ${PARALLEL_OPTIONS:-} "$gputally" partial {} --threads 1 || true
else
    traces | xargs -0 -n 1 -P "$jobs" "$gputally" partial --threads 1 || true
fi
exec "$gputally" merge "$folder"
