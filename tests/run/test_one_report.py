#!/usr/bin/env python3
"""One report of all ranks and nodes after `gputally run`: PyTorch traces that the command wrote, and rocprofv3 runs of several
nodes. Traces are made by a small program; expected values are computed by hand from what it writes.

    python3 -m tests.run.test_one_report --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import argparse
import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile

import openpyxl

from tests.common import harness
from tests.page.pack import read_page
from tests.run.gpus import rocm_smi
from tests.run.test_kubernetes import Place as Cluster, equal, holds
from tests.run.test_profiling_runs import Place as SlurmPlace, SLURM

TESTS = []

# Writes the trace of one rank: NAME RANK RANKS LATE_US [info]. Two all-reduces, each ending at 1000 * i + 500 µs on every rank; this
# rank begins its kernel LATE_US after the earliest possible time, so that the others wait that long.
WRITER = '''
import gzip, json, os, sys
name, rank, ranks, late = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
events = []
for i in (1, 2):
    at, ids = 1000 * i, {"External id": i}
    events += [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 20,
                "args": {**ids, "Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"]}},
               {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2, "dur": 3, "args": {**ids, "correlation": i}},
               {"ph": "s", "id": i, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": at + 2},
               {"ph": "f", "id": i, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": at + 10, "bp": "e"},
               {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 10, "dur": 30, "args": {**ids, "stream": 7, "correlation": i}},
               {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9, "ts": at + 100 + late, "dur": 400 - late,
                "args": {"stream": 9, "correlation": 50 + i, "Collective name": "allreduce", "In msg nelems": 100, "Out msg nelems": 100,
                         "dtype": "Float", "Group size": ranks, "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}}]
trace = {"schemaVersion": 1, "deviceProperties": [{}]}
if len(sys.argv) > 5:
    trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks}
trace["traceEvents"] = events
os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
with (gzip.open if name.endswith(".gz") else open)(name, "wt") as f:
    json.dump(trace, f)
'''

# Stands in for rocprofv3: two nodes whose processes have the same id on hosts with the same name, as in containers.
PROFILER = '''#!/usr/bin/env python3
import os, subprocess, sys
words = sys.argv[1:]
if "--help" in words:
    print("--kernel-trace --hip-trace --output-format -d")
    sys.exit()
folder = os.path.join(words[words.index("-d") + 1], "pod")
status = subprocess.call(words[words.index("--") + 1:])
os.makedirs(folder, exist_ok=True)
node = int(os.environ["NODE_RANK"])
with open(os.path.join(folder, "7_kernel_trace.csv"), "w") as f:
    f.write('"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\\n')
    for i in range(1, 3 + node):
        f.write(f'"KERNEL_DISPATCH","Agent 1",1,0,7,{i},5,"k1",{i},{10000 * i},{10000 * i + 1000 * (node + 1)}\\n')
sys.exit(status)
'''


def test(function):
    TESTS.append(function)
    return function


class Place:
    """A folder with a blank in its name, where runs on this machine are started."""

    def __init__(self, binary):
        self.binary, self.path = binary, tempfile.mkdtemp(prefix="gputally-one ")
        self.work = os.path.join(self.path, "work")
        os.mkdir(self.work)
        self.writer = write(os.path.join(self.path, "writer.py"), WRITER)

    def run(self, line, *words):
        return subprocess.run([self.binary, "run", "--name", "train", *words, "--", "bash", "-c", line.replace("WRITE", f"python3 '{self.writer}'")],
                              cwd=self.work, capture_output=True, text=True, timeout=harness.WALL_SECONDS)

    def ranks(self):
        """Folders of reports of all ranks, the oldest first."""
        return sorted(glob.glob(os.path.join(glob.escape(self.work), "ranks", "*")), key=os.path.getmtime)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def write(path, text):
    with open(path, "w") as f:
        f.write(text)
    return path


def starts(path):
    """When the first collective of a trace begins: which trace it is."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as f:
        return next(e["ts"] for e in json.load(f)["traceEvents"] if e["name"].startswith("nccl"))


def sheet(path, name):
    return [[cell.value for cell in row] for row in openpyxl.load_workbook(path)[name]]


