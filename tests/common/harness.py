"""Shared by the tests that run the gputally program: a clean environment, running a command, counting results.

Importing this module replaces the environment: programs that a test starts see only the variables of KEPT and, on PATH,
only the programs of TOOLS. A test that needs another program puts a stand-in on the PATH itself, so that no result depends
on whether Docker, SLURM, ROCm and the like are installed.
"""
import argparse
import atexit
import csv
import io
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIXTURES = os.path.join(ROOT, "tests", "fixtures")
# Real traces of the conformance folder (see GPUTALLY_CONFORMANCE in tests/CMakeLists.txt). Tests skip what needs them
# where the setting is empty, and scripts/test says so.
CONFORMANCE_TRACES = os.path.join(os.environ.get("GPUTALLY_CONFORMANCE") or "no-conformance-folder", "traces")
LONG = bool(os.environ.get("GPUTALLY_LONG_TESTS"))  # make test LONG=1: all cases of tests that otherwise try some of them
LARGE = 250_000  # bytes of a compressed trace that takes Python seconds to read


def seeds(*limits):
    """range(*limits), or its first third: each random case is like the others."""
    whole = range(*limits)
    return whole if LONG else whole[:(len(whole) + 2) // 3]


def not_large(paths):
    """Without the traces that are read only with LONG=1: what is tested on them is tested on smaller ones of each kind."""
    return [path for path in paths if LONG or os.path.getsize(path) < LARGE]


IS_SANITIZED = "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ  # make asan, make tsan set it; clean_environment gives it to every program
csv.field_size_limit(1 << 30)
SANITIZER = re.compile(r"(Address|UndefinedBehavior|Leak|Thread|Memory)Sanitizer|runtime error:")

# Limits of one command. Work is limited, not time, so that a loaded machine fails no test; the wall-clock limit only ends
# a command that waits forever.
CPU_SECONDS = 300
WALL_SECONDS = 3600

KEPT = ("HOME", "TMPDIR", "LANG", "USER", "LOGNAME", "LD_LIBRARY_PATH", "PYTHONPATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
        "GPUTALLY_CONFORMANCE", "CPATH", "LIBRARY_PATH", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR",
        "FONTCONFIG_FILE", "GPUTALLY_DEPS", "GPUTALLY_REQUIRE_BROWSER", "GPUTALLY_ROCPROFV3",
        "GPUTALLY_ROOTS", "GPUTALLY_DIST", "GPUTALLY_MUTANT", "GPUTALLY_MUTANT_SEEN")
TOOLS = """[ awk basename bash cat chmod cmp comm cp cut date diff dirname echo env expr false find grep groff gunzip gzip head
    hostname id kill ln ls mkdir mkfifo mktemp mv nohup od printf protoc ps pwd readlink realpath rm rmdir sed seq setsid sh
    sleep sort stat tail tee test timeout touch tr true uname uniq wc xargs yes zstd""".split()
ORIGINAL_ENVIRONMENT = dict(os.environ)
SYSTEM_PATH = os.environ.get("PATH", os.defpath)  # for tests that compile a program


def clean_environment():
    """Leaves the variables of KEPT, and a PATH of links to TOOLS and to this Python."""
    folder = tempfile.mkdtemp(prefix="gputally-tools-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in TOOLS:
        found = shutil.which(name)
        if found:
            os.symlink(found, os.path.join(folder, name))
    with open(os.path.join(folder, "python3"), "w") as file:  # not a link: a virtual environment is found by its path
        file.write(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    os.chmod(file.name, 0o755)
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    os.environ.clear()
    # Looking for leaks takes seconds per command on some machines; the unit tests do that.
    os.environ.update({"ASAN_OPTIONS": "detect_leaks=0", **kept, "PATH": folder})


clean_environment()


class Outcome(NamedTuple):
    code: int  # below 0: ended by a signal
    stdout: str
    stderr: str
    timed_out: bool

    def problems(self):
        """What no input may ever cause, as a list of messages."""
        found = []
        if self.timed_out:
            found.append("exceeded its time limit")
        elif self.code not in (0, 1):
            found.append(f"ended by signal {-self.code}" if self.code < 0 else f"exit code {self.code}")
        if SANITIZER.search(self.stderr):
            found.append("sanitizer report: " + SANITIZER.search(self.stderr).group(0))
        return found


def run(command, stdin_bytes=None, file_size_limit=None, cwd=None, env=None):
    """Runs a command. With file_size_limit no file can grow past that many bytes, as on a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))

    # Python ignores SIGXFSZ; if the child ignores it too, a write over the limit fails instead of ending the child.
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, env=env,
                             stdin=subprocess.DEVNULL if stdin_bytes is None else subprocess.PIPE,
                             preexec_fn=limit if file_size_limit else None, restore_signals=not file_size_limit)
    with child:
        try:
            resource.prlimit(child.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 5))
        except ProcessLookupError:
            pass  # it has ended already
        try:
            stdout, stderr = child.communicate(stdin_bytes, timeout=WALL_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            return Outcome(0, "", child.communicate()[1].decode(errors="replace"), True)
        except BaseException:
            child.kill()
            raise
    return Outcome(child.returncode, stdout.decode(errors="replace"), stderr.decode(errors="replace"),
                   child.returncode == -signal.SIGXCPU)


def read_csv(path):
    """(headings, rows) as text. A sheet without columns is one line end.

    The csv module of Python 3.10 and older rejects NUL characters, so they are replaced while it reads.
    """
    with open(path, newline="", encoding="utf-8") as file:
        text = file.read()
    stand_in = next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in text)
    lines = io.StringIO(text.replace("\0", stand_in), newline="")
    rows = [[cell.replace(stand_in, "\0") for cell in row] for row in csv.reader(lines)]
    return rows[0], rows[1:]


def warns_of_cut(stderr):
    """Whether a warning says how much of a damaged file was read."""
    return any(line.startswith("gputally: warning: ") and re.search(r"\d", line) for line in stderr.split("\n"))


def files_under(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names)


class Tally:
    """Counts checks and prints those that failed."""

    def __init__(self, keep=None):
        self.passed = self.failed = 0
        self.keep = keep  # a folder where the inputs of failed cases are kept
        self.lock = threading.Lock()

    def add(self, name, problems, folder=None):
        with self.lock:
            if not problems:
                self.passed += 1
                return
            self.failed += 1
            more = f"; and {len(problems) - 5} more" if len(problems) > 5 else ""
            print(f"FAIL {name}: {'; '.join(problems[:5])}{more}", flush=True)
            if self.keep and folder:
                shutil.copytree(folder, os.path.join(self.keep, re.sub(r"\W+", "_", name)), dirs_exist_ok=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def run_all(cases, check, tally, width=2):
    """Calls check(case, folder), which returns a list of problems, for each case in a fresh folder, `width` at a time."""
    def one(case):
        folder = tempfile.mkdtemp(prefix="gputally-test-")
        try:
            tally.add(case.name, check(case, folder), folder)
        except Exception as error:  # a check that raises is a failed check
            tally.add(case.name, [f"{type(error).__name__}: {error}"], folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    remaining, lock = iter(cases), threading.Lock()

    def work():
        while True:
            try:
                with lock:  # the next case is made only when a worker is free for it
                    case = next(remaining, None)
            except Exception as error:
                tally.add("generating the cases", [f"{type(error).__name__}: {error}"])
                return
            if case is None:
                return
            one(case)

    workers = [threading.Thread(target=work) for _ in range(width)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def require_binary(path):
    if not (os.path.isfile(path) and os.access(path, os.X_OK)):
        sys.exit(f"{path} does not exist: build it first (make build)")
    return os.path.abspath(path)


class Case:
    """A name, and a function that returns a list of problems."""

    def __init__(self, name, check, *arguments):
        self.name, self.check, self.arguments = name, check, arguments


def run_cases(description, cases, before=lambda binary, folder: (binary, folder)):
    """The main function of a script of Cases: calls check(*before(binary, folder), *arguments) for each; returns the exit code.
    cases may be a function of the binary that returns the cases."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="", help="only cases with this text in their names")
    arguments = parser.parse_args()
    binary, tally = require_binary(arguments.bin), Tally()
    cases = (case for case in (cases(binary) if callable(cases) else cases) if arguments.only in case.name)
    run_all(cases, lambda case, folder: case.check(*before(binary, folder), *case.arguments), tally)
    return tally.finish()


class Skipped(Exception):
    """Raised by a test whose requirements are not met on this machine."""


ALL_SKIPPED = 77  # the exit code of a script that could test nothing: ctest lists it as skipped


def run_functions(tests, lane=lambda name: ""):
    """Runs pairs of name and function; a function that raises is a failure. Tests of one lane run one after another, lanes at the same time:
    for tests that mostly wait. Returns the exit code."""
    tests, tally, skipped, lanes = list(tests), Tally(), 0, {}
    for place, (name, function) in enumerate(tests):
        lanes.setdefault(lane(name), []).append((place, name, function))
    outcomes = {}

    def run_lane(members):
        for place, _, function in members:
            try:
                function()
            except Exception as problem:
                outcomes[place] = problem
    first, *others = list(lanes.values()) or [[]]
    threads = [threading.Thread(target=run_lane, args=(members,)) for members in others]
    for thread in threads:
        thread.start()
    run_lane(first)  # some tests handle signals, which only the main thread can
    for thread in threads:
        thread.join()
    for place, (name, _) in enumerate(tests):
        problem = outcomes.get(place)
        if isinstance(problem, Skipped):
            skipped += 1
            print(f"skipped {name}: {problem}")
        else:
            tally.add(name, [f"{type(problem).__name__}: {problem}".replace("\n", "\n     ")] if problem else [])
    code = tally.finish()
    return ALL_SKIPPED if skipped and not tally.passed + tally.failed else code


def run_test_functions(description, module, lane=lambda name: ""):
    """The main function of a script whose tests are functions test_NAME(binary): module is its globals(), lane as in run_functions."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("only", nargs="?", default="")
    options = parser.parse_args()
    binary = require_binary(options.bin)
    return run_functions([(name[5:].replace("_", " "), lambda function=function: function(binary))
                          for name, function in module.items() if name.startswith("test_") and options.only in name], lane)
