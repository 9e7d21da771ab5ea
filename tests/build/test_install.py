#!/usr/bin/env python3
"""Checks what `make install` installs, by using it: the tree is installed with DESTDIR, moved to another folder, and
C99 and C++ programs are built and run against it, with the shared and with the static library.

    test_install.py [--bin build/gputally]

The program is the example of docs/library.md. Ends with "N passed, N failed".
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(__file__)
while not os.path.exists(os.path.join(ROOT, "CMakeLists.txt")) or not os.path.exists(os.path.join(ROOT, "include")):
    ROOT = os.path.dirname(ROOT)
HEADER = "include/gputally/gputally.h"
WARNINGS = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
C99 = ["gcc", "-std=c99"] + WARNINGS
CXX = ["g++", "-std=c++11", "-x", "c++"] + WARNINGS


def run(command, **environment):
    """Standard output of a command that must succeed without a word on standard error."""
    done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, **environment))
    assert done.returncode == 0 and done.stderr == "", f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Tree:
    """The installed tree, and a folder next to it for programs."""

    def __init__(self, build, folder):
        self.build = build
        self.folder = folder
        staging = os.path.join(folder, "staging")
        run(["cmake", "--install", build, "--prefix", "/opt/gputally"], DESTDIR=staging)
        self.prefix = os.path.join(folder, "moved")
        os.rename(os.path.join(staging, "opt/gputally"), self.prefix)
        self.left = [name for _, _, names in os.walk(staging) for name in names]
        self.header = self.path(HEADER)
        with open(self.header, encoding="utf-8") as file:
            self.declared = set(re.findall(r"GPUTALLY_API [^;(]*\b(gputally_\w+)\(", re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)))
        self.program = os.path.join(folder, "program.c")
        with open(os.path.join(ROOT, "docs/library.md"), encoding="utf-8") as file:
            example = file.read().split("```c\n")[1].split("```")[0]
        with open(self.program, "w", encoding="utf-8") as file:
            file.write(example)

    def path(self, *names):
        return os.path.join(self.prefix, *names)

    def find(self, name):
        found = [os.path.join(folder, name) for folder, _, names in os.walk(self.prefix) if name in names]
        assert len(found) == 1, (name, found)
        return found[0]

    def pkg_config(self, *options):
        folder = os.path.dirname(self.find("gputally.pc"))
        paths = [folder] + [path for path in [os.environ.get("PKG_CONFIG_PATH")] if path]
        return run(["pkg-config", *options, "gputally"], PKG_CONFIG_PATH=":".join(paths)).split()

    def build_and_run(self, compiler, flags, libraries=""):
        """Builds the example, makes a report with it; what it printed and the libraries it uses."""
        output = os.path.join(self.folder, "program")
        source = [self.program, "-x", "none"] if "-x" in compiler else [self.program]
        run(compiler + source + ["-o", output] + flags)
        paths = [path for path in [libraries, os.environ.get("LD_LIBRARY_PATH")] if path]
        trace = os.path.join(ROOT, "examples/transformer_training.json.gz")
        sheets = os.path.join(self.folder, "sheets")
        shutil.rmtree(sheets, ignore_errors=True)
        done = subprocess.run([output, trace], capture_output=True, text=True, cwd=self.folder,
                              env=dict(os.environ, LD_LIBRARY_PATH=":".join(paths)))
        assert done.returncode == 0 and done.stderr == "", (done.returncode, done.stdout, done.stderr)
        assert "computation_time" in done.stdout, done.stdout
        assert os.path.exists(os.path.join(sheets, "gpu_timeline.csv")), os.listdir(self.folder)
        return run(["ldd", output], LD_LIBRARY_PATH=":".join(paths))


def test_all_files_are_below_the_prefix(tree):
    assert tree.left == [], tree.left
    for name in ("bin/gputally", HEADER, "share/man/man1/gputally.1", "share/bash-completion/completions/gputally",
                 "share/zsh/site-functions/_gputally", "share/fish/vendor_completions.d/gputally.fish",
                 "share/gputally/rocprof/rocprof_input.yaml", "share/gputally/profiling-configs/rocprofv3_lightweight.json"):
        assert os.path.isfile(tree.path(name)), name
    for link, target in (("bash-completion/completions/TraceLens_generate_perf_report_pytorch", "gputally"),
                         ("fish/vendor_completions.d/TraceLens_generate_perf_report_pytorch.fish", "gputally.fish")):
        assert os.readlink(tree.path(f"share/{link}")) == target, link
    old_name = tree.path("bin/TraceLens_generate_perf_report_pytorch")
    assert os.readlink(old_name) == "gputally", old_name
    assert run([tree.path("bin/gputally"), "--version"]).split()[-1] == tree.pkg_config("--modversion")[0]


def test_soname_and_links(tree):
    version = tree.pkg_config("--modversion")[0]
    library = tree.find("libgputally.so")
    soname = re.search(r"SONAME.*\[(.*)\]", run(["readelf", "-d", library])).group(1)
    assert soname == "libgputally.so." + version.split(".")[0], soname
    assert os.readlink(library) == soname, os.readlink(library)
    assert os.path.basename(os.path.realpath(library)) == "libgputally.so." + version, os.path.realpath(library)


def test_exports_are_those_of_the_header(tree):
    lines = run(["nm", "-D", "--defined-only", tree.find("libgputally.so")]).splitlines()
    exported = {line.split()[-1].split("@")[0] for line in lines}
    assert exported == tree.declared and len(exported) > 10, exported ^ tree.declared


def test_header_alone_in_c99_and_cxx(tree):
    for compiler in (C99 + ["-x", "c"], CXX):
        run(compiler + ["-fsyntax-only", tree.header])


def test_pkg_config_follows_the_tree(tree):
    assert os.path.realpath(tree.pkg_config("--variable=prefix")[0]) == os.path.realpath(tree.prefix)
    assert tree.pkg_config("--libs")[-1:] == ["-lgputally"], "shared use needs no other library"


def test_c99_with_the_shared_library(tree):
    used = tree.build_and_run(C99, tree.pkg_config("--cflags", "--libs"), os.path.dirname(tree.find("libgputally.so")))
    assert tree.path("lib") in used.split("libgputally.so")[1], used


def test_cxx_with_the_shared_library(tree):
    tree.build_and_run(CXX, tree.pkg_config("--cflags", "--libs"), os.path.dirname(tree.find("libgputally.so")))


def test_c99_with_the_static_library(tree):
    folder = os.path.dirname(tree.find("libgputally.a"))
    for name in os.listdir(folder):
        if name.startswith("libgputally.so"):
            os.remove(os.path.join(folder, name))
    used = tree.build_and_run(C99, tree.pkg_config("--static", "--cflags", "--libs"))
    assert "libgputally" not in used, used


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/gputally"))
    build = os.path.dirname(os.path.abspath(parser.parse_args().bin))
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        sanitized = "GPUTALLY_SANITIZE:BOOL=ON" in file.read()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(build, folder)
        for name, test in list(globals().items()):
            if not name.startswith("test_"):
                continue
            if sanitized and (name.startswith(("test_c99", "test_cxx")) or "exports" in name):
                continue  # a plain program cannot use a library built with sanitizers
            try:
                test(tree)
                passed += 1
            except Exception as problem:  # a test that breaks is a test that fails
                failed += 1
                print(f"FAIL {name[5:].replace('_', ' ')}\n     " + f"{type(problem).__name__}: {problem}".replace("\n", "\n     "))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
