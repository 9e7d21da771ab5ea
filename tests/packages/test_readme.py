#!/usr/bin/env python3
"""Runs the install commands of README.md as they are printed, each in a system that has only what the text promises.

    python3 -m tests.packages.test_readme --bin build/gputally [--packages build/dist]

The commands are taken from the section "Install": a paragraph says for whom they are, and a block holds them. The quick run
makes an archive and a wheel of stand-ins; `make test-packages` uses the packages.
"""
import os
import re
import shutil
import subprocess
import sys

from tests.packages import common, test_container, test_wheel
from tests.packages.common import MACHINE, ROOT, CleanRoot, Skipped, need, need_root, package, run

# The first words of each paragraph with commands.
WAYS = ("Any Linux", "Python's pip", "Debian 12", "Fedora", "Container", "From source")


def install_section():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return re.search(r"^## Install\n(.*?)^## ", file.read(), re.M | re.S).group(1)


def commands(way):
    """The block of commands after the paragraph that begins with the words."""
    blocks = dict(re.findall(r"\n([^\n`#][^\n]*)\n\n```sh\n(.*?)```", install_section(), re.S))
    found = [block for paragraph, block in blocks.items() if paragraph.startswith(way)]
    assert len(found) == 1, (way, list(blocks))
    return found[0]


def write_tool(folder, name, text):
    """A stand-in for a program."""
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


def run_block(way, folder, path=(), **variables):
    """Runs the commands in a folder that is also HOME; what they print."""
    environment = {"PATH": ":".join([*path, "/usr/sbin:/usr/bin:/sbin:/bin"]), "HOME": folder, "LC_ALL": "C.UTF-8", **variables}
    return run(["sh", "-ec", commands(way)], cwd=folder, env=environment)


def check_report(program, folder, **options):
    """The program reports on the example, as the build does."""
    run([program, "report", "--quiet", "--output_csvs_dir", os.path.join(folder, "sheets"), common.EXAMPLE], **options)
    assert common.read_folder(os.path.join(folder, "sheets")) == common.sheets_of(common.Setting.bin, common.temporary_folder())


def test_every_block_is_tested():
    section = install_section()
    assert section.count("```sh") == len(WAYS), section
    for way in WAYS:
        assert commands(way)


def test_install_is_at_the_top():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        assert re.findall(r"^## (.*)", file.read(), re.M)[0] == "Install"


def test_make_targets_exist():
    with open(os.path.join(ROOT, "Makefile"), encoding="utf-8") as file:
        targets = set(re.findall(r"^([a-z-]+):.*##", file.read(), re.M))
    with open(os.path.join(ROOT, "docs/install.md"), encoding="utf-8") as file:
        text = install_section() + file.read()
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.M))
    assert named and named <= targets, named - targets


def test_archive_command():
    """Also where a shell finds archives of another architecture in the same folder."""
    need("tar")
    folder = common.temporary_folder()
    with open(common.Setting.bin, "rb") as file:
        test_wheel.write_archive(folder, file.read())
    test_wheel.write_archive(folder, b"", arch="other")
    run_block("Any Linux", folder)
    check_report(os.path.join(folder, ".local/bin/gputally"), folder)


def installed_by_pip(environment):
    return os.path.join(environment.folder, "gputally-venv/bin/gputally")


def test_pages_agree():
    """README, docs/install.md and docs/portable.md name the same oldest systems, and the same option of Podman."""
    texts = {}
    for name in ("README.md", "docs/install.md", "docs/portable.md"):
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            texts[name] = re.sub(r"\s+", " ", file.read())
    kernels = {name: set(re.findall(r"Linux (\d+\.\d+) \(x86-64\) or (\d+\.\d+) \(arm64\)", text)) for name, text in texts.items()}
    assert kernels["docs/install.md"] == kernels["docs/portable.md"] and len(kernels["docs/portable.md"]) == 1, kernels
    for name, text in texts.items():
        assert len(re.findall(r"Linux \d+\.\d+", text)) == len(re.findall(r"Linux \d+\.\d+ \(x86-64\)", text)), name
    for words in ("Fedora, RHEL 8 or newer, openSUSE and others with rpm", "`--userns keep-id`", "ootless Podman", "pipx install", "~/.local"):
        assert words in texts["README.md"] and words in texts["docs/install.md"], words


def test_pip_command():
    environment = test_wheel.Environment()
    stand_in = test_wheel.stand_in_wheel()
    shutil.copy(stand_in, environment.folder)
    environment.run("sh", "-ec", commands("Python's pip"))
    environment.run(installed_by_pip(environment))


