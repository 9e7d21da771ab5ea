#!/usr/bin/env python3
"""Tests of the container file: built with Podman from a local base image, run as an ordinary user.

    python3 -m tests.packages.test_container --bin build/gputally [--packages build/dist]

No registry is needed: a clean Debian 12 (see common.CleanRoot) becomes the image debian:12-slim, in a storage of its own.
"""
import json
import os
import shutil
import subprocess
import sys

from tests.packages import common
from tests.packages.common import MACHINE, ROOT, CleanRoot, Skipped, need, package, run

FILE = os.path.join(ROOT, "packaging", "Containerfile")


def instructions():
    """[(name, arguments)] of the container file."""
    with open(FILE, encoding="utf-8") as file:
        lines = [line for line in file.read().replace("\\\n", " ").splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


class Podman:
    """Podman with its own storage, a base image, and a run-time that works here."""

    def __init__(self):
        need("podman")
        root = CleanRoot()
        self.folder = common.temporary_folder()
        self.command = [shutil.which("podman"), "--root", f"{self.folder}/storage", "--runroot", f"{self.folder}/run", "--storage-driver", "vfs",
                        "--cgroup-manager", "cgroupfs"]
        shutil.rmtree(os.path.join(root.path, "var/lib/apt/lists"), ignore_errors=True)
        run(["tar", "-C", root.path, "-cf", f"{self.folder}/base.tar", "."])
        self.run("import", f"{self.folder}/base.tar", "docker.io/library/debian:12-slim")
        os.remove(f"{self.folder}/base.tar")

    def run(self, *arguments):
        return run([*self.command, *arguments])

    def build(self, context, *options):
        # Layers of a storage without links are copies of the whole system.
        self.run("build", "--pull=never", "--isolation=chroot", "--layers=false", "--tag", "gputally", "--file", FILE, *options, context)

    def find_runtime(self, *probe):
        """Options with which containers start on this machine. Some systems forbid raising limits, and some run-times do not know
        their control groups."""
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--network=none"]
        problem = ""
        for runtime, options in (([], []), ([], limits), (["--runtime", "runc"], limits)):
            command = self.command[:1] + runtime + self.command[1:] + ["run", "--rm", *options]
            done = subprocess.run([*command, *probe], capture_output=True, text=True)
            if done.returncode == 0:
                return command
            problem = problem or done.stderr.strip()
        raise Skipped(f"Podman starts no container here: {problem}")


def unpacked_archive():
    folder = common.temporary_folder()
    run(["tar", "-xzf", package(f"gputally-*-linux-{MACHINE}.tar.gz"), "-C", folder])
    return os.path.join(folder, os.listdir(folder)[0])


def test_nothing_runs_as_root():
    rows = instructions()
    assert rows[0] == ("FROM", "debian:12-slim"), rows[0]
    names = [name for name, _ in rows]
    assert "RUN" not in names and "ADD" not in names, names
    user = [value for name, value in rows if name == "USER"]
    assert user == ["65534:65534"] and names.index("USER") < names.index("ENTRYPOINT"), user


def test_package_image():
    podman, context = Podman(), unpacked_archive()
    podman.build(context, "--build-arg", f"VERSION={common.version()}")
    facts = json.loads(podman.run("image", "inspect", "gputally"))[0]
    labels = facts["Config"]["Labels"]
    assert labels["org.opencontainers.image.version"] == common.version() and labels["org.opencontainers.image.licenses"] == "MIT", labels
    assert facts["Config"]["User"] == "65534:65534" and facts["Config"]["Entrypoint"] == ["gputally"], facts["Config"]
    start = podman.find_runtime("gputally", "--version")
    assert run([*start, "gputally", "--version"]).split()[-1] == common.version()
    assert "gputally COMMAND" in run([*start, "gputally"]), "no help without arguments"
    assert run([*start, "--entrypoint", "id", "gputally", "-u"]).strip() == "65534"
    work = common.temporary_folder()
    shutil.copyfile(common.EXAMPLE, os.path.join(work, "trace.json.gz"))
    os.chown(work, 1234, 1234)
    run([*start, "--user", "1234:1234", "--volume", f"{work}:/data", "gputally", "report", "--quiet", "--output_csvs_dir", "sheets",
         "trace.json.gz"])
    assert common.read_folder(os.path.join(work, "sheets")) == common.sheets_of(common.Setting.bin, common.temporary_folder())
    assert os.stat(os.path.join(work, "sheets")).st_uid == 1234


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
