#!/usr/bin/env python3
"""Samples of the program counter: the preset rocprofv3_pc_sampling asks for a format that has them, and the sheet
pc_sampling_hotspots is the same from CSV and JSON files, and the one that a plain count of the samples gives.

    python3 -m tests.run.test_pc_sampling --bin build/gputally [TEXT]
"""
import argparse
import collections
import csv
import glob
import json
import os
import random
import subprocess
import sys

from tests.common import harness
from tests.rocprof import generate_run
from tests.run import hip_program
from tests.run.launchers import Run, tool, which
from tests.run.test_profiling_runs import equal, holds

TESTS = []
COLUMNS = ["kernel", "instruction", "source_line", "samples", "Percentage (%)", "Cumulative Percentage (%)"]
STALL_COLUMNS = ["stalled_samples", "stall_reasons"]


def test(function):
    TESTS.append(function)
    return function


def expected_rows(processes, samples, dispatches, stochastic, names="truncated"):
    """The sheet, counted from what hip_program.py does."""
    counts, stalls = collections.Counter(), collections.defaultdict(collections.Counter)
    for rank in range(processes):
        process = hip_program.make_process(rank, 1, dispatches + rank, [])
        for number in range(samples):
            instruction, comment, issued, _, reason = hip_program.sample(number)
            kernel = getattr(generate_run.KERNELS[process.dispatches[number % len(process.dispatches)].kernel], names)
            key = (kernel, instruction, comment if instruction else "")
            counts[key] += 1
            if not issued:
                stalls[key][reason] += 1
    missing_last = lambda text: (text == "", text.encode())
    rows, total, sum_ = [], sum(counts.values()), 0
    for key, count in sorted(counts.items(), key=lambda kv: (-kv[1], *map(missing_last, kv[0]))):
        sum_ += count
        row = [*key, str(count), count / total * 100, sum_ / total * 100]
        if stochastic:
            reasons = stalls[key]
            stalled = sum(reasons.values())
            row += [str(stalled), ", ".join(f"{name} {n / stalled * 100:.1f} %"
                                            for name, n in sorted(reasons.items(), key=lambda kv: (-kv[1], kv[0])))]
        rows.append(row)
    return rows


def sheet(p, source, *options):
    done = subprocess.run([p.binary, *options, source, "--output_csvs_dir", "sheets", "--quiet"], cwd=p.work, env=p.environment(),
                          capture_output=True, text=True)
    equal((done.returncode, done.stderr), (0, ""))
    with open(p.file("sheets", "pc_sampling_hotspots.csv"), newline="") as file:
        rows = list(csv.reader(file))
    return rows[0], [[float(cell) if i in (4, 5) else cell for i, cell in enumerate(row)] for row in rows[1:]]


def same(rows, expected):
    equal(len(rows), len(expected))
    for row, other in zip(rows, expected):
        equal([row[:4], row[6:]], [other[:4], other[6:]])
        for i in (4, 5):
            assert abs(row[i] - other[i]) < 1e-9, (row, other)


@test
def the_preset(binary):
    with Run(binary) as p:
        plan = p.plan("--tools", "rocprofv3_pc_sampling")
        equal(plan["profiler"]["formats"], ["pftrace", "csv"])
        options = plan["profiler"]["options"]
        equal(options[options.index("--pc-sampling-method") + 1], "host_trap")
        done = p.run("--tools", "rocprofv3_pc_sampling", *p.program(processes=3, samples=50))
        equal(done.returncode, 0)
        header, rows = sheet(p, "rocprof_output/latest", "rocprof")
        equal(header, COLUMNS)
        same(rows, expected_rows(3, 50, 20, False))
        equal(len(glob.glob(p.file("rocprof_output", "latest", "*", "*_results.pftrace"))), 3)  # as before


@test
def both_methods_in_both_formats(binary):
    for method, unit, interval in (("stochastic", "cycles", 1048576), ("host_trap", "time", 1)):
        for form in ("csv", "json"):
            for processes in (1, 4):
                with Run(binary) as p:
                    done = p.run("-c", tool(f"--kernel-trace --pc-sampling-beta-enabled --pc-sampling-unit {unit} --pc-sampling-method {method} "
                                            f"--pc-sampling-interval {interval} --output-format {form}"),
                                 *p.program(processes=processes, samples=100))
                    equal((done.returncode, "no PC samples" in done.stderr), (0, False))
                    for command, names in (("rocprof", "truncated"), ("report", "formatted")):
                        header, rows = sheet(p, "rocprof_output/latest", command)
                        equal(header, COLUMNS + STALL_COLUMNS * (method == "stochastic"))
                        same(rows, expected_rows(processes, 100, 20, method == "stochastic", names))


@test
def formats_of_the_user(binary):
    """Own commands are not changed, but a format without samples is a warning."""
    with Run(binary) as p:
        for form, warned in (("--output-format pftrace", True), ("", True), ("--output-format rocpd JSON", False), ("-f CSV", False)):
            plan = p.plan("-c", tool("--pc-sampling-beta-enabled --pc-sampling-unit time --pc-sampling-method host_trap "
                                     f"--pc-sampling-interval 1 {form}"))
            equal((form, "has no PC samples" in " ".join(plan["warnings"])), (form, warned))
        assert "PC samples" not in " ".join(p.plan("-c", tool("--kernel-trace --output-format pftrace"))["warnings"])


