#!/usr/bin/env python3
"""Sweeps as job arrays of SLURM.

Tests named real_* use a real SLURM of two nodes without accounting (tests/run/slurm_rig), and are skipped where that is not installed.
The others use stand-ins for SLURM's programs: an sbatch that runs the tasks of an array at once.

    python3 -m tests.sweep.test_slurm --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tests.common import harness
from tests.run import test_slurm as jobs
from tests.run.test_profiling_runs import equal, holds
from tests.run.test_slurm import until
from tests.sweep.generate_sweep import read_workbook

# Writes the traces of two ranks, unless a file says that this setting fails or waits. The second repeat writes the same.
PROGRAM = f"""import os, json, sys, time
sys.path.insert(0, {harness.ROOT!r})
from tests.sweep.generate_sweep import trace
threads, channels, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
print("threads", threads, "channels", channels, "on", os.environ.get("SLURMD_NODENAME"), flush=True)
mark = f"{{threads}}_{{channels}}"
if os.path.exists("fail_" + mark):
    sys.exit(7)
open("began_" + mark, "w").close()
while os.path.exists("wait_" + mark) or os.path.exists("wait_all"):
    time.sleep(0.05)
for rank in 0, 1:
    os.makedirs(f"{{folder}}/rank{{rank}}", exist_ok=True)
    with open(f"{{folder}}/rank{{rank}}/trace.json", "w") as file:
        json.dump(trace(threads, channels, rank), file)
