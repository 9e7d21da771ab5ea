"""The rocprofv3 inputs of test_damage.py, and ways to damage any trace: truncated, with flipped bits, with ranges removed or
repeated, with fields of other types; other kinds of files; and valid traces among them. Each has its expected result.

The offsets at which the dispatches of a generated trace end are known, and so is the expected content of a truncated one.
"""
import copy
import gzip
import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import zipfile
import zlib
from typing import Callable, NamedTuple, Optional

from tests.rocprof import generate_trace as rocprof_generator

DISPATCH_END = re.compile(rb'"stream_id":\{"handle":\d+\}\}')

MUST = {
    "end": "exit code 0 or 1",
    "fail": "exit code 1",
    "read": "exit code 0",
    "pass": "exit code 0 and an empty standard error",
    "agree": "the same sheets as from Python's json, or a failure if that fails",
    "cut": "exit code 0 and a warning, but exit code 1 under --strict",
}


class Case(NamedTuple):
    name: str
    data: Optional[bytes]  # None: prepare() makes the input
    must: str = "end"  # a key of MUST
    rows: Optional[range] = None  # how many dispatches a successful report may have
    arguments: tuple = ()
    prepare: Optional[Callable] = None  # (folder) -> path
    stdin: bool = False
    file_size_limit: Optional[int] = None
    suffix: str = ".json"
    check: Optional[Callable] = None  # (folder of sheets) -> problems, after a success


# ---- traces to damage ----


class Trace:
    """A generated trace: its bytes, and the offset at which each dispatch ends."""

    def __init__(self, **options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "trace.json")
            rocprof_generator.write_trace(path, rocprof_generator.Options(**options))
            with open(path, "rb") as file:
                self.data = file.read()
        self.first = self.data.index(b'"kernel_dispatch":[') + len(b'"kernel_dispatch":[')
        self.last = self.data.index(b'],"hip_api"')
        self.ends = [m.end() for m in DISPATCH_END.finditer(self.data, self.first, self.last)]

    def whole_before(self, length):
        return sum(end <= length for end in self.ends)


def exactly(count):
    return range(count, count + 1)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, capture_output=True, check=True).stdout


def unzstd_cut(data):
    """How much of truncated zstd data can be decompressed: complete blocks only, as the zstd tool does."""
    return len(subprocess.run(["zstd", "-q", "-d", "-c"], input=data, capture_output=True).stdout)


def thread_choice(i):
    return ("--threads", str(1 + i % 2))


def cuts(trace, label, places, rng):
    """Plain text truncated at random. Before the first complete dispatch, both exit codes are valid."""
    for i in range(places):
        at = rng.randrange(0, len(trace.data)) if i else len(trace.data) - 1
        whole = trace.whole_before(at)
        yield Case(f"{label} truncated at {at}", trace.data[:at], "cut" if whole else "end", exactly(whole),
                   thread_choice(i), stdin=i % 9 == 8)


def compressed_cuts(trace, label, packed, available, suffix, places, rng):
    """Truncated compressed text: whatever can be decompressed counts, with a tolerance for what a decoder buffers."""
    for i in range(places):
        at = rng.randrange(20, len(packed)) if i else len(packed) - 1
        length = available(packed[:at])
        whole = trace.whole_before(length)
        most = len(trace.ends) if suffix == ".json.zst" else whole
        yield Case(f"{label} truncated at {at}", packed[:at], "cut" if whole else "end",
                   range(max(0, whole - 1), most + 1), thread_choice(i), suffix=suffix)


def gunzip_cut(data):
    return len(zlib.decompressobj(31).decompress(data))


def flips(trace, label, data, places, rng, suffix=".json", sound_from=None):
    """One flipped bit per case. From `sound_from` on, a checksum detects every one."""
    for i in range(places):
        at, bit = rng.randrange(len(data)), rng.randrange(8)
        damaged = bytearray(data)
        damaged[at] ^= 1 << bit
        must = "fail" if sound_from is not None and at >= sound_from else "end"
        yield Case(f"{label} bit {bit} of byte {at}", bytes(damaged), must, arguments=thread_choice(i), suffix=suffix)


