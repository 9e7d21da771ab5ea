#!/usr/bin/env python3
"""`gputally report FOLDER` on PyTorch traces: which files are taken, which of them are ranks, and what is written where.

    python3 -m tests.cli.test_report_folder --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import gzip
import json
import os
import shutil
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces
from tests.nsys import generate_export
from tests.common.harness import FIXTURES

COLLECTIVES = 4
# Sheets of the report of all ranks that only whole traces give, so that `gputally collective` does not have them.
OF_WHOLE_TRACES = [name + ".csv" for name in ("clock_offsets", "communication_matrix", "critical_path", "critical_path_steps",
                                               "findings", "overview", "rank_causes", "rank_step_times", "rank_steps", "slack",
                                               "trust")]


def events(rank, ranks, collectives=COLLECTIVES):
    """One GEMM of 30 µs and, 10 + rank µs after its start, one all-reduce of 10 µs per step of 100 µs."""
    found = []
    for i in range(4):
        at, ids = 1000 + 100 * i, {"External id": i + 1}
        found += [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at, "dur": 20,
             "args": {**ids, "Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"],
                      "Input Strides": [[8, 1], [2, 1]], "Concrete Inputs": ["", ""]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 2, "dur": 3,
             "args": {**ids, "correlation": 10 + i}},
            {"ph": "s", "id": 10 + i, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": at + 2},
            {"ph": "f", "id": 10 + i, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": at + 10, "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 10, "dur": 30,
             "args": {**ids, "stream": 7, "correlation": 10 + i}}]
        if i < collectives:
            found.append({"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 9,
                          "ts": at + 20 + rank, "dur": 10,
                          "args": {"stream": 9, "correlation": 50 + i, "Collective name": "allreduce",
                                   "In msg nelems": 100, "Out msg nelems": 100, "dtype": "Float", "Group size": ranks,
                                   "Process Group Name": "0", "Process Group Ranks": str(list(range(ranks)))}})
    return found


def write(folder, name, rank, ranks=2, info=True, first_step=None, **more):
    """`first_step`: the number of the first of four steps of the profiler."""
    path = folder.file(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    trace = {"schemaVersion": 1, "deviceProperties": [{}, {}]}
    if info:
        trace["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": ranks, **(info if isinstance(info, dict) else {})}
    trace["traceEvents"] = events(rank, ranks, **more)
    if first_step is not None:
        trace["traceEvents"] += [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{first_step + i}", "pid": 1, "tid": 1,
                                  "ts": 1000 + 100 * i, "dur": 99} for i in range(4)]
    with (gzip.open if name.endswith(".gz") else open)(path, "wt") as file:
        json.dump(trace, file)


def report(folder, words, code=0, err=""):
    """Runs `gputally report` and checks what it says on standard error; returns standard output."""
    r = folder.sh(f"gputally report {words}")
    assert r.returncode == code, r
    assert r.stderr == "".join(f"gputally: {line}\n" for line in err.splitlines()), r.stderr
    return r.stdout


def missing_ranks(where, ran, traces, ranks):
    one = "," not in ranks
    return (f"warning: {where}: {ran} ranks ran, traces of {traces}: rank{'' if one else 's'} {ranks} {'is' if one else 'are'} missing; "
            f"waiting for {'it' if one else 'them'} is not counted as waiting")


def stragglers(folder, path):
    rows = folder.rows(path)
    return [(row[rows[0].index("rank")], row[rows[0].index("times_arrived_last")]) for row in rows[1:]]


def same_files(folder, a, b, more=()):
    """The files of b are the same in a, which has more."""
    names = sorted(os.listdir(folder.file(b)))
    assert names and sorted(os.listdir(folder.file(a))) == sorted([*names, *more]), (a, b)
    for name in names:
        assert folder.rows(f"{a}/{name}") == folder.rows(f"{b}/{name}"), (a, b, name)


def test_one_trace_per_rank(binary):
    """A report per rank and that of their collectives: the same sheets as those of the single commands."""
    with Folder(binary) as folder:
        for rank in range(3):
            write(folder, f"run/rank{rank}_trace.json", rank, 3)
        out = report(folder, "run").splitlines()
        for rank in range(3):  # from 10 µs to 340 µs; GEMMs 120 µs; all-reduces are hidden behind them
            line = out[rank - 4]
            assert line.startswith(f"rank {rank}: total 0.330 ms, computation 36.4 %, exposed communication 0.0 %"), out
            assert line.endswith(f"; wrote run/rank{rank}_trace_perf_report.xlsx and .html"), out
        assert out[0].startswith("run: no rank, node or link stands out: ranks wait 0.00 ms per trace"), out
        written = ["wrote run/nccl_analysis_report.xlsx", "wrote run/nccl_analysis_report.html", ""]
        assert "3 ranks, 72 events, 12 collectives" in out and out[-7:-4] == written, out
        assert out[-1] == "all ranks: run/nccl_analysis_report.html", out
        before = folder.names()
        assert before == ["run/nccl_analysis_report.html", "run/nccl_analysis_report.xlsx"] + sorted(
            f"run/rank{rank}_trace{end}" for rank in range(3) for end in (".json", "_perf_report.html", "_perf_report.xlsx")), before
        report(folder, "run -q")
        assert folder.names() == before, "a second run takes the reports for traces"
        report(folder, "run -q --output_csvs_dir out")
        assert sorted(os.listdir(folder.file("out"))) == ["collective", "rank0", "rank1", "rank2"]
        r = folder.sh("gputally collective --trace_dir run -q --output_csvs_dir all; gputally report run/rank1_trace.json -q --output_csvs_dir one")
        assert r.returncode == 0 and r.stderr == "", r
        same_files(folder, "out/collective", "all", OF_WHOLE_TRACES)
        same_files(folder, "out/rank1", "one")
        assert stragglers(folder, "out/collective/straggler_summary.csv") == [("2", "4"), ("1", "0"), ("0", "0")]
        r = folder.sh("gputally report run -o one.xlsx")
        assert r.returncode == 2 and "one output file for 3 traces; use --output_csvs_dir" in r.stderr, r


def test_events_that_begin_late(binary):
    """What a compressed trace is must not depend on how many are read at a time: the events begin after 200 KB, in the first block."""
    with Folder(binary) as folder:
        outputs = set()
        for rank in range(4):
            write(folder, f"run/rank{rank}_trace.json.gz", rank, 4, info={"pg_config": "x" * 200_000})
        for threads in (1, 2, 8):
            words = f"--threads {threads} --output_csvs_dir out"
            together = report(folder, f"run {words}")
            alone = report(folder, f"run/rank1_trace.json.gz {words}")
            assert len(folder.rows("out/collective/nccl_long.csv")) == 1 + 4 * COLLECTIVES
            outputs.add((together, alone))
        assert len(outputs) == 1, outputs


def test_folders_of_ranks(binary):
    """rank<R>/trace.json.gz: the names are equal, so folders of CSV files are named by rank; also inside the run."""
    with Folder(binary) as folder:
        for rank in (0, 1, 10):
            write(folder, f"run/rank_{rank}/trace.json.gz", rank, 11)
        for _ in range(2):
            report(folder, "run/ -q --output_csvs_dir run", err=missing_ranks("run/", 11, 3, "2, 3, 4, 5, 6, 7, 8, 9"))
            found = [name for name in folder.names() if name.endswith("gpu_timeline.csv")]
            assert found == [f"run/rank{rank}/gpu_timeline.csv" for rank in (0, 1, 10)], found
            assert len(folder.rows("run/collective/nccl_long.csv")) == 1 + 3 * COLLECTIVES
        report(folder, "run -q", err=missing_ranks("run", 11, 3, "2, 3, 4, 5, 6, 7, 8, 9"))
        found = [name for name in folder.names() if name.endswith(".xlsx")]
        assert found == ["run/nccl_analysis_report.xlsx"] + [f"run/rank_{rank}/trace_perf_report.xlsx" for rank in (0, 1, 10)], found


def test_ranks_in_the_traces(binary):
    """Names without a rank, as TensorBoard's handler writes them: PyTorch writes the rank into the trace."""
    with Folder(binary) as folder:
        for rank, name in ((1, "a"), (0, "b")):
            write(folder, f"run/host_{name}.1700.pt.trace.json.gz", rank)
        out = report(folder, "run --output_csvs_dir out").splitlines()
        assert [line[:7] for line in out[-2:]] == ["rank 0:", "rank 1:"], out
        assert stragglers(folder, "out/collective/straggler_summary.csv") == [("1", "4"), ("0", "0")]
        os.remove(folder.file("run/host_a.1700.pt.trace.json.gz"))
        write(folder, "run/host_c.1700.pt.trace.json.gz", 1, info=False)
        out = report(folder, "run", err="warning: run: no collective report, because the traces are not one per rank: "
                     "run/host_c.1700.pt.trace.json.gz has no rank")
        assert "wrote run/host_b.1700.pt.trace_perf_report.xlsx" in out and "rank 0" not in out, out
        assert out.startswith("run/host_b.1700.pt.trace.json.gz\n"), out


