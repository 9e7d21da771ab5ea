#!/usr/bin/env python3
"""What users see of findings: JSON as docs/json.md describes it, Markdown, the terminal, exit codes and files.

    python3 -m tests.findings.test_output --bin build/gputally [--only TEXT]
"""
import json
import os
import re
import subprocess
import sys

from tests.cli.folder import Folder
from tests.common import harness
from tests.findings import small_traces

FAULTS = os.path.join(harness.CONFORMANCE_TRACES, "..", "..", "faults")
SHEETS = ["overview", "findings", "trust", "idle_causes", "idle_calls", "idle_gaps", "balance", "what_if"]
LINES_MAX = 60


# ---- the documented fields ----


def documentation():
    with open(os.path.join(harness.ROOT, "docs", "json.md"), encoding="utf-8") as file:
        return file.read()


def fields():
    """Path: type, from the table of docs/json.md."""
    found = dict(re.findall(r"^\| `([a-z_.*\[\]]+)` \| ([a-z, ]+) \|", documentation(), re.M))
    assert len(found) > 50, found
    return found


def is_type(value, name):
    if name.endswith(" or null"):
        return value is None or is_type(value, name[:-len(" or null")])
    if name.startswith("array of "):
        return isinstance(value, list) and all(is_type(item, name[len("array of "):]) for item in value)
    kinds = {"string": str, "object": dict, "array": list, "boolean": bool}
    if name in kinds:
        return isinstance(value, kinds[name])
    if isinstance(value, bool):
        return False
    return isinstance(value, int) if name == "integer" else isinstance(value, (int, float))


