#!/usr/bin/env python3
"""`-` as the name of an output, sheets chosen by name, and `--print`: what is on standard output and nowhere else.

    python3 -m tests.cli.test_standard_output --bin build/gputally [TEXT]      only tests with TEXT in their name

Expected bytes are those of the same command with the name of a file.
"""
import json
import os
import sys

from tests.cli.folder import Folder
from tests.cli.test_terminal import on_terminal
from tests.common import harness
from tests.findings import small_traces
from tests.partial.generate_ranks import write_ranks


def start(folder):
    """Two traces, four ranks and an empty folder for temporary files; returns the names of all files."""
    for name, steps in (("t.json", 5), ("u.json", 3)):
        small_traces.write(folder.file(name), small_traces.training(steps))
    write_ranks(folder.file("ranks"), 4)
    os.mkdir(folder.file("tmp"))
    return folder.names()


def read(folder, name):
    with open(folder.file(name), encoding="utf-8") as file:
        return file.read()


def sent(folder, line, code=0):
    """Standard output of a command whose standard error must be empty and which must leave no file behind."""
    before = folder.names()
    done = folder.sh(line, TMPDIR=folder.file("tmp"))
    assert done.returncode == code and done.stderr == "" and folder.names() == before, (line, done, folder.names())
    return done.stdout


def test_same_bytes_as_a_file(binary):
    with Folder(binary) as folder:
        start(folder)
        for line, option in (("report t.json", "--output_json"), ("report t.json", "--output_md"),
                             ("report tiny_results.json", "--output_json"), ("doctor t.json", "--output_json"),
                             ("compare t.json u.json", "--output_json"), ("compare t.json u.json", "--output_md"),
                             ("collective --trace_dir ranks", "--output_json"), ("collective --trace_dir ranks", "--output_md"),
                             ("report - < t.json", "--output_json")):
            words = line.split(" < ")
            line = f"gputally {words[0]} {option} NAME" + "".join(f" < {word}" for word in words[1:])
            done = folder.sh(line.replace("NAME", "file") + " -q")
            assert done.returncode == 0, done
            assert sent(folder, line.replace("NAME", "-")) == read(folder, "file") != "", line
        folder.sh("gputally report t.json -q --output_csvs_dir csvs --output_json other")
        assert sent(folder, "gputally report t.json --output_csvs_dir - --csv_sheets trust") == read(folder, "csvs/trust.csv")
        assert sent(folder, "gputally report t.json --output_json=- --output_md x.md; rm x.md") == read(folder, "other")
        folder.sh("gputally partial ranks -o parts -q; gputally merge parts --output_json merged -q")
        assert sent(folder, "gputally merge parts --output_json -") == read(folder, "merged")


def test_on_a_terminal(binary):
    """The document on standard output, nothing on standard error, no codes."""
    with Folder(binary) as folder:
        start(folder)
        code, out, err = on_terminal([binary, "report", "t.json", "--output_json", "-", "--no_progress"], folder.path, 80)
        assert code == 0 and err == "" and json.loads(out)["trace"] == "t.json", (code, out, err)


def test_warnings_and_conditions(binary):
    """What else would be printed is on standard error, if it is printed at all."""
    with Folder(binary) as folder:
        start(folder)
        lost = small_traces.training()
        lost["traceEvents"] = [event for event in lost["traceEvents"] if event["cat"] != "kernel"]
        small_traces.write(folder.file("none.json"), lost)
        done = folder.sh("gputally report none.json --output_json -")
        assert done.returncode == 1 and "No GPU events" in done.stderr and json.loads(done.stdout)["error"]["exit"] == 1, done
        done = folder.sh("gputally compare t.json u.json --output_json - --fail_if 'step_ms >= 0'")
        assert done.returncode == 3 and "Met --fail_if conditions" in done.stderr, done
        assert len(json.loads(done.stdout)["fail_if"]) == 1


