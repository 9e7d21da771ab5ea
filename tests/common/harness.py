"""What the tests that run the gputally binary share: running it once in a folder of its own, and counting results."""
import argparse
import csv
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
from typing import NamedTuple

csv.field_size_limit(1 << 30)
# Looking for leaks takes seconds a run on some machines; the unit tests do that. ASAN_OPTIONS from outside has its way.
os.environ.setdefault("ASAN_OPTIONS", "detect_leaks=0")
SANITIZER = re.compile(r"(Address|UndefinedBehavior|Leak|Thread|Memory)Sanitizer|runtime error:")


class Outcome(NamedTuple):
    code: int  # below 0: ended by a signal
    stdout: str
    stderr: str
    timed_out: bool

    def troubles(self):
        """What no input may ever cause, in words."""
        found = []
        if self.timed_out:
            found.append("ran over its time")
        elif self.code not in (0, 1):
            found.append(f"ended by signal {-self.code}" if self.code < 0 else f"exit code {self.code}")
        if SANITIZER.search(self.stderr):
            found.append("sanitizer report: " + SANITIZER.search(self.stderr).group(0))
        return found


def run(command, timeout=5, stdin_bytes=None, file_size_limit=None, cwd=None):
    """Runs a command. With file_size_limit no file can grow past that many bytes, as on a full disk."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))

    # Python ignores SIGXFSZ; left ignored in the child, a write over the limit fails instead of ending it.
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, input=stdin_bytes, cwd=cwd,
                              stdin=None if stdin_bytes is not None else subprocess.DEVNULL,
                              preexec_fn=limit if file_size_limit else None, restore_signals=not file_size_limit)
    except subprocess.TimeoutExpired as over:
        return Outcome(0, "", (over.stderr or b"").decode(errors="replace"), True)
    return Outcome(done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace"), False)


def read_csv(path):
    """(headings, rows) as text. A sheet without columns is one line end."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
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

    def add(self, name, troubles, folder=None):
        with self.lock:
            if not troubles:
                self.passed += 1
                return
            self.failed += 1
            more = f"; and {len(troubles) - 5} more" if len(troubles) > 5 else ""
            print(f"FAIL {name}: {'; '.join(troubles[:5])}{more}", flush=True)
            if self.keep and folder:
                shutil.copytree(folder, os.path.join(self.keep, re.sub(r"\W+", "_", name)), dirs_exist_ok=True)

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


def run_all(cases, check, tally, width=2):
    """check(case, folder) -> list of troubles, for each case in a fresh folder, `width` at a time."""
    def one(case):
        folder = tempfile.mkdtemp(prefix="gputally-test-")
        try:
            tally.add(case.name, check(case, folder), folder)
        except Exception as error:  # a check that cannot be made is a failed check
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
                tally.add("making the cases", [f"{type(error).__name__}: {error}"])
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
        sys.exit(f"{path} is not there: build it first (make build)")
    return os.path.abspath(path)


class Case:
    """A name, and a function that checks and gives a list of troubles."""

    def __init__(self, name, check, *arguments):
        self.name, self.check, self.arguments = name, check, arguments


def run_cases(description, cases, before=lambda binary, folder: (binary, folder)):
    """The whole of a script that takes --bin: check(*before(binary, folder), *arguments) for each case; returns the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default="", help="only cases that have this in their names")
    arguments = parser.parse_args()
    binary, tally = require_binary(arguments.bin), Tally()
    run_all((case for case in cases if arguments.only in case.name), lambda case, folder: case.check(*before(binary, folder), *case.arguments), tally)
    return tally.finish()
