#!/usr/bin/env python3
"""Tests of the Debian packages: what they contain, what they depend on, and how they behave in a clean Debian 12.

    python3 -m tests.packages.test_deb --bin build/gputally [--packages build/dist]
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys

from tests.packages import common
from tests.packages.common import ROOT, CleanRoot, need, package, run

PACKAGES = ("gputally", "libgputally0", "libgputally-dev")
DEBIAN = os.path.join(ROOT, "packaging", "debian")


def architecture():
    need("dpkg")
    return run(["dpkg", "--print-architecture"]).strip()


def deb(name):
    return package(f"{name}_*_{architecture()}.deb")


def contents(path):
    """{path: mode} of the files and links in a package."""
    rows = [line.split(maxsplit=5) for line in run(["dpkg-deb", "--contents", path]).splitlines()]
    return {row[5].split(" -> ")[0][1:]: row[0] for row in rows if not row[0].startswith("d")}


def unpacked(name):
    folder = common.temporary_folder()
    run(["dpkg-deb", "--extract", deb(name), folder])
    return folder


def test_every_installed_file_belongs_to_one_package():
    """What `make install` installs, against the lists of the packages: a new file must not be lost."""
    patterns = {}
    for name in PACKAGES:
        with open(os.path.join(DEBIAN, name + ".install"), encoding="utf-8") as file:
            patterns[name] = [line.split()[0] for line in file if line.strip()]
    installed = common.installed_files()
    # The build under test may have another folder of libraries than packages have.
    libraries = {os.path.dirname(path) for path in installed if path.endswith("/libgputally.so")}
    assert len(libraries) == 1, libraries
    library_folder = libraries.pop()
    for path in installed:
        placed = path.replace(library_folder, "usr/lib/TRIPLET", 1) if path.startswith(library_folder + "/") else path
        owners = [name for name in PACKAGES for pattern in patterns[name]
                  if fnmatch.fnmatch(placed, pattern) or fnmatch.fnmatch(placed, pattern + "/*")]
        assert len(owners) == 1, f"{path}: in packages {owners}"


def test_build_dependencies_are_those_of_packages_txt():
    with open(os.path.join(DEBIAN, "control"), encoding="utf-8") as file:
        control = file.read()
    listed = set(re.findall(r"lib[\w+.-]+-dev|zlib1g-dev", re.search(r"Build-Depends:((?:.*\n)(?: .*\n)*)", control).group(1)))
    with open(os.path.join(ROOT, "scripts", "packages.txt"), encoding="utf-8") as file:
        needed = {line.split()[1] for line in file if line.startswith("build ")}
    needed = {name for name in needed if name.endswith("-dev") and name != "libc6-dev"}
    assert listed == needed, listed ^ needed


def test_package_lintian_finds_no_error():
    need("lintian")
    done = subprocess.run(["lintian", "--fail-on", "none", *map(deb, PACKAGES)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    errors = [line for line in done.stdout.splitlines() if line.startswith("E:")]
    assert not errors, errors


def test_package_dependencies_are_the_libraries_in_use():
    """The package of each library that the program and the shared library need is in Depends, and no other."""
    need("readelf", "dpkg-query", "dpkg-architecture")
    triplet = run(["dpkg-architecture", "-qDEB_HOST_MULTIARCH"]).strip()
    for name, path in (("gputally", "usr/bin/gputally"), ("libgputally0", "usr/lib/*/libgputally.so.0")):
        folder = unpacked(name)
        elf = os.path.realpath(common.glob.glob(os.path.join(folder, path))[0])
        sonames = set(re.findall(r"NEEDED.*\[(.*)\]", run(["readelf", "-d", elf])))
        sonames = {soname for soname in sonames if not soname.startswith("ld-linux")}
        owners = {run(["dpkg-query", "-S", f"*/{triplet}/{soname}"]).splitlines()[0].split(":")[0] for soname in sonames}
        fields = run(["dpkg-deb", "--field", deb(name), "Depends"])
        depends = {field.split()[0] for field in fields.split(",")}
        assert owners == depends, f"{name}: {owners ^ depends}"


def test_package_files_have_plain_modes_and_owners():
    for name in PACKAGES:
        for line in run(["dpkg-deb", "--contents", deb(name)]).splitlines():
            mode, owner = line.split()[:2]
            assert owner == "root/root" and mode in ("drwxr-xr-x", "-rw-r--r--", "-rwxr-xr-x", "lrwxrwxrwx"), line
            assert mode != "-rwxr-xr-x" or line.endswith("usr/bin/gputally"), line


def test_package_has_manual_completions_and_old_names():
    files = contents(deb("gputally"))
    with open(os.path.join(ROOT, "src/cli/commands.c"), encoding="utf-8") as file:
        old_names = set(re.findall(r'"(TraceLens_\w+)"', file.read()))
    assert len(old_names) > 10, old_names
    for name in {"gputally"} | old_names:
        assert f"/usr/bin/{name}" in files, name
        assert f"/usr/share/man/man1/{name}.1.gz" in files, name
        assert f"/usr/share/bash-completion/completions/{name}" in files, name


def test_package_is_reproducible():
    """A second build in a folder with another name and under another umask gives the same bytes."""
    need("dpkg-buildpackage", "git")
    if run(["git", "-C", ROOT, "status", "--porcelain", "--untracked-files=no"]):
        raise common.Skipped("the work tree differs from the commit")
    folder = common.temporary_folder()
    copy, output = os.path.join(folder, "another folder"), os.path.join(folder, "packages")
    run(["git", "clone", "--quiet", ROOT, copy])
    old = os.umask(0o077)
    try:
        run(["scripts/make-deb", output], cwd=copy, env=dict(os.environ, TZ="Asia/Kathmandu"))
    finally:
        os.umask(old)
    for name in PACKAGES:
        again = os.path.join(output, os.path.basename(deb(name)))
        assert common.digest(again) == common.digest(deb(name)), name
    shutil.rmtree(folder)


def test_package_installs_runs_and_leaves_nothing():
    """In a clean Debian 12: installed with the packages it depends on, run as an ordinary user, removed."""
    root = CleanRoot()
    root.run("apt-get", "update", "-qq")
    before = root.files()
    root.run("apt-get", "install", "-qq", "-y", "--no-install-recommends", root.copy(deb("gputally")))
    example = "/usr/share/doc/gputally/examples/transformer_training.json.gz"
    assert root.run("gputally", "--version").startswith("gputally "), "the program does not start"
    root.run("gputally", "report", "--quiet", "--output_csvs_dir", "/tmp/new", example, ordinary_user=True)
    expected = common.sheets_of(common.Setting.bin, common.temporary_folder())
    assert common.read_folder(root.path + "/tmp/new") == expected, "other sheets than those of the build"
    root.run("TraceLens_generate_perf_report_pytorch", "--profile_json_path", example, "--output_csvs_dir", "/tmp/old", ordinary_user=True)
    assert os.path.exists(root.path + "/tmp/old/gpu_timeline.csv")
    root.run("apt-get", "purge", "-qq", "-y", "--autoremove", "gputally")
    after = root.files()
    assert after == before, f"left: {sorted(after - before)[:20]}, lost: {sorted(before - after)[:20]}"
    states = root.run("dpkg-query", "-W", "-f", "${db:Status-Abbrev}\\n")
    assert set(states.split()) == {"ii"}, "a package is not fully installed or removed"


def test_package_program_with_the_library():
    """The example of docs/library.md, compiled with what pkg-config says, with the shared and the static library."""
    root = CleanRoot()
    root.run("apt-get", "update", "-qq")
    archives = [root.copy(deb(name)) for name in ("libgputally0", "libgputally-dev")]
    root.run("apt-get", "install", "-qq", "-y", "--no-install-recommends", *archives, "gcc", "libc6-dev", "pkg-config")
    with open(os.path.join(ROOT, "docs/library.md"), encoding="utf-8") as file:
        source = file.read().split("```c\n")[1].split("```")[0]
    with open(root.path + "/tmp/program.c", "w", encoding="utf-8") as file:
        file.write(source)
    trace = root.copy(common.EXAMPLE)
    for name, static in (("shared", ""), ("static", "--static")):
        # Both libraries are there; without the name of a file the linker would take the shared one.
        library = "sed s/-lgputally/-l:libgputally.a/" if static else "cat"
        root.run("sh", "-ec", f"cd /tmp; mkdir {name}; cd {name}; gcc -Wall -Werror ../program.c -o program "
                              f"$(pkg-config {static} --cflags --libs gputally | {library})")
        printed = root.run("sh", "-ec", f"cd /tmp/{name}; ./program {trace}; test -f sheets/gpu_timeline.csv; ldd program")
        assert "computation_time" in printed and ("libgputally.so.0 =>" in printed) == (not static), printed
    # Development files alone are not needed to run the program.
    root.run("apt-get", "purge", "-qq", "-y", "libgputally-dev")
    root.run("sh", "-ec", f"cd /tmp/shared; rm -r sheets; ./program {trace} >/dev/null; test -f sheets/gpu_timeline.csv")


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