def column(path, name, *columns):
    head, *rows = sheet(path, name)
    return [tuple(row[head.index(c)] for c in columns) for row in rows]


def last_lines(done, page):
    lines = done.stdout.rstrip("\n").split("\n")
    assert lines[-2].startswith("first finding: "), lines[-3:]
    equal(lines[-1], "open " + page)
    read_page(page)  # raises if it is not whole


BOTH = "WRITE log/a_1.5.pt.trace.json 0 2 0 info; WRITE log/b_1.5.pt.trace.json.gz 1 2 250 info"


# --- processes on this machine ---

@test
def ranks_on_this_machine(binary):
    with Place(binary) as p:
        done = p.run(BOTH)
        equal((done.returncode, done.stderr), (0, ""))
        folder, = p.ranks()
        equal(sorted(n for n in os.listdir(folder) if ".json" in n), ["rank0_trace.json", "rank1_trace.json.gz"])
        equal(starts(os.path.join(folder, "rank1_trace.json.gz")), 1350)
        # rank 0 waits 250 µs for rank 1 in each of two collectives
        waits = column(os.path.join(folder, "nccl_analysis_report.xlsx"), "straggler_summary", "rank", "times_arrived_last")
        equal(sorted(waits), [(0, 0), (1, 2)])
        last_lines(done, os.path.join(folder, "nccl_analysis_report.html"))
        holds(done.stdout.splitlines()[-2], "first finding: ")  # two collectives are too few to call a rank late
        equal(sorted(os.listdir(os.path.join(p.work, "log"))), ["a_1.5.pt.trace.json", "b_1.5.pt.trace.json.gz"])
        with open(os.path.join(p.work, "gputally_run.json")) as f:
            files = [os.path.basename(f["path"]) for f in json.load(f)["files"]]
        assert "nccl_analysis_report.html" in files and "rank1_trace_perf_report.xlsx" in files, files


@test
def a_second_run_into_the_same_folder(binary):
    with Place(binary) as p:
        p.run(BOTH)
        # as torch names them: other names on each run, so the files of the first run stay
        done = p.run(BOTH.replace("1.5", "2.6").replace("250", "50").replace("0 2 0", "0 2 10"))
        equal(done.returncode, 0)
        first, second = p.ranks()
        equal([starts(os.path.join(d, "rank1_trace.json.gz")) for d in (first, second)], [1350, 1150])
        equal(sorted(n for n in os.listdir(second) if ".json" in n), ["rank0_trace.json", "rank1_trace.json.gz"])
        last_lines(done, os.path.join(second, "nccl_analysis_report.html"))


@test
def ranks_in_file_names(binary):
    with Place(binary) as p:
        done = p.run("WRITE rank1.pt.trace.json 9 2 250; WRITE rank0.pt.trace.json 9 2 0")
        equal(done.returncode, 0)
        folder, = p.ranks()
        equal([starts(os.path.join(folder, f"rank{r}_trace.json")) for r in (0, 1)], [1100, 1350])


@test
def several_traces_of_a_rank(binary):
    with Place(binary) as p:
        done = p.run("WRITE a.1.pt.trace.json 0 2 30 info; WRITE b.1.pt.trace.json 1 2 0 info; sleep 0.05; WRITE a.2.pt.trace.json 0 2 60 info")
        equal(done.returncode, 0)
        holds(done.stderr, "1 of 3 traces are not in the report of all ranks")
        folder, = p.ranks()
        equal(starts(os.path.join(folder, "rank0_trace.json")), 1160)


@test
def traces_without_ranks(binary):
    """Nothing says that they belong together: one report each, beside the trace."""
    with Place(binary) as p:
        done = p.run("WRITE x.pt.trace.json 0 1 0; WRITE y.pt.trace.json 0 1 0")
        equal((done.returncode, p.ranks()), (0, []))
        for name in ("x_perf_report.xlsx", "y_perf_report.xlsx"):
            assert os.path.exists(os.path.join(p.work, name)), os.listdir(p.work)


