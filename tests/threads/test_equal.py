#!/usr/bin/env python3
"""The number of threads changes nothing: every command writes the same bytes and prints the same text with 1 and 16, with
LONG=1 also with 2, 3 and 8.

    python3 -m tests.threads.test_equal --bin build/gputally [TEXT]      only commands with TEXT in their name

Short inputs are read by one thread in an ordinary build, so that PyTorch traces are repeated until several threads share the
work; builds with sanitizers share all of it, and are run with 1 and 5 threads.
"""
import argparse
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from tests.captures import generate_captures as captures
from tests.cli.test_report_folder import events
from tests.common import harness
from tests.common.harness import CONFORMANCE_TRACES, FIXTURES, IS_SANITIZED, Tally, files_under, run
from tests.common.repeat_trace import repeated, write_repeated
from tests.nsys import generate_export

# Sanitizers look at memory, and take ten times as long.
THREADS = (1, 5) if IS_SANITIZED else (1, 2, 3, 8, 16) if harness.LONG else (1, 16)
ALL_OUTPUTS = "--output_csvs_dir OUT/csv --output_xlsx_path OUT/report.xlsx --output_db OUT/report.db"
PYTORCH = ("training", "training_stack", "recompute", "graph", "compiled", "streams", "collectives", "copies", "gpu_only",
           "inference", "known_shapes", "no_shapes")
LONG = {"training": 60, "training_stack": 30, "graph": 60, "copies": 60}  # times


def pytorch_cases(folder):
    """name -> command line"""
    found = {}
    for name in PYTORCH:
        path = os.path.join(FIXTURES, "pytorch", name + ".json.gz")
        found[f"report {name}"] = f"report {path} {ALL_OUTPUTS}"
        found[f"pytorch {name}"] = (f"pytorch {path} --enable_kernel_summary --short_kernel_study --include_unlinked_kernels "
                                    f"--extra {ALL_OUTPUTS}")
    for name, times in LONG.items():
        path = os.path.join(folder, f"long_{name}.json")
        write_repeated(os.path.join(FIXTURES, "pytorch", name + ".json.gz"), path, times)
        write_repeated(os.path.join(FIXTURES, "pytorch", name + ".json.gz"), path + ".gz", times)
        found[f"pytorch long {name} with call stacks"] = f"pytorch {path} --include_call_stack {ALL_OUTPUTS}"
        found[f"report long {name}"] = f"report {path} {ALL_OUTPUTS}"
        found[f"report long {name} gzip"] = f"report {path}.gz {ALL_OUTPUTS}"
        found[f"pytorch long {name}"] = (f"pytorch {path} --enable_kernel_summary --short_kernel_study --extra "
                                         f"--include_overlap_info --detect_recompute {ALL_OUTPUTS}")
    short, long = os.path.join(FIXTURES, "pytorch", "training.json.gz"), os.path.join(folder, "long_training.json")
    found["diff"] = f"diff {short} {long} --output_dir OUT/diff"
    found["compare"] = (f"compare {short} {long} --output_csvs_dir OUT/csv --output OUT/c.xlsx --output_db OUT/c.db "
                        "--output_json OUT/c.json --output_md OUT/c.md")
    replay, graph = captures.Replay(), [captures.Op(f"op::{i % 7}", f"kernel{i % 5}") for i in range(100)]
    for _ in range(30):
        begin = replay.end + 50
        replay.step([[captures.Kernel(f"kernel{i % 5}", begin + 8 * i, 5 + i % 3) for i in range(100)]]).eager()
    captures.write(os.path.join(folder, "server"), replay, {"a.json": captures.capture(graph)},
                   [{"file": "a.json", "batch_size": 4, "mode": "FULL"}])
    found["captures"] = (f"pytorch-inference {folder}/server/replay.json --capture_folder {folder}/server/capture "
                         f"--group_by_parent_module --include_overlap_info --enable_kernel_summary {ALL_OUTPUTS}")
    return found


