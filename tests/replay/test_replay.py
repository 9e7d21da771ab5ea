#!/usr/bin/env python3
"""`gputally replay-ir`: ops as calls that can be made again, the program that makes them, and its results.

    python3 -m tests.replay.test_replay --bin build/gputally [--only TEXT]

Expected IRs are written by hand; which ops there are, how often and how long comes from the reference model of the PyTorch report.
replay.py runs with a stand-in for PyTorch (stand_ins/torch.py).
"""
import gzip
import json
import os
import statistics
import sys

from tests.common import harness
from tests.common.harness import Case, read_csv, run, run_cases
from tests.pytorch import reference_sheets

FIXTURES = os.path.join(harness.FIXTURES, "pytorch")
STAND_INS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stand_ins")
BF16, HALF, LONG = "c10::BFloat16", "c10::Half", "long int"


# ---- traces ----


def tensor(shape, kind=BF16, strides=None):
    return (kind, shape, contiguous(shape) if strides is None else strides, "")


def contiguous(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 2, -1, -1):
        strides[i] = strides[i + 1] * shape[i + 1]
    return strides


def scalar(text):
    return ("Scalar", [], [], text)


def scalars(text):
    return ("ScalarList", [], [], text)


def tensors(*shapes):
    return ("TensorList", list(shapes), [contiguous(shape) for shape in shapes], "")


NOTHING = ("", [], [], "")


def op(name, *arguments, kernels=("k",), durs=(10,)):
    columns = list(map(list, zip(*arguments))) if arguments else [[], [], [], []]
    return name, dict(zip(("Input type", "Input Dims", "Input Strides", "Concrete Inputs"), columns)), kernels, durs


def write_trace(folder, ops, name="t.json", drop=()):
    """Each op launches its kernels one after the other."""
    events, link = [], 0
    for i, (op_name, arguments, kernels, durs) in enumerate(ops):
        start = 1000 * i
        events.append({"ph": "X", "cat": "cpu_op", "name": op_name, "pid": 1, "tid": 1, "ts": start, "dur": 900,
                       "args": {key: value for key, value in arguments.items() if key not in drop}})
        for k, (kernel, dur) in enumerate(zip(kernels, durs)):
            link += 1
            at = start + 5 + 10 * k
            place = {"correlation": link, "External id": link}
            kind = "gpu_memcpy" if kernel.startswith("Memcpy") else "kernel"
            events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": at, "dur": 5, "args": place},
                       {"ph": "s", "id": link, "pid": 1, "tid": 1, "ts": at, "cat": "ac2g", "name": "ac2g"},
                       {"ph": "f", "id": link, "pid": 0, "tid": 7, "ts": start + 100 + 200 * k, "cat": "ac2g", "name": "ac2g", "bp": "e"},
                       {"ph": "X", "cat": kind, "name": kernel, "pid": 0, "tid": 7, "ts": start + 100 + 200 * k, "dur": dur,
                        "args": {**place, "stream": 7}}]
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        json.dump({"traceEvents": events}, file)


def extract(binary, folder, *options, trace="t.json"):
    done = run([binary, "replay-ir", trace, "-o", "out", *options], cwd=folder)
    if done.code:
        return done, None
    with open(os.path.join(folder, "out", "event_replay_ir.json"), encoding="utf-8") as file:
        return done, json.load(file)


def skipped(folder):
    heads, rows = read_csv(os.path.join(folder, "out", "replay_skipped.csv"))
    return [dict(zip(heads, row)) for row in rows]


# ---- the IR of an op, by hand ----


def given(name, kind, value, **more):
    return {"arg_name": name, "arg_type": kind, "value": value, **more}


def made(shape, kind=BF16, strides=None, init="normal"):
    return {"shape": shape, "dtype": kind, "strides": contiguous(shape) if strides is None else strides, "init": init}