@test
def one_trace_of_two_ranks(binary):
    with Place(binary) as p:
        done = p.run("WRITE x.pt.trace.json 0 2 0 info")
        equal((done.returncode, p.ranks()), (0, []))
        last_lines_page = done.stdout.rstrip("\n").split("\n")[-1]
        equal(last_lines_page, "open " + os.path.join(os.path.realpath(p.work), "x_perf_report.html"))


@test
def no_reports(binary):
    with Place(binary) as p:
        equal((p.run(BOTH, "--report", "none").returncode, p.ranks()), (0, []))
        equal((p.run(BOTH, "--report", "summary").returncode, p.ranks()), (0, []))


@test
def a_damaged_trace(binary):
    with Place(binary) as p:
        done = p.run(BOTH + "; WRITE c.pt.trace.json 2 3 0 info; python3 -c \"import os; os.truncate('c.pt.trace.json', 700)\"")
        equal(done.returncode, 0)  # of the command
        folder, = p.ranks()
        assert os.path.exists(os.path.join(folder, "nccl_analysis_report.html")), os.listdir(folder)
        holds(done.stderr, "rank2_trace.json")


@test
def copied_traces(binary):
    with Place(binary) as p:
        for _ in range(2):  # a copy is not copied
            done = p.run(BOTH, "--report", "none", "--copy_traces")
            equal(done.returncode, 0)
        found = sorted(os.path.relpath(os.path.join(d, f), p.work) for d, _, fs in os.walk(p.work) for f in fs if ".pt.trace" in f)
        equal(found, ["log/a_1.5.pt.trace.json", "log/b_1.5.pt.trace.json.gz", "traces/log/a_1.5.pt.trace.json", "traces/log/b_1.5.pt.trace.json.gz"])


# --- nodes ---

def pod_context(nodes, **more):
    return {"distributed": {"nnodes": nodes, "launcher": "none"}, **more}


@test
def ranks_in_pods(binary):
    """Names are the same on both nodes: local ranks."""
    with Cluster(binary) as p:
        write(os.path.join(p.pod_bin, "writer.py"), WRITER)
        line = f"python3 '{p.pod_bin}/writer.py' out/rank0.pt.trace.json 0 2 $((NODE_RANK * 200)); echo \"performance: $((NODE_RANK + 1)) samples_per_second\""
        done = p.run(pod_context(2), "--", "bash", "-c", line)
        equal(done.returncode, 0)
        folder = p.results("job_ranks")
        equal([starts(os.path.join(folder, f"rank{r}_trace.json")) for r in (0, 1)], [1100, 1300])
        last_lines(done, os.path.join(folder, "nccl_analysis_report.html"))
        rows = column(p.results("job_run_summary.xlsx"), "nodes", "node", "status", "performance", "metric", "energy_J")
        equal(rows, [(0, "SUCCESS", 1, "samples_per_second", None), (1, "SUCCESS", 2, "samples_per_second", None)])
        durations = column(p.results("job_run_summary.xlsx"), "nodes", "duration_s")
        assert all(0 < seconds < 100 for seconds, in durations), durations


@test
def rocprofv3_in_pods(binary):
    with Cluster(binary) as p:
        os.unlink(os.path.join(p.pod_bin, "rocprofv3"))
        os.chmod(write(os.path.join(p.pod_bin, "rocprofv3"), PROFILER), 0o755)
        tool = {"name": "rocprofv3", "cmd": "rocprofv3 --kernel-trace --output-format csv -d ./rocprof_output --"}
        done = p.run(pod_context(2, tools=[tool]), "--", "true")
        equal(done.returncode, 0)
        workbook = p.results("job_perf_report.xlsx")
        # node 0: 2 dispatches of 1 µs; node 1: 3 of 2 µs
        equal(column(workbook, "process_summary", "process", "pid", "hostname", "Count"), [(0, 7, "pod", 2), (1, 7, "pod", 3)])
        equal([round(ms, 9) for ms, in column(workbook, "kernel_summary", "Total Kernel Time (ms)")], [0.008])
        last_lines(done, p.results("job_perf_report.html"))
        equal(glob.glob(os.path.join(glob.escape(p.results()), "node_*", "*_perf_report.xlsx")), [])