def walk(value, path=""):
    """All (path, value) of a document; sheets and columns have the name *."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            name = "*" if path == "sheets" else key
            yield from walk(item, f"{path}.{name}" if path else name)
    elif isinstance(value, list) and not path.startswith("sheets.") and value and isinstance(value[0], dict):
        for item in value:
            yield from walk(item, path + "[]")


def check_document(text, complete=True):
    def reject(name):
        raise AssertionError(name)

    document = json.loads(text, parse_constant=reject)
    known, seen = fields(), set()
    for path, value in walk(document):
        if not path or path.endswith("[]") or path == "sheets.*":
            continue
        assert path in known, f"{path} is not documented"
        assert is_type(value, known[path].split(",")[0]), (path, known[path], value)
        seen.add(path)
    if complete:
        missing = {path for path in known if path not in seen and not path.startswith("error") and "[]" not in path}
        assert not missing, missing
    for sheet in document.get("sheets", {}).values():
        assert all(len(row) == len(sheet["columns"]) for row in sheet["rows"]), sheet
    return document


def make(folder, trace, *options, name="t.json", code=0, **environment):
    """Writes a trace and its report; returns (document, outcome)."""
    small_traces.write(folder.file(name), trace)
    return report(folder, name, *options, code=code, **environment)


def report(folder, name, *options, code=0, **environment):
    done = folder.sh(f"gputally report {name} --output_json out.json {' '.join(options)}", **environment)
    assert done.returncode == code and not harness.SANITIZER.search(done.stderr), done
    with open(folder.file("out.json"), encoding="utf-8") as file:
        return check_document(file.read(), complete=code == 0), done


def sheet(document, name):
    found = document["sheets"][name]
    return [dict(zip(found["columns"], row)) for row in found["rows"]]


# ---- JSON ----


def test_json(binary):
    with Folder(binary) as folder:
        document, _ = make(folder, small_traces.training())
        assert document["schema"] == "gputally-findings/1" and document["trace"] == "t.json"
        assert (document["device"], document["steps"], document["window_steps"], document["per"]) == ("NVIDIA H200", 5, 4, "step")
        # By construction: a step every 2 ms, 20 kernels of 30 us in it, and 1 us between them.
        assert abs(document["step_ms"] - 2) < 1e-6 and abs(document["busy_ms"] - 0.6) < 1e-6, document["busy_ms"]
        assert [name for name in document["sheets"]][:8] == SHEETS, list(document["sheets"])
        # Of 2 ms, the loader holds the launching thread for 0.4 ms, in which the GPU has nothing to do; after the launches,
        # Python runs up to the end of the step.
        assert [f["id"] for f in document["findings"]] == ["python_busy", "data_stall"], document["findings"]
        first, second = document["findings"]
        assert (second["kind"], second["where"]) == ("host", "train.py(10): step -> " + small_traces.LOADER), second
        assert 0.3 < second["gain_ms"] < 0.41 and second["severity"] == "high", second
        assert [f["rank"] for f in document["findings"]] == list(range(1, len(document["findings"]) + 1))
        assert document["all_fixed_ms"] <= document["model_step_ms"] - first["gain_ms"] + 1e-9


def test_json_and_sheets_agree(binary):
    with Folder(binary) as folder:
        document, _ = make(folder, small_traces.training())
        for row, finding in zip(sheet(document, "findings"), document["findings"]):
            joined = "; ".join(finding["evidence"])
            assert {**finding, "evidence": joined} == row, (row, finding)
        for row, check in zip(sheet(document, "trust"), document["trust"]["checks"]):
            assert row == {"id": check["id"], "level": check["level"], "value": check["value"], **check["threshold"], "text": check["text"]}
        for row, cause in zip(sheet(document, "idle_causes"), document["idle_causes"]):
            assert (row["cause"], row["ms"]) == (cause["cause"], cause["ms"])
            top = cause["top_sites"][0] if cause["top_sites"] else {"site": None, "ms": None}
            assert (row["top_site"], row["top_site_ms"]) == (top["site"], top["ms"]), (row, cause)
        folder.sh("gputally report t.json --output_csvs_dir csv -q")
        for name in SHEETS:
            rows = folder.rows(f"csv/{name}.csv")
            assert rows[0] == document["sheets"][name]["columns"] and len(rows) == 1 + len(document["sheets"][name]["rows"]), name


def test_gaps(binary):
    """The longest gap is that before the second step: from the last kernel of a step to the first of the next."""
    with Folder(binary) as folder:
        document, _ = make(folder, small_traces.training())
        gaps = sheet(document, "idle_gaps")
        assert [gap["rank"] for gap in gaps] == list(range(1, len(gaps) + 1)) and len(gaps) == 80  # 4 steps of 20 kernels
        assert [gap["duration_us"] for gap in gaps] == sorted((gap["duration_us"] for gap in gaps), reverse=True)
        expected = small_traces.STEP_US - small_traces.KERNELS * (small_traces.KERNEL_US + 1) + 1
        assert abs(gaps[0]["duration_us"] - expected) < 0.01 and gaps[0]["op"] == "ampere_bf16_gemm", (gaps[0], expected)
        assert abs(gaps[-1]["duration_us"] - 1) < 0.01, gaps[-1]


def test_start_of_gaps(binary):
    """Times count from the first event that is an op, a call, a Python function, an annotation or work of the GPU."""
    early = small_traces.START_US - 5000
    ignored = [dict(small_traces.host(category, "early", early, 10.0)) for category in ("overhead", "Trace", "gpu_user_annotation")]
    ignored.append({"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 100, "tid": 100, "ts": early, "args": {}})
    ignored.append({"ph": "i", "cat": "cpu_op", "name": "instant", "pid": 100, "tid": 100, "ts": early, "s": "t"})
    cases = [([], 0), (ignored, 0)]
    cases += [([small_traces.host(category, "early", early, 10.0)], 5)
              for category in ("cpu_op", "cuda_runtime", "python_function", "user_annotation")]
    cases.append(([dict(small_traces.host("cpu_op", "early", early, 10.0), pid=900)], 5))
    with Folder(binary) as folder:
        for more, shift in cases:
            trace = small_traces.training()
            trace["traceEvents"] = more + trace["traceEvents"]
            document, _ = make(folder, trace)
            start = (10 + small_traces.DATA_US + 10 + small_traces.KERNELS * (small_traces.KERNEL_US + 1) - 1) / 1000
            found = min(gap["start_ms"] for gap in sheet(document, "idle_gaps") if gap["duration_us"] > 1000)
            assert abs(found - shift - start) < 1e-6, (more, found, start)


def test_example_of_the_documentation(binary):
    del binary
    examples = re.findall(r"```json\n(.*?)```", documentation(), re.S)
    assert len(examples) == 2
    assert check_document(examples[0])["findings"] and "error" in check_document(examples[1], complete=False)


def test_every_fault(binary):
    """The planted faults are found: the same question that the folder's own check asks."""
    if not os.path.isdir(FAULTS):
        raise harness.Skipped("no folder faults")
    with Folder(binary) as folder:
        done = folder.sh(f"gputally report {FAULTS}/*.json.gz --output_json found -q")
        assert done.returncode == 0, done
        for name in os.listdir(folder.file("found")):
            with open(folder.file("found/" + name), encoding="utf-8") as file:
                check_document(file.read())
        judged = subprocess.run([sys.executable, os.path.join(FAULTS, "check"), folder.file("found")], capture_output=True, text=True)
        assert judged.returncode == 0, judged.stdout