def test_fewer_ranks_into_the_same_folder(binary):
    with Folder(binary) as folder:
        for rank in range(12):
            write(folder, f"a/rank{rank}.json", rank, ranks=12)
        for rank in range(2):
            write(folder, f"b/rank{rank}.json", rank)
        outputs = "--output_csvs_dir out --output_json out/ --output_md out/"
        report(folder, f"a {outputs}")
        r = folder.sh(f"gputally report b {outputs} -q")
        lines = [line for line in r.stderr.splitlines() if "earlier run" in line]
        ranks = ", ".join(f"rank{rank}" for rank in range(2, 10))
        assert lines == [f"gputally: warning: out: has files of ranks of an earlier run, which are not part of this one: {ranks} and 2 more"], r.stderr
        r = folder.sh(f"gputally report a {outputs} -q")
        assert "earlier" not in r.stderr, r.stderr


def test_cycles_of_a_schedule(binary):
    """torch.profiler.schedule(repeat=3): each cycle of all ranks is a run of its own, with the report that it would have alone."""
    with Folder(binary) as folder:
        for first, cycle in ((9, "b"), (5, "a"), (100, "c")):  # the last steps of a are the first ones of nothing: 5-8, 9-12
            for rank in (0, 1):
                if (first, rank) == (100, 1):
                    continue
                for where in ("run", f"alone_{cycle}"):  # names as TensorBoard's handler writes them
                    write(folder, f"{where}/host_{rank}.{first}00.pt.trace.json", rank, first_step=first, collectives=1 + "abc".index(cycle))
        said = "run: 3 runs, told apart by their steps: steps 5-8 (2 ranks), steps 9-12 (2 ranks), steps 100-103 (1 rank)"
        alone = "warning: run: 2 ranks ran, but the only trace is run/host_0.10000.pt.trace.json; no collective report"
        out = report(folder, "run --output_csvs_dir out --output_json out/", err=f"{said}\n{alone}")
        assert "run, steps 5-8: no rank, node or link" in out and "run, steps 9-12: no rank" in out, out
        for cycle, steps in (("a", "5-8"), ("b", "9-12")):
            report(folder, f"alone_{cycle} -q --output_csvs_dir {cycle} --no_html")
            same_files(folder, f"out/steps_{steps}_collective", f"{cycle}/collective")
            for rank in (0, 1):
                same_files(folder, f"out/steps_{steps}_rank{rank}", f"{cycle}/rank{rank}")
            rows = folder.rows(f"out/steps_{steps}_collective/nccl_long.csv")
            assert len(rows) == 1 + 2 * (1 + "ab".index(cycle)), rows
            assert os.path.exists(folder.file(f"out/steps_{steps}_collective.findings.json"))
        assert sorted(os.listdir(folder.file("out"))) == sorted(
            ["host_0.10000.pt.trace", "host_0.10000.pt.trace.findings.json"] +
            [f"steps_{s}_{what}{ending}" for s in ("5-8", "9-12") for what in ("collective", "rank0", "rank1") for ending in ("", ".findings.json")])
        report(folder, "run", err=f"{said}\n{alone}")
        found = [name for name in folder.names() if "nccl_analysis" in name]
        assert found == [f"run/nccl_analysis_report_steps_{s}.{e}" for s in ("5-8", "9-12") for e in ("html", "xlsx")], found
        report(folder, "run alone_a -q --output_csvs_dir two", err=alone)
        assert sorted(name for name in os.listdir(folder.file("two")) if "collective" in name) == [
            "alone_a_collective", "run_steps_5-8_collective", "run_steps_9-12_collective"]
        r = folder.sh("gputally partial run -q")
        assert (r.returncode, r.stderr) == (1, f"gputally: {said.replace('run: 3', 'run: the traces in this folder are of 3')}; name the traces of one run\n"), r