def garbage(trace, places, rng):
    """Bytes overwritten, ranges removed, repeated and moved."""
    data = trace.data
    for i in range(places):
        at = rng.randrange(len(data))
        length = rng.choice([1, 1, 2, 3, 7, 40, 300, 5000])
        piece = data[at:at + length]
        yield Case(f"delete {length} at {at}", data[:at] + data[at + length:], arguments=thread_choice(i))
        yield Case(f"double {length} at {at}", data[:at] + piece + data[at:], arguments=thread_choice(i))
        yield Case(f"random {length} at {at}", data[:at] + rng.randbytes(length) + data[at + length:],
                   arguments=thread_choice(i))
        to = rng.randrange(len(data))
        yield Case(f"move {length} from {at} to {to}", data[:to] + piece + data[to:], arguments=thread_choice(i))


def scribbles(trace, label, places, rng):
    """A few characters of JSON changed, removed or inserted: often still valid JSON with another meaning."""
    letters = b'0123456789{}[]",:\\ue-+.ntf \n'
    for i in range(places):
        begin, end = (trace.first, trace.last) if i % 2 else (0, len(trace.data))
        damaged, changes = bytearray(trace.data), rng.choice([1, 1, 1, 2, 3])
        for _ in range(changes):
            at, letter = rng.randrange(begin, end - changes), rng.choice(letters)
            damaged[at:at + rng.choice([0, 1, 1])] = rng.choice([b"", bytes([letter]), bytes([letter])])
        yield Case(f"{label} with changed characters, {i}", bytes(damaged), "agree", arguments=thread_choice(i))


# ---- fields of other types ----

FIELDS = [
    [], ["metadata"], ["metadata", "init_time"], ["metadata", "fini_time"], ["metadata", "pid"], ["metadata", "node"],
    ["metadata", "node", "hostname"], ["agents"], ["strings"], ["kernel_symbols"], ["kernel_symbols", 1],
    ["kernel_symbols", 1, "kernel_id"], ["kernel_symbols", 1, "kernel_name"],
    ["kernel_symbols", 1, "truncated_kernel_name"], ["kernel_symbols", 1, "formatted_kernel_name"],
    ["buffer_records"], ["buffer_records", "kernel_dispatch"], ["buffer_records", "kernel_dispatch", 3],
    ["buffer_records", "kernel_dispatch", 3, "start_timestamp"],
    ["buffer_records", "kernel_dispatch", 3, "end_timestamp"], ["buffer_records", "kernel_dispatch", 3, "thread_id"],
    ["buffer_records", "kernel_dispatch", 3, "stream_id"],
    ["buffer_records", "kernel_dispatch", 3, "stream_id", "handle"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "kernel_id"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "dispatch_id"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "agent_id"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "agent_id", "handle"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "grid_size"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "grid_size", "y"],
    ["buffer_records", "kernel_dispatch", 3, "dispatch_info", "workgroup_size", "z"],
    ["buffer_records", "memory_copy"], ["buffer_records", "memory_copy", 0],
    ["buffer_records", "memory_copy", 0, "start_timestamp"], ["buffer_records", "memory_copy", 0, "end_timestamp"],
    ["buffer_records", "hip_api"], ["buffer_records", "hip_api", 0], ["buffer_records", "hsa_api"],
]
VALUES = ["text", "", None, True, -5, 0, 1.5, -1e300, 1e308, 2**63 - 1, -2**63, 2**63, 2**64 - 1, 2**64, -2**80,
          10**400, float("nan"), float("inf"), [], {}, [[]], {"handle": "x"}, {"x": None}, "9" * 50, [1, 2, 3]]
NULL_FAILS = [["buffer_records"], ["metadata"], ["buffer_records", "kernel_dispatch", 3, "dispatch_info"]]
MISSING_FAILS = [["buffer_records"], ["kernel_symbols", 1, "kernel_id"]]
MISSING_READ = [field for field in FIELDS if field and not isinstance(field[-1], int) and field not in MISSING_FAILS]


def changed(document, field, change):
    """A copy of the document whose first process has change(container, key) applied at the field."""
    fresh = copy.deepcopy(document)
    at, steps = fresh, ["rocprofiler-sdk-tool", 0, *field]
    for step in steps[:-1]:
        at = at[step]
    change(at, steps[-1])
    return fresh