@test
def energy_of_nodes(binary):
    """GPUs whose counter goes from 1000 to 1075.5 J during the run."""
    with Cluster(binary) as p:
        p.cluster.variables.update(rocm_smi(write(os.path.join(p.path, "gpus"), "0,0,100,1,2,1000\n0.3,0,100,1,2,1075.5\n")))
        tool = {"name": "gpu_info_power_profiler", "env_vars": {"POWER_DEVICE": "all", "POWER_SAMPLING_RATE": "0.1"}}
        done = p.run(pod_context(2, tools=[tool]), "--", "sleep", "0.6")
        equal(done.returncode, 0)
        equal(column(p.results("job_run_summary.xlsx"), "nodes", "node", "energy_J"), [(0, 75.5), (1, 75.5)])


@test
def a_node_that_failed(binary):
    with Cluster(binary) as p:
        write(os.path.join(p.pod_bin, "writer.py"), WRITER)
        line = f"if [ $NODE_RANK = 2 ]; then sleep 1; exit 1; fi; python3 '{p.pod_bin}/writer.py' t.pt.trace.json $NODE_RANK 3 $((NODE_RANK * 200)) info"
        done = p.run(pod_context(3), "--", "bash", "-c", line)
        equal(done.returncode, 3)
        folder = p.results("job_ranks")
        equal(sorted(n for n in os.listdir(folder) if n.endswith(".json")), ["rank0_trace.json", "rank1_trace.json"])
        holds(done.stderr, "3 ranks ran, traces of 2: rank 2 is missing")
        holds(done.stderr, "node_2 failed (FAILURE)")
        equal([status for status, in column(p.results("job_run_summary.xlsx"), "nodes", "status")], ["SUCCESS", "SUCCESS", "FAILURE"])
        last_lines(done, os.path.join(folder, "nccl_analysis_report.html"))


@test
def ranks_on_slurm(binary):
    """Stand-ins for SLURM; the nodes share the work folder, which has a trace of an earlier run."""
    with SlurmPlace(binary, *SLURM) as p:
        os.chmod(write(os.path.join(p.bin, "rocprofv3"), PROFILER), 0o755)
        writer = write(os.path.join(p.path, "writer.py"), WRITER)
        old = p.file("old_rank0.pt.trace.json")
        subprocess.run([sys.executable, writer, old, "0", "2", "0"], check=True)
        os.utime(old, (1e9, 1e9))
        context = {"slurm": {"nodes": 2, "gpus_per_node": 1}, "distributed": {"launcher": "none", "nnodes": 2},
                   "tools": [{"name": "rocprofv3", "cmd": "rocprofv3 --kernel-trace --output-format csv -d ./rocprof_output --"}]}
        line = f"python3 '{writer}' out/host_$NODE_RANK.pt.trace.json $NODE_RANK 2 $((NODE_RANK * 250)) info"
        done = p.run("-c", json.dumps(context), "--name", "job", "--", "bash", "-c", line, GPUTALLY_SLURM_POLL_SECONDS="0.1")
        equal(done.returncode, 0)
        folder = p.file("slurm_results", "job", "4242")
        equal(sorted(os.listdir(os.path.join(folder, "rocprof_nodes"))), ["node_0", "node_1"])
        equal(column(os.path.join(folder, "job_perf_report.xlsx"), "process_summary", "process", "pid", "Count"), [(0, 7, 2), (1, 7, 3)])
        equal([starts(os.path.join(folder, "job_ranks", f"rank{r}_trace.json")) for r in (0, 1)], [1100, 1350])
        assert os.path.exists(os.path.join(folder, "job_ranks", "nccl_analysis_report.html")), os.listdir(folder)
        equal(column(os.path.join(folder, "job_run_summary.xlsx"), "nodes", "node", "status"), [(0, "SUCCESS"), (1, "SUCCESS")])
        equal([name for name in os.listdir(os.path.join(folder, "node_1")) if "perf_report" in name], [])
        holds(done.stdout, "\nopen " + os.path.realpath(folder))


