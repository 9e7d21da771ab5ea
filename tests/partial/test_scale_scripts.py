#!/usr/bin/env python3
"""The scripts of examples/scale: each writes the report that a single process writes.

- slurm.sh on a real SLURM of two nodes (tests/run/slurm_rig), skipped where that is not installed
- parallel.sh with GNU parallel where it is installed, and with xargs
- the Kubernetes jobs with kubectl, or its stand-in, on a stand-in cluster that runs pods as processes of this machine
- the drivers for Spark and Ray with stand-ins of these modules that call the functions in processes of this machine

    python3 -m tests.partial.test_scale_scripts --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import os
import shutil
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.partial.generate_ranks import write_ranks
from tests.run import test_kubernetes as kubernetes
from tests.run import test_slurm as jobs

SCALE = os.path.join(harness.ROOT, "examples", "scale")
WORKBOOK, PAGE = "nccl_analysis_report.xlsx", "nccl_analysis_report.html"
RANKS = 5


class Place:
    """Traces of five ranks in a folder with a blank in its name, and the report that one process makes of the same."""

    def __init__(self, binary):
        self.binary, self.path = binary, tempfile.mkdtemp(prefix="gputally-scale-")
        self.traces, self.expected = os.path.join(self.path, "my run"), os.path.join(self.path, "expected", "my run")
        write_ranks(self.traces, RANKS)
        shutil.copytree(self.traces, self.expected)
        done = subprocess.run([binary, "report", self.expected, "-q"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def env(self, path=None, **more):
        return {**os.environ, "PATH": path or os.environ["PATH"], "GPUTALLY": self.binary, "ASAN_OPTIONS": "detect_leaks=0", **more}

    def run(self, *words, env):
        done = subprocess.run(words, cwd=self.path, env=env, capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        assert done.returncode == 0, f"{words}: {done}"
        return done.stdout

    def check(self):
        """The workbook is the same. The page has no links to the pages of ranks, which nobody wrote here."""
        with open(os.path.join(self.traces, WORKBOOK), "rb") as one, open(os.path.join(self.expected, WORKBOOK), "rb") as other:
            assert one.read() == other.read(), "the workbooks differ"
        assert os.path.exists(os.path.join(self.traces, PAGE))
        parts = [name for name in os.listdir(self.traces) if name.endswith(".gtpart")]
        assert len(parts) == RANKS, parts


def truncate(place, rank):
    path = os.path.join(place.traces, f"rank{rank}_trace.json")
    os.truncate(path, os.path.getsize(path) // 2)


# ---- SLURM ----

def on_slurm(binary, check, damage=None):
    with jobs.Cluster(binary) as cluster, Place(binary) as place:
        if damage:
            damage(place)
        env = {**cluster.environment(), "GPUTALLY": binary, "CPUS": "1", "SBATCH_PARTITION": "test", "SBATCH_TIMELIMIT": "10"}
        for _ in range(2):  # the second one reads nothing
            last = place.run(os.path.join(SCALE, "slurm.sh"), "my run", "3", env=env).split()[-1]
            jobs.until(lambda: not cluster.call("squeue", "-h", "-j", last) if last in cluster.call(
                "squeue", "-h", "-o", "%i").split() else True, "the end of the last job")
        logs = {}
        for name in os.listdir(os.path.join(place.traces, "logs")):
            with open(os.path.join(place.traces, "logs", name)) as file:
                logs[name] = file.read()
        check(place, logs)


def test_slurm_array(binary):
    def check(place, logs):
        place.check()
        assert sorted(logs) == ["merge.log", "partial-0.log", "partial-1.log", "partial-2.log"], logs
        assert sum(text.count("up to date") for text in logs.values()) == RANKS, logs
    on_slurm(binary, check)


def test_slurm_array_with_a_damaged_trace(binary):
    """The job that merges runs all the same, and names the rank."""
    def check(_place, logs):
        assert "rank 3 is missing" in logs["merge.log"] and WORKBOOK in logs["merge.log"], logs
        assert "rank3_trace.json" in "".join(logs[name] for name in logs if name.startswith("partial")), logs
    on_slurm(binary, check, lambda place: truncate(place, 3))


# ---- GNU parallel and xargs ----

def test_gnu_parallel(binary):
    if not shutil.which("parallel", path=harness.SYSTEM_PATH):
        raise harness.Skipped("GNU parallel is not installed (Debian: parallel)")
    with Place(binary) as place:
        place.run(os.path.join(SCALE, "parallel.sh"), "my run", "2", env=place.env(harness.SYSTEM_PATH))
        place.check()


def with_nproc(place):
    """The tools of the test harness, and nproc."""
    tools = os.path.join(place.path, "tools")
    os.mkdir(tools)
    os.symlink(shutil.which("nproc", path=harness.SYSTEM_PATH), os.path.join(tools, "nproc"))
    return place.env(os.environ["PATH"] + ":" + tools)


def test_xargs(binary):
    with Place(binary) as place:
        env = with_nproc(place)
        assert not shutil.which("parallel", path=env["PATH"])
        place.run(os.path.join(SCALE, "parallel.sh"), "my run", env=env)
        place.check()


def test_xargs_with_a_damaged_trace(binary):
    with Place(binary) as place:
        truncate(place, 4)
        done = subprocess.run([os.path.join(SCALE, "parallel.sh"), "my run"], cwd=place.path, env=with_nproc(place),
                              capture_output=True, text=True)
        assert done.returncode == 0 and "rank4_trace.json" in done.stderr and "rank 4 is missing" in done.stderr, done


# ---- Kubernetes ----

def test_kubernetes_jobs(binary):
    """The volume at /traces is a folder of this machine. The stand-in has no watches, so nobody uses `kubectl wait`."""
    with Place(binary) as place:
        pods = kubernetes.Place(binary)
        try:
            pods.cluster.create("persistentvolumeclaims", "default", {
                "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "traces"},
                "spec": {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}})
            env = pods.environment()
            for name in ("partial", "merge"):
                with open(os.path.join(SCALE, f"kubernetes-{name}.yaml")) as file:
                    text = file.read()
                assert text.count("value: /traces") == 1
                job = os.path.join(place.path, name + ".yaml")
                with open(job, "w") as file:
                    file.write(text.replace("value: /traces", f"value: '{place.traces}'"))
                place.run("kubectl", "create", "--validate=false", "-f", job, env=env)
                jobs.until(lambda name=name: '"Complete"' in place.run("kubectl", "get", "job", "gputally-" + name, "-o", "json", env=env),
                           f"the end of the job {name}")
            place.check()
        finally:
            pods.cluster.stop()
            shutil.rmtree(pods.path, ignore_errors=True)


# ---- Spark and Ray ----

SPARK = """
import concurrent.futures
class Data:
    def __init__(self, items): self.items = items
    def map(self, function):
        with concurrent.futures.ProcessPoolExecutor(2) as pool:
            return Data(list(pool.map(function, self.items)))
    def collect(self): return self.items
class SparkSession:
    class builder:
        @staticmethod
        def appName(name): return SparkSession.builder
        @staticmethod
        def getOrCreate(): return SparkSession()
    sparkContext = property(lambda self: self)
    def parallelize(self, items, numSlices): return Data(items)
    def stop(self): pass
"""
RAY = """
import concurrent.futures
def init(): pass
def get(futures): return [future.result() for future in futures]
def remote(num_cpus):
    def wrap(function):
        pool = concurrent.futures.ThreadPoolExecutor(2)
        function.remote = lambda *arguments: pool.submit(function, *arguments)
        return function
    return wrap
"""


def with_module(binary, script, path, text):
    with Place(binary) as place:
        modules = os.path.join(place.path, "modules")
        os.makedirs(os.path.join(modules, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(modules, path), "w") as file:
            file.write(text)
        printed = place.run(sys.executable, os.path.join(SCALE, script), "my run", "4", env=place.env(PYTHONPATH=modules))
        assert printed.count("wrote") >= RANKS, printed
        place.check()


def test_spark(binary):
    with_module(binary, "spark_partials.py", "pyspark/sql.py", SPARK)


def test_ray(binary):
    with_module(binary, "ray_partials.py", "ray.py", RAY)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
