#!/usr/bin/env python3
"""`gputally collective` under `srun --mpi=pmix` on two nodes of a real SLURM (tests/run/slurm_rig), with Open MPI.

    python3 -m tests.procs.test_srun --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import functools
import os
import shlex
import shutil
import subprocess
import sys

from tests.common import harness
from tests.procs import group
from tests.procs.group import Place, run, same, sentences
from tests.run.test_slurm import cluster


@functools.cache
def variables():
    group.launcher("openmpi")  # its library is used
    env = {"SLURM_CONF": cluster(),
           # The two nodes are one machine, where segments of shared memory of the nodes would have the same names.
           "OMPI_MCA_btl": "tcp,self"}
    probe = subprocess.run(["srun", "--mpi=pmix", "-N2", "-n2", "true"], env=group.environment(**env), capture_output=True, text=True, timeout=120)
    if probe.returncode:
        raise harness.Skipped("srun has no PMIx (Debian: libpmix-dev): " + probe.stderr.strip()[:200])
    return env


def srun(place, processes, *words, mpi="pmix", **more):
    return run(["srun", f"--mpi={mpi}", "-N2", "-n", str(processes), "--overcommit", *words], place.path, **variables(), **more)


def test_two_nodes(binary):
    with Place(binary, ranks=6) as place:
        place.expect()
        for processes in 2, 4, 8:
            same(place, srun(place, processes, *place.words("out")))
            shutil.rmtree(os.path.join(place.path, "out"))
        same(place, srun(place, 4, "bash", "-c", 'env "$@"', "bash", *place.words("out")))


def test_without_pmi(binary):
    """SLURM starts four processes, MPI knows of one: a sentence says so, and nothing is written."""
    with Place(binary, ranks=2) as place:
        done = srun(place, 4, *place.words("out"), mpi="none")
        assert done.returncode == 1, done
        assert len(sentences(done.stderr)) == 1 and "srun --mpi=pmix" in done.stderr, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out"))


def test_a_batch_script_is_alone(binary):
    """A script that runs gputally without srun, in a job of four tasks."""
    with Place(binary, ranks=2) as place:
        place.expect()
        with open(os.path.join(place.path, "job"), "w") as file:
            file.write("#!/bin/bash\n" + 'cd "$HERE"; eval "$WORDS"\n')
        done = run(["sbatch", "--wait", "-N2", "-n2", "--output=log", "job"], place.path, **variables(), HERE=place.path,
                   WORDS=shlex.join(place.words("out")))
        same(place, done)


def test_errors(binary):
    with Place(binary, ranks=2) as place:
        done = srun(place, 4, place.binary, "collective", "--trace_dir", "nowhere")
        assert done.returncode == 1 and len(sentences(done.stderr)) == 1, done.stderr


def test_a_killed_process(binary):
    """The program of one task is killed: all end, with one sentence, and the next start gives the same bytes."""
    script = 'if [ $SLURM_PROCID = 2 ]; then "$@" & sleep 0.3; kill -9 $!; wait; exit 9; else exec "$@"; fi'
    with Place(binary, ranks=8, others=20000) as place:
        place.expect()
        done = srun(place, 4, "bash", "-c", script, "bash", *place.words("out"))
        assert done.returncode != 0, done
        assert len(sentences(done.stderr)) <= 1, done.stderr
        assert not os.path.exists(os.path.join(place.path, "out")) or not place.differences("out")
        shutil.rmtree(os.path.join(place.path, "out"), ignore_errors=True)
        same(place, srun(place, 2, *place.words("out")))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