def test_no_findings(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        done = folder.sh("gputally report t.json --no_findings --output_json out.json --strict_trust")
        assert done.returncode == 0 and done.stderr == "gputally: warning: --strict_trust has no effect with --no_findings\n", done
        document = check_document(open(folder.file("out.json")).read(), complete=False)
        assert not set(SHEETS) & set(document["sheets"]) and "gpu_timeline" in document["sheets"]
        assert document["findings"] == [] and document["trust"] == {"verdict": None, "checks": []} and "device" not in document


def test_other_commands_have_none(binary):
    with Folder(binary) as folder:
        trace = os.path.join(harness.FIXTURES, "pytorch", "training_stack.json.gz")
        assert folder.sh(f"gputally pytorch {trace} --output_csvs_dir plain -q").returncode == 0
        found = {name[6:-4] for name in folder.names() if name.startswith("plain/")}
        assert not found & set(SHEETS) and "kernel_summary" not in found, found
        assert folder.sh(f"gputally pytorch {trace} --findings --output_csvs_dir more -q").returncode == 0
        assert {name[5:-4] for name in folder.names() if name.startswith("more/")} == found | set(SHEETS)
        for name in found:
            assert folder.rows(f"plain/{name}.csv") == folder.rows(f"more/{name}.csv"), name


def test_rocprof(binary):
    with Folder(binary) as folder:
        done = folder.sh("gputally report tiny_results.json --output_json out.json -q")
        assert done.returncode == 0, done
        document = check_document(open(folder.file("out.json")).read(), complete=False)
        assert document["trace"] == "tiny_results.json" and "kernel_summary" in document["sheets"]


# ---- strange input ----


def test_strange_names(binary):
    """Names that would break JSON, Markdown or the terminal."""
    name = 'a.py(1): f`|<b>"\\\x1b[31m*_; x'
    with Folder(binary) as folder:
        trace = small_traces.training()
        for event in trace["traceEvents"]:
            if event["name"] == "train.py(10): step":
                event["name"] = name
        document, done = make(folder, trace, "--output_md", "out.md")
        assert "\x1b[31m" not in done.stdout
        first = next(f for f in document["findings"] if f["id"] == "data_stall")
        assert first["where"].startswith(name.split(";")[0]), first
        with open(folder.file("out.md"), encoding="utf-8") as file:
            text = file.read()
        assert "<b>" not in re.sub(r"\\[<>]", "", text) and "\x1b" not in text
        for line in text.splitlines():
            if line.startswith("|"):
                assert len(re.findall(r"(?<!\\)\|", line)) in (4, 5), line


def test_strange_gpu_name(binary):
    """The name of a GPU of which nothing is known, in every line that has it."""
    with Folder(binary) as folder:
        document, done = make(folder, small_traces.training(device="Foo\nTrust: good\x1b[31m"))
        assert document["device"] == "Foo\nTrust: good\x1b[31m", document["device"]
        assert "\x1b" not in done.stdout and "\nTrust: good" not in done.stdout.replace("\nTrust: good\n", "", 1), done.stdout
        assert "no roofline: the peak rates of Foo\\nTrust: good" in done.stdout, done.stdout


def test_strange_times(binary):
    """No number of a JSON document is NaN or infinite, whatever the times are."""
    for change in ({"dur": 1e300}, {"dur": -5}, {"ts": -1e18}, {"ts": 1e300}, {"dur": None}, {"ts": "x"}):
        with Folder(binary) as folder:
            trace = small_traces.training()
            for event in trace["traceEvents"][::7]:
                event.update(change)
            small_traces.write(folder.file("t.json"), trace)
            done = folder.sh("gputally report t.json --output_json out.json -q")
            assert done.returncode in (0, 1) and not harness.SANITIZER.search(done.stderr), (change, done)
            check_document(open(folder.file("out.json")).read(), complete=False)


# ---- errors ----


def test_errors(binary):
    with Folder(binary) as folder:
        document, done = report(folder, "none.json", code=1)
        assert document == {"schema": "gputally-findings/1", "trace": "none.json",
                            "error": {"message": "Input file not found: none.json", "exit": 1}}, document
        with open(folder.file("bad.json"), "w") as file:
            file.write('{"x": 1}')
        document, done = report(folder, "bad.json", code=1)
        assert set(document) == {"schema", "trace", "error"} and done.stderr == f"gputally: {document['error']['message']}\n", done


def test_usage_errors(binary):
    """A call that is wrong has its JSON, too, whichever word is wrong and wherever it stands."""
    with Folder(binary) as folder:
        for name in ("a.json", "b.json"):
            small_traces.write(folder.file(name), small_traces.training())
        os.mkdir(folder.file("empty"))
        unknown = "unrecognized arguments: --bogus"
        for line, trace, code, message in (
                ("a.json --output_json o.json --bogus", "a.json", 2, unknown),
                ("--bogus a.json --output_json o.json", "a.json", 2, unknown),
                ("--bogus value a.json --output_json=o.json", "a.json", 2, unknown),
                ("a.json --threads many --output_json o.json", "a.json", 2, "argument --threads: invalid int value: 'many'"),
                ("--output_json o.json", "", 2, "the following arguments are required: FILE..."),
                ("a.json --no_html --output_html x.html --output_json o.json", "a.json", 2,
                 "argument --no_html: not allowed with argument --output_html"),
                ("empty --output_json o.json", "empty", 1,
                 "empty: no rocprofv3 files, JAX profile, Nsight Systems export or PyTorch traces in this folder")):
            done = folder.sh(f"gputally report {line}")
            document = json.load(open(folder.file("o.json")))
            assert done.returncode == code and message in done.stderr and document == {
                "schema": "gputally-findings/1", "trace": trace, "error": {"message": message, "exit": code}}, (line, done, document)
            os.remove(folder.file("o.json"))
        folder.sh("gputally report a.json b.json --output_json j --bogus; gputally report --output_json j")
        assert [name for name in folder.names() if "/" in name] == [
            "j/a.findings.json", "j/b.findings.json", "j/error.findings.json"], folder.names()
        done = folder.sh("gputally report a.json --output_json - --bogus")
        assert json.loads(done.stdout)["error"] == {"message": unknown, "exit": 2} and done.returncode == 2, done
        before = open(folder.file("a.json")).read()
        done = folder.sh("gputally report a.json --output_json a.json --bogus")
        assert done.returncode == 2 and open(folder.file("a.json")).read() == before


def test_no_gpu_events(binary):
    """The report fails, and the file still says why the trace cannot be trusted."""
    with Folder(binary) as folder:
        trace = small_traces.training()
        trace["traceEvents"] = [event for event in trace["traceEvents"] if event["cat"] != "kernel"]
        document, _ = make(folder, trace, code=1)
        assert document["trust"]["verdict"] == "do not trust" and document["trust"]["checks"][0]["id"] == "T0", document["trust"]
        assert document["error"]["exit"] == 1 and document["findings"] == []


def test_strict_trust(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("good.json"), small_traces.training())
        lost = small_traces.training()
        lost["traceEvents"] = [event for event in lost["traceEvents"] if event["cat"] != "kernel" or event["args"]["correlation"] % 3]
        small_traces.write(folder.file("lost.json"), lost)
        for line, code in (("good.json --strict_trust", 0), ("lost.json", 0), ("lost.json --strict_trust", 4),
                           ("good.json lost.json --strict_trust", 4), ("lost.json none.json --strict_trust", 1),
                           ("none.json lost.json --strict_trust", 1)):
            done = folder.sh(f"gputally report {line} --output_csvs_dir out -q")
            assert done.returncode == code, (line, done)
            reasons = [text for text in done.stderr.splitlines() if "do not trust" in text]
            expected = ["gputally: lost.json: do not trust it: "] if "lost.json" in line and "--strict_trust" in line else []
            assert [reason[:len(expected[0])] for reason in reasons] == expected, (line, done)
            assert all("kernel launches have no kernel in the trace" in reason for reason in reasons), done
        done = folder.sh("gputally report lost.json --strict_trust --output_json out.json --output_csvs_dir csv")
        assert done.returncode == 4 and done.stdout.splitlines()[1] == "Trust: do not trust", done
        assert json.load(open(folder.file("out.json")))["trust"]["verdict"] == "do not trust"
        assert folder.rows("csv/gpu_timeline.csv")


# ---- files ----


def test_several_traces(binary):
    with Folder(binary) as folder:
        for name in ("a.json", "b.json.gz"):
            small_traces.write(folder.file(name), small_traces.training())
        done = folder.sh("gputally report a.json b.json.gz none.json --output_json j --output_md m/ -q")
        assert done.returncode == 1
        assert [name for name in folder.names() if "/" in name] == [
            "j/a.findings.json", "j/b.findings.json", "j/none.findings.json", "m/a.findings.md", "m/b.findings.md"], folder.names()
        assert not any(name.endswith(".xlsx") for name in folder.names())
        assert json.load(open(folder.file("j/none.findings.json")))["error"]["exit"] == 1
        folder.sh("gputally report a.json --output_json one/ -q; mkdir two; gputally report a.json --output_json two -q")
        assert os.path.exists(folder.file("one/a.findings.json")) and os.path.exists(folder.file("two/a.findings.json"))


def test_input_is_kept(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        before = open(folder.file("t.json")).read()
        for option in ("--output_json", "--output_md"):
            done = folder.sh(f"gputally report t.json {option} t.json -q")
            assert done.returncode == 1 and "t.json: output path is the input trace" in done.stderr, done
            assert open(folder.file("t.json")).read() == before and folder.names() == ["t.json"], folder.names()


def test_whole_or_not_at_all(binary):
    """On a full disk no output file changes, and none is left half-written."""
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training())
        with open(folder.file("out.json"), "w") as file:
            file.write("before")
        for limit in (1000, 20000):
            outcome = harness.run([binary, "report", folder.file("t.json"), "--output_json", folder.file("out.json"), "--output_md",
                                   folder.file("out.md"), "--quiet"], file_size_limit=limit)
            text = open(folder.file("out.json")).read()
            assert outcome.code == 1 and (text == "before" or "error" in json.loads(text)), (outcome, text[:100])
            assert not os.path.exists(folder.file("out.md")) and folder.names() in (["out.json", "t.json"],), folder.names()
        os.mkdir(folder.file("sub"))
        done = folder.sh("gputally report t.json --output_json sub/a.json --output_md t.json/x.md -q")
        assert done.returncode == 1 and os.listdir(folder.file("sub")) in ([], ["a.json"]), done
        if os.path.exists(folder.file("sub/a.json")):
            assert "error" in json.load(open(folder.file("sub/a.json")))


def test_same_bytes(binary):
    """Any number of threads, and from an index: its events alone, then its sheets."""
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), small_traces.training(steps=40))
        outputs = set()
        lines = [f"--threads {threads} --index off" for threads in (1, 2, 3, 8)] + ["--index auto"] * 2 + ["--threads 3", ""]
        for options in lines:
            done = folder.sh(f"gputally report t.json --output_json out.json --output_md out.md {options}")
            assert done.returncode == 0 and not done.stderr, done
            files = tuple(open(folder.file(name), encoding="utf-8").read() for name in ("out.json", "out.md"))
            outputs.add((files, done.stdout))
        assert os.path.exists(folder.file("t.json.gtindex")) and len(outputs) == 1, len(outputs)
        other = folder.sh("gputally report t.json --output_json out.json --topk_ops 1 -q")  # other sheets, the same events
        assert other.returncode == 0, other
        document = json.load(open(folder.file("out.json")))
        assert document["findings"] == json.loads(files[0])["findings"] and document["trust"] == json.loads(files[0])["trust"]


