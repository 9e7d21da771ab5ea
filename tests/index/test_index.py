#!/usr/bin/env python3
"""Indexes: reports from an index are those from the trace, byte for byte, and an index that is not that of the trace is
noticed, whatever happened to either.

    python3 -m tests.index.test_index --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import contextlib
import glob
import gzip
import json
import os
import random
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
import time

from tests.common import harness
from tests.common.harness import CONFORMANCE_TRACES, FIXTURES

SUFFIX = ".gtindex"
HEAD_BYTES = 8192
# Options of `gputally report` by kind of trace: two sets, of which the second needs more of the trace.
OPTIONS = {
    "pytorch": (["--enable_kernel_summary", "--short_kernel_study"],
                ["--include_overlap_info", "--extra", "--enable_pseudo_ops", "--gpu_arch_platform", "MI300X",
                 "--inference_phase_analysis", "--enable_kernel_summary"],
                ["--include_call_stack", "--detect_recompute", "--linked_kernels_only"]),
    "rocprof": (["--short_kernel_study"], ["--kernel_details", "--full_kernel_names"],
                ["--no_extra_sheets", "--comm_kernels", "tracelens"]),
    "jax": ([], ["--kernel_metadata_keyword_filters", "dot"]),
}


@contextlib.contextmanager
def folder():
    path = tempfile.mkdtemp(prefix="gputally-index-")
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def contents(path):
    found = {}
    for name in harness.files_under(path):
        with open(os.path.join(path, name), "rb") as file:
            found[name] = file.read()
    return found


class Result:
    """What a command gave: files, exit code, and both streams with the names of folders replaced."""

    def __init__(self, binary, at, trace, options, command="report", env=None):
        out = tempfile.mkdtemp(prefix="out-", dir=at)
        words = [binary, command, trace, "--output_csvs_dir", out, "--output_xlsx_path", os.path.join(out, "r.xlsx"),
                 "--no_progress", *options]
        run = harness.run(words, env=env)
        self.code = run.code
        self.stdout = run.stdout.replace(out, "OUT")
        self.stderr = run.stderr.replace(out, "OUT")
        self.files = contents(out)
        shutil.rmtree(out)

    def __eq__(self, other):
        return (self.code, self.stdout, self.stderr, self.files) == (other.code, other.stdout, other.stderr, other.files)

    def differences(self, other):
        names = sorted(name for name in {*self.files, *other.files} if self.files.get(name) != other.files.get(name))
        parts = [f"files {names}"] if names else []
        for what in ("code", "stdout", "stderr"):
            if getattr(self, what) != getattr(other, what):
                parts.append(f"{what}: {getattr(self, what)!r} and {getattr(other, what)!r}")
        return "; ".join(parts)


def check_same(expected, got, what):
    assert expected == got, f"{what}: {expected.differences(got)}"


def copy_trace(at, *parts):
    path = shutil.copy(os.path.join(FIXTURES, *parts), at)
    old = time.time() - 100  # so that its times prove that it has not changed
    os.utime(path, (old, old))
    return path


def settle():
    """Waits until the times of files made before are old enough to prove that they have not changed."""
    time.sleep(2.1)


def traces():
    """(kind, path) of all traces that a report can be made of; of the large ones only with LONG."""
    for kind, pattern in (("pytorch", "pytorch/*.json.gz"), ("rocprof", "rocprof/*_results.json"), ("jax", "jax/*.pb.gz")):
        for path in sorted(glob.glob(os.path.join(FIXTURES, pattern))):
            yield kind, path
    for path in sorted(glob.glob(os.path.join(CONFORMANCE_TRACES, "*.json.gz"))):
        if os.path.getsize(path) < (6 << 20 if harness.LONG else 100_000):
            yield "rocprof" if "rocprof" in os.path.basename(path) else "pytorch", path


# ---- the same results ----

def check_trace(binary, at, kind, path):
    trace = shutil.copy(path, at)
    off = [Result(binary, at, trace, [*options, "--index", "off"]) for options in OPTIONS[kind]]
    assert not os.path.exists(trace + SUFFIX), "--index off wrote an index"
    first = Result(binary, at, trace, OPTIONS[kind][0])
    check_same(off[0], first, "without an index")
    assert not os.path.exists(trace + SUFFIX), "a report wrote an index without being asked"
    check_same(off[0], Result(binary, at, trace, [*OPTIONS[kind][0], "--index", "auto"]), "while an index is made")
    if off[0].code:
        return
    is_kept = os.path.exists(trace + SUFFIX)
    assert is_kept or "truncated" in off[0].stderr, f"no index: {off[0].stderr}"
    size = is_kept and os.path.getsize(trace + SUFFIX)
    for number, options in enumerate(OPTIONS[kind]):  # the first: sheets from the index; the others: only events
        check_same(off[number], Result(binary, at, trace, options), f"options {number} from the index")
    assert not is_kept or os.path.getsize(trace + SUFFIX) == size, "a report changed the index without being asked"
    for number, options in enumerate(OPTIONS[kind]):
        for turn in ("keeping", "again"):
            check_same(off[number], Result(binary, at, trace, [*options, "--index", "auto"]), f"options {number}, {turn}")
    if is_kept:
        check_same(off[0], Result(binary, at, trace + SUFFIX, OPTIONS[kind][0]), "the index instead of the trace")


def test_same_results(binary):
    problems = []
    for kind, path in traces():
        with folder() as at:
            try:
                check_trace(binary, at, kind, path)
            except AssertionError as problem:
                problems.append(f"{os.path.basename(path)}: {problem}")
    assert not problems, "\n".join(problems)


def test_same_for_any_number_of_threads(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        expected, bytes_of = {}, set()
        for threads in (1, 2, 3, 8, 16) if harness.LONG else (1, 3, 16):
            if os.path.exists(trace + SUFFIX):
                os.remove(trace + SUFFIX)
            for number, options in enumerate(OPTIONS["pytorch"]):
                got = [Result(binary, at, trace, [*options, "--threads", str(threads), "--index", index])
                       for index in ("off", "auto", "auto")]
                for one in got:
                    check_same(expected.setdefault(number, one), one, f"{threads} threads, options {number}")
            with open(trace + SUFFIX, "rb") as file:
                bytes_of.add(file.read()[HEAD_BYTES:])
        assert len(bytes_of) == 1, "the index depends on the number of threads"


def test_other_commands(binary):
    """diff, convert and batch read events from an index."""
    with folder() as at:
        trace, run = copy_trace(at, "pytorch", "training.json.gz"), copy_trace(at, "rocprof", "tiny_results.json")
        plain, indexed, again = (os.path.join(at, name) for name in ("plain", "indexed", "again"))
        for out, index in ((plain, "off"), (indexed, "auto"), (again, "auto")):
            r = harness.run([binary, "diff", trace, trace, "--output_dir", out, "--index", index, "-q"])
            assert r.code == 0 and not r.stderr, r
            r = harness.run([binary, "convert", run, "-o", os.path.join(out, "t.json"), "--index", index, "-q"])
            assert r.code == 0 and not r.stderr, r
        assert os.path.exists(trace + SUFFIX) and os.path.exists(run + SUFFIX)
        assert contents(plain) == contents(indexed) == contents(again)
        # A command without an index reads the trace of the index that it is given.
        for name in (trace, trace + SUFFIX):
            r = harness.run([binary, "convert", name, "-o", os.path.join(at, os.path.basename(name) + ".pftrace"), "-q"])
            assert r.code == 0 and not r.stderr, r
        one, two = (open(os.path.join(at, os.path.basename(name) + ".pftrace"), "rb").read() for name in (trace, trace + SUFFIX))
        assert one == two


# ---- an index that is not that of the trace ----

WARNING = "gputally: warning: {index}: {why}; it is not used (--index auto makes it again)\n"


def spoil(binary, at, change, why, trace_name="training.json.gz"):
    """change(trace, index) after an index was made: the next report must be right and say why the index is not used; with
    --index auto it makes a new one."""
    trace = copy_trace(at, "pytorch", trace_name)
    options = OPTIONS["pytorch"][0]
    made = harness.run([binary, "index", trace, "-q"])
    assert made.code == 0, made
    change(trace, trace + SUFFIX)
    off = Result(binary, at, trace, [*options, "--index", "off"])
    used = Result(binary, at, trace, options)
    expected = WARNING.format(index=trace + SUFFIX, why=why) if why else ""
    assert used.stderr == expected + off.stderr, (used.stderr, expected)
    used.stderr = off.stderr
    check_same(off, used, "with the spoilt index")
    renewed = Result(binary, at, trace, [*options, "--index", "auto"])
    if why:
        assert renewed.stderr == f"gputally: {trace + SUFFIX}: {why}; it is made again\n" + off.stderr, renewed.stderr
    renewed.stderr = off.stderr
    check_same(off, renewed, "while the index is made again")
    check_same(off, Result(binary, at, trace, options), "from the new index")
    for path in (trace, trace + SUFFIX):
        os.remove(path)


STALE = "index of an earlier state of the trace, or of another trace"
FOREIGN = "index of another build of gputally"
DAMAGED = "damaged index"


def rewrite(path, edit):
    with open(path, "rb") as file:
        data = bytearray(file.read())
    edit(data)
    with open(path, "wb") as file:
        file.write(data)


def edit_trace(trace):
    """Doubles a duration, in place, and restores the time: only the contents differ."""
    before = os.stat(trace)
    with gzip.open(trace, "rt") as file:
        data = json.load(file)
    kernels = [event for event in data["traceEvents"] if event.get("cat") == "kernel"]
    kernels[0]["dur"] *= 2
    with open(trace, "wb") as file:
        file.write(gzip.compress(json.dumps(data).encode(), 9))
    return before


def test_changed_trace(binary):
    with folder() as at:
        spoil(binary, at, lambda trace, index: edit_trace(trace), STALE)


def plain_trace(trace):
    """The trace without compression under the same name, so that an edit keeps its size."""
    with gzip.open(trace, "rb") as file:
        text = file.read()
    with open(trace, "wb") as file:
        file.write(text)
    return text


def test_changed_trace_with_the_same_size_and_time(binary):
    """The time of the last change of the inode tells."""
    for settled in (False, True):
        with folder() as at:
            trace = copy_trace(at, "pytorch", "training.json.gz")
            text = plain_trace(trace)
            if settled:
                settle()
            assert harness.run([binary, "index", trace, "-q"]).code == 0
            before, at_dur = os.stat(trace), text.rindex(b'"dur": ') + len(b'"dur": ')
            with open(trace, "r+b") as file:
                file.seek(at_dur)
                file.write(b"9" if text[at_dur:at_dur + 1] != b"9" else b"8")
            os.utime(trace, ns=(before.st_atime_ns, before.st_mtime_ns))
            assert os.stat(trace).st_size == before.st_size and os.stat(trace).st_mtime_ns == before.st_mtime_ns
            off = Result(binary, at, trace, [*OPTIONS["pytorch"][0], "--index", "off"])
            used = Result(binary, at, trace, OPTIONS["pytorch"][0])
            assert used.stderr == WARNING.format(index=trace + SUFFIX, why=STALE) + off.stderr, used.stderr
            assert used.files == off.files


def test_touched_and_copied_trace(binary):
    """Other times and another inode, but the same contents: the index is used, which the removed kernel_summary shows."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        other = os.path.join(at, "other")
        os.mkdir(other)
        moved = shutil.copy(trace, other)
        shutil.copy(trace + SUFFIX, other)
        off = Result(binary, at, moved, ["--index", "off"])
        check_same(off, Result(binary, at, moved, []), "a copy of the trace with a copy of the index")
        os.utime(trace)
        off = Result(binary, at, trace, ["--index", "off"])
        check_same(off, Result(binary, at, trace, ["--index", "auto"]), "a touched trace")
        os.remove(moved)
        assert Result(binary, at, moved + SUFFIX, ["-q"]).code == 0


