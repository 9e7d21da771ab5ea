#!/usr/bin/env python3
"""`gputally --version --verbose`: what it says about the build and the machine, compared with other sources.

    python3 -m tests.cli.test_version --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import os
import platform
import re
import shutil
import subprocess
import sys

from tests.cli.folder import Folder
from tests.common import harness


def rows(folder, line="gputally --version --verbose", **environment):
    r = folder.sh(line, **environment)
    assert r.returncode == 0 and not r.stderr, r
    first, *rest = r.stdout.splitlines()
    assert first == folder.sh("gputally --version").stdout.strip(), first
    return {name: text for name, text in (re.split(r"  +", row, maxsplit=1) for row in rest)}


def test_plain_version_is_one_line(binary):
    with Folder(binary) as folder:
        for line in ("gputally --version", "gputally -V", "gputally version"):
            r = folder.sh(line)
            assert r.returncode == 0 and re.fullmatch(r"gputally \d+\.\d+\.\d+\n", r.stdout), r


def test_spellings(binary):
    with Folder(binary) as folder:
        verbose = folder.sh("gputally --version --verbose").stdout
        assert len(verbose.splitlines()) > 10
        for line in ("gputally -V --verbose", "gputally version --verbose", "gputally --verbose --version", "gputally --version --verbos",
                     "gputally --versi --verb", "gputally report --version --verbose", "gputally sweep --version --verb",
                     "gputally sweep top -V --verbose"):
            assert folder.sh(line).stdout == verbose, line
        for line in ("gputally --version foo", "gputally --version --verbose foo", "gputally --version --ver", "gputally -V -q"):
            r = folder.sh(line)
            assert (r.returncode, r.stdout) == (2, "") and f"unrecognized arguments: {line.split()[-1]}" in r.stderr, r


def test_machine(binary):
    with Folder(binary) as folder:
        shown = rows(folder)
        assert platform.machine() in shown["system"] and platform.release() in shown["system"], shown
        assert 1 <= int(shown["threads"]) <= len(os.sched_getaffinity(0)), shown
        assert os.path.realpath(binary) == shown["program"], shown
        flags = open("/proc/cpuinfo").read()
        if platform.machine() == "x86_64":
            assert ("avx2" in shown["instructions"].split("usable:")[1]) == (" avx2" in flags), shown
        elif platform.machine() == "aarch64":
            assert " neon" in shown["instructions"], shown


def test_folders_that_cannot_be_used(binary):
    with Folder(binary) as folder:
        here = folder.path
        open(os.path.join(here, "file"), "w").close()
        shown = rows(folder, TMPDIR=f"{here}/none", XDG_CACHE_HOME=f"{here}/none/cache")
        assert shown["temporary"] == f"{here}/none (does not exist)", shown
        assert shown["indexes"] == f"{here}/none/cache/gputally (does not exist yet)", shown
        shown = rows(folder, TMPDIR=f"{here}/file", XDG_CACHE_HOME=f"{here}/file")
        assert shown["temporary"] == f"{here}/file ({here}/file is not a folder)", shown
        assert shown["indexes"] == f"{here}/file/gputally ({here}/file is not a folder)", shown
        if not os.access("/proc/self", os.W_OK):  # other folders can be written by root
            shown = rows(folder, TMPDIR="/proc/self", XDG_CACHE_HOME="/proc/self/none")
            assert shown["temporary"] == "/proc/self (cannot be written)", shown
            assert shown["indexes"] == "/proc/self/none/gputally (does not exist and cannot be made)", shown
        os.makedirs(os.path.join(here, "cache/gputally"))
        shown = rows(folder, TMPDIR=here, XDG_CACHE_HOME=f"{here}/cache")
        assert (shown["temporary"], shown["indexes"]) == (here, f"{here}/cache/gputally"), shown


def test_limit_of_addresses(binary):
    with Folder(binary) as folder:
        shown = rows(folder)
        assert "ulimit -v" not in shown["memory"]
        if "AddressSanitizer" in shown["build"]:
            return  # it reserves terabytes
        shown = rows(folder, "ulimit -v 3145728; gputally --version --verbose")
        assert "addresses are limited to 3.0 GiB (ulimit -v)" in shown["memory"], shown


def test_chosen_instructions(binary):
    with Folder(binary) as folder:
        usable = rows(folder)["instructions"].split("usable: ")[1].split()
        assert "scalar" in usable
        for name in usable:
            shown = rows(folder, GPUTALLY_SIMD=name)["instructions"]
            assert shown.startswith(f"{name} in use") and shown.endswith("chosen by $GPUTALLY_SIMD"), shown


def test_folders(binary):
    with Folder(binary) as folder:
        os.mkdir(folder.file("scratch"))
        shown = rows(folder, TMPDIR=folder.file("scratch"), XDG_CACHE_HOME="/some/cache")
        assert shown["temporary"] == folder.file("scratch") and shown["indexes"].startswith("/some/cache/gputally ("), shown


def loaded_version(binary, library, pattern):
    """The version in the name of the file that the dynamic linker loads; None if it is not loaded."""
    ldd = shutil.which("ldd", path=harness.SYSTEM_PATH)
    if not ldd:
        return None
    lines = subprocess.run([ldd, binary], capture_output=True, text=True).stdout
    found = re.search(rf"{library}\S* => (\S+)", lines)
    match = found and re.search(pattern, os.path.basename(os.path.realpath(found.group(1))))
    return match.group(1) if match else None


def test_libraries(binary):
    with Folder(binary) as folder:
        shown = rows(folder)["libraries"]
        for name, library in (("zlib", "libz"), ("zstd", "libzstd")):
            version = loaded_version(binary, library + r"\.so", r"\.so\.(\d+\.\d+\.\d+)")
            assert version is None or f"{name} {version}" in shown, (name, version, shown)
        assert re.search(r"SQLite 3\.\d+", shown) and re.search(r"PCRE2 10\.\d+", shown), shown


def test_commit(binary):
    """That of the sources, if the program was built from a repository and nothing was committed since."""
    with Folder(binary) as folder:
        shown = rows(folder)["commit"]
        assert shown == "unknown" or re.fullmatch(r"[0-9a-f]{40}(, with changes)?", shown), shown


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
