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

from tests.common.harness import IS_SANITIZED, run_test_functions

FEW, MANY, COLLECTIVES = 16, 160, 36
LONG, ROWS_IN_MEMORY = 1600, 8 * 2**20  # bytes; as blocks of memory, these rows were 22 MiB
FLAT = 1.3  # of the memory of a twentieth of the ranks; on a busy machine, a report needed 1.45 before it looked at ranks in parts
PER_RANK = 40_000  # bytes; before there was a limit, a rank of this kind added 70,000 to 450,000
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


def peak(binary, count, *command, write=write_ranks, threads=2):
    with tempfile.TemporaryDirectory() as folder:
        traces = os.path.join(folder, "traces")
        os.mkdir(traces)
        write(traces, count)
        words = [word.replace("TRACES", traces).replace("OUT", os.path.join(folder, "out")) for word in command]
        done = subprocess.run([sys.executable, "-c", CHILD, binary, *words, "--quiet", "--threads", str(threads)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return int(done.stdout.split()[-1]) * 1024


def own_peak(binary, traces, *command):
    """The peak of the process itself: with getrusage, it is at least that of the Python that starts it."""
    with tempfile.TemporaryDirectory() as folder:
        words = [word.replace("TRACES", traces).replace("OUT", os.path.join(folder, "out")) for word in command]
        child = subprocess.Popen([binary, *words, "--quiet", "--threads", "1"], stderr=subprocess.DEVNULL)
        kib = 0
        while child.poll() is None:  # so long, there is a process with this number
            with open(f"/proc/{child.pid}/status", encoding="ascii") as file:
                kib = next((int(line.split()[1]) for line in file if line.startswith("VmHWM")), kib)
        assert child.returncode == 0, f"exit status {child.returncode}"
        return kib


def check_flat(binary, *command):
    """Memory is nearly that of reading a trace, however many there are."""
    if IS_SANITIZED:
        return  # the sanitizer's own memory grows
    with tempfile.TemporaryDirectory() as folder:
        traces = [os.path.join(folder, name) for name in ("few", "many")]
        for path, count in zip(traces, (20, 400)):
            os.mkdir(path)
            write_ranks(path, count)
        few = own_peak(binary, traces[0], *command)
        for _ in range(5):  # on a busy machine, a process looks late at what is resident: the least counts
            many = own_peak(binary, traces[1], *command)
            if many < FLAT * few:
                return
    raise AssertionError(f"{few} KiB for 20 ranks, {many} KiB for 400")


def check(binary, *command):
    few = peak(binary, FEW, *command)
    for _ in range(3):  # a thread that waits for its processor keeps results of others a little longer: the least counts
        many = peak(binary, MANY, *command)
        each = (many - few) / (MANY - FEW)
        if each < PER_RANK:
            return
    raise AssertionError(f"{each:.0f} bytes per rank: {few / 2**20:.1f} MiB for {FEW}, {many / 2**20:.1f} MiB for {MANY} ranks")


def write_long_ranks(folder, count):
    """Ranks with so many collectives that the rows of all are the most of what could be in memory."""
    events = [event("ncclDevKernel_AllReduce", "kernel", 20, 1000 + 500 * i, 120, i, **{
        "Collective name": "allreduce", "dtype": "Float", "In msg nelems": 4096, "Out msg nelems": 4096, "Group size": 64,
        "In split size": "[]", "Out split size": "[]", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"}) for i in range(1, LONG)]
    body = json.dumps(events)
    for rank in range(count):
        with open(os.path.join(folder, f"rank{rank}_trace.json"), "w", encoding="utf-8") as file:
            file.write(f'{{"distributedInfo": {{"rank": {rank}, "world_size": {count}}}, "traceEvents": {body}}}')


def test_rows_of_ranks_are_not_in_memory(binary):
    """64 ranks add 90,000 rows of 200 bytes and more to what 8 ranks have."""
    few, many = (peak(binary, count, "collective", "--trace_dir", "TRACES", "--output_csvs_dir", "OUT", write=write_long_ranks, threads=1)
                 for count in (8, 64))
    assert many < few + ROWS_IN_MEMORY, f"{few / 2**20:.1f} MiB for 8 ranks, {many / 2**20:.1f} MiB for 64"


def test_collective_is_flat(binary):
    check_flat(binary, "collective", "--trace_dir", "TRACES", "--output_csvs_dir", "OUT")


def test_report_is_flat(binary):
    check_flat(binary, "report", "TRACES", "--no_html", "--output_csvs_dir", "OUT")


def test_workbook_is_flat(binary):
    check_flat(binary, "collective", "--trace_dir", "TRACES", "-o", "OUT.xlsx")


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