def test_index_of_another_trace(binary):
    def change(trace, index):
        other = shutil.copy(os.path.join(FIXTURES, "pytorch", "inference.json.gz"), os.path.dirname(trace))
        assert harness.run([binary, "index", other, "-q"]).code == 0
        os.replace(other + SUFFIX, index)
    with folder() as at:
        spoil(binary, at, change, STALE)


def test_foreign_index(binary):
    def of_format(data):
        data[12:16] = struct.pack("=I", struct.unpack("=I", data[12:16])[0] + 1)

    def of_build(data):
        data[16] ^= 1

    def of_byte_order(data):
        data[8:12] = data[8:12][::-1]
    with folder() as at:
        for edit in (of_format, of_build, of_byte_order):
            spoil(binary, at, lambda trace, index: rewrite(index, edit), FOREIGN)


def test_truncated_index(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        size = os.path.getsize(trace + SUFFIX)
        for kept in (9, 17, 100, HEAD_BYTES - 1, HEAD_BYTES, HEAD_BYTES + 10, HEAD_BYTES + 200, size // 5):
            spoil(binary, at, lambda trace, index: os.truncate(index, kept), DAMAGED)
        # Without the last record, or with half of it, the events are still there.
        spoil(binary, at, lambda trace, index: os.truncate(index, size - 64), None)
        for kept in (0, 1, 7):  # too short to be an index: as if there were none, and not replaced either
            trace = copy_trace(at, "pytorch", "training.json.gz")
            with open(trace + SUFFIX, "wb") as file:
                file.write(b"GTINDEX\n"[:kept])
            off = Result(binary, at, trace, ["--index", "off"])
            check_same(off, Result(binary, at, trace, []), f"{kept} bytes")


def test_flipped_bits(binary):
    """A flipped bit anywhere changes no result, and ends no command. Where it is in what is used, it is noticed."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "known_shapes.json.gz")
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        with open(trace + SUFFIX, "rb") as file:
            sound = file.read()
        expected = Result(binary, at, trace, ["--index", "off"])
        events = Result(binary, at, trace, ["--index", "off", *OPTIONS["pytorch"][0]])
        places = list(range(0, 160)) + list(range(HEAD_BYTES, HEAD_BYTES + 400, 3))
        places += random.Random(1).sample(range(HEAD_BYTES, len(sound)), 150)
        noticed = 0
        places = places if harness.LONG else places[::4]
        for place in places:
            rewrite(trace + SUFFIX, lambda data: data.__setitem__(slice(None), sound))
            rewrite(trace + SUFFIX, lambda data: data.__setitem__(place, data[place] ^ 1 << place % 8))
            for options, right in (([], expected), (OPTIONS["pytorch"][0], events)):
                got = Result(binary, at, trace, options)
                noticed += "it is not used" in got.stderr
                extra = [line for line in got.stderr.splitlines() if SUFFIX not in line]
                assert (got.code, got.stdout, got.files) == (right.code, right.stdout, right.files), f"bit of byte {place}"
                assert extra == right.stderr.splitlines(), (place, got.stderr)
        assert noticed > len(places) // 2, noticed


# ---- writers ----

def test_two_builders_at_once(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        expected = Result(binary, at, trace, [*OPTIONS["pytorch"][0], "--index", "off"])
        for _ in range(3):
            outs = [os.path.join(at, f"out{i}") for i in range(6)]
            running = [subprocess.Popen([binary, "report", trace, *OPTIONS["pytorch"][0], "--output_csvs_dir", out, "-q",
                                         "--index", "auto"], stderr=subprocess.PIPE) for out in outs]
            for child, out in zip(running, outs):
                stderr = child.communicate()[1].decode()
                assert child.returncode == 0 and stderr == expected.stderr, stderr
                sheets = {name: text for name, text in expected.files.items() if name.endswith(".csv")}
                assert contents(out) == sheets
                shutil.rmtree(out)
            check_same(expected, Result(binary, at, trace, OPTIONS["pytorch"][0]), "the index that was left")
            assert sorted(os.listdir(at)) == ["training.json.gz", "training.json.gz" + SUFFIX], os.listdir(at)
            os.remove(trace + SUFFIX)


def test_killed_builder(binary):
    """At whatever time the builder is killed, reports are right afterwards."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "recompute.json.gz")
        expected = Result(binary, at, trace, ["--index", "off"])
        started = time.monotonic()
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        whole = time.monotonic() - started
        killed = 0
        for turn in range(24):
            with contextlib.suppress(FileNotFoundError):
                os.remove(trace + SUFFIX)
            child = subprocess.Popen([binary, "index", trace, "-q"], stderr=subprocess.DEVNULL)
            time.sleep(whole * turn / 24)
            child.send_signal(signal.SIGKILL)
            killed += child.wait() == -signal.SIGKILL
            for index in ([], ["--index", "auto"], []):
                got = Result(binary, at, trace, index)
                got.stderr = "".join(line for line in got.stderr.splitlines(True) if SUFFIX not in line)
                check_same(expected, got, f"turn {turn}")
        assert killed, "no builder was killed"


def test_full_disk(binary):
    """No space for the index: a warning, and the report as ever."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        out = os.path.join(at, "out")
        r = harness.run([binary, "index", trace, "-q"], file_size_limit=20000)
        assert r.code == 1 and "cannot write the index" in r.stderr, r
        assert os.listdir(at) == ["training.json.gz"], os.listdir(at)


def test_places(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        cache, where = os.path.join(at, "cache"), os.path.join(at, "where", "x.idx")
        off = Result(binary, at, trace, ["--index", "off"])
        for place in (os.path.join(at, "new/"), where):
            for _ in range(2):
                check_same(off, Result(binary, at, trace, ["--index", place]), place)
        assert os.path.exists(where) and len(os.listdir(os.path.join(at, "new"))) == 1
        check_same(off, Result(binary, at, where, []), "an index elsewhere instead of the trace")
        r = harness.run([binary, "index", trace, "--index_dir", os.path.join(at, "made"), "-q"])
        assert r.code == 0 and len(os.listdir(os.path.join(at, "made"))) == 1, r
        assert not os.path.exists(trace + SUFFIX)
        # Nothing else is ever replaced by an index.
        victim = os.path.join(at, "precious.txt")
        with open(victim, "w") as file:
            file.write("precious")
        got = Result(binary, at, trace, ["--index", victim])
        assert "not an index, so it is not replaced by one" in got.stderr and got.files == off.files, got.stderr
        assert open(victim).read() == "precious"


def test_rest_of_an_index(binary):
    """What a crash of the system may leave is replaced by an index."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        off = Result(binary, at, trace, ["--index", "off"])
        for rest in (b"", b"GTI", bytes(100)):
            with open(trace + SUFFIX, "wb") as file:
                file.write(rest)
            settle()
            got = Result(binary, at, trace, ["--index", "auto"])
            assert got.files == off.files and os.path.getsize(trace + SUFFIX) > 1000, (rest, got.stderr)
            check_same(off, Result(binary, at, trace, []), f"after {rest[:3]}")


def test_database_in_use(binary):
    """Changes of a rocpd database in its -wal file count, and one with a -journal file is refused, index or not."""
    with folder() as at:
        source = os.path.join(harness.ROOT, "examples", "gputally_demo_results.json.gz")
        path = os.path.join(at, "run_results.db")
        assert harness.run([binary, "convert", source, path, "-q"]).code == 0
        settle()
        assert harness.run([binary, "index", path, "-q"]).code == 0
        database = sqlite3.connect(path)
        database.execute("PRAGMA journal_mode = wal")
        table, = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                  "name LIKE 'rocpd_kernel_dispatch%'").fetchone()
        database.execute(f"DELETE FROM {table} WHERE id % 2 = 0")
        database.commit()
        off = Result(binary, at, path, ["--index", "off"])
        for words in ([], ["--index", "auto"]):
            check_same(off, Result(binary, at, path, words), f"-wal {words}")
        database.execute("PRAGMA journal_mode = delete")
        database.close()
        assert harness.run([binary, "index", path, "-q"]).code == 0
        with open(path + "-journal", "wb") as file:
            file.write(b"x" * 100)
        for words in ([], ["--index", "auto"], ["--index", "off"]):
            done = harness.run([binary, "report", path, "--output_csvs_dir", os.path.join(at, "refused"), *words])
            assert done.code == 1 and "journal" in done.stderr, (words, done)


def test_unwritable_folder(binary):
    """The index goes to the cache folder, and is found there."""
    with folder() as at:
        os.chmod(at, 0o755)
        program = shutil.copy(binary, at)
        traces_of, cache, out = (os.path.join(at, name) for name in ("traces", "cache", "out"))
        for path in (traces_of, cache, out):
            os.mkdir(path)
        trace = copy_trace(traces_of, "pytorch", "training.json.gz")
        os.chmod(traces_of, 0o555)
        os.chmod(trace, 0o444)
        user = 65534
        if os.getuid() == 0:
            for path in (cache, out):
                os.chown(path, user, user)

        def run(*words):
            child = subprocess.run([program, *words], capture_output=True, text=True, cwd=out,
                                   env={**os.environ, "XDG_CACHE_HOME": cache},
                                   preexec_fn=(lambda: os.setuid(user)) if os.getuid() == 0 else None)
            assert child.returncode == 0, child
            return child
        run("index", trace, "-q")
        assert os.listdir(traces_of) == ["training.json.gz"]
        kept = glob.glob(os.path.join(cache, "gputally", "training.json.gz-*" + SUFFIX))
        assert len(kept) == 1, kept
        used = run("report", trace, "--output_csvs_dir", "used")
        plain = run("report", trace, "--output_csvs_dir", "plain", "--index", "off")
        assert used.stdout.replace("used", "plain") == plain.stdout
        assert contents(os.path.join(out, "used")) == contents(os.path.join(out, "plain"))
        os.chmod(traces_of, 0o755)


# ---- an index without its trace ----

def test_index_without_its_trace(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training_stack.json.gz")
        off = [Result(binary, at, trace, [*options, "--index", "off"]) for options in OPTIONS["pytorch"]]
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        os.rename(trace, os.path.join(at, "gone"))
        index = trace + SUFFIX
        for number in (0, 1):
            got = Result(binary, at, index, OPTIONS["pytorch"][number])
            told = f"gputally: {index}: the trace of this index is missing, so whether it has changed is unknown\n"
            assert got.stderr.startswith(told), got.stderr
            assert got.files == off[number].files and got.stdout == off[number].stdout
        got = Result(binary, at, index, OPTIONS["pytorch"][2])
        assert got.code == 1 and "no PyTorch events and python functions in this index, and its trace is missing" in got.stderr
        r = harness.run([binary, "report", index, "-q"])  # the name of the report is that from the trace
        assert r.code == 0 and os.path.exists(os.path.join(at, "training_stack_perf_report.xlsx")), r
        for words in (["split", index, "-o", at, "--iterations", "0"], ["convert", index, "-o", os.path.join(at, "x.json")]):
            r = harness.run([binary, *words])
            assert r.code == 1 and "its trace is missing" in r.stderr.replace("whose", "its"), r
        rewrite(index, lambda data: data.__setitem__(16, data[16] ^ 1))
        r = harness.run([binary, "report", index, "-q"])
        assert r.code == 1 and "index of another build of gputally, and its trace is missing" in r.stderr, r
        os.rename(os.path.join(at, "gone"), trace)
        r = harness.run([binary, "index", trace, "--python_functions", "-q"])
        assert r.code == 0, r
        os.remove(trace)
        got = Result(binary, at, index, OPTIONS["pytorch"][2])
        assert got.code == 0 and got.files == off[2].files, got.stderr


# ---- what has no index ----

def test_truncated_trace(binary):
    """Its events are not kept, because reading it gives a warning; its sheets are, with the warning."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        os.truncate(trace, os.path.getsize(trace) * 9 // 10)
        for options in OPTIONS["pytorch"][:2]:
            off = Result(binary, at, trace, ["--index", "off", *options])
            assert "truncated" in off.stderr, off.stderr
            for index in ([], ["--index", "auto"], ["--index", "auto"], []):
                check_same(off, Result(binary, at, trace, [*index, *options]), f"truncated, {index}")
        r = harness.run([binary, "report", trace, "--strict", "-q", "--index", "auto", *OPTIONS["pytorch"][0]])
        assert r.code == 1 and "ends early" in r.stderr, r
        os.remove(trace)
        got = Result(binary, at, trace + SUFFIX, ["--topk_ops", "3"])
        assert got.code == 1 and "no PyTorch events in this index, and its trace is missing" in got.stderr, got.stderr


def test_names_in_messages(binary):
    """A message names the trace as it is named now, also if that is a single letter."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        os.truncate(trace, os.path.getsize(trace) * 9 // 10)
        os.rename(trace, os.path.join(at, "e"))
        made = harness.run([binary, "report", "e", "--index", "auto", "--output_csvs_dir", "out"], cwd=at)
        assert made.code == 0 and "warning: e: truncated" in made.stderr, made
        for old, new in (("e", "i"), ("e" + SUFFIX, "i" + SUFFIX)):
            os.rename(os.path.join(at, old), os.path.join(at, new))
        got = harness.run([binary, "report", "i", "--output_csvs_dir", "out"], cwd=at)
        off = harness.run([binary, "report", "i", "--output_csvs_dir", "out", "--index", "off"], cwd=at)
        assert got == off and "warning: i: truncated" in got.stderr, (got, off)


def test_command(binary):
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        r = harness.run([binary, "index", trace])
        assert r.code == 0 and r.stdout.startswith(f"wrote {trace + SUFFIX} ("), r
        r = harness.run([binary, "index", trace + SUFFIX])
        assert r.code == 0 and r.stdout.startswith(f"up to date: {trace + SUFFIX} ("), r
        for words, message in (([at], "a folder has no index"), (["-"], "standard input has no index"),
                               ([os.path.join(FIXTURES, "README.md")], "unsupported input")):
            r = harness.run([binary, "index", *words])
            assert r.code == 1 and message in r.stderr and r.stderr.count("\n") == 1, r
        # A pattern that also finds the index is not two traces.
        r = harness.run([binary, "report", trace, trace + SUFFIX, "-q"])
        assert r.code == 0 and not r.stderr, r


def test_says_what_it_did(binary):
    """"wrote" and "up to date" only with an index that is whole and of this trace; otherwise exit status 1."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        assert harness.run([binary, "index", trace]).stdout.startswith(f"wrote {trace + SUFFIX} (")
        assert harness.run([binary, "index", trace]).stdout.startswith(f"up to date: {trace + SUFFIX} (")
        whole = os.path.getsize(trace + SUFFIX)
        for spoilt in ("foreign", "truncated", "another state", "not an index", "one part"):
            if spoilt == "foreign":
                rewrite(trace + SUFFIX, lambda data: data.__setitem__(16, data[16] ^ 1))
            elif spoilt == "truncated":
                os.truncate(trace + SUFFIX, HEAD_BYTES + 100)
            elif spoilt == "another state":
                with gzip.open(trace, "ab") as file:
                    file.write(b"  ")
            elif spoilt == "not an index":
                with open(trace + SUFFIX, "w") as file:
                    file.write("precious")
            else:
                words = ["--index", "auto", "-q", "--output_csvs_dir", os.path.join(at, "out")]
                assert harness.run([binary, "pytorch", trace, *words]).code == 0
            done = harness.run([binary, "index", trace], file_size_limit=HEAD_BYTES + 500)
            assert done.code == 1 and not done.stdout, (spoilt, done)
            assert "no index was written" in done.stderr or "not all of it is in the index" in done.stderr, (spoilt, done)
            done = harness.run([binary, "index", trace])
            if spoilt == "not an index":
                assert done.code == 1 and not done.stdout and "not an index, so it is not replaced" in done.stderr, done
                os.remove(trace + SUFFIX)
                continue
            assert done.code == 0 and done.stdout.startswith(f"wrote {trace + SUFFIX} ("), (spoilt, done)
            assert os.path.getsize(trace + SUFFIX) > whole / 2 and set(os.listdir(at)) <= {"out", "training.json.gz", "training.json.gz" + SUFFIX}


def test_truncated_while_in_use(binary):
    """Another program truncates the index again and again: the report is the same, no signal ends the program, and nothing is left."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training_stack.json.gz")
        assert harness.run([binary, "index", trace, "-q"]).code == 0
        expected = Result(binary, at, trace, ["--index", "off", "--topk_ops", "5"])
        with open(trace + SUFFIX, "rb") as file:
            index = file.read()
        stop = threading.Event()

        def spoil_it():
            rng = random.Random(42)
            while not stop.is_set():
                with open(trace + SUFFIX, "r+b") as file:
                    file.truncate(rng.randrange(len(index)))
                    file.seek(0)
                    file.write(index)
        spoiler = threading.Thread(target=spoil_it)
        spoiler.start()
        try:
            for _ in range(100 if harness.LONG else 25):
                got = Result(binary, at, trace, ["--topk_ops", "5"])
                assert got.code == 0 and got.files == expected.files and got.stdout == expected.stdout, got.stderr
        finally:
            stop.set()
            spoiler.join()
        assert sorted(os.listdir(at)) == sorted([os.path.basename(trace), os.path.basename(trace) + SUFFIX]), os.listdir(at)


def test_standard_input(binary):
    """Files with the names of standard input are not mistaken for it."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "training.json.gz")
        other = os.path.join(FIXTURES, "pytorch", "inference.json.gz")
        with open(other, "rb") as file:
            text = file.read()
        expected = harness.run([binary, "report", "-", "--output_csvs_dir", "plain", "--index", "off"], text, cwd=at)
        for name in ("-", "standard input"):
            path = shutil.copy(trace, os.path.join(at, name))
            assert harness.run([binary, "report", path, "--index", "auto", "-q"], cwd=at).code == 0
        for index in ([], ["--index", "auto"]):
            got = harness.run([binary, "report", "-", "--output_csvs_dir", "used", *index], text, cwd=at)
            assert got.code == 0 and got.stdout.replace("used", "plain") == expected.stdout, got
            assert contents(os.path.join(at, "used")) == contents(os.path.join(at, "plain"))


def test_records_do_not_accumulate(binary):
    """Many different reports do not make an index grow without end."""
    with folder() as at:
        trace = copy_trace(at, "pytorch", "known_shapes.json.gz")
        for n in range(1, 90):
            r = harness.run([binary, "report", trace, "--topk_ops", str(n), "--output_csvs_dir", os.path.join(at, "out"),
                             "--index", "auto", "-q"])
            assert r.code == 0 and not r.stderr, r
        assert os.path.getsize(trace + SUFFIX) < 64 * 60000, os.path.getsize(trace + SUFFIX)
        off = Result(binary, at, trace, ["--index", "off"])
        check_same(off, Result(binary, at, trace, []), "after many reports")


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
