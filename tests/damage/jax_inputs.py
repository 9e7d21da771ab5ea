"""The JAX inputs of test_damage.py: real profiles, truncated, with flipped bits and overwritten bytes, files of other kinds, and
profiles on which TraceLens ends in a traceback; each with its expected result.

A profile is one message of planes, so a truncated one keeps its complete planes: either all kernels of a GPU or none.
"""
import gzip
import os
import shutil

from tests.damage import rocprof_inputs
from tests.common import harness
from tests.jax import test_reports as jax_reports
from tests.jax import generate_xplane
from tests.damage.rocprof_inputs import Case, exactly, thread_choice

OPTIONS = ()
FIXTURES = os.path.join(harness.FIXTURES, "jax")
SHEETS = {"gpu_timeline", "gpu_events_averages", "kernel_launchers", "kernel_launchers_summary",
          "kernel_launchers_summary_by_category", "kernel_launchers_unique_args", "df_xla_perf", "xla_summary"}


class Trace:
    """A fixture: its bytes, the offset at which each plane ends, and the number of kernels before that."""

    def __init__(self, name, copies=1):
        with gzip.open(os.path.join(FIXTURES, name + ".xplane.pb.gz")) as file:
            self.data = file.read()
        if copies > 1:
            space = list(generate_xplane.fields(self.data))
            planes = [generate_xplane.Plane(value) if number == 1 else None for number, value, _ in space]
            self.data = b"".join(generate_xplane.counted(1, plane.write(copies, 10**11, 10**6, True)) if plane else raw
                                 for (_, _, raw), plane in zip(space, planes))
        self.ends, self.kernels, at, kernels = [], [], 0, 0
        for number, value, raw in generate_xplane.fields(self.data):
            at += len(raw)
            if number == 1 and generate_xplane.first(value, 2, b"").startswith(b"/device:GPU:"):
                kernels += count_kernels(value)
            if number == 1:
                self.ends.append(at)
                self.kernels.append(kernels)

    def kernels_before(self, length):
        return max([0] + [kernels for end, kernels in zip(self.ends, self.kernels) if end <= length])


def count_kernels(plane):
    names = {generate_xplane.first(raw, 1, 0): generate_xplane.first(generate_xplane.first(raw, 2, b""), 2, b"").lower()
             for number, raw, _ in generate_xplane.fields(plane) if number == 4}
    return sum(not names[generate_xplane.first(event, 1, 0)].startswith((b"copy", b"memcpy", b"memset"))
               for number, line, _ in generate_xplane.fields(plane) if number == 3
               for field, event, _ in generate_xplane.fields(line) if field == 4)


def sheet_problems(out, rows):
    names = {name[:-4] for name in harness.files_under(out) if name.endswith(".csv")}
    if not SHEETS <= names or len(names) != len(harness.files_under(out)):
        return [f"files are {harness.files_under(out)}"]
    tables = {name: harness.read_csv(os.path.join(out, name + ".csv")) for name in names}
    problems = [f"{name}: a row of {len(row)} cells under {len(headings)} headings"
                for name, (headings, body) in tables.items() for row in body if len(row) != len(headings)]
    kernels = len(tables["kernel_launchers"][1])
    headings, body = tables["kernel_launchers_summary"]
    if sum(int(row[headings.index("Count")]) for row in body) != kernels:
        problems.append("kernel_launchers_summary does not count every kernel")
    if rows is not None and kernels not in rows:
        problems.append(f"{kernels} kernels, expected {rows.start} to {rows.stop - 1}")
    return problems


def cuts(trace, label, places, rng):
    for i in range(places):
        at = rng.randrange(0, len(trace.data)) if i else len(trace.data) - 1
        kernels = trace.kernels_before(at)
        is_between = at in trace.ends  # it cannot be known that another plane is missing
        must = "end" if is_between or not kernels else "cut"
        yield Case(f"{label} truncated at {at}", trace.data[:at], must, exactly(kernels), thread_choice(i), stdin=i % 9 == 8,
                   suffix=".xplane.pb")


def compressed_cuts(trace, label, places, rng):
    packed = gzip.compress(trace.data)
    for i in range(places):
        at = rng.randrange(20, len(packed)) if i else len(packed) - 1
        kernels = trace.kernels_before(rocprof_inputs.gunzip_cut(packed[:at]))
        yield Case(f"{label} truncated at {at}", packed[:at], "end", range(0, kernels + 1), thread_choice(i), suffix=".xplane.pb.gz")


def scribbles(trace, label, places, rng):
    """Bytes overwritten with those that have a meaning in protobuf: long numbers, lengths, groups."""
    meaningful = [b"\xff" * 10, b"\x80" * 11, b"\x0b", b"\x0c", b"\x00", b"\x7f", b"\xff\xff\xff\xff\x0f", b"\x0a\xff\x01",
                  b"\x22\x80\x80\x80\x80\x10"]
    for i in range(places):
        piece, at = rng.choice(meaningful), rng.randrange(len(trace.data))
        data = trace.data[:at] + piece + trace.data[at + len(piece) * (i % 2):]
        yield Case(f"{label} {piece.hex()} at {at}", data, arguments=thread_choice(i), suffix=".xplane.pb")


