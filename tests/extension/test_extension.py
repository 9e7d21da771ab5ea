#!/usr/bin/env python3
"""Extensions of the PyTorch report (--extension_file): the effects of a user's Python file, and its errors.

    python3 -m tests.extension.test_extension --bin build/gputally [--only TEXT]

The traces are written here and expected numbers are computed by hand; models based on the classes that extensions import must
agree with gputally's own models of the same ops.
"""
import json
import os
import sys

from tests.common import harness
from tests.common.harness import Case
from tests.pytorch import generate_trace as pytorch_generator


# ---- a small trace ----


def trace():
    """An aten::linear that calls an aten::addmm of 4 x 16 by 16 x 8, which launches 20 us; a my::act of 40 elements, 10 us;
    an aten::add of 40 elements, 5 us."""
    events, correlation = [], 0

    def host(category, name, ts, dur, args=None, **more):
        events.append({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur, "args": args or {}, **more})

    def op(name, ts, dur, dims, kind="float"):
        host("cpu_op", name, ts, dur, {"Input Dims": dims, "Input type": [kind] * len(dims), "Sequence number": ts,
                                       "Input Strides": [[d[1], 1] if len(d) == 2 else [1] for d in dims],
                                       "Concrete Inputs": [""] * len(dims), "Colour": "green"})

    def launch(kernel, ts, start, dur):
        nonlocal correlation
        correlation += 1
        host("cuda_runtime", "cudaLaunchKernel", ts, 2, {"correlation": correlation})
        events.append({"ph": "s", "cat": "ac2g", "name": "ac2g", "id": correlation, "pid": 1, "tid": 1, "ts": ts})
        events.append({"ph": "f", "cat": "ac2g", "name": "ac2g", "id": correlation, "pid": 0, "tid": 7, "ts": start, "bp": "e"})
        events.append({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": start, "dur": dur,
                       "args": {"correlation": correlation, "stream": 7}})

    op("aten::linear", 100, 50, [[4, 16], [8, 16], [8]])
    op("aten::addmm", 105, 40, [[8], [4, 16], [16, 8]], "c10::BFloat16")
    launch("gemm_kernel", 110, 200, 20)
    op("my::act", 300, 20, [[4, 10]])
    launch("act_kernel", 305, 320, 10)
    op("aten::add", 400, 20, [[4, 10], [4, 10]])
    launch("add_kernel", 405, 420, 5)
    return {"traceEvents": events}


def run(binary, folder, extension, *options, document=None, name="trace.json"):
    for file, text in ((name, json.dumps(trace() if document is None else document)), ("my_extension.py", extension)):
        with open(os.path.join(folder, file), "w", encoding="utf-8") as out:
            out.write(text)
    return harness.run([binary, "pytorch", name, "--output_csvs_dir", "sheets", "--quiet", "--extension_file", "my_extension.py",
                        *options], cwd=folder)


def sheet(folder, name):
    """Rows as dicts; None if there is no such sheet."""
    path = os.path.join(folder, "sheets", name + ".csv")
    if not os.path.exists(path):
        return None
    headings, rows = harness.read_csv(path)
    return [dict(zip(headings, row)) for row in rows]


def compare(what, found, expected):
    return [] if found == expected else [f"{what}: {found!r}, not {expected!r}"]


def numbers(row, *columns):
    return [float(row[column]) for column in columns]


# ---- effects of extensions ----