def test_usage(binary):
    with Folder(binary) as folder:
        before = start(folder)
        for line, message in (
                ("t.json --output_json - --output_md -", "argument --output_md: standard output is already taken by --output_json"),
                ("t.json --output_csvs_dir -", "argument --output_csvs_dir: standard output takes one sheet; name it with --csv_sheets"),
                ("t.json --output_csvs_dir - --csv_sheets trust findings",
                 "argument --output_csvs_dir: standard output takes one sheet; name it with --csv_sheets"),
                ("t.json --print -o x.xlsx", "argument --print: not allowed with argument --output_xlsx_path"),
                ("t.json --print --output_json -", "argument --print: not allowed with argument --output_json"),
                ("t.json u.json --output_md -", "argument --output_md: standard output takes one report, not those of several traces"),
                ("ranks --output_json -", "argument --output_json: standard output takes one report, not those of several traces")):
            done = folder.sh(f"gputally report {line}")
            assert done.returncode == 2 and done.stderr.startswith(f"gputally report: error: {message}\n"), (line, done)
            if "--output_json" in line:
                assert json.loads(done.stdout)["error"] == {"message": message, "exit": 2}, done
        assert folder.names() == before
        done = folder.sh("gputally split t.json --output_dir -")
        assert done.returncode == 2 and "argument --output_dir: must be a folder, not standard output" in done.stderr, done


def test_old_names(binary):
    """There `-` is the name of a folder, as it was."""
    with Folder(binary) as folder:
        done = folder.sh("TraceLens_generate_perf_report_rocprof --profile_json_path tiny_results.json --output_csvs_dir -")
        assert done.returncode == 0 and "-/gpu_timeline.csv" in folder.names(), (done, folder.names())


def test_reader_that_goes_away(binary):
    """The program ends by the signal, also if its parent ignores it; nothing is left of it and nothing said."""
    with Folder(binary) as folder:
        before = start(folder)
        for ignore in ("", "trap '' PIPE; "):
            # The reader has closed the pipe before the program writes to it.
            line = f"({ignore}until [ -e closed ]; do sleep 0.01; done; gputally report t.json --output_json - ; echo $? > code)"
            done = folder.sh(f"{line} | (exec <&-; touch closed)", TMPDIR=folder.file("tmp"))
            assert done.stderr == "" and read(folder, "code") == "141\n", (done, read(folder, "code"))
            folder.sh("rm closed code")
        assert folder.names() == before


def test_failures(binary):
    with Folder(binary) as folder:
        before = start(folder)
        done = folder.sh("gputally report t.json --output_md - > /dev/full")
        assert done.returncode == 1 and done.stderr == "gputally: cannot write to standard output: No space left on device\n", done
        done = folder.sh("gputally report t.json --output_md -", TMPDIR="/no/such/folder")
        assert done.returncode == 1 and done.stderr == "gputally: cannot write /no/such/folder/gputally-output: No such file or directory\n", done
        assert folder.names() == before
        folder.sh("mkdir e; : > e/rank0_trace.json; : > e/rank1_trace.json")
        done = folder.sh("gputally report e --output_json -")
        assert done.returncode == 1 and json.loads(done.stdout)["error"]["exit"] == 1, done  # one document


def test_sheets(binary):
    with Folder(binary) as folder:
        start(folder)

        def sheets(options, err=""):
            done = folder.sh(f"gputally report t.json --output_json - {options}")
            assert done.returncode == 0 and done.stderr == err, done
            return json.loads(done.stdout)

        everything, none = sheets(""), sheets("--json_sheets none")
        assert none == {**everything, "sheets": {}}
        two = sheets("--json_sheets gpu_timeline trust")["sheets"]
        assert two == {name: everything["sheets"][name] for name in ("trust", "gpu_timeline")}, list(two)
        assert list(sheets("--json_sheets trust gpu_timelin", "gputally: warning: the report has no sheet 'gpu_timelin' "
                           "(did you mean gpu_timeline?)\n")["sheets"]) == ["trust"]
        done = folder.sh("gputally report t.json --output_csvs_dir - --csv_sheets nothing")
        assert done.returncode == 1 and done.stdout == "" and "the report does not have the sheet" in done.stderr, done
        done = folder.sh("gputally report t.json -q --output_csvs_dir out --csv_sheets trust gpu_timeline")
        assert sorted(os.listdir(folder.file("out"))) == ["gpu_timeline.csv", "trust.csv"] and done.stderr == "", done
        # Not every report of several has every sheet: no warnings.
        done = folder.sh("gputally report ranks -q --output_json j --json_sheets gpu_timeline critical_path")
        found = {name: list(json.loads(read(folder, f"j/{name}"))["sheets"]) for name in os.listdir(folder.file("j"))}
        assert found == {**{f"rank{i}.findings.json": ["gpu_timeline"] for i in range(4)},
                         "collective.findings.json": ["critical_path"]} and done.stderr == "", (found, done)