"""
COMMAND = ["--", sys.executable, "program.py", "{threads}", "{channels}", "{profiler_dir}"]
GRID = ["--threads", "256,512", "--channels", "28,42", "--output_dir", "my sweep", "--delay", "0"]


class Place:
    """A work folder with the program."""

    def __init__(self, binary):
        self.binary = binary
        self.path = tempfile.mkdtemp(prefix="gputally-run-")
        self.work = os.path.join(self.path, "work folder")
        os.mkdir(self.work)
        self.write("program.py", PROGRAM)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, name, text=""):
        with open(os.path.join(self.work, name), "w") as file:
            file.write(text)

    def remove(self, name):
        os.remove(os.path.join(self.work, name))

    def has(self, name):
        return os.path.exists(os.path.join(self.work, name))

    def read(self, name):
        with open(os.path.join(self.work, name)) as file:
            return file.read()

    def environment(self):
        return dict(os.environ)

    def start(self, *words, command=COMMAND):
        return subprocess.Popen([self.binary, "sweep", "run", *GRID, *words, *command], cwd=self.work, env=self.environment(), text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run(self, *words, code=0, command=COMMAND):
        process = self.start(*words, command=command)
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        assert process.returncode == code, f"exit {process.returncode}: {output}"
        return output

    def record(self):
        return json.loads(self.read("my sweep/sweep.json"))

    def points(self):
        """{(threads, channels): point}"""
        return {(int(p["values"]["threads"]), int(p["values"]["channels"])): p for p in self.record()["points"]}

    def statuses(self):
        return {place: ([a["status"] for a in point["attempts"]], point["status"]) for place, point in self.points().items()}

    def files(self):
        """What a sweep consists of: without logs of gputally, marks of the program, and files of SLURM."""
        return [name for name in harness.files_under(os.path.join(self.work, "my sweep")) if not name.startswith(("slurm/", "nccl_thread_sweep"))]


class Real(Place):
    """On the real SLURM."""

    def __init__(self, binary):
        self.conf = jobs.cluster()
        super().__init__(binary)

    def environment(self):
        return {**os.environ, "PATH": harness.SYSTEM_PATH, "SLURM_CONF": self.conf, "GPUTALLY_SLURM_POLL_SECONDS": "0.2"}

    def start(self, *words, command=COMMAND, **slurm):
        context = {"slurm": {"partition": "test", "gpus_per_node": 1, "exclusive": False, "time": "00:05:00", **slurm}}
        return super().start("--additional_context", json.dumps(context), *words, command=command)

    def call(self, *words, check=True):
        return subprocess.run(words, env=self.environment(), capture_output=True, text=True, check=check).stdout.strip()

    def printed(self):
        """What the scripts of the tasks have printed."""
        return "".join(open(path).read() for path in glob.glob(os.path.join(glob.escape(self.work), "my sweep/slurm/*/*.out")))

    def queue(self, *options):
        """The tasks of this sweep in the queue: pairs of array and index."""
        lines = self.call("squeue", "-h", "--array", *options, "-o", "%F|%K|%Z").splitlines()
        return [line.split("|")[:2] for line in lines if line.endswith("|" + os.path.realpath(self.work))]

    def job(self, threads, channels):
        """The task that runs this setting, which must have begun."""
        until(lambda: self.has(f"began_{threads}_{channels}"), f"{threads} {channels}")
        order = [(256, 28), (256, 42), (512, 28), (512, 42)]
        return next(f"{array}_{index}" for array, index in self.queue("-t", "RUNNING") if order[int(index)] == (threads, channels))


def analysed(place):
    """All tables of `sweep all`."""
    done = subprocess.run([place.binary, "sweep", "all", "--quiet", "my sweep"], cwd=place.work, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    tables = {}
    for path in glob.glob(os.path.join(glob.escape(place.work), "my sweep/tracelens_analysis/**/*"), recursive=True):
        name = os.path.relpath(path, place.work)
        if path.endswith(".csv"):
            tables[name] = open(path, "rb").read()
        if path.endswith(".xlsx"):
            tables[name] = read_workbook(path)
    return tables


GOOD = ["SUCCESS"], "SUCCESS"


def test_real_array_is_like_a_local_sweep(binary):
    with Real(binary) as r, Place(binary) as here:
        output = r.run()
        here.run()
        holds(output, "4 of 4 runs done")
        equal(r.files(), here.files())
        equal(r.statuses(), {(t, c): GOOD for t in (256, 512) for c in (28, 42)})
        equal({p["attempts"][0]["node"] for p in r.points().values()}, {"n1", "n2"})
        equal(sorted(s["task"].split("/")[1] for s in r.record()["sessions"]), ["n1", "n2"])
        for place, point in here.points().items():
            other = r.points()[place]
            for key in ("values", "repeat", "directory", "status", "exit_code", "argv", "output_files"):
                equal((key, other[key]), (key, point[key]))
        tables = analysed(r)
        equal(tables, analysed(here))
        assert any(name.endswith("time_variance.csv") for name in tables) and len(tables) > 15, sorted(tables)


def test_real_killed_tasks_are_resumed(binary):
    """One task fails, one is cancelled, and gputally itself is killed in a third: only these are run again."""
    with Real(binary) as r:
        r.write("fail_512_42")
        r.write("wait_256_42")
        r.write("wait_512_28")
        process = r.start()
        cancelled, killed = r.job(256, 42), r.job(512, 28)
        r.call("scancel", cancelled)
        node = r.call("squeue", "-h", "-j", killed, "-o", "%N")
        pid, = [pid for pid in filter(str.isdigit, os.listdir("/proc")) if is_task(pid, killed)]
        os.kill(int(pid), signal.SIGKILL)
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        equal((process.returncode, node in ("n1", "n2")), (0, True))
        equal(r.statuses(), {(256, 28): GOOD, (256, 42): (["INTERRUPTED"], "INTERRUPTED"), (512, 28): (["FAILED"], "FAILED"), (512, 42): (["FAILED"], "FAILED")})
        equal([r.points()[place]["exit_code"] for place in ((512, 28), (512, 42))], [137, 7])
        first = r.points()[256, 28]["attempts"]
        for name in "fail_512_42", "wait_256_42", "wait_512_28":
            r.remove(name)
        output = r.run("-s")
        holds(output, "Skipping THREADS=256, CHANNELS=28 (directory exists)")
        holds(output, ": 3 runs")
        equal(r.statuses(), {(256, 28): GOOD, (256, 42): (["INTERRUPTED", "SUCCESS"], "SUCCESS"), (512, 28): (["FAILED", "SUCCESS"], "SUCCESS"),
                             (512, 42): (["FAILED", "SUCCESS"], "SUCCESS")})
        equal(r.points()[256, 28]["attempts"], first)
        before = r.points()
        holds(r.run("-s"), "Skipping THREADS=512, CHANNELS=42")
        equal((r.points(), len(glob.glob(os.path.join(glob.escape(r.work), "my sweep/slurm/*")))), (before, 2))


def is_task(pid, job):
    """Whether the process is gputally in this task."""
    array, index = job.split("_")
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            variables = file.read().split(b"\0")
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().split(b"\0")
    except OSError:
        return False
    parent = next((v for v in variables if v.startswith(b"SLURM_ARRAY_TASK_ID=")), b"") == b"SLURM_ARRAY_TASK_ID=" + index.encode()
    return parent and b"SLURM_ARRAY_JOB_ID=" + array.encode() in variables and b"--task" in words and is_leader(pid)


def is_leader(pid):
    """The process that SLURM started: its parent has no --task."""
    with open(f"/proc/{pid}/stat") as file:
        parent = file.read().rsplit(")", 1)[1].split()[1]
    with open(f"/proc/{parent}/cmdline", "rb") as file:
        return b"--task" not in file.read().split(b"\0")


def test_real_time_limit(binary):
    """SLURM ends tasks at their time limit, which it looks at every half minute."""
    with Real(binary) as r:
        r.write("wait_256_28")
        process = r.start("--threads", "256", "--channels", "28", time="00:00:01")
        r.call("scontrol", "update", "job=" + r.job(256, 28), "EndTime=now+2")  # SLURM makes a minute of the limit
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        equal((process.returncode, r.statuses()), (1, {(256, 28): (["TIMEOUT"], "TIMEOUT")}))
        holds(output, "[ERROR] Timed out run with THREADS=256, CHANNELS=28")


def test_real_requeued_task_keeps_both_attempts(binary):
    with Real(binary) as r:
        r.write("wait_256_28")
        process = r.start("--threads", "256", "--channels", "28")
        job = r.job(256, 28)
        r.remove("began_256_28")
        r.call("scontrol", "requeue", job)
        time.sleep(3)  # a job that starts again in the second in which it ended fails, or is held

        def began():
            # Else it waits for two minutes after its first end.
            r.call("scontrol", "update", f"job={job}", "StartTime=now", check=False)
            r.call("scontrol", "release", job, check=False)
            return r.has("began_256_28")
        until(began, lambda: "started again: " + r.call("scontrol", "show", "job", job, check=False) + r.printed(), seconds=120, pause=0.5)
        r.remove("wait_256_28")
        process.communicate(timeout=harness.WALL_SECONDS)
        equal((process.returncode, r.statuses()), (0, {(256, 28): (["INTERRUPTED", "SUCCESS"], "SUCCESS")}))
        equal([a["task"].split("/")[1] for a in r.points()[256, 28]["attempts"]], ["0.0", "0.1"])


def test_real_submission_without_waiting(binary):
    """What is in the queue is not submitted again; -s waits for it. Analyses see what has ended although nobody waited."""
    with Real(binary) as r:
        r.write("wait_512_42")
        output = r.run("--no_wait")
        holds(output, "The tasks are not waited for")
        job = r.job(512, 42)
        until(lambda: len(glob.glob(os.path.join(glob.escape(r.work), "my sweep/slurm/*/results/*.json"))) == 4
              and ["_".join(task) for task in r.queue("-t", "RUNNING")] == [job], "three tasks ended")
        equal(set(json.dumps(v) for v in r.statuses().values()), {'[[], "PENDING"]'})  # nobody has looked yet
        done = subprocess.run([binary, "sweep", "report", "my sweep"], cwd=r.work, capture_output=True, text=True)
        equal(done.returncode, 0)
        holds(done.stderr, "512thread_42ch")
        equal(os.path.isdir(os.path.join(r.work, "my sweep/tracelens_analysis/256thread")), True)
        holds(r.run(code=1), "1 tasks of this sweep are in the queue of SLURM")
        process = r.start("-s")
        line = next(line for line in process.stdout if "CHANNELS=42 (in the queue of SLURM)" in line)
        holds(line, "Skipping THREADS=512, CHANNELS=42")
        r.remove("wait_512_42")
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        holds(output, "[OK] Completed run with THREADS=512, CHANNELS=42")
        equal((process.returncode, r.statuses()), (0, {(t, c): GOOD for t in (256, 512) for c in (28, 42)}))


def test_real_interrupt_cancels_and_hang_up_does_not(binary):
    with Real(binary) as r:
        r.write("wait_all")
        process = r.start("--slots", "2")
        r.job(256, 28), r.job(256, 42)
        equal(len(r.queue("-t", "RUNNING")), 2)  # the throttle of --slots
        process.send_signal(signal.SIGHUP)
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        equal((process.returncode, "not waited for" in output), (130, True))
        equal(len(r.queue()), 4)
        process = r.start("-s", "--slots", "2")
        next(line for line in process.stdout if "CHANNELS=42 (in the queue of SLURM)" in line)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=harness.WALL_SECONDS)
        equal((process.returncode, r.queue()), (130, []))
        holds(output, "Cancelling the tasks")
        stopped, never = (["INTERRUPTED"], "INTERRUPTED"), ([], "PENDING")
        equal(r.statuses(), {(256, 28): stopped, (256, 42): stopped, (512, 28): never, (512, 42): never})
        r.remove("wait_all")
        r.run("-s")
        again = ["INTERRUPTED", "SUCCESS"], "SUCCESS"
        equal(r.statuses(), {(256, 28): again, (256, 42): again, (512, 28): GOOD, (512, 42): GOOD})


TORCHRUN = """#!/bin/sh
echo "node $NODE_RANK of $NNODES: $*"
"""


def test_real_points_on_several_nodes(binary):
    """Each task has two nodes; torchrun is started on each, for the default command and for that of a launcher."""
    with Real(binary) as r:
        os.mkdir(os.path.join(r.work, "tools"))
        r.write("tools/torchrun", TORCHRUN)
        os.chmod(os.path.join(r.work, "tools/torchrun"), 0o755)
        for command, words, program in (([], ["--nproc", "3", "--config", "c.yaml"], "train.py --config c.yaml --override profiling.tensorboard=false "
                                                                                      "--override training.output_dir=my sweep/{place}"),
                                        (["--", "python3", "x.py", "{threads}"], ["--additional_context_file", "launcher.json"], "x.py {threads}")):
            r.write("launcher.json", json.dumps({"distributed": {"launcher": "torchrun", "nproc_per_node": 3}, "env_vars": {"A_SECRET_TOKEN": "x"}}))
            process = r.start("--channels", "28", *words, "--env", "PATH=" + os.path.join(r.work, "tools") + ":" + harness.SYSTEM_PATH, command=command, nodes=2)
            output, _ = process.communicate(timeout=harness.WALL_SECONDS)
            equal((process.returncode, output if process.returncode else ""), (0, ""))
            for threads in 256, 512:
                place = f"{threads}thread/nccl_28channels"
                log = sorted(r.read(f"my sweep/{place}/run_output.log").splitlines())
                equal(log, [f"node {n} of 2: --nnodes=2 --nproc_per_node=3 --node_rank={n} --master_addr=n1 --master_port=29500 "
                            + program.format(threads=threads, place=place) for n in (0, 1)])


def test_real_secrets(binary):
    """Tasks on nodes get the values from a file that only the owner can read, and that is removed at the end."""
    with Real(binary) as r:
        check_secrets(r)


# --- stand-ins ---

SBATCH = """#!/usr/bin/env python3
import os, re, subprocess, sys
words = sys.argv[1:]
with open("sbatch_calls", "a") as file:
    file.write(" ".join(w for w in words if w.startswith("--array")) + " " + words[-1] + "\\n")