# ---- terminal ----


def many_findings():
    """A step that also waits in a synchronising call, copies from pageable memory and runs Python code."""
    trace = small_traces.training()
    correlation = 5000
    for number in range(5):
        begin = small_traces.START_US + number * small_traces.STEP_US
        at = begin + 700
        trace["traceEvents"] += [
            small_traces.host("cuda_runtime", "cudaMalloc", at, 90.0, correlation=correlation),
            small_traces.host("cuda_runtime", "cudaMemcpyAsync", at + 100, 150.0, correlation=correlation + 1),
            {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)", "pid": 0, "tid": 7, "ts": begin + 1080, "dur": 120.0,
             "args": {"correlation": correlation + 1, "stream": 7, "device": 0, "bytes": 1 << 20}},
            small_traces.host("python_function", "train.py(90): log", begin + 1250, 500.0)]
        correlation += 10
    return trace


def test_terminal(binary):
    with Folder(binary) as folder:
        small_traces.write(folder.file("t.json"), many_findings())
        document, done = report(folder, "t.json")
        ids = [finding["id"] for finding in document["findings"]]
        assert len(ids) > 3, ids
        lines = done.stdout.splitlines()
        assert re.match(r"t\.json  NVIDIA H200  5 steps  2\.00 ms per step: GPU busy \d\.\d\d \(\d+%\), idle \d\.\d\d$", lines[0]), lines[0]
        assert lines[1] == "Trust: " + document["trust"]["verdict"], lines[1]
        shown = [re.match(r"(\d)\. (HIGH|MEDIUM|LOW)( \(hint\))?  (\w+): ", line) for line in lines]
        assert [match[4] for match in shown if match] == ids[:3], (lines, ids)
        assert any(line == f"And {len(ids) - 3} more: {', '.join(ids[3:])} (--all_findings)" for line in lines), lines
        for part in ("All of this together: at best ", "Idle: ", "GPU timeline", "Kernels by time", "Ops by kernel time",
                     "Roofline of the heaviest ops"):
            assert any(line.startswith(part) for line in lines), (part, lines)
        every = folder.sh("gputally report t.json --all_findings").stdout
        assert [match[1] for match in re.finditer(r"^\d+\. \w+(?: \(hint\))?  (\w+): ", every, re.M)] == ids, every
        plain = folder.sh("gputally report t.json", LC_ALL="C").stdout
        assert plain.isascii() and "Likely gain" in plain