NEW_OP = """
def tree_postprocess_extension(tree):
    for uid in list(tree.name2event_uids["aten::addmm"]):
        op = tree.get_UID2event(uid)
        assert op["args"]["Colour"] == "green" and tree.get_parent_event(op)["name"] == "aten::linear"
        kernel, = tree.get_gpu_events(op)
        launch = tree.get_parent_event(kernel)
        new = {"UID": len(tree.events), "ph": "X", "cat": "cpu_op", "name": "my::core", "pid": op["pid"], "tid": op["tid"],
               "args": {"Input Dims": op["args"]["Input Dims"][1:], "Input type": op["args"]["Input type"][1:],
                        "Input Strides": [], "Concrete Inputs": [], "Sequence number": op["args"]["Sequence number"]},
               "parent": uid, "children": [launch["UID"]], "gpu_events": [kernel["UID"]]}
        tree.events.append(new)
        tree.events_by_uid[new["UID"]] = new
        op["children"].remove(launch["UID"])
        op["children"].append(new["UID"])
        launch["parent"] = new["UID"]
"""
CORE_MODEL = """
from TraceLens.PerfModel import GEMM, name2bpe

class core(GEMM):
    @staticmethod
    def get_param_details(event):
        a, b = event["args"]["Input Dims"]
        assert [k["name"] for k in event["kernel_details"]] == ["gemm_kernel"]
        return {"M": a[0], "N": b[1], "K": a[1], "bias": False, "dtype_A_B": tuple(event["args"]["Input type"])}

    def bytes(self):
        size = name2bpe(self.param_details["dtype_A_B"][0])
        return super().bytes(size, size, size, size)

    def flops_bwd(self):
        raise NotImplementedError

perf_model_extension = {"my::core": core}
"""


def check_new_op(binary, folder):
    """The launch belongs to the new op; the product of 4 x 16 by 16 x 8 is 2 * 4 * 8 * 16 = 1024 flops and
    (64 + 128 + 32) * 2 = 448 bytes."""
    done = run(binary, folder, NEW_OP + CORE_MODEL)
    problems = done.problems() + compare("stderr", done.stderr, "")
    if done.code:
        return problems
    launchers = {row["name"]: row for row in sheet(folder, "ops_summary")}
    problems += compare("launchers", sorted(launchers), ["aten::add", "my::act", "my::core"])
    problems += compare("time of my::core", numbers(launchers["my::core"], "total_direct_kernel_time_ms"), [0.02])
    row = next(row for row in sheet(folder, "GEMM") if row["name"] == "my::core")
    columns = ("param: M", "param: N", "param: K", "GFLOPS_first", "Data Moved (MB)_first", "Kernel Time (µs)_mean")
    problems += compare("my::core", numbers(row, *columns), [4, 8, 16, 1024 / 1e9, 448 / 2**20, 20])
    problems += compare("types", row["param: dtype_A_B"], "('c10::BFloat16', 'c10::BFloat16')")
    problems += compare("units", row["Compute Spec"], "matrix_bf16")
    categories = {row["name"]: row["op category"] for row in sheet(folder, "ops_unique_args")}
    return problems + compare("category", categories["my::core"], "GEMM")


OWN_FAMILY = """
class act:
    category, bwd_category, sheet_category = "activation", None, "Activations"
    def __init__(self, event, arch=None, python_path=None):
        elements = event["args"]["Input Dims"][0]
        self.param_details = {"shape": tuple(elements), "odd": [1, 2.5, None, "it's"], "half": len(elements) / 4}
        self.arch = arch
    def flops(self):
        return 3 * 40
    def bytes(self):
        return None if self.arch is None else 2 * 4 * 40
    def flops_bwd(self):
        return 6 * 40
    def bytes_bwd(self):
        return 1
    def get_maf_type(self):
        return "vector"
    def get_compute_precision(self):
        return "fp32"

perf_model_extension = {"my::act": act}
op_category_extension = {"aten::add": "sums"}
"""


def check_family(binary, folder):
    done = run(binary, folder, OWN_FAMILY)
    problems = done.problems()
    if done.code:
        return problems + [done.stderr]
    row, = sheet(folder, "Activations_fwd")
    problems += compare("flops", numbers(row, "GFLOPS_first", "param: half"), [120 / 1e9, 0.5])
    problems += compare("bytes", row["Data Moved (MB)_first"], "")
    problems += compare("parameters", (row["param: shape"], row["param: odd"]), ("(4, 10)", "[1, 2.5, None, \"it's\"]"))
    problems += compare("a backward sheet", sheet(folder, "Activations_bwd"), None)
    categories = {row["name"]: row["op category"] for row in sheet(folder, "ops_unique_args")}
    return problems + compare("categories", (categories["my::act"], categories["aten::add"]), ("activation", "sums"))