if os.path.exists("refuse_" + words[-1]):
    sys.exit("sbatch: error: Batch job submission failed: Job violates accounting/QOS policy")
first, last = map(int, re.search(r"--array=(\\d+)-(\\d+)", " ".join(words)).groups())
job = str(100 + int(words[-1]))
for task in range(first, last + 1):
    with open(f"{os.path.dirname(words[-2])}/{job}_{task}.out", "w") as log:
        subprocess.run(["bash", words[-2], words[-1]], stdout=log, stderr=log,
                       env={**os.environ, "SLURM_JOB_ID": job, "SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": str(task), "SLURMD_NODENAME": "a"})
print(job)
"""


class StandIns(Place):
    """An sbatch that has run the array when it returns, a queue that has forgotten it, and no accounting."""

    def __init__(self, binary, array_size=3):
        super().__init__(binary)
        self.tools = os.path.join(self.path, "tools")
        os.mkdir(self.tools)
        for name, text in (("sbatch", SBATCH), ("squeue", "#!/bin/sh\ncat queue 2>/dev/null; exit 0\n"),
                           ("scontrol", f"#!/bin/sh\n[ $2 = config ] && echo 'MaxArraySize            = {array_size}' || {{ echo Invalid job id specified >&2; exit 1; }}\n"),
                           ("scancel", "#!/bin/sh\n")):
            with open(os.path.join(self.tools, name), "w") as file:
                file.write(text)
            os.chmod(file.name, 0o755)

    def environment(self):
        return {**os.environ, "PATH": self.tools + ":" + os.environ["PATH"], "GPUTALLY_SLURM_POLL_SECONDS": "0.1"}

    def start(self, *words, command=COMMAND):
        return super().start("--target", "slurm", *words, command=command)


def test_more_points_than_an_array_may_have(binary):
    """Seven runs in arrays of three; the order of repeats is that of the seed, and each run has its own task."""
    with StandIns(binary) as s:
        s.run("--threads", "256", "--channels", "28,42,56,70,84,98,112", "--slots", "2")
        equal(s.read("sbatch_calls").splitlines(), ["--array=0-2%2 0", "--array=0-2%2 3", "--array=0-0%2 6"])
        equal([(c, p["status"], p["attempts"][0]["job"]) for (_, c), p in sorted(s.points().items())],
              [(28, "SUCCESS", "100_0"), (42, "SUCCESS", "100_1"), (56, "SUCCESS", "100_2"), (70, "SUCCESS", "103_0"), (84, "SUCCESS", "103_1"),
               (98, "SUCCESS", "103_2"), (112, "SUCCESS", "106_0")])
        for channels in 28, 112:
            holds(s.read(f"my sweep/256thread/nccl_{channels}channels/run_output.log"), f"channels {channels} on a")


def test_random_order_is_kept(binary):
    orders = []
    for place in StandIns(binary, 1001), Place(binary):
        with place as p:
            p.run("--repeat", "3", "--seed", "5")
            starts = {os.path.relpath(f, p.work): os.stat(f).st_mtime_ns for f in
                      glob.glob(os.path.join(glob.escape(p.work), "my sweep/**/run_output.log"), recursive=True)}
            orders.append(sorted(starts, key=starts.get))
    equal((len(orders[0]), orders[0]), (12, orders[1]))


def test_more_runs(binary):
    """--more submits runs of three settings, and a second one of the fourth; what was refused is submitted by the same command line, and nothing else."""
    with StandIns(binary) as s:
        s.run()
        s.write("refuse_3")
        holds(s.run("--more", "2"), "3 of 7 runs were submitted")
        s.remove("refuse_3")
        s.run("--more", "2")
        points = s.record()["points"]
        equal((len(points), {p["status"] for p in points}, sorted(p["repeat"] for p in points)), (11, {"SUCCESS"}, [1] * 4 + [2] * 4 + [3] * 3))
        equal({len(p["attempts"]) for p in points}, {1})


def test_array_that_is_refused(binary):
    """A limit of the site refuses the second array: the first one is run and recorded, -s submits the rest."""
    with StandIns(binary) as s:
        s.write("refuse_3")
        output = s.run()
        holds(output, "could not be submitted: sbatch: error: Batch job submission failed: Job violates accounting/QOS policy")
        holds(output, "3 of 4 runs were submitted")
        equal(s.statuses(), {(256, 28): GOOD, (256, 42): GOOD, (512, 28): GOOD, (512, 42): ([], "PENDING")})
        s.remove("refuse_3")
        s.run("-s")
        equal(s.statuses(), {(t, c): GOOD for t in (256, 512) for c in (28, 42)})
        s.write("refuse_0")
        holds(s.run(code=1), "could not be submitted")


def test_task_that_nobody_remembers(binary):
    """Killed, and neither squeue, scontrol nor sacct knows it: it counts as interrupted and is run again."""
    with StandIns(binary) as s:
        text = s.read("program.py")
        s.write("program.py", text.replace("open(", "if mark == '512_28':\n    os.kill(int(open(f'/proc/{os.getppid()}/stat').read().rsplit(')', 1)[1].split()[1]), 9)\n    time.sleep(60)\nopen(", 1))
        s.run()
        equal((s.statuses()[512, 28], s.points()[512, 28]["attempts"][0]["state"]), ((["INTERRUPTED"], "INTERRUPTED"), "UNKNOWN"))
        s.write("program.py", text)
        s.run("-s")
        equal(s.statuses()[512, 28], (["INTERRUPTED", "SUCCESS"], "SUCCESS"))


def test_results_that_arrive_at_the_same_time(binary):
    """sweep.json is made from one file per attempt: an older sweep.json, written again by somebody else, loses nothing."""
    with StandIns(binary) as s:
        s.run()
        old = s.read("my sweep/sweep.json")
        for path in glob.glob(os.path.join(glob.escape(s.work), "my sweep/512thread/*/torch_profiler/rank0/trace.json")):
            os.remove(path)
        s.run("-s")
        new = s.statuses()
        equal(new[512, 28], (["SUCCESS", "SUCCESS"], "SUCCESS"))
        s.write("my sweep/sweep.json", old)
        s.run("-s")
        equal(s.statuses(), new)


def test_local_run_after_slurm_keeps_attempts(binary):
    with StandIns(binary) as s:
        s.write("fail_256_28")
        s.run()
        s.remove("fail_256_28")
        Place.start(s, "-s").communicate()
        equal(s.statuses(), {(t, c): ((["FAILED", "SUCCESS"], "SUCCESS") if (t, c) == (256, 28) else GOOD) for t in (256, 512) for c in (28, 42)})
        equal(["job" in a for a in s.points()[256, 28]["attempts"]], [True, False])


def test_scripts_and_usage_errors(binary):
    with StandIns(binary) as s:
        output = s.run("--generate_only", "--gpus", "2", "--additional_context", json.dumps(
            {"slurm": {"partition": "a b", "nodes": 2, "time": "1-0", "qos": "q\"\\", "modules": ["rocm;x"]}, "env_vars": {"A": "$(id)", "HF_TOKEN": "hidden"},
             "distributed": {"launcher": "deepspeed"}}))
        script, = glob.glob(os.path.join(glob.escape(s.work), "my sweep/slurm/*/job.sh"))
        with open(script) as file:
            text = file.read()
        equal(subprocess.run(["bash", "-n", script]).returncode, 0)
        for part in ("#SBATCH --partition=\"a b\"\n", "#SBATCH --nodes=2\n", "#SBATCH --gpus-per-node=2\n", "#SBATCH --exclusive\n", "#SBATCH --qos=\"q\\\"\\\\\"\n",
                     "#SBATCH --signal=B:TERM@60\n", "module load 'rocm;x'\n", "export A='$(id)'\n", "GPUTALLY_HOSTFILE"):
            holds(text, part)
        assert "hidden" not in text and "VISIBLE_DEVICES" not in text and "amd-rccl" not in text
        holds(output, "Submit it with: sbatch --job-name=gputally-sweep_")
        equal(s.has("sbatch_calls"), False)
        for words, part in ((["--gpus", "0,1"], "argument --gpus: on SLURM, a number of GPUs"), (["--target", "moon"], "invalid choice: 'moon'"),
                            (["--target", "local", "--no_wait"], "argument --no_wait: only on SLURM"), (["--additional_context", "{"], "context"),
                            (["--additional_context", '{"slrum": {}}'], "slurm")):
            holds(s.run(*words, code=2), part)
        holds(s.run("--additional_context", '{"slurm": {"nodes": 0}}', code=1), "nodes must be between")
        holds(s.run("--additional_context", '{"tools": []}'), "'tools' of the context has no effect on a sweep")
        local = s.run("--target", "local", "--additional_context", '{"env_vars": {"A": "1"}}', "--dry_run")
        holds(local, "warning: the context has no effect without --target slurm; --env sets variables")
        os.remove(os.path.join(s.tools, "sbatch"))
        holds(s.run(code=1), "sbatch not found in PATH")


SPENDER = ["--", sys.executable, "-c", "import os, sys; print(os.environ['HF_TOKEN'], os.environ['DB_PASSWORD'], os.environ['PRICE'], *sys.argv[1:])",
           "--api-key", "sk 2"]


def check_secrets(place):
    """Writes the script, looks at the files, and submits twice with other values."""
    def words(token):
        # A variable of --env is preferred to that of the context.
        context = {"slurm": {}, "env_vars": {"DB_PASSWORD": "pw 4", "HF_TOKEN": "of the context", "OTHER": "plain"}}
        return "--env", f"HF_TOKEN={token}", "--env", "PRICE=1", "--additional_context", json.dumps(context)

    def files():
        found = {}
        for path in sorted(glob.glob(os.path.join(glob.escape(place.work), "my sweep/**"), recursive=True)):
            if os.path.isfile(path) and not path.endswith("run_output.log"):
                with open(path) as file:
                    text = file.read()
                found[os.path.basename(path)] = (os.stat(path).st_mode & 0o777, any(s in text for s in ("token one", "token three", "sk 2", "pw 4")))
        return found
    place.run("--generate_only", *words("token one"), command=SPENDER)
    made = files()
    equal((made["secrets.json"], made["tasks.json"], made["sweep.json"], made["job.sh"][1]), ((0o600, True), (0o644, False), (0o644, False), False))
    equal([name for name, (_, leaks) in made.items() if leaks], ["secrets.json"])
    with open(glob.glob(os.path.join(glob.escape(place.work), "my sweep/slurm/*/tasks.json"))[0]) as file:
        task = json.load(file)["tasks"][0]
    equal((task["argv"][3:], [v for v in task["env"] if "=1" in v or "***" in v]), (["--api-key", "***"], ["DB_PASSWORD=***", "PYTORCH_ROCM_PROFILER_ENABLE_TRACING=1",
                                                                                                                 "HF_TOKEN=***", "PRICE=1"]))
    shutil.rmtree(os.path.join(place.work, "my sweep"))
    for token, options in (("token one", []), ("token three", ["-s"])):
        place.run(*options, *words(token), command=SPENDER)
        equal([name for name, (_, leaks) in files().items() if leaks], [])  # secrets.json was removed
        equal("secrets.json" in files(), False)
        if not options:
            log = "my sweep/256thread/nccl_28channels/run_output.log"
            equal((place.read(log), place.statuses()), ("token one pw 4 1 --api-key sk 2\n", {(t, c): GOOD for t in (256, 512) for c in (28, 42)}))
            place.remove(log)  # the output is not whole
    equal((place.read(log), place.statuses()[256, 28]), ("token three pw 4 1 --api-key sk 2\n", (["SUCCESS", "SUCCESS"], "SUCCESS")))
    equal(len(place.record()["commands"]), 1)
    # All tasks have ended before anybody looks.
    shutil.rmtree(os.path.join(place.work, "my sweep"))
    place.run("--no_wait", *words("token one"), command=SPENDER)

    def ended():
        results = glob.glob(os.path.join(glob.escape(place.work), "my sweep/slurm/*/results/*.json"))
        return sum('"end"' in place.read(path) for path in results) == 4
    until(ended, "all tasks ended")
    equal("secrets.json" in files(), True)
    place.run("-s", *words("token one"), command=SPENDER)
    equal(("secrets.json" in files(), place.statuses()), (False, {(t, c): GOOD for t in (256, 512) for c in (28, 42)}))


def test_secrets(binary):
    with StandIns(binary) as s:
        check_secrets(s)
        submission = glob.glob(os.path.join(glob.escape(s.work), "my sweep/slurm/*"))[0]
        done = subprocess.run([binary, "sweep", "run", "--output_dir", submission, "--task", "0"], capture_output=True, text=True)
        equal(done.returncode, 1)  # run again by hand: not with "***"
        holds(done.stderr, "secrets.json: No such file")


def test_damaged_files(binary):
    """No file of a submission is trusted; what cannot be read does not end the sweep."""
    with StandIns(binary) as s:
        s.run()
        before = s.statuses()
        submission, = glob.glob(os.path.join(glob.escape(s.work), "my sweep/slurm/*"))
        for name, text in (("results/0.1.json", "{"), ("results/0.2.json", '{"status": 5, "job": [1]}'), ("results/99999999999999999999.0.json", "{}"),
                           ("results/7.0.json", "{}"), ("results/x.json", "x"), ("results/0.slurm.json", '{"status": "SUCCES"}'), ("nodes/b.json", "[1]")):
            with open(os.path.join(submission, name), "w") as file:
                file.write(text)
        os.mkdir(os.path.join(s.work, "my sweep/slurm/empty"))
        os.mkdir(os.path.join(s.work, "my sweep/slurm/bad"))
        s.write("my sweep/slurm/bad/tasks.json", '{"name": "x", "tasks": [1, {"place": 3}, {"place": "../.."}], "array_size": -4}')
        s.write("queue", "x\n||||\ngputally-x.99|5|RUNNING|1|\ngputally-x.0|99999999999999999999|RUNNING|1|None\n")
        s.run("-s")
        after = s.statuses()
        equal({k: v for k, v in after.items() if k != (256, 28)}, {k: v for k, v in before.items() if k != (256, 28)})
        equal(after[256, 28][1], "SUCCESS")
        task = [binary, "sweep", "run", "--output_dir", submission, "--task"]
        holds(subprocess.run([*task, "9"], capture_output=True, text=True).stderr, "has no task 9")
        s.write("fail_256_28")
        printed = subprocess.run([*task, "0", "--dry_run"], cwd=s.work, capture_output=True, text=True)
        equal((printed.returncode, s.statuses()), (0, after))  # it was not run
        holds(printed.stdout, "env 'RCCL_THREADS_PER_BLOCK=256' 'NCCL_MAX_NCHANNELS=28' ")
        holds(printed.stdout, " program.py 256 28 'my sweep/256thread/nccl_28channels/torch_profiler'\n")
        s.write("my sweep/slurm/bad/tasks.json", "nonsense")
        done = subprocess.run([binary, "sweep", "report", "my sweep"], cwd=s.work, capture_output=True, text=True)
        equal(done.returncode, 0)
        holds(done.stderr, "tasks.json is damaged and not used")


if __name__ == "__main__":
    # The time limit is waited for, beside the other tests on the real SLURM.
    sys.exit(harness.run_test_functions(__doc__, globals(), lambda name: (name.startswith("real"), name == "real time limit")))
