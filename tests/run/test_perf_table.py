#!/usr/bin/env python3
"""perf.csv and the files beside it: columns, rows of several runs at the same time, tables that exist already, and odd values.
Expected values are typed by hand; the tables are read with Python's csv.

    python3 -m tests.run.test_perf_table --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import csv
import json
import os
import socket
import subprocess
import sys

from tests.common import harness
from tests.run.projects import Project, model
from tests.run.test_models import ran
from tests.run.test_profiling_runs import equal, holds, run_tests

TESTS = []
COLUMNS = ("model,n_gpus,nnodes,gpus_per_node,training_precision,pipeline,args,tags,docker_file,base_docker,docker_sha,docker_image,git_commit,machine_name,"
           "deployment_type,launcher,gpu_architecture,performance,metric,relative_change,status,build_duration,test_duration,dataname,data_provider_type,data_size,"
           "data_download_duration,build_number,additional_docker_run_options").split(",")
QUICK = ["--no-docker", "--no_sys_env_details", "--report", "none"]


def test(function):
    TESTS.append(function)
    return function


@test
def columns_and_values(binary):
    entry = model("m", args='-a "x, y"', tags=["one", "two"], n_gpus="4")
    with Project(binary, [entry]) as p:
        ran(p.call("run", "--tags", "m", *QUICK, pipeline="nightly", BUILD_NUMBER="12"))
        text = p.read("perf.csv")
        equal(text.splitlines()[0], ",".join(COLUMNS))
        assert text.endswith("\n") and "\r" not in text
        row = p.table()[0]
        duration = row["test_duration"]
        expected = dict.fromkeys(COLUMNS, "")
        expected.update(model="m", n_gpus="0", nnodes="1", gpus_per_node="0", training_precision="fp16", pipeline="nightly", args='-a "x, y"', tags="one,two",
                        docker_file="N/A (local image mode)", machine_name=socket.gethostname(), deployment_type="local", launcher="native", performance="12.5",
                        metric="samples_per_second", status="SUCCESS", test_duration=duration, build_number="12")
        equal(row, expected)
        assert 0 < float(duration) < 600
        entry = p.json("perf_entry.json")
        equal((list(entry), entry["test_duration"], entry["performance"]), (COLUMNS, float(duration), "12.5"))
        equal(p.table("perf_entry.csv"), [row])
        equal(p.json("perf_super.json"), [{**entry, "multi_results": None, "configs": None}])
        equal(p.json("perf_entry_super.json"), p.json("perf_super.json"))
        equal(p.rows("perf_super.csv")[0], COLUMNS + ["multi_results", "configs"])
        ran(p.call("run", "--tags", "m", *QUICK, "--cleanup-perf"))
        equal((len(p.table()), len(p.json("perf_super.json")), [name for name in os.listdir(p.work) if name.startswith("perf_entry")]), (2, 2, []))


@test
def nodes_of_a_job(binary):
    with Project(binary, [model("m", distributed={"launcher": "deepspeed"})]) as p:
        ran(p.call("run", "--tags", "m", *QUICK, MAD_DEPLOYMENT_TYPE="slurm", NNODES="2", GPUS_PER_NODE="4", MAD_COLLECT_METRICS="true"))
        row = p.table()[0]
        equal([row[k] for k in ("n_gpus", "nnodes", "gpus_per_node", "deployment_type", "launcher")], ["8", "2", "4", "slurm", "deepspeed"])


@test
def tables_with_other_columns(binary):
    """Columns of an older or another version stay where they are, and so do all rows."""
    with Project(binary, [model("m")]) as p:
        p.write("perf.csv", ' model ,own,status\r\nold,"a ""quoted"", cell",SUCCESS\r\n\r\nshort\r\n"two\nlines",x,y')
        ran(p.call("run", "--tags", "m", *QUICK))
        rows = p.rows("perf.csv")
        equal(rows[0], ["model", "own", "status"] + [c for c in COLUMNS if c not in ("model", "status")])
        equal([row[:3] for row in rows[1:]], [["old", 'a "quoted", cell', "SUCCESS"], ["short", "", ""], ["two\nlines", "x", "y"], ["m", "", "SUCCESS"]])
        equal({len(row) for row in rows}, {len(rows[0])})
    with Project(binary, [model("m")]) as p:  # the same columns in another order, without a line break at the end
        reverse = COLUMNS[::-1]
        p.write("perf.csv", ",".join(reverse) + "\n" + ",".join(["x"] * len(reverse)))
        ran(p.call("run", "--tags", "m", *QUICK))
        rows = p.rows("perf.csv")
        equal((len(rows), rows[1], dict(zip(rows[0], rows[2]))["model"]), (3, ["x"] * len(COLUMNS), "m"))
    for text in ("\n", "a,b\n", '"unclosed', "\0\0\0"):
        with Project(binary, [model("m")]) as p:
            p.write("perf.csv", text)
            holds(ran(p.call("run", "--tags", "m", *QUICK), 4).stderr, "perf.csv: not a performance table")
            equal((p.read("perf.csv"), p.exists("perf_super.json")), (text, False))
    with Project(binary, [model("m")]) as p:
        p.write("perf.csv", "")
        os.symlink("real.csv", p.file("link.csv"))
        ran(p.call("run", "--tags", "m", *QUICK))
        ran(p.call("run", "--tags", "m", *QUICK, "--output", "link.csv"))
        equal((len(p.table()), len(p.table("real.csv")), os.path.islink(p.file("link.csv"))), (1, 1, True))
        p.write("real.csv", "model,status\nold,SUCCESS\n")  # more columns: the file is replaced, not the link
        ran(p.call("run", "--tags", "m", *QUICK, "--output=link.csv"))
        equal((len(p.table("real.csv")), os.path.islink(p.file("link.csv"))), (2, True))
        os.rename(p.file("perf.csv"), p.file("kept.csv"))
        os.symlink("kept.csv", p.file("perf.csv"))  # a default name is no link
        holds(ran(p.call("run", "--tags", "m", *QUICK), 3).stderr, "cannot write perf.csv: it is a link")
        equal(len(p.table("kept.csv")), 1)
        ran(p.call("run", "--tags", "m", *QUICK, "--output", "perf.csv"))
        equal((len(p.table("kept.csv")), os.path.islink(p.file("perf.csv"))), (2, True))
        os.mkdir(p.file("folder.csv"))
        holds(ran(p.call("run", "--tags", "m", *QUICK, "--output", "folder.csv"), 4).stderr, "folder.csv: is a folder")


@test
def a_damaged_list_of_runs(binary):
    with Project(binary, [model("m")]) as p:
        p.write("perf_super.json", "{damaged")
        done = ran(p.call("run", "--tags", "m", *QUICK), 3)
        holds(done.stderr, "perf_super.json: not a list of runs; not changed")
        equal((p.read("perf_super.json"), len(p.table())), ("{damaged", 1))


@test
def many_runs_at_once(binary):
    """No row is lost if runs end together, also while the table gets more columns."""
    with Project(binary, [model("plain"), model("wide", multiple_results="r.csv", scripts="scripts/dummy/wide.sh")]) as p:
        p.write("scripts/dummy/wide.sh", 'printf "model,performance,metric,extra_$1\\na,1,x,7\\n" > r.csv\n')
        words = [os.path.join(p.bin, "madengine"), "run", *QUICK]
        env = p.environment(GPUTALLY_SYSFS=p.path)
        runs = [subprocess.Popen([*words, "--tags", f"wide:{i}" if i % 2 else "plain", "--output-dir", f"out{i}", *(["-c", json.dumps({"model_args": str(i)})] if i % 2 else [])],
                                 cwd=p.work, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for i in range(12)]
        for run in runs:
            _, err = run.communicate(timeout=harness.WALL_SECONDS)
            equal((run.returncode, err if run.returncode else ""), (0, ""))
        rows = p.table()
        equal(sorted(row["model"] for row in rows), ["plain"] * 6 + ["wide_a"] * 6)
        equal([sum(row.get(f"extra_{i}") == "7" for row in rows) for i in range(1, 12, 2)], [1] * 6)
        with open(p.file("perf_super.csv"), newline="") as f:
            equal((len(p.json("perf_super.json")), len(list(csv.reader(f)))), (12, 13))


@test
def odd_values(binary):
    names = ["=cmd()", "a,b", 'quote"', "<script>", "\u202eright", "long" * 50]
    with Project(binary, [model(name, args="x\ty") for name in names]) as p:
        ran(p.call("run", "--tags", "all", *QUICK))
        equal([row["model"] for row in p.table()], names)
        equal([row["args"] for row in p.table()], ["x\ty"] * len(names))


@test
def a_full_disk(binary):
    """A table that cannot be written is a failure, and no half row stays."""
    with Project(binary, [model("m")]) as p:
        p.write("perf.csv", ",".join(COLUMNS) + "\n")
        size = os.path.getsize(p.file("perf.csv"))
        words = [os.path.join(p.bin, "madengine"), "run", "--tags", "m", *QUICK]
        limit = f"ulimit -f 1; exec {' '.join(words)}"  # 1 KiB: the row does not fit after the padding
        with open(p.file("perf.csv"), "a") as f:
            f.write(("x" * 60 + "," * (len(COLUMNS) - 1) + "\n") * 7)
        size = os.path.getsize(p.file("perf.csv"))
        assert 1000 - 60 < size < 1024, size
        done = subprocess.run(["bash", "-c", limit], cwd=p.work, env=p.environment(GPUTALLY_SYSFS=p.path), capture_output=True, text=True)
        assert done.returncode in (1, 3), (done.returncode, done.stderr)
        equal(os.path.getsize(p.file("perf.csv")), size)


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