# title: (op, positional arguments, keyword arguments)
CALLS = {
    "two matrices, one transposed": (
        op("aten::mm", tensor([4, 8]), tensor([8, 2], strides=[1, 8])),
        [given("self", "Tensor", made([4, 8])), given("mat2", "Tensor", made([8, 2], strides=[1, 8]))], []),
    "keywords, whole and other numbers": (
        op("aten::addmm", tensor([2], HALF), tensor([4, 8], HALF), tensor([8, 2], HALF), scalar("1"), scalar("0.5")),
        [given("self", "Tensor", made([2], HALF)), given("mat1", "Tensor", made([4, 8], HALF)), given("mat2", "Tensor", made([8, 2], HALF))],
        [given("beta", "Scalar", 1), given("alpha", "Scalar", 0.5)]),
    "lists, flags and an absent tensor": (
        op("aten::convolution", tensor([1, 3, 8, 8]), tensor([4, 3, 3, 3]), NOTHING, scalars("[1, 2]"), scalars("[0, -1]"), scalars("[]"),
           scalar("False"), scalars("[0]"), scalar("1")),
        [given("input", "Tensor", made([1, 3, 8, 8])), given("weight", "Tensor", made([4, 3, 3, 3])), given("bias", "Tensor?", None),
         given("stride", "SymInt[]", [1, 2]), given("padding", "SymInt[]", [0, -1]), given("dilation", "SymInt[]", []),
         given("transposed", "bool", False), given("output_padding", "SymInt[]", [0]), given("groups", "SymInt", 1)], []),
    "the overload with a number": (
        op("aten::add_", tensor([3], "float"), scalar("2."), scalar("1")),
        [given("self", "Tensor(a!)", made([3], "float")), given("other", "Scalar", 2.0), given("alpha", "Scalar", 1)], []),
    "the overload with a tensor, which Python made of a number": (
        op("aten::mul", tensor([3], "float"), tensor([], "double")),
        [given("self", "Tensor", made([3], "float")), given("other", "Tensor", made([], "double"), device="cpu")], []),
    "two tensors without dimensions": (
        op("aten::mul", tensor([], "double"), tensor([], "double")),
        [given("self", "Tensor", made([], "double")), given("other", "Tensor", made([], "double"))], []),
    "indices below the size of the table": (
        op("aten::index_select", tensor([50, 7], "float"), scalar("-2"), tensor([9], LONG)),
        [given("self", "Tensor", made([50, 7], "float")), given("dim", "int", -2), given("index", "Tensor", made([9], "long"), low=0, high=50)], []),
    "indices of a gradient, below a number": (
        op("aten::embedding_dense_backward", tensor([9, 4], "float"), tensor([9], "int"), scalar("70"), scalar("-1"), scalar("False")),
        [given("grad_output", "Tensor", made([9, 4], "float")), given("indices", "Tensor", made([9], "int"), low=0, high=70),
         given("num_weights", "SymInt", 70), given("padding_idx", "SymInt", -1), given("scale_grad_by_freq", "bool", False)], []),
    "classes": (
        op("aten::nll_loss_forward", tensor([6, 11], "float"), tensor([6], LONG), NOTHING, scalar("1"), scalar("-100")),
        [given("self", "Tensor", made([6, 11], "float")), given("target", "Tensor", made([6], "long"), low=0, high=11),
         given("weight", "Tensor?", None), given("reduction", "int", 1), given("ignore_index", "SymInt", -100)], []),
    "a copy from pinned memory": (
        op("aten::copy_", tensor([8], "float"), tensor([8], "float"), scalar("True"), kernels=("Memcpy HtoD (Pinned -> Device)",)),
        [given("self", "Tensor(a!)", made([8], "float", init=None)), given("src", "Tensor", made([8], "float"), device="pinned"),
         given("non_blocking", "bool", True)], []),
    "a copy to the host": (
        op("aten::copy_", tensor([8], "float"), tensor([8], "float"), scalar("False"), kernels=("Memcpy DtoH (Device -> Pageable)",)),
        [given("self", "Tensor(a!)", made([8], "float", init=None), device="cpu"), given("src", "Tensor", made([8], "float")),
         given("non_blocking", "bool", False)], []),
    "infinity": (
        op("aten::masked_fill_", tensor([8], "float"), tensor([8], "bool"), scalar("-inf")),
        [given("self", "Tensor(a!)", made([8], "float")), given("mask", "Tensor", made([8], "bool")), given("value", "Scalar", float("-inf"))], []),
    "a text, of which only the default is known": (
        op("aten::gelu", tensor([8]), NOTHING),
        [given("self", "Tensor", made([8]))], [given("approximate", "str", "none")]),
    "the tensor that gets the result": (
        op("aten::sum", tensor([8, 4], "float"), scalars("[1]"), scalar("False"), NOTHING, tensor([8], "float")),
        [given("self", "Tensor", made([8, 4], "float")), given("dim", "int[1]?", [1]), given("keepdim", "bool", False)],
        [given("dtype", "ScalarType?", None), given("out", "Tensor(a!)", made([8], "float"))]),
    "chances": (
        op("aten::bernoulli_", tensor([8], "float"), tensor([8], "float"), NOTHING),
        [given("self", "Tensor(a!)", made([8], "float"), low=0, high=1), given("p", "Tensor", made([8], "float"), low=0, high=1)],
        [given("generator", "Generator?", None)]),
}


