#!/usr/bin/env python3
"""Small compressed files that contain one huge value: each is refused with one sentence that names the file and the place,
in bounded memory; values below the limit are read.

    python3 -m tests.damage.test_large_values --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

from tests.common import harness

MIB = 1 << 20
SIZE = 160 * MIB  # of the values: more than twice the limit of 64 MiB
MEMORY = 450 * MIB  # enough for two copies of a block that is twice the limit, not for the whole value
EVENT = b'{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":1,"ts":1,"dur":2,"args":{"stream":1}}'
SANITIZED = {}


def write(path, *parts):
    """Writes a gzip file of bytes, and of pairs (bytes, how often). What is repeated is packed once."""
    crc = size = 0
    with open(path, "wb") as file:
        file.write(b"\x1f\x8b\x08" + bytes(6) + b"\x03")
        for part in parts:
            data, count = part if isinstance(part, tuple) else (part, 1)
            packer = zlib.compressobj(6, zlib.DEFLATED, -15)
            file.write((packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)) * count)
            for _ in range(count):
                crc = zlib.crc32(data, crc)
            size += len(data) * count
        file.write(b"\x03\x00" + struct.pack("<II", crc, size))  # an empty last block


def event(begin, value, end):
    return b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel",' + begin, value, end + b',"pid":1,"tid":1,"ts":1,"dur":2}]}'


def run(binary, folder, *arguments):
    """The exit code, the largest memory in bytes and standard error."""
    child = subprocess.Popen([binary, *arguments], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stderr = child.stderr.read().decode(errors="replace")
    child.stderr.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage.ru_maxrss * 1024, stderr


def is_sanitized(binary):
    """AddressSanitizer needs more memory than the program itself."""
    if binary not in SANITIZED:
        with open(binary, "rb") as file:
            SANITIZED[binary] = b"__asan_init" in file.read()
    return SANITIZED[binary]


def refused(binary, folder, words, *arguments):
    code, memory, stderr = run(binary, folder, *arguments)
    last = stderr.rstrip("\n").split("\n")[-1]
    assert code == 1 and all(word in last for word in words), (arguments, code, stderr)
    assert memory < MEMORY or is_sanitized(binary), f"{arguments}: {memory >> 20} MiB"
    left = [name for name in harness.files_under(folder) if not name.startswith("in")]
    assert not left, left


def in_folder(function):
    def test(binary):
        folder = tempfile.mkdtemp(prefix="gputally-large-")
        try:
            function(binary, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    test.__name__ = function.__name__
    return test


LETTERS = (b"a" * MIB, SIZE // MIB)
VALUES = {
    "a name": event(b'"name":"', LETTERS, b'"'),
    "a string of an argument": event(b'"name":"k","args":{"Input Dims":"', LETTERS, b'"}'),
    "a string that is not needed": event(b'"name":"k","other":"', LETTERS, b'"'),
    "a key": event(b'"name":"k","', LETTERS, b'":1'),
    "a number": event(b'"name":"k","x":1', (b"1" * MIB, SIZE // MIB), b""),
    "a string of escapes": event(b'"name":"', (b"\\u0041" * (MIB // 6), SIZE // MIB), b'"'),
    "a list": event(b'"name":"k","args":{"Input Dims":["a"', (b',"' + b"b" * MIB + b'"', SIZE // MIB), b"]}"),
    "a member of the trace": (b'{"schemaVersion":1,"other":"', LETTERS, b'","traceEvents":[' + EVENT + b"]}"),
}


@in_folder
def test_values_of_a_pytorch_trace(binary, folder):
    for name, parts in VALUES.items():
        write(os.path.join(folder, "in.json.gz"), *parts)
        refused(binary, folder, ("in.json.gz", "larger than 64 MiB", "at byte"), "pytorch", "in.json.gz", "--output_csvs_dir", "out")


@in_folder
def test_other_commands(binary, folder):
    for name in ("a name",):
        write(os.path.join(folder, "in.json.gz"), *VALUES[name])
        for command in (("convert", "in.json.gz", "out.pftrace"), ("fuse", "in.json.gz", "in.json.gz", "-o", "out.json"),
                        ("split", "in.json.gz", "-o", "out"), ("diff", "in.json.gz", "in.json.gz", "--output_dir", "out"),
                        ("report", "in.json.gz", "--output_csvs_dir", "out")):
            refused(binary, folder, ("in.json.gz", "larger than 64 MiB", "at byte"), *command)


@in_folder
def test_rocprof_json(binary, folder):
    write(os.path.join(folder, "in_results.json.gz"), b'{"rocprofiler-sdk-tool":[{"metadata":{"pid":1},"kernel_symbols":[{"kernel_id":1,'
          b'"kernel_name":"', LETTERS, b'"}],"buffer_records":{"kernel_dispatch":[]}}]}')
    for command in (("rocprof", "in_results.json.gz", "--output_csvs_dir", "out"), ("convert", "in_results.json.gz", "out.json")):
        refused(binary, folder, ("in_results.json.gz", "larger than 64 MiB", "at byte"), *command)


@in_folder
def test_rocprof_csv(binary, folder):
    write(os.path.join(folder, "in_kernel_trace.csv.gz"), b'"Kind","Agent_Id","Kernel_Name","Dispatch_Id","Start_Timestamp","End_Timestamp"\n'
          b'"KERNEL_DISPATCH",1,"', LETTERS, b'",1,1,2\n')
    refused(binary, folder, ("in_kernel_trace.csv.gz", "row 2 is longer than 64 MB"), "rocprof", "in_kernel_trace.csv.gz",
            "--output_csvs_dir", "out")


@in_folder
def test_jax_profile(binary, folder):
    """A profile is held in memory: what it inflates to is bounded instead of one value."""
    size = 400 * MIB

    def varint(number):
        out = b""
        while number > 0x7F:
            out += bytes([number & 0x7F | 0x80])
            number >>= 7
        return out + bytes([number])

    inner = b"\x12" + varint(size)  # XPlane.name
    write(os.path.join(folder, "in.xplane.pb.gz"), b"\x0a" + varint(len(inner) + size), inner, (b"a" * MIB, size // MIB))
    code, memory, stderr = run(binary, folder, "jax", "in.xplane.pb.gz", "--output_csvs_dir", "out")
    assert code == 1 and "in.xplane.pb.gz: inflates to more than 256 MiB and 100 times its size" in stderr, (code, stderr)
    assert memory < 900 * MIB or is_sanitized(binary), f"{memory >> 20} MiB"


@in_folder
def test_values_below_the_limit(binary, folder):
    """Half of the limit: read, in bounded memory."""
    for begin, end in ((b'"name":"', b'"'), (b'"name":"k","args":{"stream":1,"other":"', b'"}'), (b'"name":"k","', b'":1')):
        write(os.path.join(folder, "in.json.gz"), *event(begin, (b"a" * MIB, 32), end))
        code, memory, stderr = run(binary, folder, "pytorch", "in.json.gz", "--output_csvs_dir", "out", "--include_unlinked_kernels", "--quiet")
        assert code == 0, stderr
        assert memory < MEMORY or is_sanitized(binary), f"{memory >> 20} MiB"
        shutil.rmtree(os.path.join(folder, "out"))


@in_folder
def test_nesting(binary, folder):
    write(os.path.join(folder, "in.json.gz"), *event(b'"name":"k","args":{"x":', (b"[" * MIB, 100), b"}"))
    refused(binary, folder, ("in.json.gz", "nested more than 1024 deep"), "pytorch", "in.json.gz", "--output_csvs_dir", "out")


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
