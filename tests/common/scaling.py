"""Does the time of a command grow in proportion to its input? For tests of inputs that could make it quadratic.

The CPU time of n and of 4n is compared, not the time that passes, and the least of several runs is used, so that other work on
the machine does not matter; 4n is run again only if it seems to take too long. A quadratic command takes 16 times as long for
4n, a linear one 4 times.
"""
import os
import resource
import subprocess
from typing import NamedTuple

RUNS = 2
MOST_GROWTH = 8
SLACK_SECONDS = 0.25  # start of the program, caches


class Used(NamedTuple):
    seconds: float  # of CPU time
    bytes: int  # the most memory at one time
    code: int
    stderr: str


def measure(command, limit):
    """Runs a command; one that exceeds `limit` seconds of CPU time is ended."""
    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          preexec_fn=limited) as child:
        stderr = child.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return Used(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, child.returncode, stderr)


def growth_problems(command_for, n, expected_code=0, limit=60):
    """Problems if the command for 4n takes much more than four times as long as that for n. command_for(n) makes the input and
    returns the command."""
    least = {}
    for size in (n, 4 * n):
        command = command_for(size)
        for _ in range(RUNS):
            seconds, _, code, stderr = measure(command, limit)
            if code != expected_code:
                return [f"size {size}: exit code {code} after {seconds:.2f} s: {stderr[-300:]}"]
            least[size] = min(seconds, least.get(size, seconds))
            if size > n and seconds <= MOST_GROWTH * least[n] + SLACK_SECONDS:
                return []
    return [f"{least[n]:.2f} s for {n}, {least[4 * n]:.2f} s for {4 * n}"]
