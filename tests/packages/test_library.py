#!/usr/bin/env python3
"""Compiles and runs the example of docs/library.md with the commands of that page, against a library that an ordinary user has
installed from source, in a clean Debian system.

    python3 -m tests.packages.test_library --bin build/gputally [--packages build/dist]

The quick run checks that this build installs what the example needs; `make test-packages` builds from source, which takes minutes.
"""
import os
import re
import subprocess
import sys

from tests.common import harness
from tests.packages import common
from tests.packages.common import ROOT, CleanRoot, Skipped, need, need_root, run


def page():
    """The example and the commands of the page."""
    with open(os.path.join(ROOT, "docs", "library.md"), encoding="utf-8") as file:
        text = file.read()
    (program,), (commands,) = re.findall(r"```c\n(.*?)```", text, re.S), re.findall(r"```sh\n(.*?)```", text, re.S)
    install, *rest = commands.splitlines()
    assert install == 'make install PREFIX="$HOME/.local"', install
    return program, install, "\n".join(rest)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def check_sheets(folder):
    """The example wrote the sheets of `gputally report` with the GPU that it names."""
    expected = os.path.join(common.temporary_folder(), "sheets")
    run([common.Setting.bin, "report", "--quiet", "--no_html", "--gpu_arch_platform", "MI300X", "--output_csvs_dir", expected, common.EXAMPLE])
    assert common.read_folder(folder) == common.read_folder(expected)


def test_example():
    """With what this build installs."""
    if harness.IS_SANITIZED:
        raise Skipped("the example is compiled without sanitizers")
    need("cmake", "cc", "pkg-config")
    home = common.temporary_folder()
    program, _, commands = page()
    write(os.path.join(home, "program.c"), program)
    run(["cmake", "--install", os.path.dirname(common.Setting.bin), "--prefix", os.path.join(home, ".local")])
    environment = {"PATH": os.environ["PATH"], "HOME": home, "LC_ALL": "C.UTF-8"}
    run(["sh", "-ec", commands], cwd=home, env=environment)
    run(["./program", common.EXAMPLE], cwd=home, env={})
    check_sheets(os.path.join(home, "sheets"))


def test_package_example_of_ordinary_user():
    """Only compiler, make and pkg-config belong to the system; the checkout is gone when the example is compiled."""
    need_root()
    need("git")
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        raise Skipped("not a checkout")
    root = CleanRoot()
    root.run("apt-get", "update", "-qq")
    root.run("apt-get", "install", "--yes", "--no-install-recommends", "-qq", "gcc", "libc6-dev", "make", "pkg-config", "ca-certificates")
    source, home = os.path.join(root.path, "tmp", "gputally"), "export HOME=/tmp; "
    os.mkdir(source)
    files = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], stdout=subprocess.PIPE, check=True).stdout
    run(["sh", "-ec", 'cd "$0" && tar -cf - --null -T "$1" | tar -xf - -C "$2"', ROOT, list_file(files), source])
    run(["chown", "-R", "65534:65534", source])
    program, install, commands = page()
    root.run("sh", "-ec", f"{home}cd /tmp/gputally; make deps; {install}", ordinary_user=True)
    os.rename(source, os.path.join(root.path, "root", "gputally"))
    write(os.path.join(root.path, "tmp", "program.c"), program)
    trace = root.copy(common.EXAMPLE)
    root.run("sh", "-ec", f"{home}cd /tmp; {commands}", ordinary_user=True)
    root.run("sh", "-ec", f"cd /tmp; ./program {trace}; ldd program", ordinary_user=True)
    check_sheets(os.path.join(root.path, "tmp", "sheets"))


def list_file(names):
    path = os.path.join(common.temporary_folder(), "files")
    with open(path, "wb") as file:
        file.write(names)
    return path


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