def other_cases(folder):
    found = {}
    for path in sorted(glob.glob(os.path.join(FIXTURES, "jax", "*.xplane.pb.gz"))):
        found[f"jax {os.path.basename(path)}"] = f"jax {path} {ALL_OUTPUTS}"
    rocprof = os.path.join(FIXTURES, "rocprof", "tiny_results.json")
    found["rocprof tiny"] = f"rocprof {rocprof} --kernel_details --short_kernel_study {ALL_OUTPUTS}"
    small, large = (os.path.join(folder, name) for name in ("small.sqlite", "large.sqlite"))
    generate_export.write(generate_export.small_run(), small)
    generate_export.write_large(large, 6000, 6000, 6000)
    for name, path in (("small", small), ("large", large)):
        found[f"nsys {name}"] = f"nsys {path} --kernel_details --short_kernel_study {ALL_OUTPUTS}"
        found[f"report nsys {name}"] = f"report {path} {ALL_OUTPUTS}"
    ranks = os.path.join(folder, "ranks")
    os.mkdir(ranks)
    for rank in range(5):  # one of them is large
        trace = {"traceEvents": repeated(events(rank, 5), 3000 if rank == 3 else 1),
                 "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 5}}
        with open(os.path.join(ranks, f"rank{rank}_trace.json"), "w") as file:
            json.dump(trace, file)
    sql = os.path.join(folder, "q.sql")
    with open(sql, "w") as file:
        file.write("SELECT * FROM kernel_summary")
    found["collective"] = f"collective --trace_dir {ranks} --world_size 5 --extra {ALL_OUTPUTS}"
    found["report of a folder"] = f"report {ranks} --output_csvs_dir OUT/csv"
    found["report of several files"] = f"report {ranks}/rank0_trace.json {ranks}/rank3_trace.json --output_csvs_dir OUT/csv"
    found["query"] = f"query --sql_file {sql} {ranks} {small} {rocprof} -o OUT/x.csv --output_db OUT/x.db"
    found["doctor"] = f"doctor {ranks} {small} {rocprof} --output_json OUT/doctor.json"
    found["fuse"] = f"fuse --trace_dir {ranks} --world_size 5 -o OUT/fused.json"
    return found


def real_cases():
    """The traces of the conformance folder, where there is one."""
    found = {}
    for path in sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "*.json.gz"))):
        name, rocprof = os.path.basename(path), "rocprof" in os.path.basename(path)
        found[f"real {name}"] = f"{'rocprof' if rocprof else 'report'} {path} {ALL_OUTPUTS}"
        if not rocprof and harness.LONG:
            found[f"real {name} with call stacks"] = f"pytorch {path} --include_call_stack --output_csvs_dir OUT/csv"
    return found


def outcome(options, words, threads, out):
    """(exit code, text, file -> bytes) with the output folder as a fixed name."""
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(out)
    done = run([options.bin, *words.replace("OUT", out).split(), "--threads", str(threads), "--no_progress"])
    files = {}
    for name in files_under(out):
        with open(os.path.join(out, name), "rb") as file:
            files[name] = file.read()
    return done.code, (done.stdout + done.stderr), files


def problems(options, words, out):
    first, found = None, []
    for threads in THREADS:
        code, text, files = outcome(options, words, threads, out)
        if threads == THREADS[0]:
            first = code, text, files
            if code != 0 or not files:
                return [f"exit code {code}: {text[-300:]}"]
            continue
        if code != first[0]:
            found.append(f"{threads} threads: exit code {code}: {text[-300:]}")
        if text != first[1]:
            found.append(f"{threads} threads print another text")
        if sorted(files) != sorted(first[2]):
            found.append(f"{threads} threads write other files: {sorted(set(files) ^ set(first[2]))}")
        found += [f"{threads} threads write another {name}" for name, content in files.items()
                  if first[2].get(name, content) != content]
    return found


def most_threads(options, path, threads, out):
    """The most threads of the program while it reads a compressed trace from a pipe, before its last bytes come."""
    words = ["pytorch", "-", "--output_csvs_dir", out, "--threads", str(threads), "--quiet"]
    child = subprocess.Popen([options.bin, *words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    with open(path, "rb") as file:
        content = file.read()
    child.stdin.write(content[:-100])
    child.stdin.flush()
    most, end = 0, time.monotonic() + 0.5
    while time.monotonic() < end:
        most = max(most, len(os.listdir(f"/proc/{child.pid}/task")))
        time.sleep(0.01)
    child.stdin.write(content[-100:])
    child.stdin.close()
    return most if child.wait() == 0 else f"exit code {child.returncode}"


def thread_problems(options, folder):
    path, found = os.path.join(folder, "long_training.json.gz"), []
    one, two = (most_threads(options, path, threads, os.path.join(folder, "out")) for threads in (1, 2))
    if one != 1:
        found.append(f"--threads 1: {one} threads")
    if two == 1:
        found.append("--threads 2: one thread, so that nothing is unpacked ahead")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--keep", help="a folder for the outputs of commands that fail")
    parser.add_argument("text", nargs="?", default="")
    options = parser.parse_args()
    options.bin = os.path.abspath(options.bin)
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="gputally-threads-") as folder:
        cases = {**pytorch_cases(folder), **other_cases(folder), **real_cases()}
        for name, words in cases.items():
            if options.text in name:
                tally.add(name, problems(options, words, os.path.join(folder, "out")))
        if options.text in "one thread":
            tally.add("one thread", thread_problems(options, folder))
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
