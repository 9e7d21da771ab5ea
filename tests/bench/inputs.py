"""The traces that scripts/bench measures with, made in its folder where they are not there yet."""
import glob
import gzip
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Files of the conformance folder, and a tool next to it.
ROCPROF_TRACE = "traces/rocprof__908_results.json.gz"
PYTORCH_TRACES = "traces/h100__google_owlv2*.json.gz"
RANK_TRACE = "traces/ranks4/rank0_trace.json.gz"
SCALE_TRACE = "../tools/scale-trace"
JAX_FIXTURE = os.path.join(ROOT, "tests", "fixtures", "jax", "training.xplane.pb.gz")
JAX_MEGABYTES = (16, 160)
COPIES = (1, 10, 100)
SCALING_COPIES = 60  # 2.2 GB
MANY_RANKS = 64
DENSE_COLLECTIVES = 3500  # of a synthetic rank: as many as in a trace of about 100 MB


def unpack(source, path):
    if not os.path.exists(path):
        with gzip.open(source, "rb") as packed, open(path, "wb") as plain:
            shutil.copyfileobj(packed, plain, 1 << 20)
    return path


def rocprof(bench):
    """(title, path)"""
    path, real = os.path.join(bench.folder, "rocprof_results.json"), bench.conformance(ROCPROF_TRACE)
    if os.path.exists(real):
        return "rocprofv3 trace", unpack(real, path)
    subprocess.run([sys.executable, "-m", "tests.rocprof.generate_trace", path, "--dispatches", "44000", "--symbols", "12000"],
                   check=True, cwd=ROOT)
    return "rocprofv3 trace (generated)", path


class PyTorch:
    """The real trace as it is (gzip) and unpacked, and plain files of several copies."""

    def __init__(self, bench):
        found = glob.glob(bench.conformance(PYTORCH_TRACES))
        self.folder, self.scale_trace = bench.folder, bench.conformance(SCALE_TRACE)
        self.packed = found[0] if found and os.path.exists(self.scale_trace) else None

    def plain(self):
        return unpack(self.packed, os.path.join(self.folder, "pytorch.json"))

    def copies(self, count):
        path = os.path.join(self.folder, f"pytorch_{count}.json")
        if not os.path.exists(path):
            subprocess.run([sys.executable, self.scale_trace, self.packed, path, str(count)], check=True)
        return path

    def copies_packed(self, count):
        path = self.copies(count)
        if not os.path.exists(path + ".gz"):
            subprocess.run(["gzip", "-k", "-6", path], check=True)
        return path + ".gz"


def jax(bench):
    paths = [os.path.join(bench.folder, f"jax_{megabytes}.xplane.pb") for megabytes in JAX_MEGABYTES]
    for megabytes, path in zip(JAX_MEGABYTES, paths):
        if not os.path.exists(path):
            subprocess.run([sys.executable, "-m", "tests.jax.generate_xplane", JAX_FIXTURE, path, "--megabytes",
                            str(megabytes)], check=True, cwd=ROOT)
    return paths


def nested_ops(bench, depth):
    """Ops that are all inside each other, and each launches a kernel."""
    path = os.path.join(bench.folder, f"nested_{depth}.json")
    if os.path.exists(path):
        return path
    events = []
    for i in range(depth):
        begin, end, kernel = i, 4 * depth - i, 5 * depth + 2 * i
        ids = {"External id": i + 1}
        events += [
            {"ph": "X", "cat": "cpu_op", "name": f"op_{i % 50}", "pid": 1, "tid": 1, "ts": begin, "dur": end - begin,
             "args": {**ids, "Input Dims": [[4, 8]], "Input type": ["float"]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": begin + 0.25, "dur": 0.5,
             "args": {**ids, "correlation": i + 1}},
            {"ph": "s", "id": i + 1, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": begin + 0.25},
            {"ph": "f", "id": i + 1, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": kernel, "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": f"kernel_{i % 20}", "pid": 0, "tid": 7, "ts": kernel, "dur": 1.5,
             "args": {**ids, "stream": 7, "correlation": i + 1}}]
    with open(path, "w") as file:
        json.dump({"traceEvents": events}, file)
    return path


def real_ranks(bench):
    """A folder of ranks, and the uncompressed size of each; None without a real trace."""
    trace = bench.conformance(RANK_TRACE)
    if not os.path.exists(trace):
        return None
    ranks = os.path.join(bench.folder, "ranks")
    with gzip.open(trace, "rt", encoding="utf-8") as packed:
        text = packed.read()
    if not os.path.exists(ranks):
        os.mkdir(ranks)
        for rank in range(MANY_RANKS):
            skew = rank * 37 % 1000  # microseconds
            moved = re.sub(r'("ts":\s*)(\d+)', lambda m: m[1] + str(int(m[2]) + skew), text)
            with gzip.open(os.path.join(ranks, f"rank{rank}_trace.json.gz"), "wt", compresslevel=1) as file:
                file.write(re.sub(r'("rank":\s*)0\b', lambda m: m[1] + str(rank), moved, count=1))
    return ranks, len(text)


def large_ranks(bench, pytorch):
    """A folder of 64 ranks of 55 MB each, as links to the same trace: each rank is read on its own."""
    folder = os.path.join(bench.folder, "large_ranks")
    if not os.path.exists(folder):
        os.mkdir(folder)
        for rank in range(MANY_RANKS):
            os.symlink(os.path.abspath(pytorch.packed), os.path.join(folder, f"rank{rank}_trace.json.gz"))
    return folder


def dense_ranks(bench):
    """A folder of ranks with collectives only."""
    ranks = os.path.join(bench.folder, "dense_ranks")
    if os.path.exists(ranks):
        return ranks
    os.mkdir(ranks)
    kinds = (("_allgather_base", 1000000, 8000000), ("_reduce_scatter_base", 8000000, 1000000), ("allreduce", 4096, 4096))
    for rank in range(MANY_RANKS):
        events = []
        for index in range(DENSE_COLLECTIVES):
            name, inwards, outwards = kinds[index % len(kinds)]
            events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_Generic_1", "pid": 0, "tid": 20,
                           "ts": 4458676522706.125 + 1000 * index + rank * 37 % 101, "dur": 100.5 + (rank * index) % 50,
                           "args": {"correlation": index, "stream": 20, "Collective name": name, "dtype": "BFloat16",
                                    "In msg nelems": inwards + index % 40, "Out msg nelems": outwards,
                                    "Group size": MANY_RANKS, "In split size": "[]", "Out split size": "[]",
                                    "Process Group Name": str(index % 2), "Process Group Ranks": "[0, 1, 2, ...]"}})
        with gzip.open(os.path.join(ranks, f"rank{rank}_trace.json.gz"), "wt", compresslevel=1) as file:
            json.dump({"traceEvents": events}, file)
    return ranks
