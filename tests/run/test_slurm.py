#!/usr/bin/env python3
"""Jobs of SLURM under `gputally run`.

Tests named real_* use a real SLURM of two nodes without accounting, which slurm_rig starts in a folder of its own; they need
Debian's slurm-wlm and munge, and root, and are skipped otherwise. The others use stand-ins for SLURM's programs: for states that
take minutes to reach (time limits, restarts), and for a controller that does not answer.

    python3 -m tests.run.test_slurm --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import atexit
import functools
import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tests.common import harness
from tests.run.test_one_report import WRITER, write
from tests.run.test_profiling_runs import STAND_INS, Place, equal, holds

HERE = os.path.dirname(os.path.abspath(__file__))
CLUSTER_LOCK = threading.Lock()
WAIT_S = 120  # until something that must happen counts as missing


# --- a real SLURM ---

def cluster():
    """The configuration of a running SLURM, the same in all threads. Raises Skipped where there is none."""
    with CLUSTER_LOCK:
        return start_cluster()


@functools.cache
def start_cluster():
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch", "srun")
               if not shutil.which(name, path=harness.SYSTEM_PATH + ":/usr/sbin:/sbin")]
    if os.geteuid() != 0 or missing:
        raise harness.Skipped("needs root" if not missing else f"{missing[0]} is not installed (Debian: slurm-wlm, munge)")
    folder = tempfile.mkdtemp(prefix="gputally-slurm-")
    env = {**os.environ, "PATH": harness.SYSTEM_PATH + ":/usr/sbin:/sbin"}
    atexit.register(shutil.rmtree, folder, True)
    atexit.register(subprocess.run, [os.path.join(HERE, "slurm_rig"), "down", folder], env=env)
    done = subprocess.run([os.path.join(HERE, "slurm_rig"), "up", folder, "2"], env=env, capture_output=True, text=True)
    if done.returncode:
        raise harness.Skipped("SLURM does not start here: " + done.stderr.strip()[-200:])
    print("a real SLURM:", subprocess.run(["sinfo", "--version"], env={**env, "SLURM_CONF": done.stdout.strip()}, capture_output=True, text=True).stdout.strip())
    return os.path.join(folder, "slurm.conf")


class Cluster:
    """A work folder on the cluster."""

    def __init__(self, binary, folder="work"):
        self.binary, self.conf = binary, cluster()
        self.path = tempfile.mkdtemp(prefix="gputally-run-")
        self.work = os.path.join(self.path, folder)
        os.mkdir(self.work)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def environment(self, **more):
        return {**os.environ, "PATH": harness.SYSTEM_PATH, "SLURM_CONF": self.conf, "GPUTALLY_SLURM_POLL_SECONDS": "0.2",
                "ASAN_OPTIONS": "detect_leaks=0", **more}

    def words(self, name, command, slurm, context, report="none"):
        whole = {"slurm": {"partition": "test", "nodes": 2, "gpus_per_node": 2, "exclusive": False, "time": "00:10:00", **slurm}, **context}
        return [self.binary, "run", "-c", json.dumps(whole), "--name", name, "--report", report, "--no_sys_env_details", "--", *command]

    def run(self, name, *command, slurm=None, context=None, report="none", **env):
        return subprocess.run(self.words(name, command, slurm or {}, context or {}, report), cwd=self.work, env=self.environment(**env),
                              capture_output=True, text=True, timeout=harness.WALL_SECONDS)

    def start(self, name, *command, **env):
        return subprocess.Popen(self.words(name, command, {}, {}), cwd=self.work, env=self.environment(**env), text=True,
                                stdout=subprocess.PIPE, stderr=open(os.path.join(self.path, "errors"), "w"))

    def errors(self):
        with open(os.path.join(self.path, "errors")) as file:
            return file.read()

    def call(self, *words):
        return subprocess.run(words, env=self.environment(), capture_output=True, text=True, check=True).stdout.strip()

    def summary(self, name):
        path, = glob.glob(os.path.join(glob.escape(self.work), "slurm_results", name, "*", "results_summary.json"))
        with open(path) as file:
            return json.load(file)

    def logs(self, name):
        found = []
        for path in sorted(glob.glob(os.path.join(glob.escape(self.work), "slurm_results", name, "*", "node_*", name + ".run.live.log"))):
            with open(path) as file:
                found.append(file.read())
        return found

    def job(self, name):
        return self.call("squeue", "-h", "-n", "gputally-" + name, "-o", "%i")


def until(condition, what, seconds=WAIT_S, pause=0.05):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not within {seconds} s: {what() if callable(what) else what}"
        time.sleep(pause)


def test_real_job_succeeds_and_is_shown_live(binary):
    with Cluster(binary) as c:
        running = c.start("ok", "sh", "-c", "echo first $NODE_RANK; while [ ! -e go ]; do sleep 0.1; done; "
                          "echo performance: 1$NODE_RANK.5 samples_per_second")
        shown = {running.stdout.readline(), running.stdout.readline()}  # while the job waits for the file
        equal((shown, running.poll()), ({"first 0\n", "first 1\n"}, None))
        job = c.job("ok")
        with open(os.path.join(c.work, "go"), "w"):
            pass
        rest = running.stdout.read()
        equal((running.wait(), sorted(rest.splitlines())), (0, [f"performance: 1{n}.5 samples_per_second" for n in (0, 1)]))
        log = os.path.join(os.path.realpath(c.work), "slurm_results", f"gputally-ok_{job}_0.out")
        holds(c.errors(), f"output of job {job}: {log}")
        holds(c.errors(), f"job {job}: COMPLETED")
        summary = c.summary("ok")
        equal((summary["status"], summary["state"], summary["exit_code"], summary["output"]), ("SUCCESS", "COMPLETED", 0, log))
        equal([n["status"] for n in summary["nodes"]], ["SUCCESS"] * 2)
        equal(summary["metrics"], {"samples_per_second": 22.0})


def test_real_variables_do_not_change_the_job(binary):
    with Cluster(binary) as c:
        done = c.run("v", "true", SQUEUE_STATES="all", SQUEUE_FORMAT="%i", SQUEUE_SORT="x", SBATCH_ARRAY_INX="0-3", SBATCH_WAIT="1",
                     SBATCH_OUTPUT="elsewhere", SBATCH_JOB_NAME="x", SBATCH_PARTITION="none", SBATCH_EXPORT="NONE", SLURM_NTASKS="7")
        equal((done.returncode, done.stderr.count("COMPLETED")), (0, 1))
        equal(os.listdir(c.work), ["slurm_results"])


def test_real_names_with_blanks_and_options_in_values(binary):
    with Cluster(binary, "a b%j \"c\" $(id) é") as c:
        done = c.run("my run", "sh", "-c", "echo \"$0\" in \"$PWD\"", "it's $HOME")
        equal((done.returncode, done.stdout.splitlines()), (0, [f"it's $HOME in {os.path.realpath(c.work)}"] * 2))
        equal(c.summary("my run")["status"], "SUCCESS")
        for key in ("constraint", "partition", "reservation"):
            done = c.run("w", "true", slurm={key: "x --wrap=id"})
            equal((key, done.returncode), (key, 3))
            holds(done.stderr, "could not be submitted: sbatch: error: ")
        equal(c.job("wrap"), "")


def test_real_node_that_fails(binary):
    with Cluster(binary) as c:
        begin = time.monotonic()
        # Node 1 waits for the command of node 0: a node that is ended before it has started anything leaves no record.
        done = c.run("f", "sh", "-c", "if [ $NODE_RANK = 0 ]; then touch up; exec sleep 100; fi; while [ ! -e up ]; do sleep 0.1; done; exit 7")
        assert time.monotonic() - begin < 60, "the other node went on"
        equal(done.returncode, 3)
        holds(done.stderr, "node 1: FAILURE: the command failed with exit status 7")
        holds(done.stderr, "ended with state FAILED")
        summary = c.summary("f")
        equal((summary["status"], [(n["status"], n["exit_code"]) for n in summary["nodes"]]), ("FAILURE", [("FAILURE", 143), ("FAILURE", 7)]))
        equal((summary["exit_code"], summary["reason"]), (7, "the job ended with state FAILED; node 1: the command failed with exit status 7"))
        done = c.run("g", "true", context={"tools": [{"name": "rocprofv3_lightweight"}]})
        equal(done.returncode, 3)  # no profiler on the nodes
        holds(done.stderr, ": FAILURE: Error: Neither rocprofv3 nor rocprof found in PATH")  # the first one ends the other


FLUSHES = "trap 'echo flushing; sleep 1; echo flushed; exit 9' TERM; echo ready; while :; do sleep 0.1; done"


def test_real_job_cancelled_from_outside(binary):
    with Cluster(binary) as c:
        running = c.start("out", "sh", "-c", FLUSHES)
        equal([running.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        c.call("scancel", c.job("out"))
        rest = running.stdout.read()
        equal(running.wait(), 3)
        holds(rest, "flushed")
        summary = c.summary("out")
        equal(summary["reason"], "the job ended with state CANCELLED; node 0: interrupted by signal 15 (Terminated)")
        assert summary["exit_code"], summary
        equal((summary["state"], [n["exit_code"] for n in summary["nodes"]]), ("CANCELLED", [9, 9]))


def test_real_interrupt_collects(binary):
    with Cluster(binary) as c:
        running = c.start("int", "sh", "-c", FLUSHES)
        equal([running.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        until(lambda: "RUNNING" in c.errors(), "RUNNING")
        running.send_signal(signal.SIGINT)
        running.stdout.read()
        equal(running.wait(), 3)
        equal(c.job("int"), "")
        for log in c.logs("int"):
            holds(log, "flushed")
        summary = c.summary("int")
        equal((summary["status"], summary["reason"]), ("FAILURE", "interrupted by the user"))
        equal([(n["exit_code"], n["reason"]) for n in summary["nodes"]], [(9, "interrupted by signal 15 (Terminated)")] * 2)


# Notes every SIGTERM, also in a child and in a process with a session of its own, and ends a second after the first one.
COUNTS = """
import os, signal, sys, time
role, first = "command", []
def note(*_):
    first.append(time.monotonic())
    with open(os.path.join(sys.argv[1], f"{os.environ['SLURM_PROCID']}_{role}"), "a") as f:
        f.write("TERM ")