def other_types(trace, rng):
    document = json.loads(trace.data)
    dump = lambda value: json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    count = len(trace.ends)
    for field in FIELDS:
        where = ".".join(map(str, field)) or "process"
        for number, value in enumerate(VALUES):
            def put(container, key, value=value):
                container[key] = value
            must = "fail" if value is None and field in NULL_FAILS else "end"
            yield Case(f"{where} = {str(value)[:20]!r} ({number})", dump(changed(document, field, put)), must)

        def drop(container, key):
            del container[key]
        must = "fail" if field in MISSING_FAILS else "read" if field in MISSING_READ else "end"
        lost = count if field == ["buffer_records", "kernel_dispatch"] else "kernel_dispatch" in field and str(field[-1]).endswith("_timestamp")
        rows = exactly(count - lost) if must == "read" else None
        yield Case(f"{where} missing", dump(changed(document, field, drop)), must, rows)
    yield from doubled_keys(trace, dump, document)


def doubled_keys(trace, dump, document):
    """A duplicate key in each record of one kind."""
    text, count = trace.data, len(trace.ends)
    for key in (b'"start_timestamp":', b'"kernel_id":', b'"dispatch_info":', b'"agent_id":', b'"handle":', b'"x":',
                b'"truncated_kernel_name":', b'"kernel_symbols":', b'"kernel_dispatch":', b'"metadata":',
                b'"buffer_records":', b'"rocprofiler-sdk-tool":'):
        for value in (b"1", b'"x"', b"null", b"{}", b"[]", b'[{"a":[{}]}]'):
            yield Case(f"{key.decode()} {value.decode()} before each", text.replace(key, key + value + b"," + key))
        yield Case(f"{key.decode()} escaped", text.replace(key, b'"\\u00' + b"%02x" % key[1] + key[2:]))
    yield Case("unknown keys everywhere", text.replace(b'{"size":184', b'{"new":[{"a":[1,{"b":null}]}],"size":184'),
               "pass", exactly(count))
    pretty = json.dumps(document, indent=4, ensure_ascii=False).encode()
    yield Case("indented", pretty, "pass", exactly(count))
    yield Case("with a byte order mark", b"\xef\xbb\xbf" + text, "pass", exactly(count))
    yield Case("sorted keys", json.dumps(document, sort_keys=True).encode(), "pass", exactly(count))
    reversed_keys = lambda v: ({k: reversed_keys(v[k]) for k in reversed(v)} if isinstance(v, dict) else
                               [reversed_keys(item) for item in v] if isinstance(v, list) else v)
    yield Case("keys in reverse order", dump(reversed_keys(document)), "pass", exactly(count))


# ---- other kinds of files ----


def sqlite_bytes():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.db")
        base = sqlite3.connect(path)
        base.execute("create table rocpd_kernel (id integer, name text)")
        base.execute("insert into rocpd_kernel values (1, 'k')")
        base.commit()
        base.close()
        with open(path, "rb") as file:
            return file.read()


def zip_bytes():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("[Content_Types].xml", "<?xml version='1.0'?><Types/>")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return packed.getvalue()


def make_folder(folder):
    path = os.path.join(folder, "input_7391_folder")
    os.mkdir(path)
    return path


