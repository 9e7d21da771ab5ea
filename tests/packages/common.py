"""Shared by the tests of packages: the packages under test, tools, clean Debian systems.

Every script here is run in two ways. ctest passes --bin only: then it makes the quick checks, which need no package.
`make test-packages` (run.py) also passes --packages, the folder with the packages that `make deb` and its relatives
wrote; then it makes all checks. What a machine cannot check is skipped with the reason.
"""
import argparse
import atexit
import glob
import hashlib
import os
import platform
import re
import shutil
import subprocess
import tempfile

from tests.common import harness
from tests.common.harness import ROOT, Skipped

EXAMPLE = os.path.join(ROOT, "examples", "transformer_training.json.gz")
MACHINE = platform.machine()  # x86_64 or aarch64
# Here the programs under test are package managers and compilers, which need what the system has.
os.environ["PATH"] = harness.SYSTEM_PATH
os.environ["LC_ALL"] = "C.UTF-8"
# Debian's Python, because others have pip and no ensurepip, or the reverse.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else "python3"


class Setting:
    """The arguments of a script: the program and the folder of packages, which is None in the quick run."""
    bin = None
    packages = None


def main(description, module):
    """Runs the functions test_NAME of a script (module: its globals()); returns the exit code. Those whose name begins with
    test_package_ need packages and belong to `make test-packages` only."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--packages")
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    Setting.bin = harness.require_binary(options.bin)
    Setting.packages = options.packages and os.path.abspath(options.packages)
    tests = [(name[5:].replace("_", " "), function) for name, function in module.items()
             if name.startswith("test_") and callable(function) and options.only in name
             and (Setting.packages or not name.startswith("test_package_"))]
    return harness.run_functions(tests)


def package(pattern):
    """The path of the one package that matches the pattern."""
    found = glob.glob(os.path.join(Setting.packages, pattern))
    if not found:
        raise Skipped(f"no {pattern} in {Setting.packages}")
    assert len(found) == 1, f"{pattern}: {found}"
    return found[0]


def version():
    """The version that packages have: that of the newest section of the changelog."""
    with open(os.path.join(ROOT, "CHANGELOG.md"), encoding="utf-8") as file:
        return re.search(r"^## (\d+\.\d+\.\d+)", file.read(), re.M).group(1)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skipped(f"{tool} is not installed")


def need_root():
    if os.geteuid() != 0:
        raise Skipped("needs root")


def run(command, status=0, **options):
    """Standard output of a command that must end with the status."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, **options)
    assert done.returncode == status, f"{command}: status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def temporary_folder():
    """A folder that other users can read, removed at the end."""
    folder = tempfile.mkdtemp(prefix="gputally-packages-")
    os.chmod(folder, 0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def installed_files():
    """The paths of what `make install` installs, below usr/."""
    need("cmake")
    build = os.path.dirname(Setting.bin)
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        if re.search(r"^GPUTALLY_DEPS:PATH=.", file.read(), re.M):
            raise Skipped("this build installs unpacked libraries, too")
    staging = temporary_folder()
    run(["cmake", "--install", build, "--prefix", "/usr"], env=dict(os.environ, DESTDIR=staging))
    return harness.files_under(staging)


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def sheets_of(program, folder, *prefix):
    """The sheets of the example as {name: bytes}, made by a program; prefix: what starts it."""
    folder = os.path.join(folder, "sheets")
    run([*prefix, program, "report", "--quiet", "--output_csvs_dir", folder, EXAMPLE])
    return read_folder(folder)


def read_folder(folder):
    found = {}
    for name in harness.files_under(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    assert "gpu_timeline.csv" in found, sorted(found)
    return found


class CleanRoot:
    """A Debian system in a folder with only what debootstrap's minbase installs, for one test.

    GPUTALLY_ROOTS names a folder where base systems are kept between runs as base-RELEASE (default: build/roots).
    """

    def __init__(self, release="bookworm"):
        need_root()
        need("debootstrap", "unshare", "chroot")
        base = os.path.join(os.environ.get("GPUTALLY_ROOTS") or os.path.join(ROOT, "build", "roots"), "base-" + release)
        if not os.path.exists(os.path.join(base, "usr/bin/apt-get")):
            os.makedirs(os.path.dirname(base), exist_ok=True)
            unfinished = base + ".unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            run(["debootstrap", "--variant=minbase", release, unfinished, "http://deb.debian.org/debian"])
            os.rename(unfinished, base)
        self.path = os.path.join(temporary_folder(), "root")
        run(["cp", "-a", base, self.path])
        for name in ("/etc/resolv.conf", "/etc/hosts"):
            shutil.copyfile(name, self.path + name)

    def run(self, *command, ordinary_user=False, status=0):
        """Standard output of a command in the root, run as root or as nobody."""
        # /dev, /proc and /sys are mounted for this command only.
        mounts = 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && '
        switch = ["chroot", self.path] + (["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if ordinary_user else [])
        environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/tmp", "LC_ALL=C.UTF-8",
                       "DEBIAN_FRONTEND=noninteractive"]
        return run(["unshare", "-m", "-p", "-f", "--propagation", "private", "sh", "-c", mounts + 'exec "$@"', self.path,
                    *switch, *environment, *command], status=status)

    def copy(self, path, to="/tmp"):
        """Copies a file into the root; its path there."""
        target = os.path.join(to, os.path.basename(path))
        shutil.copyfile(path, self.path + target)
        os.chmod(self.path + target, 0o644)
        return target

    def files(self):
        """All files, links and folders, except those in which package managers keep their own state."""
        kept = ("/var/lib/apt", "/var/lib/dpkg", "/var/cache", "/var/log", "/tmp", "/dev", "/proc", "/sys", "/etc/ld.so.cache")
        found = set()
        for at, folders, names in os.walk(self.path):
            inside = at[len(self.path):]
            folders[:] = [name for name in folders if f"{inside}/{name}" not in kept]
            found.update(f"{inside}/{name}" for name in folders + names if f"{inside}/{name}" not in kept)
        return found
