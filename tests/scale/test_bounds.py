#!/usr/bin/env python3
"""Holds the table "Time and memory" of docs/limits.md: every command that reads traces is in it, and for inputs made to hurt, time
and memory of each command grow no faster than the table says.

    python3 -m tests.scale.test_bounds --bin build/gputally

Each command gets an input of n records and one of 4n. Linear work takes 4 times as long and quadratic work 16 times: at most 8 are
allowed, of CPU time, so that other load does not matter. For memory, at most 5 times as much is allowed beyond a constant.
"""
import os
import re
import subprocess
import sys

from tests.common import harness, scaling
from tests.findings import small_traces
from tests.nsys import generate_export
from tests.rocprof import generate_run

MEMORY_SLACK = 96 << 20  # buffers and threads, which every command has
MOST_MEMORY_GROWTH = 5
NO_TRACES = {"run", "build", "discover", "sweep", "model", "links", "completion"}
# Their inputs need a real framework: other tests have them, and the table says which.
ELSEWHERE = {"what-if", "replay-ir", "jax", "jax-analysis", "jax-collective", "jax-llama-compare", "pytorch-inference", "match-blocks", "genesis", "merge"}


def pytorch(path, n):
    """n ops inside each other in one thread; each launches a kernel of its own name, all at the same time."""
    events = [small_traces.host("user_annotation", "ProfilerStep#1", 0, 10.0 * n)]
    for i in range(n):
        events.append(small_traces.host("cpu_op", f"op_{i}", i, 8.0 * n - 2 * i, **{"Input Dims": [[i, i + 1]], "External id": i + 1}))
        events.append(small_traces.host("cuda_runtime", "cudaLaunchKernel", 3.0 * n + i, 0.5, correlation=i + 1))
        events.append(small_traces.kernel(3.0 * n + 20 + (i % 7), 5, i + 1, stream=7 + i % 3, name=f"kernel_{i}"))
    return small_traces.write(path, {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events})


def rocprof_run(n):
    run = generate_run.make_run(n)
    run[0].dispatches[:] = [d._replace(start=1000 + i % 5, end=9000) for i, d in enumerate(run[0].dispatches)]
    return run


def rocprof_json(path, n):
    generate_run.write_json(rocprof_run(n), path)
    return path


def pftrace(path, n):
    generate_run.write_pftrace(rocprof_run(n)[0], path)
    return path


def nsys(path, n):
    export = generate_export.small_run()
    first = export["CUPTI_ACTIVITY_KIND_KERNEL"][0]
    export["CUPTI_ACTIVITY_KIND_KERNEL"] = [{**first, "start": 1000 + i % 5, "end": 9000, "correlationId": 50000 + i} for i in range(n)]
    return generate_export.write(export, path)


def ncu(path, n):
    with open(path, "w", encoding="utf-8") as file:
        file.write('"ID","Kernel Name","Section Name","Metric Name","Metric Unit","Metric Value"\n')
        file.writelines(f'"{i}","k{i}","GPU Speed Of Light Throughput","Duration","us","{i}.5"\n' for i in range(n))
    return path


def equal_keys(folder, n):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "ops_summary.csv"), "w", encoding="utf-8") as file:
        file.write("name,Count,total_direct_kernel_time_ms\n")
        file.writelines(f"aten::mm,1,{i}\n" for i in range(n))
    return folder


def ranks(folder, n, name="rank{}_trace.json"):
    for rank in range(2):
        os.makedirs(folder, exist_ok=True)
        events = []
        for i in range(n):
            args = {"correlation": i + 1, "stream": 7, "device": rank, "Collective name": "allreduce", "Process Group Name": "0", "Group size": 2,
                    "Process Group Ranks": "[0, 1]", "In msg nelems": 64, "Out msg nelems": 64, "dtype": "Float", "External id": i + 1}
            events.append(small_traces.host("cuda_runtime", "cudaLaunchKernel", 10.0 * i, 1.0, correlation=i + 1))
            events.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": rank, "tid": 7, "ts": 10.0 * i + 2, "dur": 5, "args": args})
        small_traces.write(os.path.join(folder, name.format(rank)),
                           {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}],
                            "distributedInfo": {"rank": rank, "world_size": 2}, "traceEvents": events})
    return folder


def server(path, n):
    events = [small_traces.host("user_annotation", f"execute_context_0(0)_generation_{i % 3}({i % 3})", 20.0 * i, 15) for i in range(n)]
    events += [small_traces.kernel(20.0 * i + 2, 5, i + 1) for i in range(n)]
    return small_traces.write(path, {"schemaVersion": 1, "traceEvents": events})


