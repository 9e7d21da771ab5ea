#!/usr/bin/env python3
"""What can be known beforehand is checked before the first expensive second: nothing is built, submitted or run if a tool is misspelt,
the launcher is unknown, the disk or the partition is not what is asked for, or a program is missing.

    python3 -m tests.run.test_preflight --bin build/gputally [TEXT]
"""
import contextlib
import json
import os
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.common.disks import small_disk
from tests.run.projects import Project, model
from tests.run.test_profiling_runs import equal, holds
from tests.run.test_slurm import cluster

NO_PARTITION = "#!/bin/sh\ncase \"$*\" in\n'show partition amd') ;;\n*) echo 'slurm_load_partitions error: Invalid partition name specified' >&2; exit 1 ;;\nesac\n"


def call(p, *words):
    """madengine's commands by its name, sweeps by ours."""
    if words[0] != "sweep":
        return p.call(*words)
    return subprocess.run([p.binary, *words], cwd=p.work, env=p.environment(), capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.WALL_SECONDS)


def started(p):
    """Images that were built, containers and jobs."""
    return [call for call in p.calls() if call.get("program") in ("docker", "sbatch")]


def refused(binary, words, text, code=4, programs=("docker", "sbatch", "squeue"), scripts=()):
    with Project(binary, [model("m")], *programs) as p:
        for name, content in scripts:
            p.write(f"../bin/{name}", content, 0o755)
        done = call(p, *words)
        equal((done.returncode, started(p)), (code, []))
        holds(done.stderr, text)
        assert len([line for line in done.stderr.splitlines() if "warning" not in line]) <= 2, done.stderr


def context(**keys):
    return "-c", json.dumps({"gpu_vendor": "AMD", "guest_os": "UBUNTU", **keys})


def test_models(binary):
    for command in ("run", "build"):
        refused(binary, [command, "--tags", "all", *context(tools=[{"name": "rocprofv3_lightwieght"}])], "rocprofv3_lightwieght")
    refused(binary, ["run", "--tags", "all", *context(distributed={"launcher": "torchrunn"})], "torchrunn")
    refused(binary, ["run", "--tags", "all", "--min_free", "900000T", *context()], "--min_free asks for")


def test_partitions(binary):
    scripts = (("scontrol", NO_PARTITION), ("sinfo", "#!/bin/sh\nprintf 'amd\\ncpu\\n'\n"))
    text = "slurm.partition: this cluster has no partition 'adm'; it has: amd cpu"
    refused(binary, ["run", "--tags", "all", *context(slurm={"partition": "adm", "nodes": 1})], text, scripts=scripts)
    refused(binary, ["sweep", "run", "-c", "28", "-t", "256", "-o", "s", "--target", "slurm", "--additional_context", context(slurm={"partition": "adm"})[1], "--", "true"], text, 1, scripts=scripts)
    # What SLURM does not say is no reason to refuse: sbatch decides.
    with Project(binary, [model("m")], "docker", "sbatch", "squeue", "scontrol", "srun") as p:
        p.call("run", "--tags", "all", *context(slurm={"partition": "adm", "nodes": 1}))
        assert [call for call in started(p) if call["program"] == "sbatch"], started(p)


def test_partition_of_a_real_slurm(binary):
    variables = {**os.environ, "SLURM_CONF": cluster(), "PATH": harness.SYSTEM_PATH}
    for partition, code in (("nosuch", 1), ("test", 0)):
        with Project(binary, [model("m")]) as p:
            done = subprocess.run([binary, "sweep", "run", "-c", "28", "-t", "256", "-o", "s", "--target", "slurm", "--additional_context",
                                   json.dumps({"slurm": {"partition": partition, "gpus_per_node": 0}}), "--", "true"], cwd=p.work, env=variables, capture_output=True, text=True,
                                  timeout=harness.WALL_SECONDS)
            equal((done.returncode, "has no partition 'nosuch'; it has: " in done.stderr, done.stderr[-500:] * (done.returncode != code)), (code, code == 1, ""))


def test_programs_of_sweeps(binary):
    """The profiler and the command behind it."""
    words = ["sweep", "run", "-c", "28,42", "-t", "256", "-o", "s"]
    refused(binary, [*words, "--", "no_such_program"], "command not found: no_such_program", 1)
    refused(binary, [*words, "--rocprof", "--", "true"], "command not found: rocprofv3", 1)
    with Project(binary, [model("m")], "rocprofv3") as p:
        done = call(p, *words, "--rocprof", "--", "no_such_program")
        equal((done.returncode, p.calls(), p.exists("s")), (1, [], False))
        holds(done.stderr, "command not found: no_such_program")


def test_disk_of_a_sweep(binary):
    """That of the folder of the sweep, which is not there yet; not that of the current folder."""
    with small_disk(256) as full, tempfile.TemporaryDirectory() as empty:
        if not full:
            raise harness.Skipped("no file system can be mounted")
        with open(os.path.join(full, "fill"), "wb", 0) as file, contextlib.suppress(OSError):
            file.write(bytes(512 * 1024))
        words = ["sweep", "run", "-c", "28", "-t", "256", "-o"]
        for here, sweep, code in ((full, os.path.join(empty, "new/s"), 0), (empty, os.path.join(full, "new/s"), 1), (full, "new/s", 1)):
            done = subprocess.run([binary, *words, sweep, "--", "true"], cwd=here, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=harness.WALL_SECONDS)
            equal((done.returncode, "is full" in done.stderr), (code, code == 1))
            equal(os.path.exists(os.path.join(full, "new")), False)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