def check_roofline(binary, folder):
    """The model gets the GPU, and its results are used for the roofline: 320 bytes at 5.3 TB/s."""
    done = run(binary, folder, OWN_FAMILY, "--gpu_arch_platform", "MI300X")
    if done.code:
        return [done.stderr]
    row, = sheet(folder, "Activations_fwd")
    found = numbers(row, "Data Moved (MB)_first", "TB/s_mean", "Roofline Time (µs)_first")
    return compare("figures", [round(v, 12) for v in found], [round(320 / 2**20, 12), 320 / 1e12 / 10e-6, round(320 / 5.3e12 * 1e6, 12)])


def check_seed_names(binary, folder):
    """dict_cat2names_extension, of older extensions: the family of a model that does not define one."""
    done = run(binary, folder, OWN_FAMILY.replace('category, bwd_category, sheet_category = "activation", None, "Activations"', "pass") +
               'dict_cat2names_extension = {"Curves": ["my::act"], "SDPA": ["aten::linear"]}\n')
    if done.code:
        return [done.stderr]
    rows = sheet(folder, "Curves_fwd")
    return compare("the family's sheet", rows and [row["name"] for row in rows], ["my::act"])


TABLES = """
class Column(list):
    def tolist(self):
        return list(self)

class Table:
    def __init__(self, **columns):
        self.columns, self.cells = list(columns), columns
    def __getitem__(self, name):
        return Column(self.cells[name])

def get_additional_dataframes_extension(tree):
    launches = [e for e in tree.events if e.get("cat") == "cuda_runtime"]
    return {"launches": Table(place=[e["UID"] for e in launches], at=[e["ts"] / 8 for e in launches],
                              first=[e is launches[0] for e in launches], what=[e["name"] + ", ü" for e in launches],
                              gap=[1, None, 3], mixed=[1, "two", None]),
            "ops_summary": Table(mine=[1]), "empty": Table(nothing=[])}
"""


def check_tables(binary, folder):
    done = run(binary, folder, TABLES)
    if done.code:
        return [done.stderr]
    expected = [["2", "13.75", "True", "cudaLaunchKernel, ü", "1.0", "1"], ["7", "38.125", "False", "cudaLaunchKernel, ü", "", "two"],
                ["12", "50.625", "False", "cudaLaunchKernel, ü", "3.0", ""]]
    problems = compare("launches", [list(row.values()) for row in sheet(folder, "launches")], expected)
    return problems + compare("a sheet in another's place", sheet(folder, "ops_summary"), [{"mine": "1"}])


def check_rename(binary, folder):
    done = run(binary, folder, """
def tree_postprocess_extension(tree):
    tree.get_UID2event(tree.name2event_uids["my::act"][0])["name"] = "your::act"
""")
    return [done.stderr] if done.code else compare("names", sorted(row["name"] for row in sheet(folder, "ops_summary")),
                                                   ["aten::add", "aten::addmm", "your::act"])


def check_tree(binary, folder):
    """Everything that an extension sees of every event."""
    done = run(binary, folder, """
def tree_postprocess_extension(tree):
    linear, addmm = (tree.get_UID2event(tree.name2event_uids[n][0]) for n in ("aten::linear", "aten::addmm"))
    launch = tree.get_UID2event(addmm["children"][0])
    kernel, = tree.get_children_events(launch)
    assert tree.get_children_events(linear) == [addmm] and launch["cat"] == "cuda_runtime" and kernel["name"] == "gemm_kernel"
    assert linear["gpu_events"] == addmm["gpu_events"] == launch["gpu_events"] == [kernel["UID"]]
    assert tree.get_parent_event(linear) is None and tree.get_parent_event(kernel) is launch
    assert tree.seq_num2event_uids_map[105] == [addmm["UID"]] and tree.cpu_root_nodes[0] == linear["UID"]
    assert [e["UID"] for e in tree.events] == list(range(len(tree.events))) and kernel["t_end"] == 220
    assert tree.traverse_parents_and_get_callstack(kernel) == "gemm_kernel => cudaLaunchKernel => aten::addmm => aten::linear"
    assert tree.linking_key == "correlation" and kernel["args"]["stream_index"] == 0 and "non_gpu_path" not in addmm
""")
    return [done.stderr] if done.code else []


