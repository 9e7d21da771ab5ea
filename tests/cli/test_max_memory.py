#!/usr/bin/env python3
"""--max_memory: a command that needs more ends with one message and leaves no output; one that fits is as without a limit.

    python3 -m tests.cli.test_max_memory --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import filecmp
import os
import sys

from tests.cli.folder import Folder
from tests.common import harness

OPS = 700_000  # their report with findings needs 60 MiB
TOO_FEW = ("gputally: {}: {} MiB are too few; raise the limit, or use fewer threads (--threads), an index (--index) or a part of the "
           "trace (gputally split)\n")


def write_ops(path, count):
    """Ops without kernels, which take the least text."""
    event = '{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":1,"ts":%d,"dur":1}'
    with open(path, "w") as file:
        file.write('{"traceEvents":[' + event % ("kernel", "gemm", 0, 1))
        for at in range(1, count + 1):
            file.write("," + event % ("cpu_op", "aten::mm", 1, 2 * at))
        file.write("]}")


def test_too_small(binary):
    with Folder(binary) as folder:
        write_ops(folder.file("trace.json"), OPS)
        with open(folder.file("old.db"), "w") as file:
            file.write("of another report")
        before = sorted(os.listdir(folder.file(".")))
        for threads in (1, 3):
            r = folder.sh(f"gputally report trace.json -q --threads {threads} --max_memory 32M --output_csvs_dir out --output_db old.db")
            assert (r.returncode, r.stdout, r.stderr) == (1, "", TOO_FEW.format("max_memory", 32)), r
            assert sorted(os.listdir(folder.file("."))) == before
            with open(folder.file("old.db")) as file:
                assert file.read() == "of another report"


def test_enough(binary):
    with Folder(binary) as folder:
        write_ops(folder.file("trace.json"), OPS // 10)
        for out, limit in (("free", ""), ("limited", "--max_memory 200M")):
            r = folder.sh(f"gputally report trace.json -q --threads 2 --output_csvs_dir {out} {limit}")
            assert r.returncode == 0, r
        names = sorted(os.listdir(folder.file("free")))
        assert names and names == sorted(os.listdir(folder.file("limited")))
        assert filecmp.cmpfiles(folder.file("free"), folder.file("limited"), names, shallow=False) == (names, [], [])


def test_limit_of_the_data_segment(binary):
    """`ulimit -d` is a limit without the option, too; an eighth is left for what is not counted."""
    if harness.IS_SANITIZED:
        return  # the sanitizer itself needs more
    with Folder(binary) as folder:
        write_ops(folder.file("trace.json"), 2 * OPS)
        r = folder.sh(f"ulimit -d {80 * 1024}; gputally report trace.json -q --threads 1 --output_csvs_dir out")
        assert (r.returncode, r.stderr) == (1, TOO_FEW.format("ulimit -d", 70)), r
        assert not os.path.exists(folder.file("out"))


def test_sizes(binary):
    with Folder(binary) as folder:
        for size in ("32M", "32m", "32MiB", "33554432", "0.5G", "64MB", "32768K", "1T"):
            r = folder.sh(f"gputally rocprof tiny_results.json -q --output_csvs_dir out --max_memory {size}")
            assert (r.returncode, r.stderr) == (0, ""), r
        for size in ("31M", "1", "32MB"):
            r = folder.sh(f"gputally rocprof tiny_results.json --output_csvs_dir none --max_memory {size}")
            assert r.returncode == 2, r
            assert f"error: argument --max_memory: must be at least 32M, got {size}\n" in r.stderr, r.stderr
        for size in ("", "M", "-5", "1.2.3G", "12X", "nan", "1e3", "99999999999T"):
            r = folder.sh(f"gputally rocprof tiny_results.json --output_csvs_dir none --max_memory='{size}'")
            assert r.returncode == 2, r
            assert (f"error: argument --max_memory: invalid size: '{size}' (expected bytes, or a number with K, M, G or T)\n"
                    in r.stderr), r.stderr
        assert not os.path.exists(folder.file("none"))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