def one_call(binary, title):
    call, plain, named = CALLS[title]

    def check(folder):
        write_trace(folder, [call])
        done, entries = extract(binary, folder)
        if done.code or len(entries) != 1:
            return [f"exit {done.code}: {done.stdout} {done.stderr}"]
        wanted = {"op_name": call[0], "replay_ir": {"list_pos_args": plain, "list_kwargs": named}, "count": 1, "uid": 0,
                  "kernel_time_us": 10, "kernels": list(call[2]), "Input Dims": call[1]["Input Dims"], "Input type": call[1]["Input type"]}
        return [] if entries == [wanted] else [f"{json.dumps(entries[0])} instead of {json.dumps(wanted)}"]
    return check


# title: (op, what the note says)
REFUSED = {
    "no schema": (op("mine::op", tensor([8])), "no schema known (--schemas)"),
    "another number of arguments": (op("aten::mm", tensor([8, 8])), "no known schema fits (--schemas)"),
    "a type that is no type": (op("aten::mm", tensor([8, 8], "x; rm"), tensor([8, 8])), "no known schema fits (--schemas)"),
    "a shape that is none": (op("aten::mm", tensor([8, -8], strides=[8, 1]), tensor([8, 8])), "no known schema fits (--schemas)"),
    "a list without types": (op("aten::cat", tensors([8], [9]), scalar("0")), "no type of a list's tensors (--list_type)"),
    "a list without shapes": (op("aten::index", tensor([8]), NOTHING), "the trace lacks a list of tensors"),
    "an integer with a point": (op("aten::_softmax", tensor([8]), scalar("0.5"), scalar("False")), "no known schema fits (--schemas)"),
}


def refused(binary, title):
    call, note = REFUSED[title]

    def check(folder):
        write_trace(folder, [call, op("aten::neg", tensor([8]))])
        done, entries = extract(binary, folder)
        rows = skipped(folder)
        problems = [] if done.code == 0 and [e["op_name"] for e in entries] == ["aten::neg"] else [f"exit {done.code}: {done.stderr}"]
        if len(rows) != 1 or (rows[0]["name"], rows[0]["note"], rows[0]["operation_count"]) != (call[0], note, "1"):
            problems.append(f"skipped {rows}")
        if "1 op with 50.0% of the GPU time of all ops; skipped 1 with 50.0%:" not in done.stdout:
            problems.append(done.stdout)
        return problems
    return check


# ---- what else is in the trace or given ----


def old_trace(binary):
    """Without strides, tensors are contiguous; without shapes, nothing can be called."""
    def check(folder):
        write_trace(folder, [op("aten::mm", tensor([4, 8], strides=[1, 4]), tensor([8, 2]))], drop=("Input Strides",))
        entries = extract(binary, folder)[1]
        problems = [] if entries[0]["replay_ir"]["list_pos_args"][0]["value"] == made([4, 8]) else [f"{entries}"]
        write_trace(folder, [op("aten::mm")], drop=("Input Strides", "Input Dims", "Input type", "Concrete Inputs"))
        done, entries = extract(binary, folder)
        note = "recorded without record_shapes=True"
        problems += [] if not entries and skipped(folder)[0]["note"] == note else [f"{entries} {done.stdout}"]
        write_trace(folder, [op("test::cost", scalar("3"))], drop=("Input Strides", "Input Dims"))
        with open(os.path.join(folder, "s.txt"), "w", encoding="utf-8") as file:
            file.write(COSTS)
        found = extract(binary, folder, "--schemas", "s.txt")[1]
        problems += [] if found[0]["Input Dims"] is None and found[0]["replay_ir"]["list_pos_args"] == [given("time", "int", 3)] else [f"{found}"]
        return problems + [f"left from an earlier run: {row}" for row in skipped(folder)]
    return check


