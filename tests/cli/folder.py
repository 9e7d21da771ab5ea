"""A scratch folder in which the tests of the command line run shell commands."""
import csv
import os
import shutil
import subprocess
import tempfile

from tests.common import harness

OLD_NAME = "TraceLens_generate_perf_report_rocprof"


class Folder:
    """A fresh folder that contains the program, a link with its old name, and the small trace; commands run there.

    The leak checker is off, because it takes seconds at the end of every command; the unit tests use it."""

    def __init__(self, binary):
        self.path = tempfile.mkdtemp(prefix="gputally-cli-")
        for name in ("gputally", OLD_NAME):
            os.symlink(binary, os.path.join(self.path, name))
        shutil.copy(os.path.join(harness.FIXTURES, "rocprof", "tiny_results.json"), self.path)

    def sh(self, line, **environment):
        env = {**os.environ, "PATH": self.path + ":" + os.environ["PATH"], "LC_ALL": "C.UTF-8", "COLUMNS": "100",
               "TZ": "UTC", "ASAN_OPTIONS": "detect_leaks=0", **environment}
        return subprocess.run(["bash", "-c", line], cwd=self.path, env=env, capture_output=True, text=True, timeout=harness.WALL_SECONDS)

    def file(self, name):
        return os.path.join(self.path, name)

    def rows(self, name):
        with open(self.file(name), newline="", encoding="utf-8") as f:
            return list(csv.reader(f))

    def names(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.path) for d, _, fs in os.walk(self.path) for f in fs
                      if f not in ("gputally", OLD_NAME, "tiny_results.json"))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["chmod", "-R", "u+rwX", self.path])
        shutil.rmtree(self.path)
