#!/usr/bin/env python3
"""`gputally compare` names what makes two runs something else than one program before and after a change, and says whether one
step makes the difference of the means.

    python3 -m tests.compare.test_differences --bin build/gputally [TEXT]      only tests with TEXT in their name

The traces are those of tests/findings/small_traces.py with other arguments and times; what differs is what was written.
"""
import json
import statistics
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.rocprof import generate_run

OPS = ("aten::mm", "aten::bmm", "aten::addmm")


def write(folder, name, dims=None, types="c10::BFloat16", device="NVIDIA H200", steps=5, late=(), short=()):
    """dims: of each of OPS in turn. late: (step, microseconds), by which everything after that step begins later. short: the
    dims, by number, whose kernels take next to no time."""
    trace, count = small_traces.training(steps, device), 0
    for event in trace["traceEvents"]:
        if event["cat"] == "cpu_op":
            args = event["args"]
            if dims:
                event["name"], args["Input Dims"] = OPS[count % len(OPS)], dims[count % len(dims)]
                args["Input Strides"] = [[1] * len(sizes) for sizes in args["Input Dims"]]
            args["Input type"] = ["long int"] + [types] * len(args["Input Dims"])
            count += 1
        if event["cat"] == "kernel" and dims and (event["args"]["correlation"] - 1) % len(dims) in short:
            event["dur"] = 0.01
        number = int((event["ts"] - small_traces.START_US) // small_traces.STEP_US)
        event["ts"] += sum(us for step, us in late if step < number)
    small_traces.write(folder.file(name), trace)


def model(batch, length, width=64):
    """Arguments of a linear layer over the batch, of attention, and of a layer with a bias."""
    return ([[batch * length, width], [width, 32]], [[batch, length, width], [batch, width, length]], [[32], [batch * length, width], [width, 32]])


def compare(folder, *names, options="--sheets waterfall"):
    done = folder.sh(f"gputally compare {' '.join(names)} {options} --output_json -")
    assert done.returncode == 0, done
    return json.loads(done.stdout)


def differences(folder, *names):
    return [(row["report"], row["what"], row["baseline"], row["variant"]) for row in compare(folder, *names)["differences"]]


def test_each_difference(binary):
    with Folder(binary) as folder:
        write(folder, "a.json", model(8, 128))
        for name, wanted, options in (
                ("same", [], {}),
                ("gpu", [("GPU", "NVIDIA H200", "NVIDIA A100-SXM4-80GB")], {"device": "NVIDIA A100-SXM4-80GB"}),
                ("steps", [("steps", "5", "3")], {"steps": 3}),
                ("dtype", [("dtype", "BFloat16", "float")], {"types": "float"}),
                ("batch", [("batch", "[8,128,64]", "[24,128,64]")], {"dims": model(24, 128)}),
                # Longer sequences change the first size of matrices, but not that of attention.
                ("length", [("shapes", "[1024,64]", "[2048,64]")], {"dims": model(8, 256)}),
                ("both", [("shapes", "[8,128,64]", "[16,64,64]")], {"dims": model(16, 64)}),
                ("width", [("shapes", "[1024,64]", "[1024,96]")], {"dims": model(8, 128, 96)}),
                ("all", [("GPU", "NVIDIA H200", "AMD Instinct MI300X"), ("batch", "[8,128,64]", "[4,128,64]"),
                         ("dtype", "BFloat16", "Half"), ("steps", "5", "4")],
                 {"device": "AMD Instinct MI300X", "dims": model(4, 128), "types": "c10::Half", "steps": 4})):
            write(folder, f"{name}.json", **{"dims": model(8, 128), **options})
            found = differences(folder, "a.json", f"{name}.json")
            assert found == [(name, *row) for row in wanted], (name, found)
        assert [row[:2] for row in differences(folder, "a.json", "gpu.json", "same.json", "steps.json")] == [("gpu", "GPU"), ("steps", "steps")]
        texts = {row["what"]: row["text"] for row in compare(folder, "a.json", "batch.json")["differences"]}
        assert texts == {"batch": "sizes are 3 times as large in 3 ops, such as aten::bmm"}, texts


def test_other_forms(binary):
    """Arguments with other numbers of dimensions are shown, too; an op that only lacks a shape has no other ones."""
    with Folder(binary) as folder:
        flat, batched = [[1024, 64], [64, 32]], [[8, 128, 64], [64, 32]]
        write(folder, "a.json", (flat, flat, flat))
        for name, dims, wanted in (("form", batched, ("[1024,64]", "[8,128,64]")),
                                   ("count", [[1024, 64]], ("[[1024,64],[64,32]]", "[[1024,64]]")),
                                   ("second", [[512, 64], [64]], ("[1024,64]", "[512,64]")),
                                   ("list", [flat, [1024, 64]], ("[1024,64]", "[[1024,64],[64,32]]"))):
            write(folder, f"{name}.json", (dims, dims, dims))
            found = compare(folder, "a.json", f"{name}.json")["differences"]
            assert found == [{"report": name, "what": "shapes", "baseline": wanted[0], "variant": wanted[1], "text":
                              "100 % of the variant's kernel time is in ops of both with shapes that the baseline does not have, such as aten::mm"}], found
        # In b, the multiplication has lost one of its two shapes, a sixth of all time, and has a batch that takes no time.
        write(folder, "a.json", (flat, flat, flat, [[256, 64], [64, 32]], flat, flat))
        write(folder, "b.json", (flat, flat, flat, batched, flat, flat), short=(3,))
        assert not differences(folder, "a.json", "b.json") and not differences(folder, "b.json", "a.json")
        # Strides alone are no other shapes.
        trace = small_traces.read(folder.file("a.json"))
        for event in trace["traceEvents"]:
            if event["cat"] == "cpu_op":
                event["args"]["Input Strides"] = [[7] * len(sizes) for sizes in event["args"]["Input Dims"]]
        small_traces.write(folder.file("strides.json"), trace)
        assert not differences(folder, "a.json", "strides.json")


def test_before_any_number(binary):
    """On the terminal and in Markdown they come first; under the old name they do not exist."""
    with Folder(binary) as folder:
        write(folder, "a.json")
        write(folder, "b.json", device="NVIDIA A100-SXM4-80GB")
        lines = folder.sh("gputally compare a.json b.json").stdout.splitlines()
        assert lines[1:5] == ["", "Not the same work: times differ for these reasons, too", "report  what  baseline     variant",
                              "b       GPU   NVIDIA H200  NVIDIA A100-SXM4-80GB"], lines[:6]
        lines = [line for line in folder.sh("gputally compare a.json b.json --output_md -").stdout.splitlines() if line]
        assert lines[1:3] == ["### Not the same work", "- b: GPU NVIDIA H200 → NVIDIA A100-SXM4-80GB"], lines
        folder.sh("for t in a b; do gputally report $t.json -q --output_csvs_dir $t; done")
        assert differences(folder, "a", "b") == [("b", "GPU", "NVIDIA H200", "NVIDIA A100-SXM4-80GB")]
        folder.sh("ln -s gputally TraceLens_compare_perf_reports_pytorch; TraceLens_compare_perf_reports_pytorch a b --output_csvs_dir c")
        assert not [name for name in folder.names() if name.startswith("c/") and ("differences" in name or "step_times" in name)]


def times(folder, *names):
    return {row.pop("report"): row for row in compare(folder, *names)["step_times"]}


def test_times_of_steps(binary):
    with Folder(binary) as folder:
        write(folder, "a.json", steps=6)
        late = {"slow": [(2, 20000)], "slower": [(0, 100), (1, 110), (2, 120), (3, 130), (4, 140)], "two": [(1, 9000), (3, 9000)],
                "less": [(2, 50)]}
        for name, more in late.items():
            write(folder, f"{name}.json", steps=6, late=more)
            found = times(folder, "a.json", f"{name}.json")
            # The time of a step ends where the next one begins, so that the last one has none.
            steps_ms = [(small_traces.STEP_US + dict(more).get(step, 0)) / 1e3 for step in range(5)]
            wanted = {"steps": 5, "mean_ms": statistics.mean(steps_ms), "median_ms": statistics.median(steps_ms), "min_ms": min(steps_ms),
                      "max_ms": max(steps_ms)}
            note = found[name].pop("note")
            assert all(abs(found[name][key] - value) < 1e-6 for key, value in wanted.items()), (name, found, wanted)
            assert found["a"] == {"steps": 5, "mean_ms": 2, "median_ms": 2, "min_ms": 2, "max_ms": 2, "note": ""}, found
            # One of five steps: not if all or two are slower, nor if the difference is below 1 %.
            assert note == ("the difference to a is in one step of 5: step 3 takes 22.000 ms, and without it the mean is 2.000 ms"
                            if name == "slow" else ""), (name, note)
        found = times(folder, "slow.json", "a.json")
        assert "step 3 takes 22.000 ms" in found["slow"]["note"] and not found["a"]["note"], found
        out = folder.sh("gputally compare a.json slow.json").stdout
        assert "slow: the difference to a is in one step of 5: step 3" in out and out.index("Times of steps") < out.index("Why slow differs"), out
        # Two and three steps of twelve, but not four, nor the longest of steps that all differ.
        several = {(3, 7): "2 steps of 12: steps 4, 8 take 8.000 to 9.000", (3, 7, 11): "3 steps of 12: steps 4, 8, 12 take 8.000 to 10.000",
                   (2, 5, 8, 11): None, tuple(range(12)): None}
        for odd, note in several.items():
            write(folder, "odd.json", steps=13, late=[(step, 6000 + 1000 * place) for place, step in enumerate(odd)])
            found = times(folder, "a.json", "odd.json")["odd"]["note"]
            assert found == (f"the difference to a is in {note} ms, and without them the mean is 2.000 ms" if note else ""), (odd, found)
        # One slow step changes the mean, and not the median: conditions are on either.
        for condition, status in (("step_ms > 5%", 3), ("median_step_ms > 5%", 0), ("median_step_ms > -5%", 3)):
            assert folder.sh(f"gputally compare a.json slow.json --fail_if '{condition}'").returncode == status, condition
        done = folder.sh("gputally compare a.json slower.json --fail_if 'median_step_ms > 5%'")
        assert done.returncode == 3 and "median_ms" in done.stdout and "2.120" in done.stdout, done.stdout
        # A median of one step says nothing.
        for name in ("c.json", "d.json"):
            write(folder, name, steps=2)
        assert not times(folder, "c.json", "d.json")


def test_hostile_arguments(binary):
    """Dims of another form than PyTorch's, long lists, and names that Markdown would interpret."""
    with Folder(binary) as folder:
        write(folder, "a.json", model(8, 128))
        for dims in ([[]], [[[8, 2], [8, 3]], [8]], [[1] * 200], [[0, 64]], [[-1, 10 ** 30]], [["x", 3]], [[8, 128, 64]] * 90):
            write(folder, "b.json", (dims, dims, dims))
            done = folder.sh("gputally compare a.json b.json --sheets waterfall")
            assert done.returncode == 0, (dims, done)
        write(folder, "b.json", device="<b>GPU|x_y_")
        out = folder.sh("gputally compare a.json b.json --output_md - --names a 'b|*c*'").stdout
        assert "- b\\|\\*c\\*: GPU NVIDIA H200 → \\<b\\>GPU\\|x\\_y\\_\n" in out, out[:400]


def test_databases_of_rocprofv3(binary):
    """A run as JSON and as a database: one window, and no sheet with another time."""
    with Folder(binary) as folder:
        run = generate_run.make_run(dispatches=60)[:1]
        generate_run.write_json(run, folder.file("a_results.json"))
        generate_run.write_rocpd(run, folder.file("b_results.db"))
        done = compare(folder, "a_results.json", "b_results.db", options="--sheets all")
        times = {"gpu_timeline": "time ms", "kernel_summary": "Total Kernel Time (ms)"}
        assert set(times) <= set(done["sheets"]), list(done["sheets"])
        for name, column in times.items():
            sheet = done["sheets"][name]
            of = [index for index, one in enumerate(sheet["columns"]) if column in one and "diff" in one]
            assert of and sheet["rows"], sheet
            assert not any(row[index] for row in sheet["rows"] for index in of), sheet


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