def test_cycles_on_several_nodes(binary):
    """File names with local ranks: the ranks in the traces count. A late rank begins with a later step."""
    with Folder(binary) as folder:
        for first in (5, 15):
            for rank in range(4):
                write(folder, f"run/node{rank // 2}/rank{rank % 2}.{first}.json", rank, ranks=4, first_step=first + (rank == 3))
        report(folder, "run --output_csvs_dir out", err="run: 2 runs, told apart by their steps: steps 5-9 (4 ranks), steps 15-19 (4 ranks)")
        for steps in ("5-9", "15-19"):
            rows = folder.rows(f"out/steps_{steps}_collective/nccl_long.csv")
            assert {row[rows[0].index("rank")] for row in rows[1:]} == {"0", "1", "2", "3"}, rows


def test_copies_of_a_trace(binary):
    """A copy under another name is said and left out, also a packed one; the others are one per rank. The shortest name stays,
    wherever it is in the order of names."""
    with Folder(binary) as folder:
        for rank in (0, 1):
            write(folder, f"run/rank{rank}_trace.json", rank)
        report(folder, "run -q --output_csvs_dir one")
        shutil.copy(folder.file("run/rank0_trace.json"), folder.file("run/rank0_copy_trace.json"))
        with open(folder.file("run/rank1_trace.json"), "rb") as file, gzip.open(folder.file("run/rank1_old.json.gz"), "wb") as packed:
            packed.write(file.read())
        said = "".join(f"warning: run/{a}: skipped, because run/{b} is the same trace\n" for a, b in (
            ("rank0_copy_trace.json", "rank0_trace.json"), ("rank1_old.json.gz", "rank1_trace.json")))
        report(folder, "run -q --output_csvs_dir two", err=said)
        for name in ("rank0", "rank1", "collective"):
            same_files(folder, f"two/{name}", f"one/{name}")
        assert sorted(os.listdir(folder.file("two"))) == ["collective", "rank0", "rank1"]


