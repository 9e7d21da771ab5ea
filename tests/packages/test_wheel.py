#!/usr/bin/env python3
"""Tests of the Python wheel: its contents, which systems pip accepts it for, and that it installs, runs and goes.

    python3 -m tests.packages.test_wheel --bin build/gputally [--packages build/dist]

The quick checks make a wheel of a stand-in for the program: a static one, because the script refuses others.
"""
import base64
import csv
import glob
import hashlib
import io
import os
import re
import subprocess
import sys
import tarfile
import zipfile

from tests.packages import common
from tests.packages.common import MACHINE, PYTHON, ROOT, Skipped, need, package, run

MAKE_WHEEL = os.path.join(ROOT, "scripts", "make-wheel")
ARCHITECTURES = ("x86_64", "aarch64")


def compile_program(folder, *flags):
    need("gcc")
    source, program = os.path.join(folder, "program.c"), os.path.join(folder, "program")
    with open(source, "w", encoding="utf-8") as file:
        file.write("int main(void) { return 0; }\n")
    run(["gcc", source, "-o", program, *flags])
    with open(program, "rb") as file:
        return file.read()


def write_archive(folder, program, version="1.2.3", arch=MACHINE, licence=True):
    path = os.path.join(folder, f"gputally-{version}-linux-{arch}.tar.gz")
    files = {"bin/gputally": program, "share/man/man1/gputally.1": b".TH GPUTALLY 1\n",
             "libexec/gputally/gputally-helper": b"#!/bin/sh\n"}
    if licence:
        files["share/doc/gputally/LICENSE"] = b"Permission is hereby granted\n"
    with tarfile.open(path, "w:gz") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"gputally-{version}-linux-{arch}/{name}")
            member.size, member.mtime, member.mode = len(data), 1700000000, 0o755 if name.startswith(("bin", "libexec")) else 0o644
            archive.addfile(member, io.BytesIO(data))
    return path


def make(archive, folder):
    return run([PYTHON, MAKE_WHEEL, archive, folder]).split()[-1]


def refusal(archive, folder):
    done = subprocess.run([PYTHON, MAKE_WHEEL, archive, folder], capture_output=True, text=True)
    assert done.returncode == 1 and not os.path.exists(folder), (done.returncode, done.stdout, done.stderr)
    return done.stderr


def stand_in_wheel():
    folder = common.temporary_folder()
    return make(write_archive(folder, compile_program(folder, "-static")), os.path.join(folder, "wheels"))


def check_contents(path):
    """RECORD lists every file with its SHA-256 and size, modes are right, tags are those of the file name."""
    with zipfile.ZipFile(path) as wheel:
        assert wheel.testzip() is None
        names = [entry.filename for entry in wheel.infolist()]
        assert len(names) == len(set(names))
        information = [name for name in names if name.endswith(".dist-info/RECORD")]
        assert len(information) == 1 and names[-1] == information[0], "RECORD is not the last file"
        folder = os.path.dirname(information[0])
        rows = list(csv.reader(io.StringIO(wheel.read(information[0]).decode())))
        assert [row[0] for row in rows] == names, "RECORD lists other files"
        for name, digest, size in rows[:-1]:
            data = wheel.read(name)
            expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            assert (digest, size) == (f"sha256={expected}", str(len(data))), name
        for entry in wheel.infolist():
            executable = ".data/scripts/" in entry.filename or ".data/data/libexec/" in entry.filename
            assert entry.external_attr >> 16 == (0o100755 if executable else 0o100644), entry.filename
        tags = re.findall(r"^Tag: (.*)$", wheel.read(f"{folder}/WHEEL").decode(), re.M)
        _, version, python, abi, platforms = os.path.basename(path)[:-len(".whl")].split("-")
        assert tags == [f"{python}-{abi}-{platform}" for platform in platforms.split(".")], tags
        metadata = wheel.read(f"{folder}/METADATA").decode()
        assert f"\nName: gputally\nVersion: {version}\n" in metadata and "Requires-Dist" not in metadata, metadata
        licences = re.findall(r"^License-File: (.*)$", metadata, re.M)
        assert licences and all(f"{folder}/licenses/{name}" in names for name in licences), licences


def test_contents():
    check_contents(stand_in_wheel())


