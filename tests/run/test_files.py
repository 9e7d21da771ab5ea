#!/usr/bin/env python3
"""The files of a profiling run: which ones count, where they are, and what the report says about them, compared with what
hip_program.py is known to have done. For 1 to 8 processes, 1 to 4 counter passes and all formats of rocprofv3.

    python3 -m tests.run.test_files --bin build/gputally [TEXT]
"""
import argparse
import csv
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import sys

import openpyxl

from tests.common import harness
from tests.run import hip_program
from tests.run.launchers import Run, formats, tool, which
from tests.run.test_profiling_runs import equal, holds

TESTS = []
COUNTERS = ("SQ_WAVES", "SQ_INSTS_VALU", "TCC_HIT_sum", "SQ_WAIT_INST_ANY")


def test(function):
    TESTS.append(function)
    return function


def counts(done):
    """Dispatches and processes that the report on the terminal tells."""
    lines = re.findall(r"^(\d+) kernel dispatch\w*, .*; (?:PID \d+|(\d+) processes)$", done.stdout, re.M)
    assert len(lines) == 1, f"{len(lines)} reports\n{done.stdout}\n{done.stderr}"
    return int(lines[0][0]), int(lines[0][1] or 1)


def ran(done):
    assert done.returncode == 0, done.stderr + done.stdout
    assert "warning" not in done.stderr.replace("warning: the trace may not fit", ""), done.stderr  # as on a small disk
    return done


def sheet(path, name):
    book = openpyxl.load_workbook(path, read_only=True)
    rows = list(book[name].iter_rows(values_only=True)) if name in book.sheetnames else [()]
    book.close()
    return [dict(zip(rows[0], row)) for row in rows[1:]]


def report(p):
    return p.file("hip_program_perf_report.xlsx")


def data_rows(path):
    with open(path, newline="") as file:
        return len(list(csv.reader(file))) - 1


def counter_sums(p):
    """By counter: the sum over all dispatches, from the means in the report. The values are whole numbers."""
    sums = {}
    for row in sheet(report(p), "counters_by_kernel"):
        for name in row.keys() - {"name", "Count"}:
            sums[name] = sums.get(name, 0) + row[name] * row["Count"]
    return {name: round(value, 3) for name, value in sums.items()}


def true_sums(counters, processes, dispatches):
    return {name: sum(hip_program.counter_value(name, rank, d + 1) for rank in range(processes) for d in range(dispatches + rank))
            for name in counters}


def check_matrix(binary, form, processes, passes):
    with Run(binary) as p:
        with open(p.file("counters.txt"), "w") as file:
            file.writelines(f"pmc: {name}\n" for name in COUNTERS[:passes])
        for options in ("", "-o results_of_mine"):
            done = ran(p.run("-c", tool(f"--kernel-trace --hip-trace --output-format {form} -i counters.txt -d ./out {options}"),
                             *p.program(processes=processes, dispatches=6)))
            truth = hip_program.truth(processes, 6)
            equal((form, options, *counts(done)), (form, options, truth, processes))
            equal(counter_sums(p), true_sums(COUNTERS[:passes], processes, 6))
            equal(sum(row["Count"] for row in sheet(report(p), "kernel_summary")), truth)
            newest = p.file("out", "latest")
            equal(data_rows(os.path.join(newest, "kernel_trace.csv")), truth)
            if form == "csv":
                canonical = p.file("rocprof_output", "rocprofv3_output_%s.csv")
                equal(data_rows(canonical % "kernel_trace"), truth)
                equal(data_rows(canonical % "counter_collection"), truth * passes)


def add_matrix():
    for form in formats():
        # Many processes are the same work for the other formats: csv stands for them.
        many = ((1, 1), (2, 3), (5, 1), (8, 4)) if form == "csv" or harness.LONG else ()
        for processes, passes in ((1, 4), (3, 2), *many):
            def check(binary, form=form, processes=processes, passes=passes):
                check_matrix(binary, form, processes, passes)
            check.__name__ = f"processes_{processes}_passes_{passes}_{form}"
            TESTS.append(check)