# By command: records of the small input, and what makes the words of the command line from a folder and a number of records.
COMMANDS = {
    "report": (2000, lambda at, n: [pytorch(f"{at}/t.json", n), "--output_csvs_dir", f"{at}/out"]),
    "pytorch": (2000, lambda at, n: [pytorch(f"{at}/t.json", n), "--include_unlinked_kernels", "--output_csvs_dir", f"{at}/out"]),
    "doctor": (5000, lambda at, n: [pytorch(f"{at}/t.json", n)]),
    "rocprof": (2000, lambda at, n: [rocprof_json(f"{at}/t_results.json", n), "--output_csvs_dir", f"{at}/out"]),
    "nsys": (5000, lambda at, n: [nsys(f"{at}/t.sqlite", n), "--output_csvs_dir", f"{at}/out"]),
    "ncu": (5000, lambda at, n: [ncu(f"{at}/t.csv", n), "--output_csvs_dir", f"{at}/out"]),
    "collective": (2000, lambda at, n: ["--trace_dir", ranks(f"{at}/ranks", n), "--output_csvs_dir", f"{at}/out"]),
    "partial": (2000, lambda at, n: [ranks(f"{at}/ranks", n), "--output", f"{at}/out"]),
    "batch": (2000, lambda at, n: ["-b", ranks(f"{at}/ranks", n, "rank_{}.json")]),
    "query": (2000, lambda at, n: ["SELECT count(*) FROM kernel_summary", pytorch(f"{at}/t.json", n)]),
    "compare": (5000, lambda at, n: [equal_keys(f"{at}/a", n), equal_keys(f"{at}/b", n), "--output_csvs_dir", f"{at}/out"]),
    "diff": (1000, lambda at, n: [pytorch(f"{at}/a.json", n), pytorch(f"{at}/b.json", n + 7), "-o", f"{at}/out"]),
    "convert": (2000, lambda at, n: [rocprof_json(f"{at}/t_results.json", n), f"{at}/out.pftrace"]),
    "fuse": (5000, lambda at, n: [pytorch(f"{at}/a.json", n), pytorch(f"{at}/b.json", n), "-o", f"{at}/out.json"]),
    "split": (100, lambda at, n: [server(f"{at}/t.json", n), "-o", f"{at}/out"]),
    "index": (2000, lambda at, n: [pytorch(f"{at}/t.json", n)]),
    "pftrace-hip-api": (2000, lambda at, n: [pftrace(f"{at}/t.pftrace", n), "--output_csvs_dir", f"{at}/out"]),
    "pftrace-hip-activity": (2000, lambda at, n: [pftrace(f"{at}/t.pftrace", n), "--output_csvs_dir", f"{at}/out"]),
    "pftrace-memory-copy": (2000, lambda at, n: [pftrace(f"{at}/t.pftrace", n), "--output_csvs_dir", f"{at}/out"]),
}


def grows(binary, folder, command):
    n, words = COMMANDS[command]
    used = []
    for records in (n, 4 * n):
        at = os.path.join(folder, str(records))
        os.mkdir(at)
        used.append(scaling.measure([binary, command, *words(at, records)], 120))
        if used[-1].code != 0:
            return [f"{records} records: exit code {used[-1].code}: {used[-1].stderr[:300]}"]
    problems = []
    if used[1].seconds > scaling.MOST_GROWTH * used[0].seconds + scaling.SLACK_SECONDS:
        problems.append(f"{used[0].seconds:.2f} s for {n}, {used[1].seconds:.2f} s for {4 * n}")
    if not harness.IS_SANITIZED and used[1].bytes > MOST_MEMORY_GROWTH * used[0].bytes + MEMORY_SLACK:
        problems.append(f"{used[0].bytes >> 20} MiB for {n}, {used[1].bytes >> 20} MiB for {4 * n}")
    return problems


def is_documented(binary, folder):
    """The table has each command of the program, and no other."""
    with open(os.path.join(harness.ROOT, "docs", "limits.md"), encoding="utf-8") as file:
        section = file.read().split("\n## Time and memory\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", section, re.MULTILINE)
    documented = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    shown = subprocess.run([binary, "help"], capture_output=True, text=True, check=True).stdout
    real = set(re.findall(r"^  ([a-z][a-z-]+)  +", shown, re.MULTILINE)) - {"gputally"}
    covered = set(COMMANDS) | NO_TRACES | ELSEWHERE
    return ([f"not in the table: {sorted(real - documented)}, only there: {sorted(documented - real)}"] if documented != real else []) + \
           ([f"without an input here: {sorted(real - covered)}"] if real - covered else [])


CASES = [harness.Case("the table", is_documented)] + [harness.Case(command, grows, command) for command in COMMANDS]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
