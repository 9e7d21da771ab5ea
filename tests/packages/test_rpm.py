#!/usr/bin/env python3
"""Tests of the rpm packages: what they contain and need, that they run unpacked, and that rpm installs and removes them.

    python3 -m tests.packages.test_rpm --bin build/gputally [--packages build/dist]

rpm installs into an empty folder, with a package database of its own: gputally needs nothing else, not even a C library.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys

from tests.packages import common
from tests.packages.common import MACHINE, ROOT, Skipped, need, need_root, package, run

SPEC = os.path.join(ROOT, "packaging", "gputally.spec")
ARCHITECTURES = ("x86_64", "aarch64")


def rpm(name, arch=MACHINE):
    need("rpm", "rpm2cpio", "cpio")
    return package(f"{name}-[0-9]*.{arch}.rpm")


def query(path, *options):
    return run(["rpm", "-qp", *options, path]).splitlines()


def unpacked(*names, arch=MACHINE):
    """A folder with the files of packages."""
    folder = common.temporary_folder()
    for name in names:
        with open(os.path.join(folder, "cpio"), "wb") as file:
            subprocess.run(["rpm2cpio", rpm(name, arch)], stdout=file, check=True)
        with open(os.path.join(folder, "cpio"), "rb") as file:
            subprocess.run(["cpio", "--quiet", "-idm"], stdin=file, cwd=folder, check=True)
    return folder


def test_every_library_file_belongs_to_one_package():
    """The files of libraries that `make install` installs, against the lists of the spec; the static library has no package."""
    with open(SPEC, encoding="utf-8") as file:
        patterns = re.findall(r"^/usr/\S+$", file.read(), re.M)
    for path in common.installed_files():
        if path.startswith(("usr/bin/", "usr/share/")) or path.endswith("/libgputally.a"):
            continue
        placed = re.sub(r"^/usr/lib(64|/[^/]*-linux-gnu)?/", "/usr/lib64/", "/" + path)
        owners = [pattern for pattern in patterns if fnmatch.fnmatch(placed, pattern) or placed.startswith(pattern + "/")]
        assert len(owners) == 1, f"{path}: {owners}"


def test_package_facts():
    version = common.version()
    for arch in ARCHITECTURES:
        facts = query(rpm("gputally", arch), "--qf", "%{NAME} %{VERSION} %{ARCH} %{LICENSE} %{OS} %{BUILDHOST}")
        assert facts == [f"gputally {version} {arch} MIT linux localhost"], facts


def test_package_program_needs_nothing():
    need("readelf")
    for arch in ARCHITECTURES:
        needed = [line for line in query(rpm("gputally", arch), "--requires") if not line.startswith("rpmlib(")]
        assert needed == [], needed
        program = os.path.join(unpacked("gputally", arch=arch), "usr/bin/gputally")
        assert "NEEDED" not in run(["readelf", "-d", program]) and "INTERP" not in run(["readelf", "-lW", program])


def test_package_library_needs_what_it_is_linked_with():
    need("readelf")
    folder = unpacked("gputally-libs")
    sonames = set(re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", os.path.join(folder, "usr/lib64/libgputally.so.0")])))
    needed = {line.split("(")[0] for line in query(rpm("gputally-libs"), "--requires") if ".so." in line}
    assert sonames == needed, sonames ^ needed
    assert "libgputally.so.0()(64bit)" in query(rpm("gputally-libs"), "--provides")
    assert any(line.startswith("gputally-libs = ") for line in query(rpm("gputally-devel"), "--requires"))


def test_package_files():
    with open(os.path.join(ROOT, "src/cli/commands.c"), encoding="utf-8") as file:
        old_names = set(re.findall(r'"(TraceLens_\w+)"', file.read()))
    for arch in ARCHITECTURES:
        rows = [line.split(maxsplit=3) for line in query(rpm("gputally", arch), "--qf", "[%{FILEMODES:perms} %{FILEUSERNAME} "
                                                         "%{FILEGROUPNAME} %{FILENAMES}\\n]")]
        files = {row[3] for row in rows}
        assert {"/usr/bin/gputally", "/usr/share/man/man1/gputally.1.gz", "/usr/share/bash-completion/completions/gputally"} <= files
        assert {f"/usr/bin/{name}" for name in old_names} <= files and len(old_names) > 10
        assert any(name.startswith("/usr/share/doc/gputally/licenses/") for name in files)
        for mode, user, group, name in rows:
            assert (user, group) == ("root", "root") and mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx"), name
            assert mode != "drwxr-xr-x" or "gputally" in name, f"{name} belongs to the system"


def test_package_runs_unpacked():
    program = os.path.join(unpacked("gputally"), "usr/bin/gputally")
    expected = common.sheets_of(common.Setting.bin, common.temporary_folder())
    assert common.sheets_of(program, common.temporary_folder()) == expected, "other sheets than those of the build"
    old = os.path.join(os.path.dirname(program), "TraceLens_generate_perf_report_pytorch")
    folder = common.temporary_folder()
    run([old, "--profile_json_path", common.EXAMPLE, "--output_csvs_dir", folder])
    assert "gpu_timeline.csv" in os.listdir(folder)


def test_package_program_with_the_library():
    need("gcc", "pkg-config")
    folder = unpacked("gputally-libs", "gputally-devel")
    libraries = os.path.join(folder, "usr/lib64")
    flags = run(["pkg-config", "--cflags", "--libs", "gputally"],
                env=dict(os.environ, PKG_CONFIG_LIBDIR=os.path.join(libraries, "pkgconfig"))).split()
    with open(os.path.join(ROOT, "docs/library.md"), encoding="utf-8") as file:
        source = file.read().split("```c\n")[1].split("```")[0]
    with open(os.path.join(folder, "program.c"), "w", encoding="utf-8") as file:
        file.write(source)
    run(["gcc", "program.c", "-o", "program", *flags], cwd=folder)
    printed = run(["./program", common.EXAMPLE], cwd=folder, env=dict(os.environ, LD_LIBRARY_PATH=libraries))
    assert "computation_time" in printed


def test_package_installs_runs_and_leaves_nothing():
    need_root()
    path = rpm("gputally")
    root = common.temporary_folder()
    run(["rpm", "--root", root, "--initdb"])
    command = ["rpm", "--root", root, "--force-debian"] if os.path.exists("/etc/debian_version") else ["rpm", "--root", root]

    def files():
        return {name for name in common.harness.files_under(root) if not name.startswith(("var/lib/rpm/", "usr/lib/sysimage/rpm/"))}

    before = files()
    run([*command, "--install", path])
    assert run(["rpm", "--root", root, "-V", "gputally"]) == ""
    shutil.copyfile(common.EXAMPLE, os.path.join(root, "trace.json.gz"))
    run(["chroot", root, "/usr/bin/gputally", "report", "--quiet", "--output_csvs_dir", "/sheets", "/trace.json.gz"])
    assert common.read_folder(os.path.join(root, "sheets")) == common.sheets_of(common.Setting.bin, common.temporary_folder())
    shutil.rmtree(os.path.join(root, "sheets"))
    os.remove(os.path.join(root, "trace.json.gz"))
    run([*command, "--erase", "gputally"])
    assert files() == before, files() ^ before
    folders = [os.path.join(at, name) for at, names, _ in os.walk(root) for name in names if "gputally" in name]
    assert not folders, folders


def test_package_is_reproducible():
    """A second build in a folder with another name gives the same bytes."""
    need("rpmbuild", "git")
    if run(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]):
        raise Skipped("the work tree differs from the commit")
    folder = common.temporary_folder()
    copy, output = os.path.join(folder, "another folder"), os.path.join(folder, "packages")
    run(["git", "clone", "--quiet", ROOT, copy])
    os.mkdir(output)
    shutil.copy(package(f"gputally-*-linux-{MACHINE}.tar.gz"), output)
    run(["scripts/make-rpm", output], cwd=copy, env=dict(os.environ, TZ="Asia/Kathmandu"))
    for name in ("gputally", "gputally-libs", "gputally-devel"):
        again = os.path.join(output, os.path.basename(rpm(name)))
        assert common.digest(again) == common.digest(rpm(name)), name
    shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