# ---- base classes of extensions ----

SAME_MODELS = """
from TraceLens.PerfModel import GEMM, SDPA, name2bpe, extract_sdpa_cfg

class product(GEMM):
    @staticmethod
    def get_param_details(event):
        args = event["args"]
        first = 1 if event["name"] == "aten::addmm" else 0
        (m, k), (_, n) = args["Input Dims"][first], args["Input Dims"][first + 1]
        a, b = (tuple(s) for s in args["Input Strides"][first:first + 2])
        return {"M": m, "N": n, "K": k, "bias": first == 1, "stride_A": a, "stride_B": b,
                "dtype_A_B": tuple(args["Input type"][first:first + 2])}

    def bytes(self):
        size = name2bpe(self.param_details["dtype_A_B"][0])
        return super().bytes(size, size, size, size)

    def flops_bwd(self):
        raise NotImplementedError

class attention(SDPA):
    @staticmethod
    def get_param_details(event):
        args = event["args"]
        sizes = extract_sdpa_cfg(*args["Input Dims"][:3], (0, 1, 2, 3))
        q, k, v = (tuple(s) for s in args["Input Strides"][:3])
        return sizes | {"q_strides": q, "k_strides": k, "v_strides": v, "dropout": float(args["Concrete Inputs"][3]),
                        "causal": args["Concrete Inputs"][4].lower() == "true", "flash_impl": True,
                        "dtype_A_B": tuple(args["Input type"][:2])}

perf_model_extension = {"aten::mm": product, "aten::addmm": product, "aten::_scaled_dot_product_flash_attention": attention}
"""
FIGURES = ("name", "param: M", "param: N", "param: K", "param: B", "param: causal", "param: N_Q", "GFLOPS_first", "Data Moved (MB)_first",
           "FLOPS/Byte_first", "TB/s_mean", "TFLOPS/s_max", "Compute Spec", "Kernel Time (µs)_sum", "name_count", "UID_first")


def check_same_models(binary, folder):
    """Models based on the extension classes agree with the built-in ones, forward and backward."""
    path = os.path.join(folder, "made.json")
    pytorch_generator.write_trace(path, pytorch_generator.Options(events=4000))
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    found = {}
    for title, extension in (("with", SAME_MODELS), ("without", "")):
        done = run(binary, folder, extension, document=document)
        if done.code:
            return [done.stderr]
        found[title] = {name: [{key: row.get(key) for key in FIGURES} for row in sheet(folder, name)]
                        for name in ("GEMM", "SDPA_fwd", "SDPA_bwd")}
    empty = [name for name, rows in found["with"].items() if not rows]
    return compare("sheets", found["with"], found["without"]) + compare("sheets without rows", empty, [])


# ---- errors ----

WRONG = [
    ("an undefined name", "nonsense\n", ["my_extension.py, line 1: NameError: name 'nonsense' is not defined"]),
    ("a syntax error", "def (\n", ["my_extension.py", "SyntaxError"]),
    ("a hook that fails", "def tree_postprocess_extension(tree):\n    return 1 // 0\n", ["line 2: ZeroDivisionError"]),
    ("models that are not a dict", "perf_model_extension = []\n", ["expected perf_model_extension to be a dict, got list"]),
    ("names that are not a list", "dict_cat2names_extension = {'GEMM': 'aten::mm'}\n", ["dict_cat2names_extension['GEMM']", "str"]),
    ("a model without a category", "class m: pass\nperf_model_extension = {'my::act': m}\n", ["must define a category attribute"]),
    ("a class that is not offered", "from TraceLens.PerfModel import aten_mm\n", ["ImportError", "aten_mm"]),
    ("an event with a wrong UID", "def tree_postprocess_extension(tree):\n    tree.events.append({'UID': 3, 'cat': 'cpu_op', 'name': 'x'})\n",
     ["the UID 3; it must be"]),
    ("a new kernel", "def tree_postprocess_extension(tree):\n    tree.events.append({'UID': len(tree.events), 'cat': 'kernel', 'name': 'x'})\n",
     ["only 'cpu_op' can be added"]),
    ("a circle of parents", "def tree_postprocess_extension(tree):\n"
     "    a, b = (tree.get_UID2event(tree.name2event_uids[n][0]) for n in ('aten::linear', 'aten::addmm'))\n"
     "    a['parent'] = b['UID']\n", ["is its own ancestor"]),
    ("a child of two", "def tree_postprocess_extension(tree):\n"
     "    a, b = (tree.get_UID2event(tree.name2event_uids[n][0]) for n in ('aten::add', 'aten::addmm'))\n"
     "    a['children'].append(b['UID'])\n", ["child of two events"]),
    ("a missing parent", "def tree_postprocess_extension(tree):\n    tree.events[0]['parent'] = 12345\n",
     ["invalid reply from the extension, part \"parents\""]),
    ("an exit", "import os\nos._exit(7)\n", ["python3: exited with status 7"]),
]