def test_lines(binary):
    """At most 60 lines in any width, and no line is wider than the terminal except names of files and facts of the trace."""
    traces = [many_findings(), small_traces.training(), small_traces.training(steps=1)]
    with Folder(binary) as folder:
        paths = [small_traces.write(folder.file(f"{i}.json"), trace) for i, trace in enumerate(traces)]
        if os.path.isdir(FAULTS):
            paths += [os.path.join(FAULTS, name) for name in os.listdir(FAULTS) if name.endswith(".json.gz")]
        for path in paths:
            for width in (40, 80, 100, 200):
                done = folder.sh(f"gputally report {path} -o x.xlsx --output_csvs_dir c --output_db x.db --output_json x.json "
                                 "--output_md x.md", COLUMNS=str(width))
                lines = done.stdout.splitlines()
                assert done.returncode == 0 and len(lines) <= LINES_MAX, (path, width, len(lines))
                end = next(i for i, line in enumerate(lines) if not line)
                assert all(len(line) <= width for line in lines[:end]), (path, width, lines[:end])


def parts_of(sentence, text):
    """Whether a text has a sentence, or its beginning up to a whole word and then dots."""
    words = sentence.split(" ")
    return sentence in text or any(" ".join(words[:i]) + "..." in text for i in range(3, len(words)))


