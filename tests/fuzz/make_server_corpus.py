#!/usr/bin/env python3
"""Writes the seeds of fuzz_server, and those of commands about servers: measured requests, graphs, captures.

    python3 -m tests.fuzz.make_server_corpus
"""
import json
import os
import tempfile

from tests.captures import generate_captures as captures
from tests.common import harness
from tests.fuzz.record_seeds import seed_of
from tests.graphs.generate_server import Model, capture, serve
from tests.serving import test_requests, test_sheets

CORPUS = os.path.join(harness.ROOT, "tests", "fuzz", "corpus")
SHORT = {key: value for key, value in test_requests.VLLM.items() if not isinstance(value, list)}


def write(target, name, data):
    folder = os.path.join(CORPUS, target)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def text_of(make):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        make(file.name)
        with open(file.name, "rb") as made:
            return json.dumps(json.load(made), separators=(",", ":"))


def report(name, files, *options):
    write("command_report", name, seed_of(["report", "trace.json", *options, "--no_html", "--output_csvs_dir", "out"], files))


def readers():
    write("server", "vllm", json.dumps(test_requests.VLLM))
    write("server", "sglang", json.dumps(test_requests.SGLANG) + "\n" + json.dumps(SHORT) + "\n")
    write("server", "metrics", test_requests.METRICS)
    write("server", "older_metrics", test_requests.OLDER)
    write("server", "no_request", json.dumps({**SHORT, "completed": 0}))


def merged_captures():
    """Captures whose calls come in another order than the kernels, and one with a call inside a call."""
    kernels = [captures.Kernel("act", 1100, 10), captures.Kernel("gemm", 1140, 30),
               captures.Kernel("Memcpy DtoD", 1180, 5, category="gpu_memcpy")]
    ops = [captures.Op("aten::mm", "gemm"), captures.Op("aten::relu", "act"), captures.Op("aten::copy_", ("hipMemcpyAsync", None))]
    by_name, nested = captures.capture(ops), captures.capture(ops[:2])
    outer = next(event for event in nested if event["name"] == "hipLaunchKernel")
    nested.append({**outer, "ts": outer["ts"] + 1, "dur": 1})
    for name, graph, capture in (("capture_by_name", kernels, by_name), ("capture_nested", [kernels[1], captures.Kernel("act", 1175, 5)], nested),
                                 ("capture_differs", kernels, captures.capture(ops[:1] * 3))):
        replay = captures.Replay().step([graph], around=[("cpu_op", "my::graph")]).eager()
        write("command_pytorch", name, seed_of(["pytorch-inference", "replay.json", "--capture_folder", "c", "--output_csvs_dir", "out"],
                                               {"replay.json": json.dumps({"traceEvents": replay.events}),
                                                "c/a.json": json.dumps({"traceEvents": capture})}))
    details = [{"file": "a.json", "batch_size": 4, "mode": "FULL"}, {"file": "gone.json", "batch_size": 8, "mode": "FULL"},
               {"file": "bad.json", "batch_size": 2, "mode": "FULL"}, {"file": "a.json", "batch_size": None, "mode": "FULL"}]
    replay = captures.Replay().step([kernels], around=[("cpu_op", "my::graph")]).step([kernels]).step([kernels], batch=2).eager()
    write("command_pytorch", "capture_details",
          seed_of(["TraceLens_generate_perf_report_pytorch_inference", "--profile_json_path", "replay.json", "--capture_folder", "c",
                   "--output_csvs_dir", "out"],
                  {"replay.json": json.dumps({"traceEvents": replay.events}), "c/a.json": json.dumps({"traceEvents": by_name}),
                   "c/bad.json": "{", "c/execution_details.json": json.dumps(details)}))


def commands():
    mixed = [("step[MIXED bs=3 c=1 g=2 c_sq=9 c_sk=9 g_sq=2 g_sk=9]", [90], 0), ("step[IDLE bs=0]", [1], 0)]
    trace = text_of(test_requests.serve(test_requests.SIMPLE + mixed + test_requests.SIMPLE)[0].write)
    drafts = text_of(test_requests.serve([("step[DRAFT_EXTEND bs=2]", [7], 0), ("step[TARGET_VERIFY bs=2]", [50], 5)] * 4)[0].write)
    report("serving_metrics", {"trace.json": trace, "m": test_requests.METRICS}, "--serving", "m")
    sizes = [(f"step[DECODE bs={1 + i % 4} g_sq=1 g_sqsq=1 g_sqsk=9 g_sk={90 + i * i % 7}]", [20 + i % 4], 0) for i in range(9)]
    report("serving_fit", {"trace.json": text_of(test_requests.serve(sizes)[0].write)})
    report("serving_drafts", {"trace.json": drafts, "b": json.dumps({**SHORT, "accept_length": 2.5})}, "--serving", "b")
    report("serving_inferred", {"trace.json": text_of(test_sheets.generation_loop(tokens=3).write), "b": json.dumps(SHORT)}, "--serving", "b")
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        serve(file.name, Model(layers=3), (8,), True, prompts=())
        report("graphs_of_layers", {"trace.json": open(file.name, encoding="utf-8").read()})
    model, other = Model(layers=1), Model(layers=1, attention=False)
    with tempfile.TemporaryDirectory() as folder:
        path = lambda name: os.path.join(folder, name)
        serve(path("trace.json"), model, (8,), True, prompts=(24,))
        serve(path("eager.json"), model, (8,), False, prompts=(), seed=5)
        serve(path("other.json"), other, (8,), False, prompts=(), seed=6)
        os.mkdir(path("c"))
        capture(path("c/8.json"), model, 8)
        files = {name: open(path(name), encoding="utf-8").read() for name in ("trace.json", "eager.json", "other.json", "c/8.json")}
    for name, options, used in (("graphs", [], ()), ("graphs_eager", ["--eager_trace", "eager.json"], ("eager.json",)),
                                ("graphs_other", ["--eager_trace", "other.json"], ("other.json",)),
                                ("graphs_capture", ["--capture_folder", "c"], ("c/8.json",))):
        report(name, {key: files[key] for key in ("trace.json", *used)}, *options)


if __name__ == "__main__":
    readers()
    commands()
    merged_captures()