def slurm_job(p, launcher, line, *words):
    """Two nodes with a stand-in for rocprofv3 whose process id is 7 plus the number of the task."""
    profiler = PROFILER.replace('os.environ["NODE_RANK"]', 'os.environ["SLURM_PROCID"]').replace('"7_kernel', 'f"{7 + node}_kernel')
    os.chmod(write(os.path.join(p.bin, "rocprofv3"), profiler), 0o755)
    context = {"slurm": {"nodes": 2, "gpus_per_node": 1}, "distributed": {"launcher": launcher, "nproc_per_node": 1},
               "tools": [{"name": "rocprofv3", "cmd": "rocprofv3 --kernel-trace --output-format csv -d ./rocprof_output --"}]}
    done = p.run("-c", json.dumps(context), "--name", "job", *words, "--", "bash", "-c",
                 line.replace("WRITE", f"python3 '{write(os.path.join(p.path, 'writer.py'), WRITER)}'"), GPUTALLY_SLURM_POLL_SECONDS="0.1")
    return done, p.file("slurm_results", "job", "4242")


@test
def one_node_collects_on_slurm(binary):
    """A launcher that starts the processes of all nodes: only node_0 has a record, and the report is made all the same."""
    both = "WRITE out/host_0.pt.trace.json 0 2 0 info; WRITE out/host_1.pt.trace.json 1 2 250 info"
    for launcher, line, kernel_ms in (("srun", "WRITE out/host_$SLURM_PROCID.pt.trace.json $SLURM_PROCID 2 $((SLURM_PROCID * 250)) info",
                                       0.008), ("slurm_multi", both, 0.002)):
        with SlurmPlace(binary, *SLURM) as p:
            done, folder = slurm_job(p, launcher, line)
            equal((launcher, done.returncode, os.listdir(os.path.join(folder, "rocprof_nodes"))), (launcher, 0, ["node_0"]))
            # 2 dispatches of 1 µs in the first process; 3 of 2 µs in the second
            equal([round(ms, 9) for ms, in column(os.path.join(folder, "job_perf_report.xlsx"), "kernel_summary", "Total Kernel Time (ms)")], [kernel_ms])
            equal([starts(os.path.join(folder, "job_ranks", f"rank{r}_trace.json")) for r in (0, 1)], [1100, 1350])
            assert os.path.exists(os.path.join(folder, "job_ranks", "nccl_analysis_report.html")), os.listdir(folder)
            equal(column(os.path.join(folder, "job_run_summary.xlsx"), "nodes", "node", "status"), [(0, "SUCCESS")])
            holds(done.stdout, "\nopen " + os.path.realpath(folder))


@test
def repeats_on_slurm(binary):
    """The report of all nodes is that of one repeat: the one with the median time on node 0, here the second."""
    with SlurmPlace(binary, *SLURM) as p:
        line = ("case $GPUTALLY_REPEAT in repeat_1) sleep 0.9;; repeat_2) [ $NODE_RANK = 0 ] && sleep 0.5;; esac; "
                "WRITE out/host_$NODE_RANK.pt.trace.json $NODE_RANK 2 $((NODE_RANK * 250)) info")
        done, folder = slurm_job(p, "none", line, "--repeat", "3", "--no_baseline")
        equal(done.returncode, 0)
        runs = [os.path.realpath(os.path.join(folder, "rocprof_nodes", f"node_{i}")) for i in (0, 1)]
        equal([f"/{'/'.join(run.split('/')[-6:-1])}" for run in runs],
              [f"/node_{i}/repeats/{runs[i].split('/')[-4]}/repeat_2/rocprof_output" for i in (0, 1)])
        equal(column(os.path.join(folder, "job_perf_report.xlsx"), "process_summary", "process", "pid", "Count"), [(0, 7, 2), (1, 8, 3)])
        assert os.path.exists(os.path.join(folder, "job_ranks", "nccl_analysis_report.html")), os.listdir(folder)
        equal(column(os.path.join(folder, "job_run_summary.xlsx"), "nodes", "node", "status"), [(0, "SUCCESS"), (1, "SUCCESS")])


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--bin", required=True)
    arguments.add_argument("only", nargs="?", default="")
    options = arguments.parse_args()
    binary = harness.require_binary(options.bin)
    return harness.run_functions([(function.__name__, lambda function=function: function(binary)) for function in TESTS
                                  if options.only in function.__name__])


if __name__ == "__main__":
    sys.exit(main())
