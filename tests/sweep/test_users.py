#!/usr/bin/env python3
"""Several users in the folder of a sweep: who may not write there is told to write elsewhere, before anything is read; in a folder of a
group, everybody of the group can go on with what another began. Needs root, which becomes these users.

    python3 -m tests.sweep.test_users --bin build/gputally [TEXT]
"""
import glob
import os
import shutil
import stat
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.sweep import generate_sweep

ALICE, BOB, GROUP = 61001, 61002, 61003
SANITIZER_OPTIONS = {name: os.environ[name] for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS") if name in os.environ}


class Users:
    """A folder with a sweep that belongs to Alice."""

    def __init__(self, binary, mode):
        if os.geteuid() != 0:
            raise harness.Skipped("only root can become other users")
        self.folder = tempfile.mkdtemp(prefix="gputally-users-")
        os.chmod(self.folder, 0o755)
        self.binary = os.path.join(self.folder, "gputally")  # the build may be in a folder that only root may enter
        shutil.copy(binary, self.binary)
        generate_sweep.lay_out(self.path("s"), (256, 512), (28,), (0, 1))
        for folder, _, files in os.walk(self.path("s")):
            for path in (folder, *(os.path.join(folder, name) for name in files)):
                os.chown(path, ALICE, GROUP)
            os.chmod(folder, mode)
        os.mkdir(self.path("bob"))
        os.chown(self.path("bob"), BOB, BOB)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def sweep(self, user, *words, code=0):
        done = subprocess.run([self.binary, "sweep", *words], cwd=self.folder, user=user, group=user, extra_groups=[GROUP], umask=0o022, env={"PATH": harness.SYSTEM_PATH, **SANITIZER_OPTIONS},
                              capture_output=True, text=True, timeout=harness.WALL_SECONDS)
        assert done.returncode == code and not harness.SANITIZER.search(done.stderr), (done.returncode, done.stdout, done.stderr)
        return done


def test_of_another_user(binary):
    with Users(binary, 0o755) as u:
        for step in ("report", "all"):
            done = u.sweep(BOB, step, "s", code=1)
            assert done.stderr == "gputally: No write permission for sweep directory: s; write the analysis elsewhere with -o DIR\n" and not done.stdout, done
        done = u.sweep(BOB, "decide", "s", code=1)
        assert done.stderr.endswith("cannot create folder s/tracelens_analysis: Permission denied; write elsewhere with -o\n"), done.stderr
        done = u.sweep(BOB, "run", "-c", "28", "-t", "256", "-o", "s", "--", "true", code=1)
        assert done.stderr.endswith(".log: Permission denied; write elsewhere with -o\n"), done.stderr
        u.sweep(BOB, "all", "s", "-o", "bob/analysis", "--quiet")
        assert os.path.exists(u.path("bob/analysis/decision.html"))
        u.sweep(ALICE, "report", "s", "--quiet")
        done = u.sweep(BOB, "timeline", "--sweep-dir", "s", code=1)
        assert "s/tracelens_analysis/gpu_timeline_all_configs_mean.xlsx: Permission denied; write elsewhere with -o\n" in done.stderr, done.stderr
        assert not os.stat(u.path("s/tracelens_analysis")).st_mode & stat.S_IWGRP  # as the folder of the sweep


def test_of_a_group(binary):
    """The folder is writable for the group and gives its group to what is in it (g+ws); the umask of both is 022."""
    with Users(binary, 0o2775) as u:
        u.sweep(ALICE, "all", "s", "--quiet")
        made = glob.glob(u.path("s/tracelens_analysis/**"), recursive=True) + [u.path("s/tracelens_analysis/.gputally/lock")]
        for path in made:
            status = os.stat(path)
            assert status.st_mode & stat.S_IWGRP and status.st_gid == GROUP, (path, oct(status.st_mode), status.st_gid)
        assert len(made) > 20, made
        u.sweep(BOB, "all", "s", "--force", "--quiet")
        assert os.stat(u.path("s/tracelens_analysis/decision.html")).st_uid == BOB
        # A run that the other repeats: its folder and log, sweep.json, and the folder that the command has made.
        for user in (ALICE, BOB, ALICE):
            done = u.sweep(user, "run", "-c", "56", "-t", "256", "-o", "s", "--delay", "0", "--", "mkdir", "{profiler_dir}")
            assert "All runs completed" in done.stdout + done.stderr, done
        assert os.stat(u.path("s/sweep.json")).st_uid == ALICE
        assert sorted(os.listdir(u.path("s/256thread/nccl_56channels/earlier"))) == ["1", "2"]
        for name in ("sweep.json", "256thread/nccl_56channels", "256thread/nccl_56channels/run_output.log"):
            assert os.stat(u.path("s", name)).st_mode & stat.S_IWGRP, name


def test_tasks_of_a_group(binary):
    """Who waits for the tasks of another notes there which of them were killed; script and secrets stay private."""
    with Users(binary, 0o2775) as u:
        u.sweep(ALICE, "run", "-c", "56", "-t", "256", "-o", "s", "--target", "slurm", "--generate_only", "--env", "HF_TOKEN=x", "--", "true")
        submission, = glob.glob(u.path("s/slurm/*"))
        shared = {name: bool(os.stat(os.path.join(submission, name)).st_mode & stat.S_IWGRP) for name in ("", *os.listdir(submission))}
        assert shared == {"": True, "results": True, "nodes": True, "tasks.json": True, "secrets.json": False, "job.sh": False}, shared


def test_private_files_stay_private(binary):
    """A umask of 077, and folders that all may write, such as /tmp: nothing is opened up."""
    for mode, umask in ((0o2775, 0o077), (0o777, 0o022), (0o1777, 0o022)):
        with Users(binary, mode) as u:
            subprocess.run([u.binary, "sweep", "report", "s", "--quiet"], cwd=u.folder, user=ALICE, group=GROUP, extra_groups=[], umask=umask, check=True)
            for path in glob.glob(u.path("s/tracelens_analysis/**"), recursive=True):
                assert not os.stat(path).st_mode & stat.S_IWGRP, (path, oct(mode))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
