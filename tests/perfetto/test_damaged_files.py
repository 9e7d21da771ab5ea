#!/usr/bin/env python3
"""Damaged Perfetto traces: truncated, with flipped bits, with packets removed, repeated and exchanged. Whatever the file
contains, gputally ends with exit code 0 or 1, without a signal or sanitizer report; a failure is one message that names the
file, and nothing is written. A truncated trace is reported up to its last complete packet with a warning, except with --strict.

    python3 -m tests.perfetto.test_damaged_files --bin build/gputally [--seed N]
"""
import argparse
import gzip
import os
import random
import re
import shutil
import sys
import tempfile

from tests.common import harness
from tests.perfetto import generate_pytorch
from tests.perfetto.writer import rocprof
from tests.perfetto.test_reports import synthetic

COMMANDS = ("rocprof", "report", "pytorch", "pftrace-hip-api", "pftrace-hip-activity", "pftrace-memory-copy")
tally = harness.Tally()


def run(binary, command, data, *options):
    """(outcome, problems)"""
    folder = tempfile.mkdtemp(prefix="gputally-damage-")
    path, out = os.path.join(folder, "t_7391.pftrace"), os.path.join(folder, "out")
    with open(path, "wb") as f:
        f.write(data)
    done = harness.run([binary, command, path, "--output_csvs_dir", out, "--quiet", *options])
    problems = done.problems()
    if done.code == 1:
        lines = [x for x in done.stderr.split("\n") if x and not x.startswith("gputally: warning: ")]
        if len(lines) != 1 or not lines[0].startswith("gputally: ") or "t_7391.pftrace" not in lines[0]:
            problems.append("not one message: %r" % done.stderr[:300])
        if os.path.exists(out):
            problems.append("something was written")
    shutil.rmtree(folder)
    return done, problems


def traces():
    yield "rocprofv3", rocprof(synthetic(11, 40)).packets, "rocprof"
    yield "plain", rocprof(synthetic(12, 25), plain=True).packets, "pftrace-hip-activity"
    events = generate_pytorch.load(os.path.join(harness.FIXTURES, "pytorch", "streams.json.gz"))
    yield "PyTorch", generate_pytorch.convert(events).packets, "pytorch"


def cuts(binary, name, packets, command, numbers):
    data, ends = b"".join(packets), []
    for packet in packets:
        ends.append((ends[-1] if ends else 0) + len(packet))
    for at in sorted({numbers.randrange(1, len(data)) for _ in range(25)}):
        done, problems = run(binary, command, data[:at])
        inside = at not in ends
        if done.code == 0 and inside and "truncated" not in done.stderr:
            problems.append("no warning: %r" % done.stderr[:300])
        tally.add(f"{name}: truncated at {at}", problems)
        done, problems = run(binary, command, data[:at], "--strict")
        if inside and done.code != 1:
            problems.append("--strict does not fail")
        tally.add(f"{name}: truncated at {at}, strict", problems)
    packed = gzip.compress(data)
    done, problems = run(binary, command, packed[:len(packed) * 3 // 4])
    if done.code == 0 and not re.search("warning: .*truncated.*gzip", done.stderr):
        problems.append("no warning: %r" % done.stderr[:300])
    tally.add(f"{name}: truncated gzip", problems)


def flips(binary, name, packets, numbers):
    data = b"".join(packets)
    for i in range(60):
        broken = bytearray(data)
        for _ in range(numbers.choice((1, 1, 3, 40))):
            broken[numbers.randrange(len(broken))] ^= 1 << numbers.randrange(8)
        command = COMMANDS[i % len(COMMANDS)]
        tally.add(f"{name}: flipped {i}, {command}", run(binary, command, bytes(broken))[1])


def shuffles(binary, name, packets, numbers):
    for i in range(24):
        mixed = list(packets)
        kind = i % 4
        if kind == 0:
            numbers.shuffle(mixed)
        elif kind == 1:
            mixed = [p for p in mixed if numbers.random() > 0.2]
        elif kind == 2:
            mixed = [p for p in mixed for _ in range(numbers.choice((1, 1, 2)))]
        else:
            mixed = mixed[numbers.randrange(len(mixed)):] + mixed
        command = COMMANDS[i % len(COMMANDS)]
        tally.add(f"{name}: packets moved {i}, {command}", run(binary, command, b"".join(mixed))[1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    binary, numbers = os.path.abspath(options.bin), random.Random(options.seed)
    for name, packets, command in traces():
        cuts(binary, name, packets, command, numbers)
        flips(binary, name, packets, numbers)
        shuffles(binary, name, packets, numbers)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