@test
def one_to_eight_processes_without_counters(binary):
    for form in formats():
        for processes in (1, 4, 8) if form == "json" or harness.LONG else (1, 2):
            with Run(binary) as p:
                for options in ("", "-o mine"):
                    done = ran(p.run("-c", tool(f"--kernel-trace --output-format {form} {options}"),
                                     *p.program(processes=processes)))
                    equal((form, *counts(done)), (form, hip_program.truth(processes, 20), processes))


@test
def a_folder_that_is_used_again(binary):
    """Dispatches of earlier runs are not counted again, however often and with whatever the clock says."""
    with Run(binary) as p:
        context = tool("--kernel-trace --output-format csv -d './my traces'")
        seen = []
        for number, processes in enumerate((2, 1, 3)):
            done = ran(p.run("-c", context, *p.program(processes=processes)))
            equal(counts(done), (hip_program.truth(processes, 20), processes))
            equal(data_rows(p.file("my traces", "latest", "kernel_trace.csv")), hip_program.truth(processes, 20))
            equal(data_rows(p.file("rocprof_output", "rocprofv3_output_kernel_trace.csv")), hip_program.truth(processes, 20))
            for path in glob.glob(p.file("my traces", "**", "*"), recursive=True):
                os.utime(path, (4e9, 4e9))  # as if the clock had been set back since
            there = set(glob.glob(p.file("my traces", socket.gethostname(), "*_kernel_trace.csv")))
            equal(len(there - set(seen)), processes)  # where rocprofv3 itself would have put them
            seen = there
        equal(len(seen), 6)
        # the folder as a whole is its newest run
        done = subprocess.run([binary, "rocprof", "my traces", "--output_xlsx_path", "x.xlsx"], cwd=p.work, env=p.environment(),
                              capture_output=True, text=True)
        equal(counts(done), (hip_program.truth(3, 20), 3))
        holds(done.stderr, "reading the newest run")


@test
def the_same_names_again(binary):
    """As in containers: the files of the new run have the names of the earlier one, and replace them."""
    with Run(binary) as p:
        for dispatches in (5, 7):
            done = ran(p.run("-c", tool("--kernel-trace --output-format csv -d ./out -o mine_%rank%"),
                             *p.program(dispatches=dispatches)))
            equal(counts(done), (dispatches, 1))
            equal(data_rows(p.file("out", "mine_0_kernel_trace.csv")), dispatches)


@test
def a_run_after_a_failed_one(binary):
    with Run(binary) as p:
        context = tool("--kernel-trace --output-format csv -d out -o mine")
        done = p.run("-c", context, *p.program(dispatches=9, exit=5))
        equal((done.returncode, counts(done)), (3, (9, 1)))
        done = ran(p.run("-c", context, *p.program(dispatches=4)))
        equal(counts(done), (4, 1))
        equal(data_rows(p.file("out", "mine_kernel_trace.csv")), 4)
        done = p.run("-c", context, "--", "false")  # writes no trace
        equal(done.returncode, 3)
        assert "kernel dispatch" not in done.stdout, done.stdout
        assert not os.path.exists(p.file("rocprof_output", "rocprofv3_output_kernel_trace.csv"))
        equal(data_rows(p.file("out", "mine_kernel_trace.csv")), 4)  # only what a run has is replaced


@test
def files_that_were_there_before(binary):
    """Files of somebody else in the folder of -d are neither read nor changed."""
    with Run(binary) as p:
        os.makedirs(p.file("out", "node"))
        other = "old data\n"
        for name in ("node/77_kernel_trace.csv", "kernel_trace.csv", "notes.txt", "mine_hip_api_trace.csv"):
            with open(p.file("out", name), "w") as file:
                file.write(other)
        done = ran(p.run("-c", tool("--kernel-trace --output-format csv -d out -o mine"), *p.program(processes=2)))
        equal(counts(done), (hip_program.truth(2, 20), 2))
        for name in ("node/77_kernel_trace.csv", "kernel_trace.csv", "notes.txt"):
            equal((name, p.read("out", name)), (name, other))
        equal(data_rows(p.file("out", "mine_hip_api_trace.csv")) > 2, True)  # replaced, as rocprofv3 would have done