if os.fork() == 0:
    role = "child"
    if os.fork() == 0:
        role = "session"
        os.setsid()
signal.signal(signal.SIGTERM, note)
if role == "command":
    time.sleep(0.3)
    print("ready", flush=True)
while not first or time.monotonic() < first[0] + 1:
    time.sleep(0.02)
"""


def test_real_each_process_gets_one_signal(binary):
    for name in ("cancelled", "interrupted"):
        with Cluster(binary) as c:
            running = c.start(name, sys.executable, "-c", COUNTS, c.path)
            equal([running.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
            until(lambda: "RUNNING" in c.errors(), "RUNNING")
            if name == "cancelled":
                c.call("scancel", c.job(name))
            else:
                running.send_signal(signal.SIGINT)
            running.stdout.read()
            equal(running.wait(), 3)
            for node in (0, 1):
                for role in ("command", "child", "session"):
                    with open(os.path.join(c.path, f"{node}_{role}")) as f:
                        equal((name, node, role, f.read()), (name, node, role, "TERM "))
            assert "Ctrl-C kills" not in c.errors(), c.errors()
            holds(c.errors(), "SLURM may kill the job earlier (KillWait)")


def test_real_signal_for_the_script_alone_is_passed_on(binary):
    with Cluster(binary) as c:
        words = c.words("alone", [sys.executable, "-c", COUNTS, c.path], {"nodes": 1}, {"distributed": {"launcher": "slurm_multi"}})
        with open(os.path.join(c.path, "errors"), "w") as errors:
            running = subprocess.Popen(words, cwd=c.work, env=c.environment(), text=True, stdout=subprocess.PIPE, stderr=errors)
        equal(running.stdout.readline(), "ready\n")
        until(lambda: "RUNNING" in c.errors(), "RUNNING")
        c.call("scancel", "--signal=TERM", "--batch", c.job("alone"))
        running.stdout.read()
        equal(running.wait(), 3)
        for role in ("command", "child", "session"):
            with open(os.path.join(c.path, f"0_{role}")) as f:
                holds(f.read(), "TERM ")


def test_real_second_interrupt_leaves(binary):
    with Cluster(binary) as c:
        running = c.start("two", "sh", "-c", "trap '' TERM; echo ready; sleep 100")
        equal([running.stdout.readline() for _ in range(2)], ["ready\n"] * 2)
        until(lambda: "RUNNING" in c.errors(), "RUNNING")
        running.send_signal(signal.SIGINT)
        until(lambda: "interrupt again to leave" in c.errors(), "the message")
        time.sleep(0.5)
        begin = time.monotonic()
        running.send_signal(signal.SIGINT)
        equal(running.wait(), 3)
        assert time.monotonic() - begin < 20
        holds(c.errors(), "was not waited for")
        until(lambda: c.job("two") == "", "the end of the job")  # it is cancelled nevertheless


def test_real_job_that_waits(binary):
    with Cluster(binary) as c:
        c.call("scontrol", "update", "PartitionName=test", "State=DOWN")
        try:
            running = c.start("late", "echo", "ran")
            until(lambda: "waits: PartitionDown" in c.errors(), "the reason")
            c.call("scontrol", "hold", c.job("late"))
            until(lambda: "release it with: scontrol release" in c.errors(), "the second reason")
            time.sleep(1)
        finally:
            c.call("scontrol", "update", "PartitionName=test", "State=UP")
        c.call("scontrol", "release", c.job("late"))
        equal((running.stdout.read(), running.wait()), ("ran\nran\n", 0))
        equal(c.errors().count("waits: PartitionDown"), 1)


def test_real_launchers(binary):
    for launcher in ("srun", "mpirun"):
        if not shutil.which(launcher, path=harness.SYSTEM_PATH):
            print(f"skipped {launcher}: not installed")
            continue
        with Cluster(binary) as c:
            done = c.run("l", "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $SLURMD_NODENAME",
                         context={"distributed": {"launcher": launcher, "nproc_per_node": 2}})
            equal((launcher, done.returncode), (launcher, 0))
            equal(sorted(done.stdout.splitlines()), ["0 4 0 n1", "1 4 1 n1", "2 4 0 n2", "3 4 1 n2"])
            equal(len(c.summary("l")["nodes"]), 1)  # one process on the first node starts all others
            # and the report of all ranks is made all the same
            done = c.run("r", "sh", "-c", f"python3 '{write(os.path.join(c.path, 'writer.py'), WRITER)}' rank$RANK.pt.trace.json $RANK 4 0 info",
                         context={"distributed": {"launcher": launcher, "nproc_per_node": 2}}, report="auto")
            folder, = glob.glob(os.path.join(glob.escape(c.work), "slurm_results", "r", "*"))
            equal((launcher, done.returncode, os.path.exists(os.path.join(folder, "r_run_summary.xlsx"))), (launcher, 0, True))
            equal(sorted(n for n in os.listdir(os.path.join(folder, "r_ranks")) if n.endswith(".json")), [f"rank{i}_trace.json" for i in range(4)])
            assert os.path.exists(os.path.join(folder, "r_ranks", "nccl_analysis_report.html")), os.listdir(folder)
            if launcher == "mpirun":
                continue
            done = c.run("m", "sh", "-c", "[ $RANK != 2 ] || exit 5; sleep 100",
                         context={"distributed": {"launcher": launcher, "nproc_per_node": 2}})
            equal((launcher, done.returncode, c.summary("m")["state"]), (launcher, 3, "FAILED"))


def test_real_nodes_with_python_launchers(binary):
    """Each node starts a stand-in of the launcher, which checks its options and the list of hosts."""
    for launcher in ("torchrun", "deepspeed", "accelerate"):
        with Cluster(binary) as c:
            os.symlink(os.path.join(STAND_INS, "python_launcher"), os.path.join(c.path, launcher))
            done = c.run("l", "sh", "-c", "echo $RANK $WORLD_SIZE $LOCAL_RANK $SLURMD_NODENAME", PATH=c.path + ":" + harness.SYSTEM_PATH,
                         STANDIN_LOG=os.path.join(c.path, "log"), context={"distributed": {"launcher": launcher}})  # one per GPU
            equal((launcher, done.returncode), (launcher, 0))
            equal(sorted(done.stdout.splitlines()), ["0 4 0 n1", "1 4 1 n1", "2 4 0 n2", "3 4 1 n2"])
            equal(len(c.summary("l")["nodes"]), 2)


# --- stand-ins ---

GONE = [1, "", "slurm_load_jobs error: Invalid job id specified\n"]
SILENT = [1, "", "slurm_load_jobs error: Socket timed out on send/recv operation\n"]
NO_ACCOUNTING = [1, "", "Slurm accounting storage is disabled\n"]


class Scripted(Place):
    """A job that the stand-in of sbatch runs at once, and the given answers about it."""

    def __init__(self, binary, squeue=(GONE,), scontrol=(GONE,), sacct=(NO_ACCOUNTING,)):
        super().__init__(binary, "sbatch", "srun")
        for name, answers in (("squeue", squeue), ("scontrol", scontrol), ("sacct", sacct), ("scancel", [[0, "", ""]])):
            os.symlink(os.path.join(STAND_INS, "scripted"), os.path.join(self.bin, name))
            with open(f"{self.log}.{name}", "w") as file:
                json.dump(answers, file)

    def job(self, *command, **env):
        done = self.run("-c", '{"slurm": {"nodes": 2}}', "--name", "j", "-s", "copy of summary.json", "--report", "none", "--no_sys_env_details", "--",
                        *(command or ["true"]), GPUTALLY_SLURM_POLL_SECONDS="0.01", **env)
        path = self.file("slurm_results", "j", "4242", "results_summary.json")
        with open(path) as file:
            text = file.read()
        equal(self.read("copy of summary.json"), text)
        return done, json.loads(text)

    def asked(self, name):
        return sum(call.get("program") == name for call in self.calls())


def test_states(binary):
    def squeue(state):
        return [0, state + "|None\n", ""]

    def scontrol(state, code):
        return [0, f"JobId=4242 JobName=j UserId=u(1) JobState={state} Reason=None Requeue=1 ExitCode={code} RunTime=1\n", ""]

    rows = [
        # what SLURM says, expected: exit status, state, who said it
        ({"squeue": [squeue("COMPLETED")]}, 0, "COMPLETED", "squeue"),
        ({"squeue": [squeue("TIMEOUT")], "scontrol": [scontrol("TIMEOUT", "0:15")]}, 3, "TIMEOUT", "scontrol"),
        ({"squeue": [squeue("RUNNING"), [0, "", ""]], "scontrol": [scontrol("COMPLETED", "0:0")]}, 0, "COMPLETED", "scontrol"),
        ({"sacct": [[0, "COMPLETED|0:0\n", ""]]}, 0, "COMPLETED", "sacct"),
        ({"sacct": [[0, "NODE_FAIL|1:0\nCANCELLED by 1000|0:15\n", ""]]}, 3, "CANCELLED", "sacct"),
        ({"sacct": [[0, "OUT_OF_MEMORY|0:125\n", ""]]}, 3, "OUT_OF_MEMORY", "sacct"),
        ({"squeue": [squeue("NODE_FAIL")]}, 3, "NODE_FAIL", "squeue"),
        ({"squeue": [squeue("PREEMPTED")]}, 3, "PREEMPTED", "squeue"),
        ({"squeue": [squeue("RUNNING"), squeue("PREEMPTED"), squeue("PENDING"), squeue("RUNNING"), squeue("COMPLETED")]}, 0, "COMPLETED", "squeue"),
        # nobody knows the job: its nodes do
        ({"squeue": [squeue("RUNNING"), GONE]}, 0, "COMPLETED", "records of the nodes"),
        ({"squeue": [squeue("RUNNING"), [0, "", ""]], "scontrol": [[0, "node0\nnode1\n", ""]]}, 0, "COMPLETED", "records of the nodes"),
    ]
    for answers, status, state, source in rows:
        with Scripted(binary, **answers) as p:
            done, summary = p.job()
            equal((answers, done.returncode, summary["state"], summary["state_from"]), (answers, status, state, source))
            equal((summary["status"], [n["status"] for n in summary["nodes"]]), ("FAILURE" if status else "SUCCESS", ["SUCCESS"] * 2))
            code = 0 if source in ("scontrol", "sacct") else None
            if status:
                holds(done.stderr, f"job 4242 ended with state {state}")
                code = 128 + 15 if state in ("TIMEOUT", "CANCELLED") else None  # the nodes themselves have succeeded
            reason = f"the job ended with state {state}" if status else None
            equal((answers, summary["exit_code"], summary["reason"]), (answers, code, reason))
    with Scripted(binary, squeue=[squeue("RUNNING"), squeue("PENDING"), squeue("RUNNING"), squeue("COMPLETED")]) as p:
        holds(p.job()[0].stderr, "job 4242: started again by SLURM")
    with Scripted(binary) as p:
        done, summary = p.job("sh", "-c", "exit $NODE_RANK")
        equal((done.returncode, summary["state"], [n["exit_code"] for n in summary["nodes"]]), (3, "FAILED", [0, 1]))
        equal((summary["exit_code"], summary["reason"]), (1, "the job ended with state FAILED; node 1: the command failed with exit status 1"))
    # SLURM knows what gputally returned on the node, not what the command did.
    with Scripted(binary, squeue=[squeue("FAILED")], scontrol=[scontrol("FAILED", "3:0")]) as p:
        done, summary = p.job("sh", "-c", "[ $NODE_RANK = 0 ] || exit 7")
        equal((done.returncode, summary["exit_code"], [n["exit_code"] for n in summary["nodes"]]), (3, 7, [0, 7]))
    with Scripted(binary, squeue=[squeue("COMPLETED")], scontrol=[scontrol("COMPLETED", "0:0")]) as p:
        done, summary = p.job("sh", "-c", "exit $NODE_RANK")
        equal((summary["status"], summary["exit_code"], summary["reason"]), ("FAILURE", 1, "node 1: the command failed with exit status 1"))
    with Scripted(binary, squeue=[squeue("TIMEOUT")], scontrol=[scontrol("TIMEOUT", "0:0")]) as p:  # as SLURM ends nodes: node 1 fails by itself
        done, summary = p.job("sh", "-c", "[ $NODE_RANK = 1 ] && exit 7; kill -TERM $(ps -o ppid= $(ps -o ppid= $$)); sleep 20")
        equal([n["reason"] for n in summary["nodes"]], ["interrupted by signal 15 (Terminated)", "the command failed with exit status 7"])
        equal((summary["exit_code"], summary["reason"]), (7, "the job ended with state TIMEOUT; node 1: the command failed with exit status 7"))


def test_slurm_that_does_not_answer(binary):
    running = [0, "RUNNING|None\n", ""]
    with Scripted(binary, squeue=[running, SILENT, SILENT, [0, "slurm is down for maintenance\n", ""], running, GONE],
                  scontrol=[SILENT, SILENT, SILENT, GONE]) as p:
        done, summary = p.job()
        equal((done.returncode, summary["state"]), (0, "COMPLETED"))
        equal((done.stderr.count("asking again"), done.stderr.count("SLURM answers again")), (1, 1))
        holds(done.stderr, "squeue: slurm_load_jobs error: Socket timed out")
        equal(p.asked("squeue"), 7)  # the last answer is heard twice
    with Scripted(binary, squeue=[SILENT], scontrol=[[0, "JobId=4242 JobState=COMPLETED Reason=None ExitCode=0:0\n", ""]]) as p:
        done, summary = p.job()
        equal((done.returncode, summary["state_from"], p.asked("squeue")), (0, "scontrol", 1))
    with Scripted(binary, squeue=[SILENT], scontrol=[SILENT]) as p:  # for ever, but all nodes have finished
        done, summary = p.job()
        equal((done.returncode, summary["state_from"], p.asked("squeue")), (0, "records of the nodes", 5))
    with Scripted(binary, squeue=[SILENT], scontrol=[SILENT]) as p:
        os.unlink(os.path.join(p.bin, "srun"))  # so no node writes a record
        done, summary = p.job()
        equal((done.returncode, summary["state"], p.asked("squeue")), (3, "UNKNOWN", 30))
        equal([n["status"] for n in summary["nodes"]], ["MISSING"] * 2)


def test_calls_of_slurm(binary):
    with Scripted(binary) as p:
        p.job(SQUEUE_STATES="all", SACCT_FORMAT="x", SLURM_TIME_FORMAT="x", SLURM_CONF="/x", SBATCH_ACCOUNT="mine")
        calls = {call["program"]: call for call in p.calls() if "env" in call}
        equal(sorted({name for call in calls.values() for name in call["env"]}), ["SBATCH_ACCOUNT", "SLURM_CONF"])
        equal(calls["squeue"]["argv"], ["--noheader", "--jobs=4242", "--states=all", "--format=%T|%r"])


def directives(text):
    """The arguments of the #SBATCH lines, as sbatch splits them: quotes of both kinds, in which a backslash escapes."""
    found = []
    for line in re.findall(r"^#SBATCH (.*)$", text, re.M):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=False)
        lexer.whitespace_split, lexer.escapedquotes, lexer.commenters = True, "\"'", ""
        found += list(lexer)
    return found