def no_traces(text, rng):
    """Inputs by name that are not traces; `text` is a valid trace."""
    return {
        "empty": b"",
        "one byte": b"{",
        "one newline": b"\n",
        "spaces": b" " * 10_000,
        "NULs": b"\0" * 10_000,
        "random": rng.randbytes(50_000),
        "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0\0\0\1\0\x08\6\0\0\0" + rng.randbytes(3000),
        "ELF": b"\x7fELF\2\1\1\0" + b"\0" * 8 + rng.randbytes(4000),
        "text": b"To whom it may concern:\nthis is not a trace.\n" * 50,
        "CSV": b'"Kind","Agent_Id","Kernel_Name"\n"KERNEL_DISPATCH",1,"gemm"\n',
        "HTML": b"<!doctype html><title>404</title>",
        "XLSX": zip_bytes(),
        "SQLite": sqlite_bytes(),
        "protobuf": b"\x0a\x10\x08\x01\x12\x0csome.process" * 200,
        "bzip2": b"BZh91AY&SY" + rng.randbytes(100),
        "xz": b"\xfd7zXZ\0" + rng.randbytes(100),
        "UTF-16": text.decode().encode("utf-16"),
        "UTF-32": text.decode().encode("utf-32"),
        "JSON number": b"12",
        "JSON string": b'"trace"',
        "JSON null": b"null",
        "JSON empty object": b"{}",
        "JSON lines": b'{"a":1}\n{"a":2}\n',
        "other key": b'{"x":1}',
        "deep arrays": b"[" * 1_000_000,
        "deep objects": b'{"a":' * 500_000,
        "one string of 4 MB": b'"' + b"x" * 4_000_000,
        "one number of 4 MB": b"1" * 4_000_000,
        "gzip magic only": b"\x1f\x8b",
        "gzip header only": b"\x1f\x8b\x08" + b"\0" * 7,
        "gzip of an unknown method": b"\x1f\x8b\x07" + b"\0" * 40,
        "gzip of noise": b"\x1f\x8b\x08" + b"\0" * 7 + rng.randbytes(2000),
        "gzip of nothing": gzip.compress(b""),
        "gzip of PNG": gzip.compress(b"\x89PNG\r\n\x1a\n" + rng.randbytes(100)),
        "gzip twice": gzip.compress(gzip.compress(text)),
        "gzip of 200 MB of spaces": gzip.compress(b" " * 200_000_000, 1),
        "gzip of 50 MB of brackets": gzip.compress(b"[" * 50_000_000, 1),
        "gzip with a wrong length": gzip.compress(text)[:-4] + b"\1\0\0\0",
        "gzip with a wrong checksum": gzip.compress(text)[:-8] + b"\1\2\3\4" + gzip.compress(text)[-4:],
        "zstd magic only": b"\x28\xb5\x2f\xfd",
        "zstd of noise": b"\x28\xb5\x2f\xfd" + rng.randbytes(2000),
    }


def foreign_cases(foreign):
    for name, data in foreign.items():
        yield Case(name, data, "fail")
        yield Case(name + ", standard input", data, "fail", stdin=True)
    yield Case("a folder", None, "fail", prepare=make_folder)
    yield Case("a missing file", None, "fail",
               prepare=lambda folder: os.path.join(folder, "input_7391_absent"))
    yield Case("a path through a file", None, "fail", prepare=lambda folder: "/dev/null/input_7391_absent")
    yield Case("/dev/null", None, "fail", prepare=lambda folder: "/dev/null")


def other_files(trace, rng):
    smallest = b'{"rocprofiler-sdk-tool":[{"buffer_records":{}}]}'
    yield from foreign_cases({
        **no_traces(trace.data, rng),
        "JSON array": b'[{"ph":"X","name":"k","ts":1,"dur":2}]',
        "single quotes": b"{'rocprofiler-sdk-tool': []}",
        "PyTorch trace": b'{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1.5,"dur":2}]}',
        "process list empty": b'{"rocprofiler-sdk-tool":[]}',
        "process list null": b'{"rocprofiler-sdk-tool":null}',
        "process list a number": b'{"rocprofiler-sdk-tool":7}',
        "process null": b'{"rocprofiler-sdk-tool":[null]}',
        "process without records": b'{"rocprofiler-sdk-tool":[{}]}',
        "two documents": smallest + smallest,
        "text at the end": smallest + b" and more",
        "NUL at the end": smallest + b"\0",
        "deep in a record": b'{"rocprofiler-sdk-tool":[{"buffer_records":{"kernel_dispatch":[{"x":' + b"[" * 2000 +
                            b"]" * 2000 + b"}]}}]}",
    })


