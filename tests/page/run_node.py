"""Runs a file of tests with node and ends with "N passed, N failed".

    python3 -m tests.page.run_node tests/page/pack.test.mjs

Node is one of the packages of group page (scripts/packages.txt), version 18 or later. Without it the tests are skipped,
except with GPUTALLY_REQUIRE_BROWSER, as in CI. Debian's node finds parts of itself only below /usr: unpacked without
root it does not start, and the tests are skipped too.
"""
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def skip(reason):
    print(f"skipped: {reason}\n0 passed, 0 failed")
    return 77  # ctest lists it as skipped


def main():
    node = shutil.which("node")
    if not node:
        if os.environ.get("GPUTALLY_REQUIRE_BROWSER"):
            sys.exit("missing: node; scripts/install-packages page installs it")
        return skip("needs node (scripts/install-packages page)")
    if os.environ.get("GPUTALLY_DEPS") and subprocess.run([node, "-e", "0"], stderr=subprocess.DEVNULL).returncode:
        return skip("node does not run where it was unpacked without root")
    environment = {**os.environ, "PYTHON": sys.executable, "NO_COLOR": "1"}
    done = subprocess.run([node, "--test", "--test-reporter=tap", *sys.argv[1:]], cwd=ROOT, env=environment, text=True, errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    passed, failed = (sum(map(int, re.findall(rf"^# {word} (\d+)", done.stdout, re.M))) for word in ("pass", "fail"))
    failed += sum(map(int, re.findall(r"^# cancelled (\d+)", done.stdout, re.M)))
    if failed or done.returncode or not passed:
        print(done.stdout)
        failed = max(failed, 1)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