def test_scripts(binary):
    with Place(binary) as p:
        slurm = {"nodes": 2, "gpus_per_node": 0, "constraint": "x --wrap=id", "reservation": "a \"b\" \\c", "mem": "64G", "cpus_per_task": 4,
                 "mail_type": ["END", "FAIL"], "mail_user": "me@example.com", "account": "#1 'x'", "output_dir": "o d%j"}
        context = {"slurm": slurm, "env_vars": {"HF_TOKEN": "hf_hidden", "A": "1"}, "distributed": {"launcher": "deepspeed"}}
        equal(p.run("-c", json.dumps(context), "--name", "j", "--generate-only", "--", "python3", "t.py").returncode, 0)
        script = p.read("o d%j", "gputally_j.sh")
        log = os.path.realpath(p.work) + "/o d%%j/gputally-j_%j_%t"
        equal(directives(script), ["--job-name=gputally-j", f"--output={log}.out", f"--error={log}.err", "--partition=amd-rccl", "--nodes=2",
                                   "--ntasks=2", "--ntasks-per-node=1", "--time=24:00:00", "--constraint=x --wrap=id", "--exclusive",
                                   "--account=#1 'x'", "--reservation=a \"b\" \\c", "--mem=64G", "--cpus-per-task=4", "--mail-type=END,FAIL",
                                   "--mail-user=me@example.com", "--signal=TERM@60"])
        for limit, once, expected in (("10", True, "B:TERM@60"), ("9:59", False, None), ("00:09:59", False, None), ("0-1", False, "TERM@60"),
                                        ("1-00:00", False, "TERM@60"), ("00:10:00", False, "TERM@60"), ("UNLIMITED", False, None), (30, False, "TERM@60")):
            own = {"slurm": {"time": limit}, **({"distributed": {"launcher": "slurm_multi"}} if once else {})}
            equal(p.run("-c", json.dumps(own), "--name", "e", "--generate-only", "--", "true").returncode, 0)
            lines = p.read("slurm_results", "gputally_e.sh")
            equal((limit, [d for d in directives(lines) if "signal" in d], "GPUTALLY_TIME_OVER" in lines),
                  (limit, ["--signal=" + expected] if expected else [], bool(expected)))
        holds(script, "srun --ntasks=2 --ntasks-per-node=1 --cpus-per-task=$SLURM_CPUS_PER_TASK --kill-on-bad-exit=1 --export=ALL bash -c ")
        holds(script, "deepspeed --hostfile=${GPUTALLY_HOSTFILE} --no_ssh --node_rank=${NODE_RANK}")
        assert "hf_hidden" not in script and "VISIBLE_DEVICES" not in script
        equal(subprocess.run(["bash", "-n", p.file("o d%j", "gputally_j.sh")]).returncode, 0)
        modes = [os.stat(p.file("o d%j", name)).st_mode & 0o777 for name in ("gputally_j.sh", "gputally_j_context.json")]
        equal(modes, [0o700, 0o600])
        equal(json.loads(p.read("o d%j", "gputally_j_context.json"))["env_vars"]["HF_TOKEN"], "hf_hidden")
        for slurm, text in (({"qos": "a\nb"}, "the value of qos contains a control character"), ({"nodes": "two"}, "nodes must be between"),
                            ({"gpus_per_node": -1}, "gpus_per_node must be between"), ({"qos": {"a": 1}}, "qos must be a string"),
                            ({"output_dir": "a\\b"}, "output_dir must not contain a backslash")):
            done = p.run("-c", json.dumps({"slurm": slurm}), "--generate-only", "--", "true")
            equal((slurm, done.returncode), (slurm, 4))
            holds(done.stderr, text)
        for more, option in (([], "--timeout=0"), (["--timeout", "60"], "--timeout=60"), (["--docker=img"], "--docker=img")):
            p.run("-c", '{"slurm": {}}', "--name", "t", *more, "--generate-only", "--", "true")
            holds(p.read("slurm_results", "gputally_t.sh"), option)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals(), lambda name: name.startswith("real")))