def other_files(rng):
    foreign = rocprof_inputs.no_traces(b'{"planes": []}', rng)
    yield from rocprof_inputs.foreign_cases({
        **foreign,
        "JSON": b'{"traceEvents": []}',
        "a plane without a name": jax_reports.counted(1, b""),
        "no GPU": jax_reports.plane(0, "/host:CPU", [(1, "main", [jax_reports.event(1, 0, 5, 1)])], ["call"]),
        "a GPU without events": jax_reports.plane(0, "/device:GPU:0", [(1, "Stream #1", [])]),
    })


def sound_files(trace):
    count = trace.kernels[-1]
    packed = {"plain": trace.data, "gzip": gzip.compress(trace.data),
              "gzip of two members": gzip.compress(trace.data[:1000]) + gzip.compress(trace.data[1000:])}
    if shutil.which("zstd"):
        packed["zstd"] = rocprof_inputs.zstd(trace.data)
    for name, data in packed.items():
        yield Case(name, data, "read", exactly(count), suffix=".pb")
        yield Case(name + ", standard input", data, "read", exactly(count), stdin=True)
    unknown = b"\x9a\x06\x03abc\xa0\x06\x05\xa3\x06\x08\x01\xa4\x06"  # fields 99, 100 and a group
    yield Case("unknown fields at the end", trace.data + unknown, "read", exactly(count), suffix=".pb")


def profiles_that_made_no_report():
    """No XLA kernels, a filter without matches, no names, no launches, names that are not UTF-8."""
    gpu = lambda events, kinds: jax_reports.plane(0, "/device:GPU:0", [(7, "Stream #7", events)], kinds)
    event = jax_reports.event
    yield Case("no XLA kernels", gpu([event(1, 0, 5, 1)], ["gemm"]), "read", exactly(1), check=empty("xla_summary"))
    yield Case("only copies", gpu([event(1, 0, 5, 1)], ["MemcpyH2D"]), "read", exactly(0), check=empty("kernel_launchers"))
    yield Case("a filter without matches", gpu([event(1, 0, 5, 1)], ["f"]), "read", exactly(0),
               ("--kernel_metadata_keyword_filters", "none"), check=empty("kernel_launchers"))
    yield Case("kinds without names", gpu([event(9, 0, 5, 1), event(9, 9, 5, 1)], []), "read", exactly(2))
    yield Case("names that are not UTF-8", gpu([event(1, 0, 5, 1)], []).replace(b"Stream #7", b"Stream #\xff"), "read", exactly(1))
    yield Case("an op that no module has", gpu([event(1, 0, 5, 1, "all-gather.3", "jit_x")], ["nccl"]), "read", exactly(1))
    host = jax_reports.plane(0, "/host:CPU", [(1, "a", [event(1, 0, 5, 1), event(1, 0, 5, 1)])], ["launch"])
    yield Case("calls that share an id", host + gpu([event(1, 0, 5, 1)] * 3, ["f"]), "read", exactly(3))
    many = b"".join(jax_reports.plane(i, f"/device:GPU:{i}", [(7, "Stream #7", [event(1, 0, 5)])], ["f"]) for i in range(3000))
    yield Case("three thousand GPUs", many, "read", exactly(3000))


def empty(sheet):
    def check(out):
        _, body = harness.read_csv(os.path.join(out, sheet + ".csv"))
        return [f"{sheet} has {len(body)} rows"] if body else []
    return check


def all_cases(rng):
    small, large = Trace("products"), Trace("products", copies=300)
    yield from cuts(small, "plain", 120, rng)
    yield from cuts(Trace("reductions"), "large modules", 40, rng)
    yield from cuts(large, "large", 20, rng)
    yield from compressed_cuts(small, "gzip", 40, rng)
    yield from rocprof_inputs.flips(small, "plain", small.data, 350, rng, ".xplane.pb")
    yield from rocprof_inputs.flips(large, "large", large.data, 30, rng, ".xplane.pb")
    for name in ("training", "attention"):
        yield from rocprof_inputs.flips(None, name, Trace(name).data, 60, rng, ".xplane.pb")
    yield from rocprof_inputs.flips(small, "gzip", gzip.compress(small.data), 60, rng, ".xplane.pb.gz", 10)
    yield from rocprof_inputs.garbage(small, 50, rng)
    yield from scribbles(small, "plain", 250, rng)
    yield from scribbles(large, "large", 20, rng)
    yield from other_files(rng)
    yield from sound_files(small)
    yield from profiles_that_made_no_report()
    yield from rocprof_inputs.bad_outputs(large)