def test_sentences(binary):
    """Sentences are broken at blanks and lose nothing but their end."""
    with Folder(binary) as folder:
        for width in (60, 80, 100):
            document, _ = make(folder, many_findings(), COLUMNS=str(width))
            done = folder.sh("gputally report t.json --all_findings", COLUMNS=str(width))
            text = " ".join(done.stdout.split())
            assert len(document["findings"]) > 3
            for finding in document["findings"]:
                for sentence in [finding["title"], finding["advice"], *finding["evidence"]]:
                    assert parts_of(sentence, text), (width, sentence, done.stdout)
                # Three lines of 80 hold these.
                if width >= 80 and len(finding["advice"]) < 180:
                    assert finding["advice"] in text, (width, finding["advice"], done.stdout)


def test_no_important_finding(binary):
    """Kernels without gaps between them: there is nothing to gain."""
    trace = small_traces.training()
    kernels = [event for event in trace["traceEvents"] if event["cat"] == "kernel"]
    for event in kernels:
        event["dur"] = 99.0
    for i, event in enumerate(kernels):
        event["ts"] = small_traces.START_US + 500 + i * 100
    with Folder(binary) as folder:
        document, done = make(folder, trace)
        assert done.stdout.splitlines()[2] == "No important finding.", done.stdout
        assert not [f for f in document["findings"] if f["gain_pct"] >= 5 and not f["hint"]], document["findings"]
    # A kernel that needs 2 * 4096 * 4096 * 1770 flops in 99 us reaches 61 % of 989 TFLOP/s.
    for event in trace["traceEvents"]:
        if event["cat"] == "cpu_op":
            event["args"]["Input Dims"] = [[4096, 1770], [1770, 4096]]
    with Folder(binary) as folder:
        document, done = make(folder, trace)
        said = "No rule covers 100 % of the GPU time; most of it: ampere_bf16_gemm 1.98 ms (61 % of its roofline)."
        assert document["no_rule"] == said and "No important finding. " + said in " ".join(done.stdout.split()), (document["no_rule"], done.stdout)


