"""Reads the traces of a folder with Ray and then writes the report of all ranks.

    python3 ray_partials.py FOLDER [SHARES]

The folder must be visible on all nodes under the same path, and gputally must be on their PATH (or named by the variable
GPUTALLY). SHARES (default 64) tasks of four CPUs share the traces.
"""
import os
import subprocess
import sys

import ray

GPUTALLY = os.environ.get("GPUTALLY", "gputally")


@ray.remote(num_cpus=4)
def read_share(number, count, folder):
    """Returns what the program prints: the partials, and the traces that it cannot read."""
    done = subprocess.run([GPUTALLY, "partial", folder, "--share", f"{number}/{count}", "--threads", "4"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout


def main():
    folder, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64
    ray.init()
    for text in ray.get([read_share.remote(number, count, folder) for number in range(count)]):
        print(text, end="")
    return subprocess.run([GPUTALLY, "merge", folder]).returncode


if __name__ == "__main__":
    sys.exit(main())