def test_the_same_archive_gives_the_same_bytes():
    folder = common.temporary_folder()
    archive = write_archive(folder, compile_program(folder, "-static"))
    first = make(archive, os.path.join(folder, "a"))
    os.utime(archive, (1, 1))
    second = run(["env", "TZ=Asia/Kathmandu", "sh", "-c", f'umask 077; exec "{PYTHON}" "$@"', "sh", MAKE_WHEEL, archive,
                  os.path.join(folder, "b")]).split()[-1]
    assert common.digest(first) == common.digest(second)


def test_programs_for_which_the_tags_are_false_are_refused():
    folder = common.temporary_folder()
    output = os.path.join(folder, "wheels")
    dynamic, static = compile_program(folder), compile_program(folder, "-static")
    other = [arch for arch in ARCHITECTURES if arch != MACHINE][0]
    assert "not static" in refusal(write_archive(folder, dynamic), output)
    assert f"not for {other}" in refusal(write_archive(folder, static, arch=other), output)
    assert "not a 64-bit ELF file" in refusal(write_archive(folder, b"#!/bin/sh\n"), output)
    assert "no licence texts" in refusal(write_archive(folder, static, licence=False), output)
    assert "not named" in refusal(write_archive(folder, static, version="new"), output)
    assert "not named" in refusal(os.path.join(folder, "program"), output)


class Environment:
    """A fresh virtual environment of an ordinary user, without network."""

    def __init__(self):
        self.folder = common.temporary_folder()
        self.user = []
        if os.geteuid() == 0:
            need("setpriv")
            os.chown(self.folder, 65534, 65534)
            self.user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if subprocess.run([PYTHON, "-c", "import ensurepip"], capture_output=True).returncode:
            raise Skipped("Python has no ensurepip (Debian: python3-venv)")
        self.run(PYTHON, "-m", "venv", os.path.join(self.folder, "venv"))

    def run(self, *command, status=0):
        environment = {"PATH": f"{self.folder}/venv/bin:/usr/bin:/bin", "HOME": self.folder, "LC_ALL": "C.UTF-8",
                       "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return run([*self.user, *command], status=status, env=environment, cwd=self.folder)

    def files(self):
        return {name for name in common.harness.files_under(os.path.join(self.folder, "venv")) if "__pycache__" not in name}


def test_package_contents():
    for arch in ARCHITECTURES:
        path = package(f"gputally-*_{arch}.whl")
        check_contents(path)
        assert os.path.getsize(path) < 10 << 20, os.path.getsize(path)


def test_package_is_made_from_the_archive():
    for arch in ARCHITECTURES:
        folder = common.temporary_folder()
        again = make(package(f"gputally-*-linux-{arch}.tar.gz"), folder)
        assert common.digest(again) == common.digest(package(f"gputally-*_{arch}.whl")), arch


def test_package_pip_accepts_it_where_it_runs():
    """For glibc and musl, on both architectures, and for nothing else; pip decides by the name of a platform."""
    environment = Environment()
    for arch in ARCHITECTURES:
        folder = os.path.dirname(package(f"gputally-*_{arch}.whl"))
        for platform, accepted in ((f"manylinux2014_{arch}", True), (f"manylinux_2_17_{arch}", True), (f"musllinux_1_1_{arch}", True),
                                   ("win_amd64", False), (f"manylinux2014_{'s390x'}", False)):
            environment.run("pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--find-links", folder, "--platform", platform,
                            "--dest", os.path.join(environment.folder, platform), "gputally", status=0 if accepted else 1)
            if accepted:
                assert len(glob.glob(os.path.join(environment.folder, platform, f"*_{arch}.whl"))) == 1, platform
    known = environment.run("pip", "debug", "--verbose")
    assert f"py3-none-manylinux2014_{MACHINE}" in known, "this pip does not know manylinux2014"


def test_package_installs_runs_and_leaves_nothing():
    environment = Environment()
    before = environment.files()
    environment.run("pip", "install", "--quiet", package(f"gputally-*_{MACHINE}.whl"))
    assert environment.run("pip", "check").startswith("No broken requirements")
    assert environment.run("gputally", "--version").startswith("gputally ")
    environment.run("gputally", "report", "--quiet", "--output_csvs_dir", "sheets", common.EXAMPLE)
    expected = common.sheets_of(common.Setting.bin, common.temporary_folder())
    assert common.read_folder(os.path.join(environment.folder, "sheets")) == expected, "other sheets than those of the build"
    installed = environment.files() - before
    assert {"bin/gputally", "share/man/man1/gputally.1"} <= installed, installed
    environment.run("pip", "uninstall", "--quiet", "--yes", "gputally")
    assert environment.files() == before, environment.files() ^ before


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
