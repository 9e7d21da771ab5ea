#!/usr/bin/env python3
"""Models as jobs: on SLURM (stand-ins, and a real one where it is installed) one job for all models of a manifest, on Kubernetes (the stand-in cluster of kube_server.py)
one job per model. perf.csv has one row per model, whatever the number of nodes.

    python3 -m tests.run.test_model_jobs --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import csv
import glob
import json
import os
import shutil
import subprocess
import sys

from tests.common import harness
from tests.run import test_kubernetes, test_slurm
from tests.run.projects import DOCKERFILE, Project, model
from tests.run.test_models import ran
from tests.run.test_profiling_runs import equal, holds, run_tests

TESTS = []
SLURM = ["docker", "sbatch", "srun", "squeue", "sacct", "scontrol"]


def test(function):
    TESTS.append(function)
    return function


@test
def models_on_slurm(binary):
    context = json.dumps({"slurm": {"nodes": 2, "gpus_per_node": 4, "partition": "p"}, "distributed": {"launcher": "torchrun", "nproc_per_node": 4}})
    script = 'echo "node $NODE_RANK in ${PWD##*/}: $MAD_MULTI_NODE_RUNNER"; [ "$NODE_RANK" != 0 ] || echo "performance: 5 tokens_per_second"\n'
    with Project(binary, [model("one"), model("two", timeout=500)], *SLURM, script=script) as p:
        ran(p.call("run", "--tags", "all", "-c", context, "--live-output", GPUTALLY_SLURM_POLL_SECONDS="0.2"))
        equal([(row["model"], row["performance"], row["status"], row["nnodes"], row["gpus_per_node"], row["n_gpus"], row["deployment_type"], row["launcher"]) for row in p.table()],
              [(name, "5", "SUCCESS", "2", "4", "8", "slurm", "torchrun") for name in ("one", "two")])
        script = p.read("slurm_results/gputally_one.sh")
        holds(script, f"--manifest_file={p.work}/build_manifest.json")
        assert " -- " not in script.split("exec ", 1)[1].split("\n")[0].replace("--manifest", ""), script
        for node in (0, 1):
            folder = f"slurm_results/one/4242/node_{node}/model_outputs"
            equal(sorted(os.listdir(p.file(folder))), ["one_dummy.ubuntu.amd", "two_dummy.ubuntu.amd"])
            holds(p.read(f"slurm_results/one/4242/node_{node}/one_dummy.ubuntu.amd.run.live.log"), f"node {node} in run_directory_node{node}: torchrun --nnodes=2")
        equal([name for name in os.listdir(p.work) if name.startswith("run_directory")], [])
        manifest = p.read("build_manifest.json")
        ran(p.call("run", "--manifest-file", "build_manifest.json", GPUTALLY_SLURM_POLL_SECONDS="0.2"))  # the manifest knows that it is for SLURM
        equal((len(p.table()), p.read("build_manifest.json")), (4, manifest))
        done = ran(p.call("run", "--manifest-file", "build_manifest.json", "--generate-only"))
        equal(done.stdout.strip(), p.file("slurm_results/gputally_one.sh"))


@test
def real_models_on_slurm(binary):
    """Two models on two nodes of a real SLURM, in a folder with a blank in its name."""
    with test_slurm.Cluster(os.path.abspath(binary), "my work") as p:
        script = 'echo "node $NODE_RANK: $MAD_MULTI_NODE_RUNNER"; touch mine; sleep 1; ls | wc -l; [ "$NODE_RANK" != 0 ] || echo "performance: 5 tokens_per_second"\n'
        for path, text in (("models.json", json.dumps([model("one"), model("two")])), ("scripts/dummy/run.sh", script)):
            os.makedirs(os.path.dirname(os.path.join(p.work, path)), exist_ok=True)
            with open(os.path.join(p.work, path), "w") as f:
                f.write(text)
        context = {"slurm": {"partition": "test", "nodes": 2, "gpus_per_node": 2, "exclusive": False, "time": "00:10:00"}, "distributed": {"launcher": "torchrun"}}
        done = subprocess.run([binary, "run", "--tags", "all", "--no_docker", "-c", json.dumps(context), "--report", "none", "--no_sys_env_details"], cwd=p.work,
                              env=p.environment(), capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        equal((done.returncode, done.stderr if done.returncode else ""), (0, ""))
        with open(os.path.join(p.work, "perf.csv"), newline="") as f:
            rows = list(csv.DictReader(f))
        equal([(row["model"], row["performance"], row["status"], row["nnodes"], row["deployment_type"]) for row in rows],
              [(name, "5", "SUCCESS", "2", "slurm") for name in ("one", "two")])
        for node in (0, 1):
            log, = glob.glob(os.path.join(glob.escape(p.work), f"slurm_results/one/*/node_{node}/two.run.live.log"))
            lines = open(log).read().splitlines()
            equal((lines[0].startswith(f"node {node}: torchrun --nnodes=2 --nproc_per_node=2 --node_rank={node} "), lines[1].strip()), (True, "2"))


@test
def a_model_that_fails_on_slurm(binary):
    with Project(binary, [model("bad")], *SLURM, script="exit 7\n") as p:
        done = p.call("run", "--tags", "bad", "-c", '{"slurm": {"nodes": 1}}', GPUTALLY_SLURM_POLL_SECONDS="0.2")
        equal((done.returncode, [row["status"] for row in p.table()]), (3, ["FAILURE"]))


@test
def models_on_kubernetes(binary):
    with test_kubernetes.Place(os.path.abspath(binary)) as p:
        models = [model("dummy", args="'a b'", scripts="scripts/dummy/run.sh", env_vars={"OWN": "1"}), model("silent", scripts="scripts/silent")]
        for path, text in (("models.json", json.dumps(models)), ("docker/dummy.ubuntu.amd.Dockerfile", DOCKERFILE), ("scripts/silent/run.sh", "true\n"),
                           ("scripts/dummy/run.sh", 'cat deep/beside.txt; echo "$1 $OWN $MAD_MODEL_NAME $NODE_RANK: $MAD_MULTI_NODE_RUNNER"; echo "performance: 2.5 x_per_second"\n'),
                           ("scripts/dummy/deep/beside.txt", "beside\n")):
            os.makedirs(os.path.dirname(os.path.join(p.work, path)) or p.work, exist_ok=True)
            with open(os.path.join(p.work, path), "w") as f:
                f.write(text)
        for folder in (p.bin, p.pod_bin):
            os.symlink(shutil.which("base64", path=harness.SYSTEM_PATH), os.path.join(folder, "base64"))
        context = {"distributed": {"launcher": "torchrun", "nnodes": 2, "nproc_per_node": 1}, "MAD_CONTAINER_IMAGE": "img:1", "tools": [{"name": "rocprofv3_lightweight"}]}
        words = [binary, "run", "-c", json.dumps({"k8s": {}, **context}), "--report", "none"]
        done = subprocess.run([*words, "--tags", "dummy"], cwd=p.work, env=p.environment(), capture_output=True, text=True)
        equal((done.returncode, done.stderr if done.returncode else ""), (0, ""))
        logs = sorted(glob.glob(os.path.join(glob.escape(p.work), "k8s_results/dummy/*/node_*/dummy.run.live.log")))
        equal(len(logs), 2)
        text = open(logs[1]).read()
        holds(text, "beside\na b 1 dummy 1: torchrun --nnodes=2 --nproc_per_node=1 --node_rank=1 --master_addr=")
        with open(os.path.join(p.work, "perf.csv"), newline="") as f:
            rows = list(csv.DictReader(f))
        equal([(row["model"], row["performance"], row["metric"], row["status"], row["deployment_type"], row["nnodes"], row["docker_image"]) for row in rows],
              [("dummy", "5.0", "x_per_second", "SUCCESS", "kubernetes", "2", "img:1")])
        equal(p.left(), [])
        done = subprocess.run([*words, "--tags", "silent"], cwd=p.work, env=p.environment(), capture_output=True, text=True)
        equal(done.returncode, 3)
        holds(done.stderr, "silent: FAILURE: no performance figure in the log")


if __name__ == "__main__":
    sys.exit(run_tests(TESTS))
