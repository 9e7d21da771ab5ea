#!/usr/bin/env bash
# A sweep on a real GPU, from the first run to the recommendation: 8 settings of a PyTorch program, 5 runs each, less than 5 minutes.
#
#   tests/sweep/gpu_sweep.sh [--without_gpu] GPUTALLY [FOLDER]
#
# FOLDER gets the sweep and its analysis, and must not hold one; by default, a new folder of /tmp. PYTHON names the Python that has PyTorch (default:
# python3). The last lines say what was expected and found; the exit status is 1 if an expectation is not met.
# --without_gpu sweeps a program that writes synthetic traces, to test this script on a machine without a GPU.
set -euo pipefail
without=
[ "${1:-}" != --without_gpu ] || { without=--without_gpu; shift; }
[ $# -ge 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
gputally=$(realpath "$1")
folder=${2:-$(mktemp -d /tmp/gpu_sweep.XXXXXX)}
python=${PYTHON:-python3}
[ ! -e "$folder/sweep.json" ] || { echo "gpu_sweep.sh: $folder already holds a sweep" >&2; exit 2; }

"$gputally" sweep run --quiet --threads none --channels none --delay 0 --timeout 120 --repeat 5 --seed 1 --output_dir "$folder" \
    --axis size=4095,4096 --axis precision=highest,high --axis-env precision=MATMUL_PRECISION \
    --axis allocator=expandable_segments:False,expandable_segments:True --axis-env allocator=PYTORCH_CUDA_ALLOC_CONF \
    -- "$python" "$here/gpu_sweep_program.py" --size '{size}' --output '{profiler_dir}' $without
tail -n 1 "$folder/size_4096/precision_high/allocator_expandable_segments:True/run_output.log"  # PyTorch and GPU
"$gputally" sweep all --quiet "$folder"
"$gputally" sweep decide "$folder" --baseline size_4095_precision_highest_allocator_expandable_segments:False | tee "$folder/answer.txt"
"$python" "$here/gpu_sweep_check.py" "$folder"