def test_print(binary):
    """The summary of the usual report, without its last lines, and no files."""
    with Folder(binary) as folder:
        before = start(folder)
        for words in ("t.json", "ranks", "tiny_results.json", "t.json u.json --all_findings"):
            printed = sent(folder, f"gputally report {words} --print")
            usual = folder.sh(f"gputally report {words}").stdout
            lines = [line.split("; wrote ")[0] for line in usual.splitlines() if not line.startswith(("wrote ", "all ranks: "))]
            assert [line for line in printed.splitlines() if line] == [line for line in lines if line], (printed, usual)
            assert len(printed.splitlines()) > 8 and "wrote" not in printed, printed
            for name in set(folder.names()) - set(before):
                os.remove(folder.file(name))
        assert sent(folder, "gputally report t.json --print --quiet --strict_trust") == ""


def test_collective(binary):
    """JSON and Markdown have the findings about all ranks; sheets are still those of TraceLens, and no workbook is written."""
    with Folder(binary) as folder:
        start(folder)
        done = folder.sh("gputally collective --trace_dir ranks --output_json a --output_md b --output_csvs_dir c")
        assert done.returncode == 0, done
        folder.sh("gputally report ranks -q --output_json j --output_md m --output_csvs_dir s")
        own, whole = json.loads(read(folder, "a")), json.loads(read(folder, "j/collective.findings.json"))
        assert own == whole, (own, whole)
        assert read(folder, "b") == read(folder, "m/collective.findings.md")
        assert "overview.csv" not in os.listdir(folder.file("c")) and "nccl_long.csv" in os.listdir(folder.file("c"))
        assert not [name for name in folder.names() if name.endswith((".xlsx", ".html"))], folder.names()
        # As from partials.
        folder.sh("mkdir -p p/ranks; gputally partial ranks -o p/ranks -q; gputally merge p/ranks --no_findings --output_json d -q")
        assert read(folder, "a") == read(folder, "d")


def test_collective_errors(binary):
    """A call that fails says so in its JSON, and never instead of a trace."""
    with Folder(binary) as folder:
        start(folder)
        trace = read(folder, "ranks/rank0_trace.json")
        for line, code in (("--trace_dir ranks --bogus", 2), ("--trace_dir nowhere", 1)):
            done = folder.sh(f"gputally collective {line} --output_json e.json")
            assert done.returncode == code and json.loads(read(folder, "e.json"))["error"]["exit"] == code, done
            folder.sh(f"gputally collective {line} --output_json ranks/rank0_trace.json")
            assert read(folder, "ranks/rank0_trace.json") == trace
        for name in ("rank0", "rank3"):
            done = folder.sh(f"gputally collective --trace_dir ranks --output_json ranks/{name}_trace.json")
            assert done.returncode == 1 and "output path is the input trace" in done.stderr, done
        assert read(folder, "ranks/rank0_trace.json") == trace


def test_compare_writes_what_is_asked_for(binary):
    with Folder(binary) as folder:
        before = start(folder)
        out = sent(folder, "gputally compare t.json u.json")
        assert "the baseline" in out and "wrote" not in out and not out.endswith("\n\n") and folder.names() == before, out
        folder.sh("gputally compare t.json u.json -o w.xlsx -q")
        assert set(folder.names()) - set(before) == {"w.xlsx"}


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