def write_samples(path, rows, header=hip_program.STOCHASTIC_COLUMNS):
    with open(path, "w") as file:
        file.write(",".join(f'"{c}"' for c in header) + "\n")
        file.writelines(",".join(f'"{c}"' if isinstance(c, str) else str(c) for c in row) + "\n" for row in rows)


@test
def samples_alone(binary):
    """One CSV file without a kernel trace; 18446744073709551615 is a usual Exec_Mask."""
    with Run(binary) as p:
        rows = [[1, 18446744073709551615, 7, "s_nop 0", "a.cpp:1", 7, 0, "T", hip_program.REASON + "WAITCNT", 4],
                [2, 18446744073709551615, 7, "s_nop 0", "a.cpp:2", 7, 1, "T", hip_program.REASON + "OTHER_WAIT", 4],
                [3, 1, 9, "s_nop 0", "a.cpp:1", 9, 0, "T", "something new", 4], [4, 1, 9, "", "Unrecognized: 1", 9, 0, "T", "", 4],
                [5, 1, 9, "", "Unrecognized: 2", 9, 1, "T", "", 4]]
        write_samples(p.file("1_pc_sampling_stochastic.csv"), rows)
        done = subprocess.run([binary, "rocprof", "1_pc_sampling_stochastic.csv", "--output_csvs_dir", "o", "--quiet"], cwd=p.work,
                              env=p.environment(), capture_output=True, text=True)
        equal(done.returncode, 0)
        holds(done.stderr, "No kernel events found")
        equal([row[:4] + row[6:] for row in p.rows("o", "pc_sampling_hotspots.csv")[1:]],
              [["unknown_kernel", "s_nop 0", "a.cpp:1", "2", "2", "WAITCNT 50.0 %, something new 50.0 %"],
               ["unknown_kernel", "", "", "2", "1", "unknown 100.0 %"],
               ["unknown_kernel", "s_nop 0", "a.cpp:2", "1", "0", ""]])


@test
def hostile_samples(binary):
    """Damaged and absurd records: an error or a sheet, no crash; names are data."""
    with Run(binary) as p:
        long = "<script>" + "x" * 40000
        rows = [[1, 1, 2 ** 63, long, "\u202e</script>", 1, 7, "T", long, 4], [2, 1, -5, "=1+1", "'@", 1, -9, "T", "%s%n", 4]]
        write_samples(p.file("1_pc_sampling_stochastic.csv"), rows)
        done = subprocess.run([binary, "report", "1_pc_sampling_stochastic.csv", "--output_csvs_dir", "o", "--output_html", "o.html", "--quiet"],
                              cwd=p.work, env=p.environment(), capture_output=True, text=True)
        equal((done.returncode, harness.SANITIZER.search(done.stderr)), (0, None))
        equal(sorted(row[1] for row in p.rows("o", "pc_sampling_hotspots.csv")[1:]), sorted([long, "'=1+1"]))
        process = generate_run.process_json(hip_program.make_process(0, 5, 4, []))
        for strings in ({}, {"pc_sample_instructions": 5}, {"pc_sample_instructions": [1, None, "s_nop"], "pc_sample_comments": []}):
            for records in (5, [], [5], [{}], [{"record": 7, "inst_index": 2}], [{"inst_index": 2 ** 70}], [{"inst_index": -2 ** 63}],
                            [{"record": {"dispatch_id": "x", "wave_issued": 0.5, "snapshot": {"stall_reason": []}}, "inst_index": 2}]):
                process["strings"] = {"buffer_records": [], **strings}
                process["buffer_records"]["pc_sample_stochastic"] = records
                generate_run.write_document([process], p.file("1_results.json"))
                done = subprocess.run([binary, "rocprof", "1_results.json", "--output_csvs_dir", "o", "--quiet"], cwd=p.work,
                                      env=p.environment(), capture_output=True, text=True)
                assert done.returncode in (0, 1) and not harness.SANITIZER.search(done.stderr), (strings, records, done)


@test
def an_index_keeps_them(binary):
    with Run(binary) as p:
        process = hip_program.make_process(0, 5, 4, [])
        document = generate_run.process_json(process)
        hip_program.add_json_samples(document, process, 30, True)
        generate_run.write_document([document], p.file("1_results.json"))
        first = sheet(p, "1_results.json", "rocprof", "--index=kept")
        os.unlink(p.file("sheets", "pc_sampling_hotspots.csv"))
        second = sheet(p, "1_results.json", "rocprof", "--index=kept")
        equal(second, first)
        equal(sum(int(row[3]) for row in first[1]), 30)


@test
def many_samples_on_any_number_of_threads(binary):
    with Run(binary) as p:
        rng = random.Random(5)
        process = hip_program.make_process(0, 5, 40, [])
        document = generate_run.process_json(process)
        hip_program.add_json_samples(document, process, 20000, True)
        rng.shuffle(document["buffer_records"]["pc_sample_stochastic"])
        generate_run.write_document([document], p.file("1_results.json"))
        sheets = [sheet(p, "1_results.json", "rocprof", "--threads", str(threads)) for threads in (1, 2, 5)]
        equal(sheets[0], sheets[1])
        equal(sheets[0], sheets[2])
        equal(sum(int(row[3]) for row in sheets[0][1]), 20000)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    print("with", which())
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