def given_lists(binary):
    def check(folder):
        write_trace(folder, [op("aten::cat", tensors([8, 2], [9, 2]), scalar("0"))])
        entries = extract(binary, folder, "--list_type", HALF)[1]
        wanted = [given("tensors", "Tensor[]", [made([8, 2], HALF), made([9, 2], HALF)]), given("dim", "int", 0)]
        return [] if entries[0]["replay_ir"]["list_pos_args"] == wanted else [f"{entries}"]
    return check


def given_schemas(binary):
    """Those of a file come first; what is none is skipped, and a file without any is an error."""
    def check(folder):
        write_trace(folder, [op("mine::op", tensor([8]), scalar("3")), op("aten::neg", tensor([8]))])
        with open(os.path.join(folder, "s.txt"), "w", encoding="utf-8") as file:
            file.write("a heading\nmine::op(Tensor x, ...) -> Tensor\n"
                       "mine::op.two(Tensor(a -> *) x,\n  int[2] pair=[1, 2], *, str s=\"a\\\",)\") -> (Tensor, Tensor)\n"
                       "mine::op(Tensor(a -> *) x, *, int n=[1, 2]) -> Tensor\naten::neg.out(Tensor first) -> Tensor")
        entries = extract(binary, folder, "--schemas", "s.txt")[1]
        wanted = [{"list_pos_args": [given("x", "Tensor(a -> *)", made([8]))], "list_kwargs": [given("n", "int", 3)]},
                  {"list_pos_args": [given("first", "Tensor", made([8]))], "list_kwargs": []}]
        problems = [] if [e["replay_ir"] for e in entries] == wanted else [f"{entries}"]
        with open(os.path.join(folder, "s.txt"), "w", encoding="utf-8") as file:
            file.write("nothing\nsays(a schema")
        done = extract(binary, folder, "--schemas", "s.txt")[0]
        return problems + ([] if done.code == 1 and done.stderr == "gputally: s.txt: no schemas of ops, such as "
                           "aten::mm(Tensor self, Tensor mat2) -> Tensor\n" else [done.stderr])
    return check


def selection(binary):
    """By name, by kernel, by time; equal calls are one."""
    ops = [op("aten::neg", tensor([8]), durs=(30,)), op("aten::neg", tensor([9]), durs=(5,)), op("aten::neg", tensor([8]), durs=(50,)),
           op("aten::mm", tensor([8, 8]), tensor([8, 8]), kernels=("split", "gemm"), durs=(20, 40)), op("aten::neg", tensor([8]), durs=(10,)),
           op("mine::op", tensor([8]), durs=(70,))]
    wanted = {
        (): [("aten::neg", 3, 0, 30), ("aten::mm", 1, 15, 60), ("aten::neg", 1, 5, 5)],
        ("--topk_ops", "2"): [("aten::neg", 3, 0, 30)],  # the second one is mine::op
        ("--op_regex", "neg$"): [("aten::neg", 3, 0, 30), ("aten::neg", 1, 5, 5)],
        ("--op_regex", "neg$", "--topk_ops", "1"): [("aten::neg", 3, 0, 30)],
        ("--kernel_regex", "^gemm"): [("aten::mm", 1, 15, 60)],
        ("--op_regex", "nothing"): [],
    }

    def check(folder):
        write_trace(folder, ops)
        problems = []
        for options, rows in wanted.items():
            done, entries = extract(binary, folder, *options)
            found = [(e["op_name"], e["count"], e["uid"], e["kernel_time_us"]) for e in entries or []]
            problems += [] if done.code == 0 and found == rows else [f"{options}: {found} {done.stderr}"]
        done = extract(binary, folder, "--op_regex", "(")[0]
        return problems + ([] if done.code == 1 and done.stderr.startswith("gputally: argument --op_regex: ") else [done.stderr])
    return check