# ---- Markdown ----


def test_markdown(binary):
    with Folder(binary) as folder:
        document, _ = make(folder, many_findings(), "--output_md", "out.md")
        with open(folder.file("out.md"), encoding="utf-8") as file:
            text = file.read()
        assert len({finding["hint"] for finding in document["findings"]}) == 2, document["findings"]
        for finding in document["findings"]:
            kind = finding["severity"] + (", hint" if finding["hint"] else "")
            assert f"**{finding['id']}** ({kind}): ".replace("_", "\\_") in text, (kind, text)
        document, _ = make(folder, small_traces.training(), "--output_md", "out.md")
        with open(folder.file("out.md"), encoding="utf-8") as file:
            text = file.read()
        assert text.startswith("## GPU report: t.json\n\nNVIDIA H200, 2.00 ms per step: GPU busy 0.60 ms (30 %), idle 1.40 ms.\n\n"), text
        assert f"Trust: **{document['trust']['verdict']}**" in text
        for finding in document["findings"]:
            assert re.search(rf"^{finding['rank']}\. \*\*{re.escape(finding['id'])}\*\*".replace("_", r"\\_"), text, re.M), text
        rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \| .*\|$", text.replace("\\_", "_"), re.M)
        assert [row[0] for row in rows] == [cause["cause"] for cause in document["idle_causes"]], rows
        assert "### GPU timeline" in text and "| total\\_time |" in text


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