@test
def plain_names_of_several_processes(binary):
    with Run(binary) as p:
        done = p.run("-c", tool(f"--kernel-trace --output-format {' '.join(formats())} -d out -o mine"), *p.program(processes=3))
        truth = hip_program.truth(3, 20)
        equal(counts(done), (truth, 3))
        equal(data_rows(p.file("out", "mine_kernel_trace.csv")), truth)
        for ending in ("json", "db", "pftrace") if "rocpd" in formats() else ("json", "pftrace"):
            each = glob.glob(p.file("out", f"mine_[0-9]*_results.{ending}"))
            equal((ending, len(each)), (ending, 3))
            equal(os.path.getsize(p.file("out", "mine_results." + ending)), max(map(os.path.getsize, each)))


@test
def scripts_after_the_command_find_the_names_of_the_user(binary):
    with Run(binary) as p:
        with open(p.file("after.sh"), "w") as file:
            file.write("wc -l <out/mine_kernel_trace.csv >lines\n")
        context = json.loads(tool("--kernel-trace --output-format csv -d out -o mine"))
        context["post_scripts"] = [{"path": "after.sh"}]
        ran(p.run("-c", json.dumps(context), *p.program(processes=2)))
        equal(int(p.read("lines")), hip_program.truth(2, 20) + 1)


@test
def presets_with_a_name(binary):
    """rocprofv3_agent writes rocprofv3_output_*.csv, for any number of processes and without the key `distributed`."""
    for processes in (1, 4):
        with Run(binary) as p:
            for _ in range(2):
                done = ran(p.run("--tools", "rocprofv3_agent", *p.program(processes=processes)))
                truth = hip_program.truth(processes, 20)
                equal(counts(done), (truth, processes))
                for kind in ("kernel_trace", "hip_api_trace", "agent_info", "memory_copy_trace"):
                    path = p.file("rocprof_output", f"rocprofv3_output_{kind}.csv")
                    equal((kind, os.path.exists(path)), (kind, True))
                equal(data_rows(p.file("rocprof_output", "rocprofv3_output_kernel_trace.csv")), truth)
                done = subprocess.run([binary, "rocprof", "rocprof_output", "--output_xlsx_path", "x.xlsx"], cwd=p.work,
                                      env=p.environment(), capture_output=True, text=True)
                equal(counts(done), (truth, processes))
            # what the last run does not have is gone
            ran(p.run("--tools", "rocprofv3_lightweight", *p.program()))
            equal(glob.glob(p.file("rocprof_output", "rocprofv3_output_*")), [])
            equal(os.path.exists(p.file("rocprof_output", "trace.json")), True)


@test
def names_per_host(binary):
    with Run(binary) as p:
        context = json.loads(tool("--kernel-trace --output-format csv -o mine"))
        for names, expected in ((None, "mine_%pid%"), ({"nnodes": 1, "nproc_per_node": 8}, "mine_%pid%"),
                                ({"nnodes": 2}, "mine_%hostname%_%pid%")):
            context["distributed"] = names or {}
            options = p.plan("-c", json.dumps(context))["profiler"]["options"]
            equal(options[options.index("-o") + 1], expected)
        for given in ("a_%pid%", "a_{pid}", "a%rank%", "%r_a", "x_%env{RANK}%", "$ENV{RANK}", "%q{RANK}", "%nid%", "%p"):
            options = p.plan("-c", tool(f"--kernel-trace -o '{given}'"))["profiler"]["options"]
            equal(options[options.index("-o") + 1], given)
        for given in ("a_%ppid%", "a_%hostname%", "%job%", "a%", "%size%", "%psize%"):
            options = p.plan("-c", tool(f"--kernel-trace -o '{given}'"))["profiler"]["options"]
            equal(options[options.index("-o") + 1], given + "_%pid%")


