#!/usr/bin/env python3
"""`gputally doctor`: what it says about real and synthetic files, compared with counts made by Python from the same files.

    python3 -m tests.doctor.test_doctor --bin build/gputally [TEXT]      only tests with TEXT in their name
"""
import bz2
import csv
import glob
import gzip
import json
import lzma
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import zipfile

from tests.cli.folder import Folder
from tests.common import harness
from tests.jax import generate_xplane
from tests.nsys import generate_export
from tests.rocprof import generate_run

TRACES = harness.CONFORMANCE_TRACES


def examine(folder, *paths, code=0):
    """The JSON of each file, after the exit status was checked."""
    words = " ".join(f"'{path}'" for path in paths)
    r = folder.sh(f"gputally doctor {words} --output_json doctor.json --quiet")
    assert r.returncode == code, r
    with open(folder.file("doctor.json")) as f:
        document = json.load(f)
    assert document["schema"] == "gputally-doctor/1"
    return document["files"]


def one(folder, path, code=0):
    return examine(folder, path, code=code)[0]


def lacks(found):
    return [item["id"] for item in found["missing"]]


def can(found):
    return {item["command"] for item in found["commands"] if item["can"]}


def equal(a, b):
    assert a == b, f"{a!r} is not {b!r}"


# ---- PyTorch ----

def op(ts, **args):
    return {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": ts, "dur": 20, "args": args}


def launch(ts, number):
    return [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts + 2, "dur": 3,
             "args": {"correlation": number}},
            {"ph": "s", "id": number, "cat": "ac2g", "name": "ac2g", "pid": 1, "tid": 1, "ts": ts + 2},
            {"ph": "f", "id": number, "cat": "ac2g", "name": "ac2g", "pid": 0, "tid": 7, "ts": ts + 10, "bp": "e"},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": ts + 10, "dur": 30,
             "args": {"stream": 7, "device": 0, "correlation": number}}]


SHAPES = {"Input Dims": [[4, 8], [8, 2]], "Input type": ["float", "float"], "Input Strides": [[8, 1], [2, 1]],
          "Concrete Inputs": ["", ""]}


def trace(steps=4, shapes=True, stack=True, memory=True, gpu=True, cpu=True, **members):
    """A complete trace with these parts left out."""
    events = []
    for i in range(steps or 4):
        at = 1000 + 100 * i
        if steps:
            events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i + 7}", "pid": 1, "tid": 1,
                           "ts": at - 5, "dur": 60})
        if cpu:
            events.append(op(at, **(SHAPES if shapes else {})))
        if stack:
            events.append({"ph": "X", "cat": "python_function", "name": "train.py(3): step", "pid": 1, "tid": 1, "ts": at - 1,
                           "dur": 30, "args": {}})
        if memory:
            events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": at + 1,
                           "args": {"Device Type": 1, "Device Id": 0, "Total Allocated": 4096, "Total Reserved": 8192,
                                    "Bytes": 64, "Addr": 1}})
        if gpu:
            events += launch(at, i + 1)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}], **members,
            "traceEvents": events}


