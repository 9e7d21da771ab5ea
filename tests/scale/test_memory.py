#!/usr/bin/env python3
"""Memory of reports on many ranks: what each rank adds must be small.

    python3 -m tests.scale.test_memory --bin build/gputally

What a rank adds is its rows of collectives and the facts about it; traces, pages, texts and interners of single ranks must not
stay. The lists of ranks are long, as in large process groups, and appear in every row of a CSV or JSON file: these files must not
be in memory as a whole.
"""
import gzip
import json
import os
import subprocess
import sys
import tempfile

from tests.common.harness import run_test_functions

FEW, MANY, COLLECTIVES = 16, 160, 36
PER_RANK = 50_000  # bytes: 15,000 are needed, on a busy machine up to 42,000; before there was a limit, a rank of this kind added 70,000 to 450,000
GROUP = str(list(range(1000)))  # as long as that of 1,000 ranks
CHILD = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"


def event(name, category, stream, start, duration, number, **more):
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if category == "kernel" else 1, "tid": stream, "ts": start, "dur": duration,
            "args": {"External id": number, "correlation": number, "stream": stream, **more}}


def write_ranks(folder, count):
    for rank in range(count):
        events, number = [], 0
        for step in range(COLLECTIVES):
            start, late = 1000 + 500 * step, (rank * 7 + step * 3) % 20
            number += 2
            meta = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 1000,
                    "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": GROUP}
            events += [event("cudaLaunchKernel", "cuda_runtime", 1, start, 4, number), event("gemm", "kernel", 7, start + 8, 200 + late, number),
                       event("cudaLaunchKernel", "cuda_runtime", 1, start + 5, 4, number + 1),
                       event("ncclDevKernel_AllReduce", "kernel", 20, start + 210 + late, 120 - late, number + 1, **meta)]
        # Sizes differ a little, and the first is the smallest: it must not be read last.
        with gzip.open(os.path.join(folder, f"rank{rank}_trace.json.gz"), "wt", compresslevel=1) as file:
            json.dump({"distributedInfo": {"rank": rank, "world_size": count}, "padding": "x" * (rank * 37 % 900 + rank), "traceEvents": events}, file)


def peak(binary, count, *command):
    with tempfile.TemporaryDirectory() as folder:
        traces = os.path.join(folder, "traces")
        os.mkdir(traces)
        write_ranks(traces, count)
        words = [word.replace("TRACES", traces).replace("OUT", os.path.join(folder, "out")) for word in command]
        done = subprocess.run([sys.executable, "-c", CHILD, binary, *words, "--quiet", "--threads", "2"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[-1]) * 1024


def check(binary, *command):
    few = peak(binary, FEW, *command)
    for _ in range(3):  # a thread that waits for its processor keeps results of others a little longer: the least counts
        many = peak(binary, MANY, *command)
        each = (many - few) / (MANY - FEW)
        if each < PER_RANK:
            return
    raise AssertionError(f"{each:.0f} bytes per rank: {few / 2**20:.1f} MiB for {FEW}, {many / 2**20:.1f} MiB for {MANY} ranks")


def test_collective_as_csv(binary):
    check(binary, "collective", "--trace_dir", "TRACES", "--output_csvs_dir", "OUT")


def test_collective_as_workbook(binary):
    check(binary, "collective", "--trace_dir", "TRACES", "-o", "OUT.xlsx")


def test_report_as_csv(binary):
    check(binary, "report", "TRACES", "--output_csvs_dir", "OUT")


def test_report_as_json(binary):
    check(binary, "report", "TRACES", "--output_json", "OUT")


def test_report_as_page(binary):
    check(binary, "report", "TRACES", "--output_html", "OUT")


if __name__ == "__main__":
    sys.exit(run_test_functions(__doc__, globals()))