@test
def ways_to_write_a_folder(binary):
    with Run(binary) as p:
        for written in ("-d out", "-d=out", "-dout", "--output-directory out", "--output-directory=out", "-d ./x/../out//"):
            done = ran(p.run("-c", tool(f"--kernel-trace --output-format csv {written}"), *p.program(dispatches=3)))
            equal((written, counts(done)), (written, (3, 1)))
            equal(os.path.realpath(p.file("out", "latest")).startswith(os.path.realpath(p.file("out"))), True)
        equal(len(glob.glob(p.file("out", "[0-9]*-*"))), 6)


@test
def names_from_elsewhere(binary):
    """-d and -o may also come from variables, from an absolute -o and from the jobs of a file."""
    def check(p, context, where, name, passes=(), **env):
        done = ran(p.run("-c", context, *p.program(processes=3, dispatches=4), **env))
        equal((context, counts(done)), (context, (hip_program.truth(3, 4), 3)))
        for folder in passes or ("",):
            equal((context, data_rows(p.file(where, folder, f"{name}_kernel_trace.csv"))), (context, hip_program.truth(3, 4)))

    with Run(binary) as p:
        options = "--kernel-trace --output-format csv"
        check(p, tool(options), "by_env", "mine", ROCPROF_OUTPUT_PATH="by_env", ROCPROF_OUTPUT_FILE_NAME="mine")
        context = json.loads(tool(options))
        context["env_vars"] = {"ROCPROF_OUTPUT_PATH": "by_context", "ROCPROF_OUTPUT_FILE_NAME": "mine"}
        check(p, json.dumps(context), "by_context", "mine", ROCPROF_OUTPUT_PATH="by_env")
        check(p, tool(f"{options} -o {p.file('far', 'away')}"), "far", "away")
        check(p, tool(f"{options} -d ignored -o {p.file('far', 'again')}"), "far", "again")
        check(p, tool(f"{options} -d out -o below/mine"), "out/below", "mine")
        jobs = {"jobs": [{"pmc": ["SQ_WAVES"], "output_directory": "by_jobs", "output_file": "mine"},
                         {"pmc": ["TCC_HIT_sum"], "output_directory": "by_jobs", "output_file": "mine"}]}
        with open(p.file("jobs.json"), "w") as file:
            json.dump(jobs, file)
        check(p, tool(f"{options} -i jobs.json"), "by_jobs", "mine", ("pass_1", "pass_2"))
        equal(counter_sums(p), true_sums(["SQ_WAVES", "TCC_HIT_sum"], 3, 4))
        equal(json.loads(p.read("jobs.json")), jobs)
        for text, expected in ((json.dumps({"jobs": [{"output_file": "a"}, {"output_file": "b"}]}), "output_file is a and b"),
                               ("jobs:\n  - pmc: [A]\n    output_directory: x\n", "has output_directory; remove it")):
            path = "bad.json" if text[0] == "{" else "bad.yaml"
            with open(p.file(path), "w") as file:
                file.write(text)
            done = p.run("-c", tool(f"{options} -i {path}"), "--", "true")
            equal(done.returncode, 4)
            holds(done.stderr, expected)
        with open(p.file("good.yaml"), "w") as file:
            file.write("# output_directory: is a comment\njobs:\n  - pmc: [A]\n    my_output_file: x\n")
        equal(p.plan("-c", tool(f"{options} -i good.yaml"))["profiler"]["passes"], 1)


@test
def folders_with_keys(binary):
    """rocprofv3 replaces %hostname% and so on in -d, too: the fixed part of the folder is the user's."""
    with Run(binary) as p:
        for given, named, rest in (("a/b_%rank%/c", "a", "b_%rank%/c"), ("%hostname%", "", "%hostname%"), ("x_{pid}", "", "x_{pid}"),
                                   ("a/$ENV{USER}/c", "a", "$ENV{USER}/c")):
            options = p.plan("-c", tool(f"--kernel-trace -d '{given}'"))["profiler"]["options"]
            stamp = os.path.relpath(options[options.index("-d") + 1], os.path.join(os.path.realpath(p.work), named))
            equal((given, stamp.split("/", 1)[1]), (given, rest))
            assert re.match(r"\d{4}-\d\d-\d\d_", stamp), stamp
        done = ran(p.run("-c", tool("--kernel-trace --output-format csv -d 'a/b_%rank%/c'"), *p.program(processes=2)))
        equal(counts(done), (hip_program.truth(2, 20), 2))
        equal(len(glob.glob(p.file("a", "b_0", "c", socket.gethostname(), "*_kernel_trace.csv"))), 2)