def test_source_waits_for_other_installations():
    """make deps, while another program holds apt's lock for two attempts, and for ever."""
    tools = common.temporary_folder()
    write_tool(tools, "id", "echo 0\n")
    write_tool(tools, "dpkg-query", "")
    write_tool(tools, "sleep", "")
    environment = {"PATH": f"{tools}:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
    install = [os.path.join(ROOT, "scripts/install-packages"), "format"]
    for held, status, printed in ((2, 0, "waiting for it"), (1000, 1, "could not install clang-format")):
        counter = os.path.join(common.temporary_folder(), "attempts")
        write_tool(tools, "apt-get", f'echo "$1" >>"{counter}"\nif [ "$(wc -l <"{counter}")" -le {held} ]; then\n'
                                     'echo "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1"; exit 100\nfi\n')
        done = subprocess.run(install, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert done.returncode == status and printed in done.stdout, done
        with open(counter, encoding="utf-8") as file:
            attempts = file.read().split()
        assert attempts == ["update", "update", "update", "install"] if status == 0 else 50 < len(attempts) < 100, attempts


def test_package_archive():
    folder = common.temporary_folder()
    for arch in test_wheel.ARCHITECTURES:
        shutil.copy(package(f"gputally-*-linux-{arch}.tar.gz"), folder)
    run_block("Any Linux", folder)
    check_report(os.path.join(folder, ".local/bin/gputally"), folder, env={})


def test_package_pip():
    environment = test_wheel.Environment()
    for arch in test_wheel.ARCHITECTURES:
        shutil.copy(package(f"gputally-*_{arch}.whl"), environment.folder)
    environment.run("sh", "-ec", commands("Python's pip"))
    environment.run(installed_by_pip(environment), "report", "--quiet", "--output_csvs_dir", "sheets", common.EXAMPLE)
    assert common.read_folder(os.path.join(environment.folder, "sheets")) == common.sheets_of(
        common.Setting.bin, common.temporary_folder())


def test_package_deb():
    """In the oldest and in the newest Debian that the README promises."""
    for release in ("bookworm", "trixie"):
        root = CleanRoot(release)
        root.run("apt-get", "update", "-qq")
        write_tool(root.path + "/usr/local/bin", "sudo", 'exec "$@" --yes --no-install-recommends\n')
        root.copy(package(f"gputally_*_{run(['dpkg', '--print-architecture']).strip()}.deb"))
        root.run("sh", "-ec", "cd /tmp\n" + commands("Debian 12"))
        trace = root.copy(common.EXAMPLE)
        root.run("gputally", "report", "--quiet", "--output_csvs_dir", "/tmp/sheets", trace, ordinary_user=True)
        assert common.read_folder(root.path + "/tmp/sheets") == common.sheets_of(common.Setting.bin, common.temporary_folder())


def test_package_rpm():
    need_root()
    need("rpm")
    folder, root, tools = common.temporary_folder(), common.temporary_folder(), common.temporary_folder()
    for path in common.glob.glob(os.path.join(common.Setting.packages, "*.rpm")):
        shutil.copy(path, folder)
    package(f"gputally-[0-9]*.{MACHINE}.rpm")
    # Installs into an empty folder instead of this system; Debian's rpm asks whether that is meant.
    force = "--force-debian" if os.path.exists("/etc/debian_version") else ""
    write_tool(tools, "sudo", f'[ "$1" = rpm ] || exit 1\nshift\nexec rpm --root "{root}" {force} "$@"\n')
    run(["rpm", "--root", root, "--initdb"])
    run_block("Fedora", folder, [tools])
    check_report(os.path.join(root, "usr/bin/gputally"), folder)


def test_package_container():
    podman = test_container.Podman()
    folder, tools = common.temporary_folder(), common.temporary_folder()
    shutil.copytree(os.path.join(ROOT, "packaging"), os.path.join(folder, "packaging"))
    for arch in test_wheel.ARCHITECTURES:
        shutil.copy(package(f"gputally-*-linux-{arch}.tar.gz"), folder)
    shutil.copyfile(common.EXAMPLE, os.path.join(folder, "trace.json.gz"))
    podman.build(test_container.unpacked_archive())
    start = podman.find_runtime("gputally", "--version")
    quoted = " ".join(f"'{word}'" for word in start[:start.index("run")])
    options = " ".join(f"'{word}'" for word in start[start.index("run") + 1:])
    # The storage with the base image, and what makes containers start on this machine.
    write_tool(tools, "podman", f'verb=$1\nshift\ncase $verb in\nbuild) exec {quoted} build --pull=never --isolation=chroot --layers=false "$@" ;;\n'
                                f'run) exec {quoted} run {options} "$@" ;;\nesac\nexit 1\n')
    run_block("Container", folder, [tools])
    for name in ("trace_perf_report.xlsx", "trace_perf_report.html"):
        assert os.path.exists(os.path.join(folder, name)), os.listdir(folder)


def test_package_source():
    """In a copy of the checkout, with the build that is already there: the commands do not build again."""
    need("make", "cmake", "git")
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        raise Skipped("not a checkout")
    home = common.temporary_folder()
    report = os.path.join(home, "report")
    run(["sh", "-ec", commands("From source")], cwd=ROOT, env=dict(os.environ, HOME=home, REPORT=report))
    assert os.path.exists(os.path.join(report, "gpu_timeline.csv"))
    check_report(os.path.join(home, ".local/bin/gputally"), home)


if __name__ == "__main__":
    sys.exit(common.main(__doc__, globals()))