def test_several_runs(binary):
    """Two traces of one rank that nothing tells apart: a report each, a sentence that says why there is no other, and exit status 1."""
    with Folder(binary) as folder:
        for number in (1, 2):
            for rank in (0, 1):
                write(folder, f"run/rank{rank}_{number}.json", rank, collectives=number)
                write(folder, f"steps/rank{rank}_{number}.json", rank, first_step=5 + number, collectives=number)
        why = "warning: {0}: no collective report, because the traces are not one per rank: {0}/rank0_1.json and {0}/rank0_2.json are both of rank 0, and "
        for _ in range(2):
            report(folder, "run -q", code=1, err=why.format("run") + "run/rank0_1.json has no steps (ProfilerStep) that would tell which traces belong together")
        assert len([name for name in folder.names() if name.endswith("_perf_report.xlsx")]) == 4, folder.names()
        assert not os.path.exists(folder.file("run/nccl_analysis_report.xlsx"))
        report(folder, "steps -q", code=1, err=why.format("steps") + "both have step 7")
        # The JSON of all ranks says so, too: that of an earlier call would look like a result.
        os.mkdir(folder.file("out"))
        with open(folder.file("out/collective.findings.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        report(folder, "steps -q --output_json out", code=1, err=why.format("steps") + "both have step 7")
        with open(folder.file("out/collective.findings.json"), encoding="utf-8") as file:
            found = json.load(file)
        assert found == {"schema": "gputally-findings/1", "trace": "steps", "error":
                         {"message": why.format("steps").split(": ", 2)[2] + "both have step 7", "exit": 1}}, found
        report(folder, "run -q --output_json other", code=1, err=why.format("run") + "run/rank0_1.json has no steps (ProfilerStep) that would tell "
               "which traces belong together")
        assert len(os.listdir(folder.file("other"))) == 5


def test_equal_names_in_several_folders(binary):
    """Two runs below one folder: folders of CSV files are named by the path of the trace, with the same sheets."""
    with Folder(binary) as folder:
        for node in "AB":
            for rank in (0, 1):
                write(folder, f"run/node{node}/rank{rank}.json.gz", rank, collectives=" AB".index(node))
        err = ("warning: {0}: no collective report, because the traces are not one per rank: "
               "{0}/nodeA/rank0.json.gz and {0}/nodeB/rank0.json.gz are both of rank 0, and {0}/nodeA/rank0.json.gz has no steps "
               "(ProfilerStep) that would tell which traces belong together")
        report(folder, "run -q --output_csvs_dir out", code=1, err=err.format("run"))
        found = [name for name in folder.names() if name.endswith("gpu_timeline.csv")]
        assert found == [f"out/node{node}/rank{rank}/gpu_timeline.csv" for node in "AB" for rank in (0, 1)], found
        report(folder, "run/nodeB/rank1.json.gz -q --output_csvs_dir one")
        same_files(folder, "out/nodeB/rank1", "one")
        shutil.copytree(folder.file("run"), folder.file("again"))
        report(folder, "run again -q --output_csvs_dir both", code=1, err=err.format("run") + "\n" + err.format("again"))
        found = [name for name in folder.names() if name.startswith("both") and name.endswith("gpu_timeline.csv")]
        assert found == [f"both/{run}/node{node}/rank{rank}/gpu_timeline.csv" for run in ("again", "run") for node in "AB" for rank in (0, 1)], found


def test_one_trace_and_none(binary):
    with Folder(binary) as folder:
        write(folder, "run/rank3.json", 3)
        out = report(folder, "run -o own.xlsx", err="warning: run: 2 ranks ran, but the only trace is run/rank3.json; no collective report")
        assert out.endswith("wrote own.xlsx\nwrote own.html\n") and "GPU timeline" in out and "rank 3" not in out, out
        assert folder.names() == ["own.html", "own.xlsx", "run/rank3.json"], folder.names()
        os.makedirs(folder.file("empty/below"))
        with open(folder.file("empty/notes.json"), "w") as file:
            file.write('{"notes": 1}')
        report(folder, "empty", 1, "empty: no rocprofv3 files, JAX profile, Nsight Systems export or PyTorch traces in this folder")


def test_other_files_are_left_alone(binary):
    """Copies, merged traces, pipes, hidden files and reports beside the traces."""
    with Folder(binary) as folder:
        for rank in (0, 1):
            write(folder, f"run/rank{rank}.json", rank)
        write(folder, "run/rank1.json.gz", 1)
        write(folder, "run/.rank2.json", 2)
        write(folder, "run/older/rank0.json", 0)
        os.mkfifo(folder.file("run/rank3.json"))  # never opened
        for name, text in (("rank0_config.json", '{"steps": 4}'), ("notes.json", "notes")):
            with open(folder.file(f"run/{name}"), "w") as file:
                file.write(text)
        assert folder.sh("cd run && ../gputally fuse rank0.json rank1.json -q").returncode == 0
        report(folder, "run -q --output_csvs_dir out", err="warning: run/rank3.json: skipped, because it is a FIFO and not a file\n"
               "warning: run/rank1.json.gz: skipped, because rank1.json is the same trace")
        assert sorted(os.listdir(folder.file("out"))) == ["collective", "rank0", "rank1"]


def test_folder_of_vllm(binary):
    """One trace per worker, named by its places in all groups, and one of the front end, which has no GPU events."""
    names = [f"dp0_pp0_tp{rank}_dcp0_ep0_rank{rank}.175400000000000000{rank}.pt.trace.json.gz" for rank in (0, 1)]
    front_end = "host_1234.async_llm.1754000000000000002.pt.trace.json.gz"
    for ranks in (1, 2):
        with Folder(binary) as folder:
            for rank in range(ranks):
                write(folder, f"run/{names[rank]}", rank, info=False)
            with gzip.open(folder.file(f"run/{front_end}"), "wt") as file:
                json.dump({"schemaVersion": 1, "traceEvents": [event for event in events(0, 1) if event["cat"] == "cpu_op"]}, file)
            report(folder, "run -q --output_csvs_dir out")
            assert folder.sh("gputally doctor run").returncode == 0
            shown = folder.sh("gputally report run --print").stderr
            assert shown == f"gputally: run/{front_end}: skipped, because it is of vLLM's front end, which uses no GPU\n", shown
            got = sorted(os.listdir(folder.file("out")))
            assert got == ["collective", "rank0", "rank1"] if ranks == 2 else "gpu_timeline.csv" in got, got


def test_sheets_beside_the_trace(binary):
    """A report in CSV files in the folder of its trace, or below it, is no rocprofv3 run, though its agents have the name and
    columns of one; a run in that folder still is."""
    with Folder(binary) as folder:
        generate_export.write(generate_export.small_run(), folder.file("run.sqlite"))
        small_traces.write(folder.file("t.json"), small_traces.training())
        folder.sh("mkdir a b c; cp run.sqlite a; cp t.json b; cp tiny_results.json c")
        for sheets, option in (("", ""), ("/sheets", ""), ("", "--csv_sheets agent_info kernel_summary")):
            for run, trace in (("a", "a/run.sqlite"), ("b", "b/t.json"), ("c", "c")):
                folder.sh(f"gputally report run.sqlite -q --output_csvs_dir {run}{sheets} {option}")
                assert os.path.exists(folder.file(f"{run}{sheets}/agent_info.csv"))
                done = folder.sh(f"gputally query 'SELECT path FROM traces' {run} --format csv")
                assert done.stdout == f"path\n{trace}\n", (run, sheets, done)
                done = folder.sh(f"gputally report {run} --print")
                assert done.returncode == 0 and "No kernel events" not in done.stderr, done
            folder.sh("rm */*.csv")


def test_two_traces_of_one_name(binary):
    """A compressed trace beside another one of the same name: the user must know that it is not a copy."""
    with Folder(binary) as folder:
        for rank in (0, 1):
            write(folder, f"run/rank{rank}.json", rank)
        write(folder, "run/rank1.json.gz", 3)
        write(folder, "run/rank0.json.gz", 0)
        with open(folder.file("run/rank0.json"), "a") as file:
            file.write("\n")
        report(folder, "run -q --output_csvs_dir out",
               err="warning: run/rank0.json.gz: skipped, because rank0.json has the same name, but other contents; remove or rename one of them\n"
               "warning: run/rank1.json.gz: skipped, because rank1.json has the same name, but other contents (of rank 1, and this one of rank 3); "
               "remove or rename one of them")


def test_two_files_of_one_rank_in_a_trace_dir(binary):
    with Folder(binary) as folder:
        for rank in (0, 1):
            write(folder, f"run/rank{rank}_trace.json", rank)
        write(folder, "run/rank1_trace.json.gz", 1, collectives=3)
        write(folder, "run/rank0_trace.json.gz", 0)
        for command in "collective --output_csvs_dir out", "fuse -o x.json":
            r = folder.sh(f"gputally {command} -q --trace_dir run")
            assert r.returncode == 0 and r.stderr == (
                "gputally: warning: run/rank0_trace.json.gz: skipped, because rank0_trace.json is the same trace\n"
                "gputally: warning: run/rank1_trace.json.gz: skipped, because rank1_trace.json has the same name, but other contents; "
                "remove or rename one of them\n"), r


def test_ranks_in_traces_count(binary):
    """File names with local ranks (a node of its own), those of another run, and copies of one trace."""
    with Folder(binary) as folder:
        for rank in (2, 3):
            write(folder, f"node1/rank{rank - 2}.json", rank, 4)
        for rank in range(4):
            write(folder, f"old/rank{4 + rank}.json", rank, 4)
            write(folder, f"copies/rank{rank}.json", 0, 4)
        differ = "rank{} by its file name, but rank {} in the trace, and others differ too; using the"
        report(folder, "node1 -q --output_csvs_dir a", err="warning: node1/rank0.json: "
               + differ.format(" 0", 2) + " ranks in the traces\n" + missing_ranks("node1", 4, 2, "0, 1"))
        assert sorted(os.listdir(folder.file("a"))) == ["collective", "rank2", "rank3"]
        assert "0-1 (no trace" in [row for row in folder.rows("a/collective/trust.csv") if row[0] == "T18"][0][5]
        report(folder, "old -q --output_csvs_dir b", err="warning: old/rank4.json: " + differ.format(" 4", 0) + " ranks in the traces")
        assert sorted(os.listdir(folder.file("b"))) == ["collective", *(f"rank{rank}" for rank in range(4))]
        r = folder.sh("gputally report copies -q --output_csvs_dir c")
        assert "copies/rank1.json: " + differ.format(" 1", 0) + " file names" in r.stderr, r.stderr
        assert [name for name in sorted(os.listdir(folder.file("c"))) if name != "collective"] == [f"rank{rank}" for rank in range(4)]


def test_unreadable_ranks(binary):
    """A rank whose file is empty or garbage is named, the others are reported, and the command fails."""
    def warning(path, reason):
        return f"warning: {path}: {reason}; this trace is not in the report"

    cases = [(b"", "empty file"), (b" \n", "empty file"), (b"garbage", "not a PyTorch trace: unknown format"),
             (b'{"schemaVersion": 1, "dev', "not a PyTorch trace: JSON file without a known trace"), (b"[]", "not a PyTorch trace: JSON file without a known trace")]
    for name, bad in (("rank{}_trace.json", 3), ("rank{}.json", 1), ("rank_{}/steps.json", 3), ("host_{}.17.pt.trace.json", 3)):
        with Folder(binary) as folder:
            for rank in range(4):
                write(folder, "run/" + name.format(rank), rank, 4)
            for text, reason in cases:
                path = "run/" + name.format(bad)
                with open(folder.file(path), "wb") as file:
                    file.write(text)
                r = folder.sh("gputally report run --output_csvs_dir out")
                assert r.returncode == 1 and "3 ranks, 72 events, 12 collectives" in r.stdout, r
                assert "gputally: " + warning(path, reason) + "\n" in r.stderr, r.stderr
    with Folder(binary) as folder:
        write(folder, "run/rank0.json", 0, 1)
        os.symlink("nowhere", folder.file("run/rank1.json.gz"))
        report(folder, "run -q", 1, "warning: cannot open run/rank1.json.gz: No such file or directory; this trace is not in the report")
        os.remove(folder.file("run/rank0.json"))
        report(folder, "run -q", 1, "warning: cannot open run/rank1.json.gz: No such file or directory; this trace is not in the report\n"
               "run: no rocprofv3 files, JAX profile, Nsight Systems export or PyTorch traces in this folder")


def errors(folder, name):
    """The `error` of each JSON file in a folder, by name; None if there is none."""
    found = {}
    for file in os.listdir(folder.file(name)):
        with open(folder.file(f"{name}/{file}")) as text:
            found[file.removesuffix(".findings.json")] = json.load(text).get("error")
    return found


def test_json_of_errors(binary):
    """What fails replaces the JSON of an earlier success, and errors of the call do not stand in the way of the next one."""
    with Folder(binary) as folder:
        for rank in range(3):
            write(folder, f"run/rank{rank}.json", rank, 3)
        every = dict.fromkeys(("collective", "rank0", "rank1", "rank2"))
        r = folder.sh("gputally report run --bogus --output_json out")
        usage = {"collective": {"message": "unrecognized arguments: --bogus", "exit": 2}}
        assert r.returncode == 2 and errors(folder, "out") == usage, (r, os.listdir(folder.file("out")))
        r = folder.sh("gputally report run -q --output_json out")
        assert r.returncode == 0 and errors(folder, "out") == every, r
        bad = {}
        for rank in (1, 0, 2):
            with open(folder.file(f"run/rank{rank}.json"), "w"):
                bad[f"rank{rank}"] = {"message": f"run/rank{rank}.json: empty file", "exit": 1}
            for out in ("out", f"fresh{rank}"):
                r = folder.sh(f"gputally report run -q --output_json {out}")
                found = errors(folder, out)
                assert r.returncode == 1 and (found.pop("collective") is None) == (len(bad) == 1), (rank, r, found)
                assert found == {name: bad.get(name) for name in every if name != "collective"}, (rank, r, found)
        write(folder, "run/rank0.json", 0, 3)
        open(folder.file("plain"), "w").close()
        r = folder.sh("gputally report run -q --output_json plain")
        refused = "argument --output_json: plain is a file, but several traces need a folder; remove it or name another path"
        assert r.returncode == 2 and r.stderr.count("plain") == 1 and refused in r.stderr, r
        assert os.path.getsize(folder.file("plain")) == 0


def test_missing_last_rank(binary):
    """The traces say how many ranks ran: in distributedInfo, or else in the process groups of their collectives."""
    for info in (True, False):
        with Folder(binary) as folder:
            for rank in range(3):
                write(folder, f"run/rank{rank}_trace.json", rank, 4, info=info)
            err = missing_ranks("run", 4, 3, "3")
            out = report(folder, "run --output_json out", err=err)
            unknown = "rank 3, whose collectives were not read, may be late"
            assert unknown in " ".join(out.split("\n\n")[0].split()), out
            with open(folder.file("out/collective.findings.json")) as file:
                found = json.load(file)
            assert unknown in str(found["sheets"]["overview"]["rows"]), found["sheets"]["overview"]
            assert "1 of 4 ranks: 3 (no trace" in str([c for c in found["trust"]["checks"] if c["id"] == "T18"]), found["trust"]
            r = folder.sh("gputally collective --trace_dir run -q -o a.xlsx")
            assert r.returncode == 0 and r.stderr == f"gputally: {err}\n", r
            r = folder.sh("gputally collective --trace_glob 'run/*.json' -q -o a.xlsx")
            assert r.returncode == 0 and "4 ranks ran, traces of 3: rank 3 is missing" in r.stderr, r
            r = folder.sh("gputally collective --trace_dir run -q --world_size 3 -o a.xlsx")
            assert r.returncode == 0 and r.stderr == "", r
            for size, unread in ((2, "the trace of rank 2 is"), (1, "the traces of ranks 1, 2 are")):
                r = folder.sh(f"gputally collective --trace_dir run -q --world_size {size} -o a.xlsx")
                assert r.returncode == 0 and r.stderr == f"gputally: warning: --world_size {size}: {unread} not read\n", r
            os.remove(folder.file("run/rank1_trace.json"))
            report(folder, "run -q", err=missing_ranks("run", 4, 2, "1, 3"))


def uneven(counts):
    return (f"warning: process group 0: different numbers of collectives: {counts}; "
            "they are matched by their order, so waiting times may be wrong")


def test_different_numbers_of_collectives(binary):
    """Collectives are matched by position, which is wrong if a rank has fewer; those of one rank alone do not count as last."""
    with Folder(binary) as folder:
        write(folder, "run/rank0_trace.json", 0)
        write(folder, "run/rank1_trace.json", 1, collectives=3)
        report(folder, "run -q", err=uneven("rank 0 has 4, rank 1 has 3"))
        r = folder.sh("gputally collective --trace_dir run --output_csvs_dir out")
        assert r.returncode == 0 and r.stderr == "gputally: " + uneven("rank 0 has 4, rank 1 has 3") + "\n", r
        lines = [line.split()[:3] for line in r.stdout.splitlines()]
        assert ["1", "100.0%", "3"] in lines and ["0", "0.0%", "0"] in lines, r.stdout
        assert stragglers(folder, "out/straggler_summary.csv") == [("1", "3"), ("0", "1")], "the sheet is that of TraceLens"
        write(folder, "run/rank1_trace.json", 1, collectives=0)
        report(folder, "run -q", err=uneven("rank 0 has 4, rank 1 has 0"))
        out = folder.sh("gputally collective --trace_dir run -o a.xlsx").stdout
        assert "Collectives by time" in out and "Ranks that the others wait for" not in out, out
        for rank in range(1, 12):
            write(folder, f"run/rank{rank}_trace.json", rank, 12, collectives=4 - (rank == 7))
        write(folder, "run/rank0_trace.json", 0, 12)
        report(folder, "run -q", err=uneven("ranks 0, 1, 2, 3, 4, 5, 6, 8 and 3 more have 4, rank 7 has 3"))


def test_other_groups_may_differ(binary):
    """Each rank has its own process group, and only one of them sends: nobody waits, so no warning."""
    with Folder(binary) as folder:
        for rank in range(2):
            found = events(rank, 2, collectives=2)
            for event in found:
                if "Process Group Name" in event.get("args", {}) and rank == 1:
                    event["args"].update({"Process Group Name": "1", "Process Group Ranks": "[1]", "Group size": 1})
            found += [{**event, "ts": event["ts"] + 5, "args": {**event["args"], "Process Group Name": "2", "Process Group Ranks": "[0, 1]",
                       "Collective name": "send"}} for event in found if rank == 0 and "Collective name" in event.get("args", {})]
            for event in found:
                if event.get("args", {}).get("Process Group Name") == "0":
                    event["args"].update({"Process Group Ranks": "[0]", "Group size": 1})
            os.makedirs(folder.file("run"), exist_ok=True)
            with open(folder.file(f"run/rank{rank}.json"), "w") as file:
                json.dump({"traceEvents": found}, file)
        report(folder, "run -q")


def test_mixed_formats(binary):
    with Folder(binary) as folder:
        os.mkdir(folder.file("run"))
        shutil.copy(folder.file("tiny_results.json"), folder.file("run/1_results.json"))
        write(folder, "run/rank0.json", 0)
        write(folder, "run/rank1.json", 1)
        report(folder, "run -q -o r.xlsx", err="warning: run: the report covers the rocprofv3 files; for its 2 PyTorch traces use "
               "gputally report run/rank0.json ...")
        os.makedirs(folder.file("jax/plugins/profile/1"))
        shutil.copy(f"{FIXTURES}/jax/matmul.xplane.pb.gz", folder.file("jax/plugins/profile/1/host.xplane.pb"))
        write(folder, "jax/plugins/profile/1/host.trace.json.gz", 0)
        report(folder, "jax -q --output_csvs_dir j")
        assert os.path.exists(folder.file("r.xlsx")) and os.path.exists(folder.file("j/kernel_launchers_summary.csv"))


def test_ranks_that_fail(binary):
    """A damaged rank has the report of its readable part and is not in the collective report; without collectives there is none."""
    with Folder(binary) as folder:
        for rank in range(3):
            write(folder, f"run/rank{rank}.json", rank, 3)
        with open(folder.file("run/rank1.json"), "r+") as file:
            file.truncate(3000)
        r = folder.sh("gputally report run -q --output_csvs_dir out")
        assert r.returncode == 0, r
        assert "run/rank1.json: truncated" in r.stderr and "rank 1: run/rank1.json" in r.stderr, r.stderr
        rows = folder.rows("out/collective/nccl_long.csv")
        assert {row[rows[0].index("rank")] for row in rows[1:]} == {"0", "2"}, rows
        assert os.path.exists(folder.file("out/rank1/gpu_timeline.csv"))
        r = folder.sh("gputally report run -q --strict --output_csvs_dir strict")
        assert r.returncode == 1 and sorted(os.listdir(folder.file("strict"))) == ["collective", "rank0", "rank2"], r
        for rank in range(2):
            write(folder, f"none/rank{rank}.json", rank, collectives=0)
        report(folder, "none -q")
        out = report(folder, "none", err="none: no collectives in the traces, so no collective report")
        assert out.count("\n") == 3 and "all ranks" not in out, out
        assert not os.path.exists(folder.file("none/nccl_analysis_report.xlsx"))


def write_damaged(folder, ranks):
    """One rank is huge; 2 and 4 are truncated, 5 has a collective without a duration, 6 one whose correlation id is a string,
    and 9 is another rank by its own words, which come after the events."""
    os.makedirs(folder.file("run"))
    for rank in range(ranks):
        found = [{**event, "ts": event["ts"] + 1000 * copy} if "ts" in event else event
                 for copy in range(500 if rank == 7 else 1) for event in events(rank, ranks)]
        collectives = [event for event in found if event["name"].startswith("nccl")]
        if rank == 5:
            del collectives[1]["dur"]
        if rank == 6:
            collectives[2]["args"]["correlation"] = "52"
        text = json.dumps({"schemaVersion": 1, "traceEvents": found, "deviceProperties": [{}] * 4,
                           "distributedInfo": {"rank": 3 if rank == 9 else rank, "world_size": ranks}})
        with open(folder.file(f"run/rank{rank}_trace.json"), "w") as file:
            file.write(text[:text.rindex('"gemm"')] if rank in (2, 4) else text)


def test_damaged_ranks_among_many(binary):
    """Messages come in the order of the ranks, and results are the same, whatever rank is read first."""
    cut = "the JSON text ends early at byte 3934, in event 23"
    of_ranks = ["run/rank2_trace.json: truncated: read 22 events up to byte 3934",
                "run/rank5_trace.json: 24 records in the file, 23 used, 1 left out: 1 without a start or a duration (the first is event 12)"]
    of_all = ["run/rank9_trace.json: rank 9 by its file name, but rank 3 in the trace; using the file names",
              "process group 0: different numbers of collectives: rank 7 has 2000, ranks 0, 1, 3, 6, 8, 9, 10, 11 have 4; "
              "they are matched by their order, so waiting times may be wrong",
              f"rank 2: run/rank2_trace.json: {cut}: skipped", f"rank 4: run/rank4_trace.json: {cut}: skipped",
              "rank 5: run/rank5_trace.json: a collective has no 'ts' or no 'dur' at byte 2206, in event 12: skipped"]
    with Folder(binary) as folder:
        write_damaged(folder, 12)
        first = None
        for threads in (1, 2, 3, 8, 16):
            err = "\n".join("warning: " + line for line in of_ranks + of_all +
                            ["1 more file: truncated: read 22 events up to byte 3934"])
            out = report(folder, f"run --threads {threads} --output_csvs_dir out", err=err)
            lines = out.splitlines()
            assert [line.split(":")[0] for line in lines[-12:]] == [f"rank {rank}" for rank in range(12)], out
            assert "9 ranks, 12192 events, 2032 collectives" in lines, out
            rows = folder.rows("out/collective/nccl_long.csv")
            assert [row[rows[0].index("node_id")] for row in rows[1:] if row[rows[0].index("rank")] == "11"] == ["2"] * 4, "4 GPUs per node"
            files = {name: folder.rows(name) for name in folder.names() if name.startswith("out/")}
            assert len([name for name in files if name.endswith("gpu_timeline.csv")]) == 12
            first = first or (out, files)
            assert (out, files) == first, threads
            r = folder.sh(f"gputally collective --trace_dir run --allow_missing_ranks -q --threads {threads} --output_csvs_dir all")
            assert r.stderr == "".join(f"gputally: warning: {line}\n" for line in of_all), r.stderr
            same_files(folder, "out/collective", "all", OF_WHOLE_TRACES)
            r = folder.sh(f"gputally report run/rank5_trace.json run/rank3_trace.json run/none.json run/rank7_trace.json --threads {threads} --output_csvs_dir several")
            assert r.returncode == 1, r
            assert r.stderr == f"gputally: warning: {of_ranks[1]}\ngputally: Input file not found: run/none.json\n", r.stderr
            shown = [line for line in r.stdout.splitlines() if line.startswith("run/") or line.endswith("CSV files to several/rank3_trace")]
            assert "wrote" in shown.pop(2), shown
            assert shown == ["run/rank5_trace.json", "run/rank3_trace.json", "run/rank7_trace.json"], shown
            r = folder.sh(f"gputally batch -b run -f rank --rank_pattern rank -q --threads {threads} --output_csvs_dir batch --strict")
            assert r.returncode == 1 and r.stderr == f"gputally: run/rank2_trace.json: {cut}\n", r.stderr
            assert not os.path.exists(folder.file("batch"))


def test_two_folders_and_a_file(binary):
    with Folder(binary) as folder:
        for run in ("a", "b"):
            for rank in (0, 1):
                write(folder, f"{run}/rank{rank}.json", rank)
        report(folder, "a b tiny_results.json -q")
        written = [name for name in folder.names() if name.endswith(".xlsx")]
        assert written == ["a/nccl_analysis_report.xlsx", "a/rank0_perf_report.xlsx", "a/rank1_perf_report.xlsx",
                           "b/nccl_analysis_report.xlsx", "b/rank0_perf_report.xlsx", "b/rank1_perf_report.xlsx",
                           "tiny_perf_report.xlsx"], written
        r = folder.sh("gputally report a b -q --output_csvs_dir out")
        assert r.returncode == 0, r
        assert sorted(os.listdir(folder.file("out"))) == [
            "a_collective", "a_rank0", "a_rank1", "b_collective", "b_rank0", "b_rank1"], os.listdir(folder.file("out"))


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