@test
def another_folder_of_the_default_name(binary):
    with Run(binary) as p:
        ran(p.run("-c", tool("--kernel-trace --output-format csv -d scratch/rocprof_output"), "--output-dir", "o", *p.program()))
        equal(len(glob.glob(p.file("scratch", "rocprof_output", socket.gethostname(), "*_kernel_trace.csv"))), 1)
        ran(p.run("-c", tool("--kernel-trace --output-format csv -d ./rocprof_output/"), "--output-dir", "o", *p.program()))
        equal((len(glob.glob(p.file("o", "rocprof_output", "latest", "*", "*.csv"))) > 1, os.path.exists(p.file("rocprof_output"))), (True, False))


@test
def runs_at_the_same_time(binary):
    """As mpirun starts them: four runs in one folder at once, each with a folder of its own."""
    with Run(binary) as p:
        context = tool("--kernel-trace --output-format csv -d out")
        runs = [subprocess.Popen([binary, "run", "--name", f"rank{n}", "-c", context, *p.program(dispatches=10 + n)], cwd=p.work,
                                 env=p.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for n in range(4)]
        for n, run in enumerate(runs):
            stdout, stderr = run.communicate()
            equal((run.returncode, int(re.search(r"^(\d+) kernel dispatches", stdout, re.M).group(1))), (0, 10 + n))
        folders = [name for name in os.listdir(p.file("out")) if re.match(r"\d{4}-", name)]
        equal(len(folders), 4)
        equal(len(glob.glob(p.file("out", socket.gethostname(), "*_kernel_trace.csv"))), 4)


@test
def copies_of_a_run_are_read_once(binary):
    """Links become files when a folder is copied; and who deletes the originals still has the merged files."""
    with Run(binary) as p:
        ran(p.run("-c", tool("--kernel-trace --output-format csv -d out -o mine"), *p.program(processes=3)))
        truth = hip_program.truth(3, 20)
        shutil.copytree(p.file("out"), p.file("copy"))
        read = lambda folder: subprocess.run([binary, "rocprof", folder, "--output_xlsx_path", p.file("x.xlsx")], cwd=p.work,
                                             env=p.environment(), capture_output=True, text=True)
        os.unlink(p.file("copy", "latest")) if os.path.islink(p.file("copy", "latest")) else shutil.rmtree(p.file("copy", "latest"))
        equal(counts(read("copy")), (truth, 3))
        stamp = os.path.basename(os.path.realpath(p.file("out", "latest")))
        for path in glob.glob(p.file("copy", stamp, "mine_[0-9]*")):
            os.unlink(path)
        equal(counts(read(os.path.join("copy", stamp)))[0], truth)


@test
def one_report_on_the_terminal(binary):
    for preset, books in (("rocprofv3_perfetto", 4), ("rocprofv3_lightweight", 1), ("rocprofv3_agent", 1)):
        with Run(binary) as p:
            done = ran(p.run("--tools", preset, *p.program(processes=2)))
            counts(done)  # one
            equal(done.stdout.count("Trust: "), 1)
            lines = done.stdout.splitlines()
            at = lines.index("traces in " + os.path.realpath(p.file("rocprof_output", "latest")))
            assert lines[-2].startswith("first finding: "), lines[-2:]
            equal(lines[-1], "open " + next(f["path"] for f in p.record()["files"] if f["kind"] == "page"))
            written = [line[len("wrote "):] for line in lines[at + 1:-2]]
            equal(len([path for path in written if path.endswith(".xlsx")]), books)
            equal([path for path in written if not os.path.exists(path)], [])
            equal(sorted(written), sorted(f["path"] for f in p.record()["files"] if f["kind"] in ("report", "page")))
            quiet = p.run("--tools", preset, "--quiet", *p.program())
            equal((quiet.returncode, quiet.stdout), (0, ""))


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    add_matrix()
    print("with", which())
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
