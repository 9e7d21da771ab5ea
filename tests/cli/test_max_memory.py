#!/usr/bin/env python3
"""--max_memory: reports are the same, byte for byte, when a part of the data is in a temporary file.

    python3 -m tests.cli.test_max_memory --bin build/gputally [TEXT]      only tests with TEXT in their name

That a run needs the temporary file is proved by running it again without a folder for it: it must fail.
"""
import os
import re
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.jax import generate_xplane
from tests.rocprof import generate_trace as rocprof

SMALLEST = "32M"
STEP = """
{{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":{at},"dur":20,"args":{{"External id":{i},"Input Dims":[[{rows},8],[8,2]],"Input type":["float","float"],"Input Strides":[[8,1],[2,1]],"Concrete Inputs":["",""]}}}},
{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launch},"dur":3,"args":{{"External id":{i},"correlation":{i}}}}},
{{"ph":"s","id":{i},"cat":"ac2g","name":"ac2g","pid":1,"tid":1,"ts":{launch}}},
{{"ph":"f","id":{i},"cat":"ac2g","name":"ac2g","pid":0,"tid":7,"ts":{run},"bp":"e"}},
{{"ph":"X","cat":"kernel","name":"gemm_{kind}","pid":0,"tid":7,"ts":{run},"dur":30.125,"args":{{"External id":{i},"stream":7,"correlation":{i}}}}},
{{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce","pid":0,"tid":9,"ts":{comm},"dur":10,"args":{{"stream":9,"correlation":{other},"Collective name":"allreduce","In msg nelems":{rows},"Out msg nelems":{rows},"dtype":"Float","Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]"}}}}"""


def write_pytorch(path, rank=0, steps=30000):
    """One GEMM and one all-reduce per step of 100 µs; several shapes and names."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write('{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2}, "traceEvents": [' % rank)
        file.write(",".join(STEP.format(i=i, at=100 * i, launch=100 * i + 2, run=100 * i + 10, comm=100 * i + 20 + rank,
                                        rows=4 + i % 50, kind=i % 30, other=10_000_000 + i) for i in range(1, steps + 1)))
        file.write("]}")


def is_sanitized(binary):
    """AddressSanitizer needs much memory itself."""
    with open(os.path.realpath(binary), "rb") as file:
        return b"__asan_init" in file.read()


def contents(folder, where):
    found = {}
    for path, _, names in os.walk(folder.file(where)):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(os.path.join(path, name), folder.file(where))] = file.read()
    return found


def same_with_a_limit(folder, command, size=SMALLEST):
    """Runs the command, which writes to the folder OUT, without and with a limit."""
    r = folder.sh(command.replace("OUT", "free") + " --threads 2")
    assert r.returncode == 0, r
    free, warnings = contents(folder, "free"), r.stderr
    assert free
    for threads in (1, 3):
        r = folder.sh(command.replace("OUT", f"limited{threads}") + f" --threads {threads} --max_memory {size}")
        assert (r.returncode, r.stderr) == (0, warnings), r
        assert contents(folder, f"limited{threads}") == free, command
    r = folder.sh(command.replace("OUT", "none") + f" --threads 2 --max_memory {size}", TMPDIR="/nonexistent/folder")
    assert r.returncode == 1, "the limited run did not need a temporary file"
    assert re.fullmatch(r"gputally: /nonexistent/folder: cannot write \d+ MiB of temporary data: No such file or directory; "
                        r"set TMPDIR to another folder, or raise max_memory\n", r.stderr), r.stderr
    assert not contents(folder, "none"), "an output was written"


def test_pytorch_report(binary):
    with Folder(binary) as folder:
        write_pytorch(folder.file("t/trace.json"))
        same_with_a_limit(folder, "gputally pytorch t/trace.json -q --output_csvs_dir OUT --enable_kernel_summary --short_kernel_study")


def test_pytorch_database_of_a_compressed_trace(binary):
    with Folder(binary) as folder:
        write_pytorch(folder.file("t/trace.json"))
        r = folder.sh("gzip -1 t/trace.json && mkdir free limited1 limited3 none")
        assert r.returncode == 0, r
        same_with_a_limit(folder, "gputally report t/trace.json.gz -q --output_db OUT/report.db")


def test_rocprof_report(binary):
    with Folder(binary) as folder:
        rocprof.write_trace(folder.file("run_results.json"), rocprof.Options(dispatches=240000))
        same_with_a_limit(folder, "gputally rocprof run_results.json -q --output_csvs_dir OUT --kernel_details --short_kernel_study")


def test_collective_report(binary):
    with Folder(binary) as folder:
        for rank in (0, 1):
            write_pytorch(folder.file(f"run/rank{rank}_trace.json"), rank)
        same_with_a_limit(folder, "gputally collective --trace_dir run -q --output_csvs_dir OUT")


def test_jax_report(binary):
    source = os.path.join(harness.FIXTURES, "jax", "training.xplane.pb.gz")
    with Folder(binary) as folder:
        r = folder.sh(f"{sys.executable} {generate_xplane.__file__} {source} {folder.file('big.xplane.pb')} --megabytes 24",
                      PYTHONPATH=harness.ROOT)
        assert r.returncode == 0, r
        same_with_a_limit(folder, "gputally jax big.xplane.pb -q --output_csvs_dir OUT")


def test_resident_memory(binary):
    """The limit holds but for what a thread does between two looks; without it, the same run needs more."""
    with Folder(binary) as folder:
        write_pytorch(folder.file("t/trace.json"), steps=150000)
        peak = {}
        for size in ("", "--max_memory 48M"):
            child = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
            r = folder.sh(f"python3 -c '{child}' gputally pytorch t/trace.json -q --threads 2 --output_csvs_dir out {size}")
            assert r.returncode == 0, r
            peak[size] = int(r.stdout) * 1024
        if is_sanitized(binary):
            return
        assert peak[""] > 80 << 20, peak
        assert peak["--max_memory 48M"] < peak[""] * 0.8, peak


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


def test_full_disk(binary):
    """A limit on the size of files stands for a full disk; nothing is written, and nothing stays behind."""
    with Folder(binary) as folder:
        write_pytorch(folder.file("t/trace.json"))
        os.makedirs(folder.file("tmp"))
        r = folder.sh("ulimit -f 1024; gputally pytorch t/trace.json -q --threads 2 --output_csvs_dir out --max_memory 32M",
                      TMPDIR=folder.file("tmp"))
        assert r.returncode == 1, r
        assert re.fullmatch(rf"gputally: {folder.file('tmp')}: cannot write \d+ MiB of temporary data: File too large; "
                            r"set TMPDIR to another folder, or raise max_memory\n", r.stderr), r.stderr
        assert os.listdir(folder.file("tmp")) == [] and not os.path.exists(folder.file("out"))


def test_limit_of_the_data_segment(binary):
    """`ulimit -d` is a limit without the option, too; the run then needs the temporary file, and succeeds."""
    with Folder(binary) as folder:
        if is_sanitized(binary):
            return  # the sanitizer itself needs more
        write_pytorch(folder.file("t/trace.json"), steps=150000)
        command = "gputally pytorch t/trace.json -q --threads 2 --output_csvs_dir "
        free = folder.sh(command + "free")
        assert free.returncode == 0, free
        r = folder.sh(f"ulimit -d {64 * 1024}; {command} limited")
        assert (r.returncode, r.stderr) == (0, free.stderr), r
        assert contents(folder, "free") == contents(folder, "limited")


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
