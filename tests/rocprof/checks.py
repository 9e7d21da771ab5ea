"""What the end-to-end tests of this folder have in common: options, a folder for their files, and the count of failures."""
import argparse
import os
import shutil
import tempfile

from tests.common import harness


class Checks:
    """The program to test, the part of the names to check, a folder for files and the tally."""

    def __init__(self, options, folder):
        self.binary, self.only, self.folder = os.path.abspath(options.bin), options.only or "", folder
        self.tally = harness.Tally()

    def wants(self, name):
        return self.only in name


def run_parts(description, parts, make=Checks):
    """Runs each part with make(options, folder); returns the exit code of the program."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--bin", default="build/gputally")
    parser.add_argument("--only")
    parser.add_argument("--keep", help="keep the files in this folder")
    options = parser.parse_args()
    folder = options.keep or tempfile.mkdtemp(prefix="gputally-rocprof-")
    test = make(options, folder)
    try:
        for part in parts:
            part(test)
    finally:
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{test.tally.passed} passed, {test.tally.failed} failed")
    return 1 if test.tally.failed else 0