def check_wrong(extension, words):
    def check(binary, folder):
        done = run(binary, folder, extension)
        problems = compare("exit code", done.code, 1) + [f"stderr lacks {word!r}: {done.stderr}" for word in words if word not in done.stderr]
        problems += [] if done.stderr.count("\n") == 1 else [f"{done.stderr.count(chr(10))} lines: {done.stderr}"]
        return problems + compare("files", os.path.exists(os.path.join(folder, "sheets")), False)
    return check


def check_places(binary, folder):
    """The files and interpreters that are needed."""
    problems = []
    for options, words in ((("--extension_file", "none.py"), ["none.py", "no such Python file"]),
                           (("--python_path", "/none/python"), ["/none/python: No such file", "--python_path"])):
        done = run(binary, folder, "", *options)
        problems += compare("exit code", done.code, 1) + [f"stderr lacks {word!r}: {done.stderr}" for word in words if word not in done.stderr]
    done = harness.run([binary, "pytorch", "-", "--output_csvs_dir", "sheets", "--extension_file", "my_extension.py"],
                       stdin_bytes=json.dumps(trace()).encode(), cwd=folder)
    return problems + compare("standard input", (done.code, "must be a file" in done.stderr), (1, True))


def check_failing_model(binary, folder):
    """An op whose model fails is omitted from the sheet, with one line that tells why; the rest is unchanged."""
    done = run(binary, folder, OWN_FAMILY.replace("return 3 * 40", "raise ValueError('too odd')"))
    problems = done.problems() + compare("the sheet", sheet(folder, "Activations_fwd"), None)
    problems += [] if "act gave no result for 1 events: ValueError: too odd" in done.stderr else [done.stderr]
    return problems + compare("launchers", len(sheet(folder, "ops_summary")), 3)


def cases():
    yield Case("a new op with a model", check_new_op)
    yield Case("its own family and categories", check_family)
    yield Case("a model that gets the GPU", check_roofline)
    yield Case("families by names", check_seed_names)
    yield Case("more sheets", check_tables)
    yield Case("an op renamed", check_rename)
    yield Case("the tree as extensions see it", check_tree)
    yield Case("models like the built-in ones", check_same_models)
    yield Case("a model that fails", check_failing_model)
    yield Case("an extension that does nothing", check_nothing)
    yield Case("missing files and interpreters", check_places)
    for name, extension, words in WRONG:
        yield Case("wrong: " + name, check_wrong(extension, words))


def check_nothing(binary, folder):
    """An empty extension changes no sheet."""
    done = run(binary, folder, "")
    plain = harness.run([binary, "pytorch", "trace.json", "--output_csvs_dir", "plain", "--quiet"], cwd=folder)
    names = [sorted(os.listdir(os.path.join(folder, f))) for f in ("sheets", "plain")]
    problems = done.problems() + plain.problems() + compare("sheets", names[0], names[1])
    for name in names[1]:
        texts = [open(os.path.join(folder, f, name), "rb").read() for f in ("sheets", "plain")]
        problems += [] if texts[0] == texts[1] else [f"another {name}"]
    return problems


if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__.splitlines()[0], cases()))
