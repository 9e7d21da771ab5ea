#!/usr/bin/env python3
"""Runs all checks of packages and says of each script whether it passed, failed or was skipped, and why.

    python3 -m tests.packages.run --bin build/gputally --packages build/dist [KIND...]

KIND: the scripts test_KIND.* of this folder, such as deb; all without it. Scripts in Python are run as modules with --bin and
--packages, others as programs with the same arguments. A script prints "skipped NAME: REASON" for what it cannot check and
ends with "N passed, N failed"; status 77 skips all of it. The exit status is 1 if a check failed.
"""
import argparse
import glob
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(FOLDER))


def run(script, arguments):
    """(passed, failed, reasons for skipping) of one script."""
    name, ending = os.path.splitext(os.path.basename(script))
    command = [sys.executable, "-m", f"tests.packages.{name}"] if ending == ".py" else [script]
    done = subprocess.run(command + arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    skipped = re.findall(r"^skipped (.*)", done.stdout, re.M)
    if done.returncode == 77:
        return 0, 0, skipped or ["the script says no reason"]
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    passed, failed = map(int, counts[-1]) if counts else (int(done.returncode == 0), 0)
    if done.returncode and not failed:
        failed = 1
    if failed:
        print(done.stdout.rstrip(), flush=True)
    return passed, failed, skipped


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True)
    parser.add_argument("--packages", required=True)
    parser.add_argument("kinds", nargs="*")
    options = parser.parse_args()
    scripts = sorted(path for path in glob.glob(os.path.join(FOLDER, "test_*")) if path.endswith(".py") or os.access(path, os.X_OK))
    kinds = {os.path.basename(path).split(".")[0][5:]: path for path in scripts}
    unknown = [kind for kind in options.kinds if kind not in kinds]
    if unknown:
        sys.exit(f"no tests of {', '.join(unknown)}; there are {', '.join(kinds)}")
    total = [0, 0, 0]
    for kind in options.kinds or kinds:
        passed, failed, skipped = run(kinds[kind], ["--bin", options.bin, "--packages", options.packages])
        word = "FAIL" if failed else "pass" if passed else "skip"
        print(f"{word} {kind}: {passed} passed, {failed} failed, {len(skipped)} skipped", flush=True)
        for reason in skipped:
            print(f"     skipped {reason}", flush=True)
        total = [total[0] + passed, total[1] + failed, total[2] + len(skipped)]
    print("{} passed, {} failed, {} skipped".format(*total))
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