def sound_files(trace):
    """The trace compressed in every supported way, under names without a meaning."""
    text, count, half = trace.data, len(trace.ends), len(trace.data) // 2
    valid = {
        "plain": text,
        "newlines at the end": text + b"\n \r\n\t",
        "gzip": gzip.compress(text),
        "gzip of two members": gzip.compress(text[:half]) + gzip.compress(text[half:]),
        "gzip of many members": b"".join(gzip.compress(text[i:i + 3000]) for i in range(0, len(text), 3000)),
        "gzip with an empty member": gzip.compress(b"") + gzip.compress(text) + gzip.compress(b""),
        "gzip with zeros at the end": gzip.compress(text) + b"\0" * 512,
        "gzip with every header field": gzip_with_header_fields(text),
        "gzip stored": gzip.compress(text, 0),
        "gzip level 1": gzip.compress(text, 1),
        "gzip fixed codes": gzip_with(text, zlib.Z_FIXED),
        "gzip run lengths": gzip_with(text, zlib.Z_RLE),
        "gzip Huffman only": gzip_with(text, zlib.Z_HUFFMAN_ONLY),
    }
    if shutil.which("zstd"):
        valid["zstd"] = zstd(text)
        valid["zstd of two frames"] = zstd(text[:half]) + zstd(text[half:])
        valid["zstd with a skippable frame"] = b"\x50\x2a\x4d\x18\4\0\0\0abcd" + zstd(text)
    for name, data in valid.items():
        for i in range(2):
            yield Case(f"{name}, {i + 1} threads", data, "pass", exactly(count), thread_choice(i))
        yield Case(f"{name}, standard input", data, "pass", exactly(count), stdin=True)
        yield Case(f"{name}, misleading name", data, "pass", exactly(count), suffix=".txt")
    yield Case("gzip with text at the end", gzip.compress(text) + b"more text", "end", exactly(count))


def gzip_with(data, strategy):
    packer = zlib.compressobj(6, zlib.DEFLATED, 31, 8, strategy)
    return packer.compress(data) + packer.flush()


def gzip_with_header_fields(data):
    """Gzip with extra field, name, comment and header checksum."""
    plain = gzip.compress(data, mtime=0)
    header = plain[:3] + b"\x1e" + plain[4:10] + b"\4\0abcd" + b"name.json\0" + b"a comment\0"
    return header + (zlib.crc32(header) & 0xFFFF).to_bytes(2, "little") + plain[10:]


def bad_outputs(trace):
    def taken(folder):
        with open(os.path.join(folder, "out_5582"), "wb") as file:
            file.write(b"a file where the folder should be")
        path = os.path.join(folder, "input_7391_results.json")
        with open(path, "wb") as file:
            file.write(trace.data)
        return path
    yield Case("the output folder is a file", None, "fail", prepare=taken)
    for limit in (1, 512, 4096, 16_384):
        yield Case(f"disk full after {limit} bytes", trace.data, "fail", file_size_limit=limit)


def all_cases(rng):
    small = Trace(dispatches=220, layers=1, copies=6, api_calls=24, processes=1, seed=5,
                  names=('quote " comma,', "line\nbreak", "emoji 🚀", "<script>"))
    large = Trace(dispatches=9_000, symbols=400, copies=50, api_calls=400, seed=6)  # 4 MB: several blocks, both threads
    two = Trace(dispatches=150, layers=1, copies=4, processes=2, seed=7)
    yield from cuts(small, "plain", 130, rng)
    yield from cuts(large, "large", 40, rng)
    yield from compressed_cuts(small, "gzip", gzip.compress(small.data), gunzip_cut, ".json.gz", 60, rng)
    yield from compressed_cuts(large, "large gzip", gzip.compress(large.data), gunzip_cut, ".json.gz", 20, rng)
    yield from flips(small, "plain", small.data, 350, rng)
    yield from flips(two, "two processes", two.data, 50, rng)
    yield from flips(large, "large", large.data, 60, rng)
    yield from flips(small, "gzip", gzip.compress(small.data), 120, rng, ".json.gz", 10)
    yield from flips(large, "large gzip", gzip.compress(large.data, 1), 20, rng, ".json.gz", 10)
    if shutil.which("zstd"):
        yield from compressed_cuts(small, "zstd", zstd(small.data), unzstd_cut, ".json.zst", 40, rng)
        yield from compressed_cuts(large, "large zstd", zstd(large.data), unzstd_cut, ".json.zst", 20, rng)
        yield from flips(small, "zstd", zstd(small.data), 60, rng, ".json.zst", 20)
    else:
        print("skipped: zstd is not installed, so no zstd file is damaged")
    yield from garbage(small, 50, rng)
    yield from scribbles(small, "plain", 400, rng)
    yield from scribbles(large, "large", 10, rng)
    yield from other_types(small, rng)
    yield from other_files(small, rng)
    yield from sound_files(small)
    yield from bad_outputs(small)