def fixture(binary, name):
    """Ops, counts, times and kernels of a real trace, as the reference model finds them."""
    def check(folder):
        path = os.path.join(FIXTURES, name)
        with gzip.open(path) as file:
            trace = reference_sheets.Trace(json.load(file))
        groups, below = {}, {}
        for kernel in trace.of_kind(*reference_sheets.GPU):
            for above in trace.ancestors(kernel):
                below.setdefault(above, []).append(kernel)
        for launcher in reference_sheets.launchers(trace):
            if trace.kind[launcher] == "cpu_op":
                event = trace.events[launcher]
                arguments = event.get("args", {})
                key = (event["name"], *(json.dumps(arguments.get(k)) for k in ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")))
                groups.setdefault(key, []).append((launcher, sorted(below[launcher], key=lambda k: trace.events[k]["ts"])))
        wanted = {}
        for key, calls in groups.items():
            busy = [trace.busy(kernels) for _, kernels in calls]
            wanted[calls[0][0]] = (key[0], len(calls), statistics.median(busy), [trace.events[k]["name"] for k in calls[0][1]])
        done, entries = extract(binary, folder, trace=path)
        if done.code:
            return [done.stderr]
        problems = []
        for entry in entries:
            name_, count, time, kernels = wanted[entry["uid"]]
            if (entry["op_name"], entry["count"], entry["kernels"]) != (name_, count, kernels) or abs(entry["kernel_time_us"] - time) > 1e-6:
                problems.append(f"{entry} instead of {wanted[entry['uid']]}")
            arguments = trace.events[entry["uid"]]["args"]
            every = entry["replay_ir"]["list_pos_args"] + entry["replay_ir"]["list_kwargs"]
            for value, dims, kind in zip([a["value"] for a in every], arguments["Input Dims"], arguments["Input type"]):
                if isinstance(value, dict) and (value["shape"], value["dtype"]) != (dims, kind.replace("long int", "long")):
                    problems.append(f"{value} instead of {kind} {dims}")
        rows = skipped(folder)
        if {entry["uid"] for entry in entries} | {int(row["ex_UID"]) for row in rows} != set(wanted):
            problems.append("other ops")
        return problems[:3]
    return check


# ---- replay.py ----


ENVIRONMENT = {"PYTHONPATH": STAND_INS}


def program(folder, *options, **more):
    return run([sys.executable, "out/replay.py", *options], cwd=folder, env={**os.environ, **ENVIRONMENT, **more})


def calls_of(folder):
    with open(os.path.join(folder, "calls"), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def builds_tensors(binary):
    """What the ops get: memory that the strides need, values in range, places."""
    ops = [op("aten::index_select", tensor([50, 7], "float", [1, 60]), scalar("0"), tensor([9], LONG)),
           op("aten::copy_", tensor([8], "float"), tensor([8], "float"), scalar("True"), kernels=("Memcpy HtoD (Pinned -> Device)",)),
           op("aten::masked_fill_", tensor([0, 8], BF16), tensor([4], "bool"), scalar("-inf")),
           op("aten::mul", tensor([3, 5], "c10::Float8_e4m3fn", [0, 1]), tensor([], "double")),
           op("aten::cat", tensors([2], [3]), scalar("0"))]
    gpu = lambda how, count, dtype, **more: {"how": how, "count": count, "dtype": dtype, "device": "cuda", **more}
    wanted = [["aten::index_select.default", [gpu("randn", 410, "float32", shape=[50, 7], strides=[1, 60]), 0,
                                      gpu("randint", 9, "int64", low=0, high=50, shape=[9], strides=[1])], {}],
              ["aten::copy_.default", [gpu("empty", 8, "float32", shape=[8], strides=[1]),
                               {**gpu("randn", 8, "float32", shape=[8], strides=[1], pinned=True), "device": "cpu"}, True], {}],
              ["aten::masked_fill_.Scalar", [gpu("randn", 0, "bfloat16", shape=[0, 8], strides=[8, 1]),
                                      gpu("rand", 4, "bool", shape=[4], strides=[1]), float("-inf")], {}],
              ["aten::mul.Tensor", [gpu("randn", 5, "float8_e4m3fn", shape=[3, 5], strides=[0, 1]),
                             {**gpu("randn", 1, "float64", shape=[], strides=[]), "device": "cpu"}], {}],
              ["aten::cat.default", [[gpu("randn", 2, "float16", shape=[2], strides=[1]), gpu("randn", 3, "float16", shape=[3], strides=[1])], 0], {}]]

    def check(folder):
        write_trace(folder, ops)
        extract(binary, folder, "--list_type", HALF)
        done = program(folder, "out/event_replay_ir.json", "--warmup", "1", "--repeats", "2")
        found = []
        for call in calls_of(folder):
            if call not in found:
                found.append(call)
        problems = [] if done.code == 0 else [f"exit {done.code}: {done.stderr}"]
        return problems + [f"{a} instead of {b}" for a, b in zip(found + [None] * 9, wanted) if a != b]
    return check


COSTS = "test::cost(int time)\ntest::broken(int n)\ntest::unknown(int n)\ntest::other(int n)\n"


def measures(binary):
    """Times, ratios and kernels, of an op that breaks the GPU too, after which the others still run; then the sheet."""
    def check(folder):
        same = lambda name, cost, dur, count: [op(name, scalar(str(cost)), kernels=(f"kernel of {name}",), durs=(dur,))] * count
        ops = same("test::cost", 20, 50, 4) + same("test::broken", 1, 60, 1) + same("test::cost", 8, 4, 2) + same("test::unknown", 1, 3, 1) + \
            [op("test::other", scalar("1"), kernels=("before",), durs=(20,))]
        write_trace(folder, ops)
        with open(os.path.join(folder, "s.txt"), "w", encoding="utf-8") as file:
            file.write(COSTS)
        extract(binary, folder, "--schemas", "s.txt")
        done = program(folder, "out/event_replay_ir.json", "-o", "r.json")
        problems = [] if done.code == 1 and "3 of 5 ops replayed; results in r.json" in done.stdout else [f"exit {done.code}: {done.stdout} {done.stderr}"]
        with open(os.path.join(folder, "r.json"), encoding="utf-8") as file:
            replays = [(e["op_name"], e["replay"]) for e in json.load(file)]
        result = lambda name, time: {"event_us": time, "kernel_us": time, "kernels": [f"kernel of {name}"], "gpu": "Stand-in"}
        expected = [("test::cost", result("test::cost", 20)), ("test::broken", {"error": "invalid access"}), ("test::other", result("test::other", 10)),
                    ("test::cost", result("test::cost", 8)), ("test::unknown", {"error": "this PyTorch does not know the op with these arguments"})]
        problems += [f"{a} instead of {b}" for a, b in zip(replays, expected) if json.dumps(a, sort_keys=True) != json.dumps(b, sort_keys=True) and
                     not close(a[1], b[1])]
        done = run([binary, "replay-ir", "--results", "r.json", "-o", "sheets"], cwd=folder)
        heads, rows = read_csv(os.path.join(folder, "sheets", "replay.csv"))
        rows = [dict(zip(heads, row)) for row in rows]
        # (50 - 20) * 4 and (4 - 8) * 2 µs
        wanted = [("test::cost", "4", 50, 20, 2.5, 0.12, "same", ""), ("test::cost", "2", 4, 8, 0.5, -0.008, "same", ""),
                  ("test::broken", "1", 60, None, None, None, "", "invalid access"),
                  ("test::other", "1", 20, 10, None, None, "other", ""),
                  ("test::unknown", "1", 3, None, None, None, "", "this PyTorch does not know the op with these arguments")]
        found = [tuple(row[k] for k in ("name", "operation_count", "trace_us", "replay_us", "trace_per_replay", "lost_ms", "replayed_kernels", "note"))
                 for row in rows]
        for row, expected_row in zip(found, wanted):
            for cell, value in zip(row, expected_row):
                if cell != value if isinstance(value, str) else (cell != "") if value is None else abs(float(cell) - value) > 1e-6:
                    problems.append(f"{row} instead of {expected_row}")
                    break
        return problems + ([] if len(found) == len(wanted) and done.code == 0 else [f"{len(found)} rows, {done.stderr}"])
    return check


def close(a, b):
    return a.keys() == b.keys() and all(abs(a[k] - b[k]) < 1e-6 if isinstance(b[k], float) or isinstance(b[k], int) else a[k] == b[k] for k in b)


def runs(binary):
    """--run does all of it at once; without PyTorch or a GPU one sentence says so."""
    def check(folder):
        write_trace(folder, [op("aten::neg", tensor([8]), kernels=("kernel of aten::neg",), durs=(40,))])
        command = [binary, "replay-ir", "t.json", "-o", "out", "--run"]
        done = run(command, cwd=folder, env={**os.environ, **ENVIRONMENT})
        problems = [] if done.code == 0 and os.path.exists(os.path.join(folder, "out", "replay.csv")) else [f"exit {done.code}: {done.stderr}"]
        words = [line.split() for line in done.stdout.split("\n") if line.startswith("aten::neg")]
        problems += [] if words and words[-1][:6] == ["aten::neg", "1", "40.00", "10.00", "4.00", "0.030"] else [f"{words}: {done.stdout}"]
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        with open(os.path.join(empty, "torch.py"), "w", encoding="utf-8") as file:
            file.write("raise ImportError")
        done = run(command, cwd=folder, env={**os.environ, "PYTHONPATH": empty})
        wanted = ("gputally: python3 cannot import torch; copy out to a machine with PyTorch and a GPU, run `python3 replay.py` there, and "
                  "give replay_results.json with --results\n")
        problems += [] if done.code == 1 and done.stderr == wanted else [done.stderr]
        done = program(folder, PYTHONPATH=empty)
        problems += [] if done.code == 1 and done.stderr.startswith("PyTorch is not installed for this Python (") else [done.stderr]
        done = run(command, cwd=folder, env={**os.environ, **ENVIRONMENT, "NO_GPU": "1"})
        wanted = "the replay failed: PyTorch finds no GPU; run this on a machine with one"
        return problems + ([] if done.code == 1 and wanted in done.stderr and done.stderr.count("\n") == 1 else [done.stderr])
    return check


def wrong_results(binary):
    def check(folder):
        problems = []
        for text in ("", "{}", "[1]", '[{"op_name": "a"}]', '[{"op_name": "a", "replay": {}}', '[{"op_name": 1, "replay": {}}]'):
            with open(os.path.join(folder, "r.json"), "w", encoding="utf-8") as file:
                file.write(text)
            done = run([binary, "replay-ir", "--results", "r.json"], cwd=folder)
            if done.code != 1 or done.stderr != "gputally: r.json: not the results of replay.py, which are in replay_results.json\n":
                problems.append(f"{text}: exit {done.code}: {done.stderr}")
        with open(os.path.join(folder, "r.json"), "w", encoding="utf-8") as file:
            file.write('[{"op_name": "a", "replay": {}}]')
        done = run([binary, "replay-ir", "--results", "r.json"], cwd=folder)
        return problems + ([] if done.code == 0 and "no time" in done.stdout else [done.stderr])
    return check


def cases(binary):
    for title in CALLS:
        yield Case(title, one_call(binary, title))
    for title in REFUSED:
        yield Case("refused: " + title, refused(binary, title))
    yield Case("traces without strides or shapes", old_trace(binary))
    yield Case("types of lists", given_lists(binary))
    yield Case("schemas of a file", given_schemas(binary))
    yield Case("selection", selection(binary))
    for name in ("training.json.gz", "inference.json.gz", "copies.json.gz"):
        yield Case(name, fixture(binary, name))
    yield Case("tensors that replay.py makes", builds_tensors(binary))
    yield Case("times that replay.py measures", measures(binary))
    yield Case("--run", runs(binary))
    yield Case("files that are no results", wrong_results(binary))


if __name__ == "__main__":
    sys.exit(run_cases(__doc__.splitlines()[0], cases, lambda binary, folder: (folder,)))