def write(folder, name, document):
    path = folder.file(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with (gzip.open if name.endswith(".gz") else open)(path, "wt") as f:
        json.dump(document, f)


def test_a_complete_trace_lacks_nothing(binary):
    with Folder(binary) as folder:
        write(folder, "t.json.gz", trace(record_shapes=1, with_stack=1, cuda_runtime_version=12040))
        found = one(folder, "t.json.gz")
        equal(found["kind"], "pytorch-trace")
        equal(lacks(found), [])
        assert found["usable"] and found["recording"] is None
        equal(found["next"], "gputally report t.json.gz")
        made = found["made"]
        equal((made["record_shapes"], made["with_stack"], made["profile_memory"]), (True, True, False))
        equal(made["cuda_runtime_version"], "12.4")
        equal(made["devices_of_host"], "NVIDIA H100 80GB HBM3")
        equal(found["file"]["compression"], "gzip")
        equal(found["file"]["bytes"], os.path.getsize(folder.file("t.json.gz")))
        contents = found["contents"]
        # 4 steps of 1 annotation, 1 op, 1 function, 1 memory event, 1 call, 2 flow events, 1 kernel
        equal(contents["events"], 32)
        equal([contents[name] for name in ("ops", "ops_with_shapes", "kernels", "python_functions", "gpu_memory_events",
                                           "runtime_calls", "annotations", "profiler_steps", "first_step", "last_step")],
              [4, 4, 4, 4, 4, 4, 4, 4, 7, 10])
        equal(contents["span_ms"], 0.36)  # from 995 to 1355 µs


def test_each_part_that_is_missing(binary):
    cases = {"shapes": {"shapes": False}, "stacks": {"stack": False}, "memory": {"memory": False}, "steps": {"steps": 0},
             "gpu_events": {"gpu": False}, "ops": {"cpu": False},
             "ranks": {"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "nccl_version": "2.22.3"}}}
    with Folder(binary) as folder:
        for lack, change in cases.items():
            write(folder, f"{lack}.json", trace(**change))
            found = one(folder, f"{lack}.json", code=lack == "gpu_events")
            assert lack in lacks(found), (lack, lacks(found))
            allowed = {lack} | ({"stacks"} if lack == "ops" else set())
            assert set(lacks(found)) <= allowed, (lack, lacks(found))
            assert all(item["fix"] for item in found["missing"]), found["missing"]
        found = one(folder, "ranks.json")
        equal((found["made"]["rank"], found["made"]["world_size"], found["made"]["nccl_version"]), (3, 8, "2.22.3"))
        found = one(folder, "gpu_events.json", code=1)
        assert not found["usable"] and "report" not in can(found), found
        assert "ProfilerActivity.CUDA" in found["recording"]


def test_few_steps(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace(steps=2))
        missing = one(folder, "t.json")["missing"]
        equal([(item["id"], item["text"]) for item in missing], [("steps", "only 2 profiler steps")])


def test_steps_as_ops(binary):
    """Some versions of PyTorch record ProfilerStep as an op."""
    with Folder(binary) as folder:
        document = trace()
        for event in document["traceEvents"]:
            if event["name"].startswith("ProfilerStep"):
                event["cat"] = "cpu_op"
        write(folder, "t.json", document)
        found = one(folder, "t.json")
        equal(lacks(found), [])
        contents = found["contents"]
        equal([contents[name] for name in ("ops", "ops_with_shapes", "profiler_steps", "first_step", "last_step")], [4, 4, 4, 7, 10])


DETAILED = "execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)"


def test_inference_server(binary):
    """Two names of one step count once, as in `gputally split`; the phases need an option, and steps need no prof.step()."""
    with Folder(binary) as folder:
        document = trace(steps=0)
        for i in range(2):
            document["traceEvents"] += [{"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1,
                                         "ts": 998 + 200 * i, "dur": 150} for name in (DETAILED, "step[DECODE bs=32 toks=32]")]
        write(folder, "t.json", document)
        found = one(folder, "t.json")
        equal(found["contents"]["server_steps"], 2)
        assert "split" in can(found)
        equal({item["name"]: item["why"] for item in found["sheets"]}["inference_phases"],
              "written with --inference_phase_analysis")
        r = folder.sh("gputally report t.json -q --no_html --inference_phase_analysis --output_csvs_dir out")
        assert r.returncode == 0 and csv_rows(folder.file("out"), "inference_phases"), r
        steps = found["missing"][lacks(found).index("steps")]
        equal(steps["text"], "only 2 steps of the inference server")
        assert "prof.step" not in steps["fix"] and "prof.step" not in (found["recording"] or ""), found


def server(name, steps=4, **settings):
    """Steps of a server with one op and kernel each, without shapes unless the settings say so."""
    document = {"schemaVersion": 1, "deviceProperties": [{"name": "NVIDIA H200"}], **settings, "traceEvents": []}
    for i in range(steps):
        at, launch = 1000 + 200 * i, {"correlation": 10 + i, "External id": 10 + i}
        document["traceEvents"] += [
            {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": 100},
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": at + 5, "dur": 20, "args": {"External id": 10 + i}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at + 8, "dur": 5, "args": launch},
            {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": at + 20, "dur": 60, "args": {"stream": 7, **launch}}]
    return document


def test_recording_a_server(binary):
    """The command of the server that wrote the trace, with an option for each thing that is missing and has one."""
    vllm, lengths = "--profiler-config.torch_profiler_", "--profiler-config.detailed_trace_annotation=true"
    cases = [
        ("execute_context_0(0)_generation_2(2)", {}, ["vllm serve MODEL --profiler-config.profiler=torch", "torch_profiler_dir=traces", "/stop_profile"],
         {"shapes": vllm + "record_shapes=true", "stacks": vllm + "with_stack=true", "memory": vllm + "with_memory=true", "lengths": lengths}),
        (DETAILED, {"with_stack": 1}, ["vllm serve MODEL"], {"shapes": vllm + "record_shapes=true", "memory": vllm + "with_memory=true"}),
        ("step[DECODE bs=2]", {}, ["SERVER/start_profile", '"num_steps": 50'],
         {"shapes": '"record_shapes": true', "stacks": '"with_stack": true', "lengths": '"detailed_annotations": true'}),
        ("[Executor] _forward_step 3: 0 ctx reqs, 2 gen reqs", {}, ["TLLM_PROFILE_START_STOP=100-150 TLLM_TORCH_PROFILE_TRACE="], {}),
    ]
    options = {option for _, _, _, fixes in cases for option in fixes.values()}
    for name, settings, commands, fixes in cases:
        with Folder(binary) as folder:
            write(folder, "t.json", server(name, **settings))
            found = one(folder, "t.json")
            line = found["recording"]
            assert "split" in can(found), found
            assert all(words in line for words in commands), (name, line)
            assert all(option in line for option in fixes.values()) and (lengths in line) == (lengths in fixes.values()), line
            equal({item["id"]: item["fix"] for item in found["missing"] if item["fix"] in options}, fixes)
            assert "VLLM_TORCH_PROFILER_DIR" not in line and "ProfilerActivity" not in line, line
    with Folder(binary) as folder:  # an image of SGLang that also writes the annotations of vLLM
        document = server(DETAILED)
        document["traceEvents"].append({"ph": "X", "cat": "user_annotation", "name": "step[DECODE bs=2]", "pid": 1, "tid": 1, "ts": 1001, "dur": 90})
        write(folder, "t.json", document)
        assert "SERVER/start_profile -H" in one(folder, "t.json")["recording"]
    with Folder(binary) as folder:  # only what SGLang cannot record is missing
        write(folder, "t.json", server("step[DECODE bs=2 g_sq=2 g_sqsq=2 g_sqsk=9 g_sk=9]", record_shapes=1, with_stack=1))
        found = one(folder, "t.json")
        equal((found["recording"], {item["id"] for item in found["missing"]} >= {"memory"}), (None, True))


def test_truncated(binary):
    with Folder(binary) as folder:
        text = json.dumps(trace())
        with open(folder.file("cut.json"), "w") as f:
            f.write(text[:text.rindex('"cudaLaunchKernel"')])
        found = one(folder, "cut.json")
        equal(lacks(found)[0], "end")
        assert any("truncated" in message for message in found["messages"]), found["messages"]
        r = folder.sh("gputally doctor cut.json --strict")
        assert r.returncode == 1 and "ends early" in r.stdout and not r.stderr, r
        with open(folder.file("nothing.json"), "w") as f:
            f.write('{"traceEvents": [')
        assert not one(folder, "nothing.json", code=1)["usable"]


def test_truncated_before_the_first_kernel(binary):
    """The cause comes first: what would have followed in the file is unknown."""
    with Folder(binary) as folder:
        text = json.dumps(trace(record_shapes=1))
        with open(folder.file("cut.json"), "w") as f:
            f.write(text[:text.index('"cudaLaunchKernel"')])
        found = one(folder, "cut.json", code=1)
        equal((found["kind"], lacks(found)[0]), ("pytorch-trace", "end"))
        assert found["what"].endswith(", truncated") and found["problem"].startswith("the file is truncated"), found
        assert found["made"]["activities"].startswith("unknown"), found["made"]
        assert "ProfilerActivity" not in {item["id"]: item["fix"] for item in found["missing"]}["gpu_events"], found["missing"]


def test_no_events(binary):
    with Folder(binary) as folder:
        for members in ({}, {"schemaVersion": 1}):
            write(folder, "t.json", {"traceEvents": [], **members})
            equal(one(folder, "t.json", code=1)["problem"], "the trace has no events")
        write(folder, "t.json", {"traceEvents": []})
        equal(one(folder, "t.json", code=1)["what"], "Chrome trace without events")


def test_settings_that_are_on(binary):
    """What was asked for but not recorded is not advised again."""
    with Folder(binary) as folder:
        write(folder, "t.json", trace(shapes=False, memory=False, stack=False, record_shapes=1, profile_memory=1))
        found = one(folder, "t.json")
        fixes = {item["id"]: item["fix"] for item in found["missing"]}
        equal(fixes["shapes"], "record_shapes is on, but no events of this kind were recorded")
        equal(fixes["memory"], "profile_memory is on, but no events of this kind were recorded")
        equal(fixes["stacks"], "with_stack=True")
        assert found["recording"], found
        write(folder, "t.json", trace(memory=False, profile_memory=1))
        equal(one(folder, "t.json")["recording"], None)


def test_recording_line(binary):
    with Folder(binary) as folder:
        write(folder, "one.json", trace(shapes=False))
        write(folder, "rank.json", trace(shapes=False, distributedInfo={"rank": 1, "world_size": 4}))
        line = one(folder, "one.json")["recording"]
        assert "repeat=1" in line and '("trace.json.gz")' in line, line
        line = one(folder, "rank.json")["recording"]
        assert "repeat=1" in line and "rank{torch.distributed.get_rank()}" in line, line
        for code in (line, one(folder, "one.json")["recording"]):
            compile(code + "\n    pass", "line", "exec")  # it is Python
        run = generate_run.make_run(6)
        generate_run.write_all(run, folder.file("run"))
        found = one(folder, glob.glob(folder.file("run/csv/*/*kernel_trace.csv"))[0])
        assert "--pmc SQ_WAVES GRBM_COUNT --" in found["recording"], found["recording"]


def test_no_steps_no_step_time(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace(steps=0))
        assert "step_ms" not in one(folder, "t.json")["contents"]
        write(folder, "t.json", trace())
        equal(one(folder, "t.json")["contents"]["step_ms"], 0.1)  # a step begins every 100 µs


def count_with_python(path):
    """The numbers of a PyTorch trace that doctor shows, from its JSON."""
    with gzip.open(path) as f:
        document = json.load(f)
    events = document["traceEvents"]
    timed = [e for e in events if e.get("ph") == "X" and "ts" in e and "dur" in e]

    def of(*categories):
        return [e for e in timed if str(e.get("cat", "")).lower() in categories]

    ops = of("cpu_op")
    steps = {e["name"] for e in of("user_annotation") if e["name"].startswith("ProfilerStep#")}
    memory = [e for e in events if e.get("cat") == "cpu_instant_event" and e.get("name") == "[memory]" and
              e["args"].get("Device Type") != 0 and e["args"].get("Device Id", -1) >= 0 and
              e["args"].get("Total Allocated", -1) >= 0 and e["args"].get("Total Reserved", -1) >= 0]
    return {"events": len(events), "ops": len(ops), "ops_with_shapes": sum("Input Dims" in e.get("args", {}) for e in ops),
            "kernels": len(of("kernel")), "copies": len(of("gpu_memcpy")), "memsets": len(of("gpu_memset")),
            "runtime_calls": len(of("cuda_runtime", "cuda_driver")), "python_functions": len(of("python_function")),
            "gpu_memory_events": len(memory), "profiler_steps": len(steps)}, document


def test_real_pytorch_traces(binary):
    names = ["h100__gaunernst_bert-small-uncased__1016001", "hta__mi250_minitoy", "hta__nccl_data",
             "inference__vllm_decode_full__graph_execution", "mi210__gpu_only_trace__gpu_only_trace",
             "mi300__resnet_act_checkpoint", "torch_compile_triton__trace"]
    if not os.path.isdir(TRACES):
        raise harness.Skipped("no conformance folder")
    with Folder(binary) as folder:
        for name in names:
            path = os.path.join(TRACES, name + ".json.gz")
            expected, document = count_with_python(path)
            found = one(folder, path)
            got = {key: found["contents"][key] for key in expected}
            assert got == expected, (name, got, expected)
            for setting in ("record_shapes", "with_stack", "profile_memory", "with_flops", "with_modules"):
                if setting in found["made"]:
                    equal(found["made"][setting], bool(document.get(setting)))
            distributed = document.get("distributedInfo", {})
            equal(found["made"].get("world_size"), distributed.get("world_size"))
            equal("ranks" in lacks(found), distributed.get("world_size", 1) > 1)
            equal("stacks" in lacks(found), expected["ops"] > 0 and not expected["python_functions"])
            equal("shapes" in lacks(found), expected["ops"] > 0 and expected["ops_with_shapes"] * 2 <= expected["ops"])
            equal("steps" in lacks(found), expected["profiler_steps"] < 3)
            empty = {item["name"]: item["why"] for item in found["sheets"] if not item["rows"]}
            equal("memory_copies" in empty, not expected["copies"])
            equal("ops_summary" in empty, not expected["ops"])
            devices = {e["args"].get("device") for e in document["traceEvents"] if e.get("cat") == "kernel"}
            equal("gpu_timeline_by_device" in empty, len(devices) < 2)


def csv_rows(folder, name):
    with open(os.path.join(folder, name + ".csv"), newline="", encoding="utf-8") as f:
        return max(sum(1 for _ in csv.reader(f)) - 1, 0)


def compare_with_report(folder, path):
    """Runs the command that doctor names, and compares its sheets with those that doctor lists."""
    found = one(folder, path)
    r = folder.sh(found["next"] + " --output_csvs_dir sheets --quiet")
    assert r.returncode == 0, r
    written = {name[:-4]: csv_rows(folder.file("sheets"), name[:-4]) for name in os.listdir(folder.file("sheets"))}
    said = {item["name"]: item["rows"] for item in found["sheets"]}
    for name, rows in said.items():
        equal((name, rows), (name, written.pop(name, 0)))
    equal(written, {})
    assert all(item["why"] for item in found["sheets"] if not item["rows"]), found["sheets"]
    with open(folder.file("sheets/trust.csv"), newline="") as f:
        checks = {row["id"]: row["level"] for row in csv.DictReader(f)}
    for check in found["checks"]:
        equal(checks[check["id"]], check["level"])
    shutil.rmtree(folder.file("sheets"))
    return found


def test_sheets_are_those_of_the_report(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace())
        write(folder, "no shapes.json", trace(shapes=False, stack=False))
        generate_run.write_all(generate_run.make_run(6), folder.file("run"))
        generate_export.write(generate_export.small_run(), folder.file("x.sqlite"))
        for path in ("t.json", "no shapes.json", "tiny_results.json", "run/csv", "x.sqlite",
                     *glob.glob("run/*/*/*results*", root_dir=folder.path)):
            compare_with_report(folder, path)
        for fixture in glob.glob(os.path.join(harness.FIXTURES, "jax", "**", "*.xplane.pb*"), recursive=True)[:1]:
            compare_with_report(folder, fixture)


# ---- other profilers ----

def test_truncated_database(binary):
    """Whose it was is in tables that are lost; so no command is named instead of another one."""
    with Folder(binary) as folder:
        whole = generate_export.write(generate_export.small_run(), folder.file("x.sqlite"))
        with open(whole, "rb") as f:
            data = f.read()
        with open(folder.file("cut.sqlite"), "wb") as f:
            f.write(data[:len(data) // 2])
        found = one(folder, "cut.sqlite", code=1)
        why = f"database truncated: {len(data) // 2} of {len(data)} bytes; check that it was copied completely and that the profiler had finished"
        equal((found["kind"], found["what"], found["problem"]), ("sqlite", "SQLite database", why))
        for command in ("nsys", "pytorch", "rocprof", "report"):
            r = folder.sh(f"gputally {command} cut.sqlite")
            equal((r.returncode, r.stderr), (1, f"gputally: cut.sqlite: {why}\n"))


def test_rocprofv3_formats(binary):
    with Folder(binary) as folder:
        run = generate_run.make_run(9)
        generate_run.write_all(run, folder.file("run"))
        for form, what in (("json", "rocprofv3 JSON file"), ("rocpd", "rocprofv3 database (rocpd)"),
                           ("pftrace", "rocprofv3 Perfetto trace")):
            path = glob.glob(folder.file(f"run/{form}/*/*results*"))[0]
            found = one(folder, path)
            equal((found["kind"], found["what"]), ("rocprofv3-run", what))
            contents = found["contents"]
            equal(contents["kernels"], len(run[0].dispatches))
            equal(contents["copies"], len(run[0].copies))
            assert found["made"]["options_by_contents"].startswith("--kernel-trace --hip-trace "), found["made"]
            equal("pftrace-hip-api" in can(found), form == "pftrace")
            assert "gpu_events" not in lacks(found) and "calls" not in lacks(found), lacks(found)
        found = one(folder, "run/csv")
        equal(found["what"], "folder of a rocprofv3 run")
        equal(found["contents"]["kernels"], len(run[0].dispatches))
        only = glob.glob(folder.file("run/csv/*/*kernel_trace.csv"))[0]
        found = one(folder, only)
        assert {"files", "calls", "copies", "counters"} <= set(lacks(found)), lacks(found)
        equal(found["missing"][0]["fix"], f"gputally report {os.path.dirname(only)}")


def test_nsys_exports(binary):
    with Folder(binary) as folder:
        generate_export.write(generate_export.small_run(), folder.file("x.sqlite"))
        db = sqlite3.connect(folder.file("x.sqlite"))
        kernels = db.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchone()[0]
        version = db.execute("SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_PRODUCT_VERSION'").fetchone()[0]
        db.close()
        found = one(folder, "x.sqlite")
        equal((found["kind"], found["contents"]["kernels"], found["made"]["nsys_version"]), ("nsys-export", kernels, version))
        assert found["made"]["options_by_contents"].startswith("--trace=cuda"), found["made"]
        if os.path.isdir(TRACES):
            found = one(folder, os.path.join(TRACES, "nsys", "graph_only_2026.sqlite"))
            assert "graph_kernels" in lacks(found) and "gpu_events" not in lacks(found), lacks(found)
            found = one(folder, os.path.join(TRACES, "nsys", "fake.nsys-rep"), code=1)
            equal(found["kind"], "nsys-report")
            assert found["next"].startswith("nsys export --type sqlite "), found["next"]


def test_jax_profiles(binary):
    fixtures = glob.glob(os.path.join(harness.FIXTURES, "jax", "**", "*.xplane.pb*"), recursive=True)
    assert fixtures
    with Folder(binary) as folder:
        found = one(folder, fixtures[0])
        equal(found["kind"], "jax-profile")
        assert {"report", "query", "jax-analysis"} <= can(found)
        assert found["contents"]["gpu_events"] > 0
        write(folder, "j.trace.json.gz", {"traceEvents": [
            {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0 (NVIDIA H100)"}},
            {"ph": "X", "pid": 1, "tid": 1, "name": "fusion", "ts": 1, "dur": 2}]})
        found = one(folder, "j.trace.json.gz", code=1)
        equal((found["kind"], lacks(found), found["next"]), ("jax-chrome-trace", ["profile"], None))
        shutil.copy(fixtures[0], folder.path)
        profile = folder.file(os.path.basename(fixtures[0]))
        if profile.endswith(".gz"):
            with gzip.open(profile) as f, open(profile[:-3], "wb") as out:
                out.write(f.read())
        equal(one(folder, "j.trace.json.gz", code=1)["next"], "gputally report .")
        write(folder, "browser.json", {"traceEvents": [{"ph": "X", "cat": "blink", "name": "paint", "pid": 1, "tid": 1, "ts": 1,
                                                         "dur": 2, "args": {}}]})
        found = one(folder, "browser.json", code=1)
        equal((found["kind"], lacks(found)), ("chrome-trace", ["gpu_events"]))


def count_gpu_events(path):
    """Events of the planes of GPUs, from the protobuf message."""
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        planes = [value for number, value, _ in generate_xplane.fields(f.read()) if number == 1]
    return sum(number == 4 for plane in planes if generate_xplane.first(plane, 2, b"").startswith(b"/device:GPU:")
               for line_number, line, _ in generate_xplane.fields(plane) if line_number == 3
               for number, _, _ in generate_xplane.fields(line))


def test_events_of_jax_profiles(binary):
    paths = glob.glob(os.path.join(harness.FIXTURES, "jax", "*.xplane.pb.gz")) + glob.glob(os.path.join(TRACES, "jax", "*", "*.pb"))
    assert paths
    with Folder(binary) as folder:
        for path in paths:
            equal((path, one(folder, path)["contents"]["gpu_events"]), (path, count_gpu_events(path)))


def test_real_rocprofv3_and_nsys(binary):
    if not os.path.isdir(TRACES):
        raise harness.Skipped("no conformance folder")
    with Folder(binary) as folder:
        path = os.path.join(TRACES, "rocprof__908_results.json.gz")
        with gzip.open(path) as f:
            run = json.load(f)["rocprofiler-sdk-tool"][0]
        found, records = one(folder, path), run["buffer_records"]
        names = {"kernels": "kernel_dispatch", "copies": "memory_copy", "hip_calls": "hip_api", "hsa_calls": "hsa_api",
                 "marker_ranges": "marker_api", "rccl_calls": "rccl_api"}
        equal({name: found["contents"][name] for name in names}, {name: len(records.get(key, [])) for name, key in names.items()})
        equal(found["made"]["host"], run["metadata"]["node"]["hostname"])
        for path in glob.glob(os.path.join(TRACES, "nsys", "*.sqlite")):
            if os.path.basename(path) == "hostile.sqlite":
                equal(one(folder, path, code=1)["usable"], False)
                continue
            db = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
            tables = {name for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

            def count(*wanted):
                return sum(db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in wanted if name in tables)

            contents = one(folder, path)["contents"]
            equal((path, contents["kernels"], contents["copies"], contents["graph_launches"]),
                  (path, count("CUPTI_ACTIVITY_KIND_KERNEL"), count("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
                   count("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")))
            db.close()


NCU = '"ID","Process ID","Kernel Name","Grid Size","Block Size","gpu__time_duration.sum"\n"","","","","","us"\n' \
      '"0","1","k","(8, 1, 1)","(128, 1, 1)","2.5"\n"1","1","k","(8, 1, 1)","(128, 1, 1)","3.5"\n'


def test_nsight_compute(binary):
    with Folder(binary) as folder:
        with open(folder.file("n.csv"), "w") as f:
            f.write(NCU)
        found = one(folder, "n.csv")
        equal((found["kind"], found["contents"]["launches"], found["made"]["page"]), ("ncu-csv", 2, "raw"))
        r = folder.sh(found["next"] + " -q -o n.xlsx")
        assert r.returncode == 0, r
        with open(folder.file("n.ncu-rep"), "wb") as f:
            f.write(b"NVR\0" + bytes(60))
        found = one(folder, "n.ncu-rep", code=1)
        equal((found["kind"], found["next"]), ("ncu-report", "ncu --csv --page raw --import n.ncu-rep > ncu.csv"))


def test_converted_chrome_trace(binary):
    """What `convert` makes of a rocprofv3 run is read by the pftrace commands."""
    with Folder(binary) as folder:
        generate_run.write_all(generate_run.make_run(6), folder.file("run"))
        assert folder.sh("gputally convert run/json c.json -q").returncode == 0
        found = one(folder, "c.json")
        equal(found["kind"], "rocprofv3-chrome-trace")
        r = folder.sh(found["next"] + " --output_csvs_dir out -q")
        assert r.returncode == 0, r


# ---- folders ----

def test_folders(binary):
    with Folder(binary) as folder:
        for rank in (0, 2):
            write(folder, f"ranks/rank{rank}_trace.json",
                  trace(distributedInfo={"backend": "nccl", "rank": rank, "world_size": 4}))
        with open(folder.file("ranks/rank1_trace.json"), "w"):
            pass
        found = one(folder, "ranks")
        equal((found["kind"], found["contents"]["files"], found["contents"]["usable_files"]), ("rank-traces", 3, 2))
        assert {"ranks", "files"} <= set(lacks(found)), lacks(found)
        equal([part["usable"] for part in found["parts"]], [True, True, False])
        os.mkdir(folder.file("none"))
        equal(one(folder, "none", code=1)["kind"], "empty-folder")
        with open(folder.file("none/notes.txt"), "w") as f:
            f.write("x")
        equal(one(folder, "none", code=1)["kind"], "folder")
        assert folder.sh("gputally report tiny_results.json -q --output_csvs_dir sheets -o book.xlsx --output_db d.db "
                         "--output_html p.html --output_json f.json").returncode == 0
        equal(one(folder, "sheets")["kind"], "perf-report")
        equal(one(folder, "book.xlsx")["kind"], "perf-report")
        equal(one(folder, "d.db", code=1)["kind"], "gputally-database")
        equal(one(folder, "p.html", code=1)["kind"], "gputally-page")
        equal(one(folder, "f.json", code=1)["kind"], "gputally-json")
        r = folder.sh(one(folder, "sheets")["next"].replace("OTHER_REPORT", "book.xlsx") + " -q -o c.xlsx")
        assert r.returncode == 0, r


def as_ordinary_user(folder, *words):
    """Runs the program without the power of root to read everything."""
    words = [folder.file("gputally"), *words]
    if os.geteuid() == 0:
        setpriv = shutil.which("setpriv", path=harness.SYSTEM_PATH)
        if not setpriv:
            raise harness.Skipped("no setpriv")
        words = [setpriv, "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all", *words]
    return subprocess.run(words, cwd=folder.path, capture_output=True, text=True)


def test_no_permission(binary):
    with Folder(binary) as folder:
        for name in ("closed", "some", "some/below", "none"):
            os.mkdir(folder.file(name))
        write(folder, "closed/t.json", trace())
        for name in ("some/t.json", "some/a.json", "some/b.json", "some/below/t.json", "none/t.json"):
            write(folder, name, trace())
        for name in ("closed", "some/below", "some/a.json", "some/b.json", "none/t.json"):
            os.chmod(folder.file(name), 0)
        r = as_ordinary_user(folder, "doctor", "closed", "some", "none", "--quiet", "--output_json", "d.json")
        equal(r.returncode, 1)
        with open(folder.file("d.json")) as f:
            closed, some, none = json.load(f)["files"]
        equal((closed["kind"], closed["problem"]), ("unreadable", "Permission denied"))
        assert some["usable"] and "unreadable" in lacks(some), some
        text = some["missing"][lacks(some).index("unreadable")]["text"]
        equal(text, "2 files and 1 folder that cannot be read (Permission denied): some/a.json, ...")
        assert "1 file cannot: Permission denied" in none["problem"], none["problem"]


def test_no_permission_for_the_folder_of_a_rank(binary):
    """The other commands say which one they leave out."""
    with Folder(binary) as folder:
        for rank in range(3):
            os.makedirs(folder.file(f"run/rank{rank}"))
            write(folder, f"run/rank{rank}/t.json", trace())
        os.chmod(folder.file("run/rank1"), 0)
        for words in (("query", "SELECT trace FROM traces", "run"), ("report", "run", "--output_csvs_dir", "out"), ("partial", "run", "-o", "parts")):
            r = as_ordinary_user(folder, *words)
            equal((words, r.stderr.count("run/rank1: this folder is left out, because it cannot be read: Permission denied")), (words, 1))


def test_databases_of_others(binary):
    """A database that is not of rocprofv3 does not hide the traces beside it, neither from doctor nor from report."""
    with Folder(binary) as folder:
        write(folder, "p/t.json", trace())
        sqlite3.connect(folder.file("p/other.db")).execute("CREATE TABLE a (b)").connection.commit()
        assert folder.sh("gputally report p/t.json -q --no_html -o x.xlsx --output_db p/own.db").returncode == 0
        found = one(folder, "p")
        equal((found["kind"], found["usable"], found["next"]), ("pytorch-folder", True, "gputally report p"))
        r = folder.sh("gputally report p -q --no_html --output_csvs_dir out")
        assert r.returncode == 0 and os.path.exists(folder.file("out/gpu_timeline.csv")), r
        generate_run.write_all(generate_run.make_run(6), folder.file("run"))
        shutil.copy(folder.file("p/other.db"), folder.file("run/rocpd/other.db"))
        found = one(folder, "run/rocpd")
        equal((found["kind"], found["usable"]), ("rocprofv3-run", True))


def put_profile(folder, name):
    """Puts a small JAX profile at this path."""
    os.makedirs(os.path.dirname(folder.file(name)), exist_ok=True)
    fixture = sorted(glob.glob(os.path.join(harness.FIXTURES, "jax", "*.xplane.pb.gz")))[0]
    with gzip.open(fixture) as f, open(folder.file(name), "wb") as out:
        out.write(f.read())


def test_several_jax_profiles(binary):
    with Folder(binary) as folder:
        for name in "abcd":
            put_profile(folder, f"jax/{name}/h.xplane.pb")
        found = one(folder, "jax")
        equal([part["path"] for part in found["parts"]], ["jax/d/h.xplane.pb"])
        lack = found["missing"][lacks(found).index("profiles")]
        equal((lack["text"], lack["fix"]), ("3 other profiles are not read: jax/a, jax/b, jax/c", "gputally report jax/c"))
        r = folder.sh("gputally report jax -q --no_html --output_csvs_dir out")
        equal((r.returncode, r.stderr.count("warning")), (0, 1))
        assert "jax/d/h.xplane.pb; the other 3 are not read; name one: gputally report jax/c" in r.stderr, r.stderr
        r = folder.sh("gputally report jax/a -q --no_html --output_csvs_dir out2")
        equal((r.returncode, r.stderr), (0, ""))


def test_mixed_folders(binary):
    """PyTorch traces beside files of another profiler are mentioned with the words of `gputally report`."""
    with Folder(binary) as folder:
        os.mkdir(folder.file("nsys"))
        generate_export.write(generate_export.small_run(), folder.file("nsys/x.sqlite"))
        put_profile(folder, "jax/h.xplane.pb")
        generate_run.write_all(generate_run.make_run(6), folder.file("run"))
        for name, what in (("nsys", "exports of Nsight Systems"), ("jax", "JAX profile"), ("run/csv", "rocprofv3 files")):
            write(folder, f"{name}/t.json", trace())
            text = f"{name}: the report covers the {what}; for its PyTorch trace use gputally report {name}/t.json"
            assert text in one(folder, name)["messages"], (name, one(folder, name)["messages"])
            r = folder.sh(f"gputally report {name} -q --no_html --output_csvs_dir out")
            assert r.returncode == 0 and text in r.stderr, r
        os.remove(folder.file("jax/t.json"))
        write(folder, "jax/h.trace.json.gz", trace())  # what JAX writes beside its profile
        equal(one(folder, "jax")["messages"], [])


def test_two_files_of_one_rank(binary):
    with Folder(binary) as folder:
        for name in ("rank0", "rank0_copy", "rank0_other", "rank1", "rank3"):
            write(folder, f"r/{name}.json", {**trace(), "other": "other" in name})
        found = one(folder, "r")
        texts = {item["id"]: item["text"] for item in found["missing"]}
        equal(texts["one_per_rank"], "the traces are not one per rank: r/rank0.json and r/rank0_other.json are both of rank 0, "
              "and both have step 7")
        assert "r/rank0_copy.json: skipped, because r/rank0.json is the same trace" in found["messages"], found["messages"]
        equal(texts["ranks"], "traces of 1 of 4 ranks: 2")
        equal(found["contents"]["ranks"], 3)
        assert "both of rank 0" in {item["command"]: item["text"] for item in found["commands"]}["collective"], found["commands"]


def test_commands_that_work_are_offered(binary):
    with Folder(binary) as folder:
        for name in "ab":
            write(folder, f"p/{name}.json", trace())
            write(folder, f"cpu/{name}.json", trace(gpu=False))
        assert "fuse" in can(one(folder, "p"))
        assert folder.sh("gputally fuse p/a.json p/b.json -q -o f.json").returncode == 0
        assert "diff" in can(one(folder, "cpu/a.json", code=1))
        assert folder.sh("gputally diff cpu/a.json cpu/b.json -q -o d").returncode == 0
        # "no" is followed by a reason, not by what the command does
        for item in one(folder, "cpu", code=1)["commands"]:
            if not item["can"]:
                assert item["text"].startswith(("no ", "needs ")), item


def test_sweep_folder(binary):
    with Folder(binary) as folder:
        for threads in (256, 512):
            write(folder, f"s/{threads}thread/nccl_28channels/torch_profiler/rank0/t.json", trace())
        found = one(folder, "s")
        equal((found["kind"], found["contents"]["runs"], found["next"]), ("sweep", 2, "gputally sweep all s"))


def test_index(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace())
        assert folder.sh("gputally index t.json -q").returncode == 0
        found = one(folder, "t.json.gtindex")
        equal((found["kind"], found["next"]), ("gputally-index", "gputally doctor t.json"))
        os.remove(folder.file("t.json"))
        found = one(folder, "t.json.gtindex")
        equal(lacks(found), ["trace"])
        assert folder.sh(found["next"] + " -q -o x.xlsx").returncode == 0


# ---- everything else ----

def test_other_files(binary):
    files = {"empty": b"", "text": b"hello\n", "unknown": bytes(range(256)), "hlo-dump": b"HloModule jit_f, entry\n",
             "compressed": b"\xfd7zXZ\0" + bytes(40), "hdf5": b"\x89HDF\r\n\x1a\n" + bytes(40), "parquet": b"PAR1" + bytes(40),
             "pickle": pickle.dumps([1, 2]), "memory-snapshot": pickle.dumps({"segments": [], "device_traces": []}),
             "program": open("/proc/self/exe", "rb").read(4096), "json": b'{"a": 1}', "execution-trace": b'{"nodes": []}',
             "image": b"\x89PNG\r\n", "sqlite": None, "archive": None, "checkpoint": None}
    with Folder(binary) as folder:
        for kind, data in files.items():
            if data is not None:
                with open(folder.file(kind), "wb") as f:
                    f.write(data)
        sqlite3.connect(folder.file("sqlite")).execute("CREATE TABLE a (b)").connection.commit()
        for kind, member in (("archive", "a.txt"), ("checkpoint", "m/data.pkl")):
            with zipfile.ZipFile(folder.file(kind), "w") as z:
                z.writestr(member, "x")
        os.mkfifo(folder.file("special"))
        for kind in (*files, "special", "missing"):
            found = one(folder, kind, code=1)
            equal((kind, found["kind"], found["usable"]), (kind, kind, False))
            assert found["problem"], found
            r = folder.sh(f"gputally doctor {kind}")
            assert r.returncode == 1 and not r.stderr and r.stdout.startswith(f"{kind}: "), r
        equal(one(folder, "/dev/null", code=1)["kind"], "special")


def test_compressed_twice(binary):
    with Folder(binary) as folder:
        text = json.dumps(trace()).encode()
        packed = {"gzip": gzip.compress(text), "bzip2": bz2.compress(text), "xz": lzma.compress(text)}
        for name, data in packed.items():
            with open(folder.file("t.json.gz"), "wb") as f:
                f.write(gzip.compress(data))
            found = one(folder, "t.json.gz", code=1)
            equal((found["kind"], found["what"], found["file"]["compression"]), ("compressed", "file compressed twice", f"gzip, {name}"))
            equal(found["next"], f"gzip -dc t.json.gz | {name} -dc | gputally report -")
            if name == "gzip":
                r = folder.sh(found["next"] + " -q --no_html --output_csvs_dir out")
                assert r.returncode == 0 and os.path.exists(folder.file("out/gpu_timeline.csv")), r
            with open(folder.file("once"), "wb") as f:
                f.write(data)
            found = one(folder, "once", code=0 if name == "gzip" else 1)
            equal((found["file"]["compression"], found["file"]["bytes"]), (name, len(data)))
        open(folder.file("empty"), "w").close()
        equal(one(folder, "empty", code=1)["file"]["bytes"], 0)
        assert "0 bytes" in folder.sh("gputally doctor empty").stdout


def test_next_command(binary):
    """Of standard input, of a folder that cannot be written, of a program and of a report of Nsight Systems."""
    with Folder(binary) as folder:
        write(folder, "p/t.json", trace())
        r = folder.sh("cat p/t.json | gputally doctor - -q --output_json d.json")
        with open(folder.file("d.json")) as f:
            equal((r.returncode, json.load(f)["files"][0]["next"]), (0, "gputally report - < FILE"))
        os.chmod(folder.file("p"), 0o555)
        r = as_ordinary_user(folder, "doctor", "p", "p/t.json", "--quiet", "--output_json", "d.json")
        with open(folder.file("d.json")) as f:
            equal([item["next"] for item in json.load(f)["files"]],
                  ["gputally report p --output_csvs_dir report", "gputally report p/t.json -o report.xlsx"])
        shutil.copy("/proc/self/exe", folder.file("prog"))
        found = one(folder, "prog", code=1)
        equal(found["next"], "gputally run -f rocprofv3_lightweight -- ./prog")
        assert found["problem"].startswith("a program, not a trace"), found["problem"]
        with open(folder.file("a b.nsys-rep"), "wb") as f:
            f.write(b"NVIDIA Tegra Profiler Report 2025@1@3@140-251335620677v0" + bytes(60))
        found = one(folder, "a b.nsys-rep", code=1)
        equal(found["next"], "nsys export --type sqlite -o 'a b.nsys-rep.sqlite' 'a b.nsys-rep'")
        assert found["next"] in found["problem"], found["problem"]


def test_reasons(binary):
    """Each verdict and each folder that cannot be used has a reason, and empty sheets have the right one."""
    with Folder(binary) as folder:
        write(folder, "cpu/t.json", trace(gpu=False))
        found = one(folder, "cpu", code=1)
        equal(found["problem"], "its only trace cannot be used: No GPU events found in the trace")
        assert not any("1 of 1 files" in item["text"] for item in found["missing"]), found["missing"]
        found = one(folder, "cpu/t.json", code=1)
        assert found["verdict"] != "do not trust" or any(item["level"] == "fail" for item in found["checks"]), found
        equal({item["name"]: item["why"] for item in found["sheets"]}["findings"], "none found")
        generate_export.write(generate_export.small_run(), folder.file("x.sqlite"))
        db = sqlite3.connect(folder.file("x.sqlite"))
        for name, in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            if name in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET",
                        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"):
                db.execute(f"DELETE FROM {name}")
        db.commit()
        db.close()
        found = examine_any(folder, "x.sqlite")
        equal(found["verdict"], "do not trust")
        assert any(item["level"] == "fail" for item in found["checks"]), found["checks"]
        assert folder.sh("gputally report tiny_results.json -q --no_html --output_csvs_dir sheets").returncode == 0
        for name in os.listdir(folder.file("sheets")):
            equal((name, one(folder, f"sheets/{name}", code=1)["kind"]), (name, "report-sheet"))


def examine_any(folder, path):
    """The JSON of a file that may be usable or not."""
    folder.sh(f"gputally doctor '{path}' --output_json doctor.json --quiet")
    with open(folder.file("doctor.json")) as f:
        return json.load(f)["files"][0]


def test_names_are_quoted(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace())
        for name in ("a b.json", "it's.json", "$(touch hacked).json", "line\nbreak.json", "-dash.json", "ü.json", "\x1b[31m.json",
                     "a;b&c|d.json", "back\\slash.json"):
            shutil.copy(folder.file("t.json"), folder.file(name))
            r = subprocess.run([folder.file("gputally"), "doctor", "--quiet", "--output_json", "d.json", "./" + name],
                               cwd=folder.path, capture_output=True)
            assert r.returncode == 0, (name, r)
            with open(folder.file("d.json")) as f:
                line = json.load(f)["files"][0]["next"]
            shown = subprocess.run([folder.file("gputally"), "doctor", "--", "./" + name], cwd=folder.path, capture_output=True)
            assert line.encode() in shown.stdout, (line, shown.stdout)  # the terminal shows the same
            r = folder.sh(line + " --output_csvs_dir out -q")
            assert r.returncode == 0, (name, line, r)
            shutil.rmtree(folder.file("out"))
        assert not os.path.exists(folder.file("hacked"))
        # a name that begins with a dash is no option when it is pasted
        r = subprocess.run([folder.file("gputally"), "doctor", "--quiet", "--output_json", "d.json", "--", "-dash.json"],
                           cwd=folder.path, capture_output=True)
        with open(folder.file("d.json")) as f:
            equal(json.load(f)["files"][0]["next"], "gputally report ./-dash.json")


def test_names_do_not_make_lines(binary):
    """Line breaks in names of files and devices are shown as escapes, so they cannot look like lines of the diagnosis."""
    forged = "\n  next              rm -rf ~\r\x85\u2028"
    with Folder(binary) as folder:
        document = trace()
        document["deviceProperties"] = [{"id": 0, "name": "H100" + forged}]
        name = "t" + forged.replace("/", "") + ".json"
        os.mkdir(folder.file("ranks"))
        for path in (name, "ranks/rank0" + name, "ranks/rank1" + name):
            with open(folder.file(path), "w") as f:
                json.dump(document, f)
        with open(folder.file("text" + forged), "w") as f:
            f.write("x")
        for path in (name, "ranks", "text" + forged, "none" + forged):
            for quiet in ([], ["--quiet"]):
                r = subprocess.run([folder.file("gputally"), "doctor", *quiet, path], cwd=folder.path, capture_output=True, text=True)
                for line in (r.stdout + r.stderr).replace("\r", "\n").splitlines():
                    is_first = len(line) - len(line.lstrip()) < 10  # later lines of a row are indented by 20
                    assert not (is_first and line.lstrip().startswith(("next", "rm")) and "gputally" not in line), r


def test_several_files_and_output(binary):
    with Folder(binary) as folder:
        write(folder, "t.json", trace())
        open(folder.file("empty"), "w").close()
        found = examine(folder, "t.json", "empty", "tiny_results.json", code=1)
        equal([item["usable"] for item in found], [True, False, True])
        before = set(folder.names())
        r = folder.sh("gputally doctor t.json tiny_results.json")
        assert r.returncode == 0 and r.stderr == "", r
        equal(set(folder.names()), before)  # nothing is written
        r = folder.sh("gputally doctor t.json --output_json t.json")
        assert r.returncode == 1 and "input" in r.stderr, r
        for threads in (1, 3, 8):
            r = folder.sh(f"gputally doctor t.json tiny_results.json --threads {threads}")
            if threads == 1:
                first = r.stdout
            equal(r.stdout, first)
        r = folder.sh("cat t.json | gputally doctor -")
        assert r.returncode == 0 and r.stdout.startswith("standard input: PyTorch trace"), r


def test_first_screen(binary):
    """The first lines say what it is, whether it can be used, and what to type."""
    with Folder(binary) as folder:
        write(folder, "t.json", trace(shapes=False))
        lines = folder.sh("gputally doctor t.json").stdout.splitlines()
        assert lines[0].startswith("t.json: PyTorch trace (Chrome JSON): "), lines[0]
        equal(lines[1].split(), ["next", "gputally", "report", "t.json"])
        assert "  shapes" in "\n".join(lines[:20]), lines
        assert len(lines) <= 60, len(lines)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
