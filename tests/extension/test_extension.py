#!/usr/bin/env python3
"""Extensions of the PyTorch report (--extension_file): the effects of a user's Python file, and its errors.

    python3 -m tests.extension.test_extension --bin build/gputally [--only TEXT]

The traces are written here and expected numbers are computed by hand; models based on the classes that extensions import must
agree with gputally's own models of the same ops.
"""
import json
import os
import signal
import subprocess
import sys
import time

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

COLUMN = "class C(list):\n    def tolist(self):\n        return list(self)\n"

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
     ["my_extension.py: invalid reply, part \"parents\""]),
    ("an exit", "import os\nos._exit(7)\n", ["my_extension.py: python3 exited with status 7"]),
    ("an exit without a status", "import os\nos._exit(0)\n", ["my_extension.py: it ended without a complete reply"]),
    ("sys.exit", "import sys\n\nsys.exit(3)\n", ["my_extension.py, line 3: SystemExit: 3"]),
    ("an interrupt", "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n",
     ["my_extension.py, line", "KeyboardInterrupt"]),
    ("a signal", "import os\nos.kill(os.getpid(), 9)\n", ["my_extension.py: python3 was terminated by signal 9 (Killed)"]),
    ("an error of several lines", "raise ValueError('one\\n  two')\n", ["my_extension.py, line 1: ValueError: one two"]),
    ("an error with a NUL", "raise ValueError('one\\0two')\n", ["my_extension.py, line 1: ValueError: one?two"]),
    ("closed descriptors", "import os\nos.closerange(0, 64)\n", ["my_extension.py: python3 exited with status"]),
    ("sheets that are not a dict", "def get_additional_dataframes_extension(tree):\n    return [1]\n",
     ["my_extension.py: AttributeError"]),
    ("a sheet name with a NUL", "class T:\n    columns = []\ndef get_additional_dataframes_extension(tree):\n"
     "    return {'\\0a': T()}\n", ["my_extension.py: invalid reply, part \"tables\""]),
    ("columns of different lengths", COLUMN + "class T:\n    columns = ['a', 'b']\n"
     "    def __getitem__(self, name):\n        return C([1, 2, 3] if name == 'a' else [1])\n"
     "def get_additional_dataframes_extension(tree):\n    return {'mine': T()}\n",
     ["my_extension.py: sheet 'mine': the columns 'a' and 'b' have different lengths: 3 and 1"]),
    ("columns with the same name", "class T:\n    columns = ['a', 'a']\n"
     "    def __getitem__(self, name):\n        return [[1], [2]]\n"
     "def get_additional_dataframes_extension(tree):\n    return {'mine': T()}\n",
     ["my_extension.py: sheet 'mine': two columns are named 'a'"]),
    ("a column that is a number", "class V:\n    def tolist(self):\n        return 7\n"
     "class T:\n    columns = ['a']\n    def __getitem__(self, name):\n        return V()\n"
     "def get_additional_dataframes_extension(tree):\n    return {'mine': T()}\n",
     ["my_extension.py: sheet 'mine': column 'a' is not a list of values, but int"]),
    ("an event that is not a dict", "def tree_postprocess_extension(tree):\n    tree.events.append(7)\n", ["my_extension.py: AttributeError"]),
    ("a name that is a number", "def tree_postprocess_extension(tree):\n"
     "    tree.events.append({'UID': len(tree.events), 'cat': 'cpu_op', 'name': 7})\n", ["my_extension.py: invalid reply, part \"added\""]),
]

# ---- sheets with other columns than gputally's ----

SHAPES = {
    "numbers for names": "Table(type=[1, 2], **{'time ms': [4e9, 7], 'percent': ['a', 'b']})",
    "no columns": "Table()",
    "no rows": "Table(type=[], **{'time ms': [], 'percent': []})",
    "other columns": "Table(**{'name': [1], 'op category': [2**40]})",
    "huge numbers": "Table(type=[2**62], name=[2**62], **{'op category': [2**62], 'Kernel name': [2**62], 'time ms': ['x']})",
    "numbers beyond 64 bits": "Table(type=[2**70, 1], name=[-2**70, 1], **{'op category': [10**400, 1]})",
    "nulls": "Table(type=[None], name=[None], **{'op category': [None], 'time ms': [None], 'percent': [None]})",
    "booleans": "Table(type=[True], name=[False], **{'op category': [True], 'total_direct_kernel_time_ms': [True]})",
    "lists": "Table(type=[[1]], name=[{1: 2}], **{'op category': [(1,)], 'time ms': [object]})",
    "the same column twice": "Twice(type=['a'])",
    "infinite numbers": "Table(type=['a'], **{'time ms': [float('inf')], 'percent': [float('nan')]})",
}
SHEETS = ("gpu_timeline", "ops_summary_by_category", "ops_summary", "ops_summary_prefill", "ops_summary_decode", "kernel_summary",
          "ops_unique_args", "unified_perf_summary", "coll_analysis", "GEMM", "an/other\x1b[31m sheet", "x" * 300, ".", "CON")


def check_shape(shape):
    """Whatever an extension puts in place of sheets that the summary shows, the report is whole."""
    def check(binary, folder):
        extension = TABLES.split("def get_additional")[0] + f"""
class Twice(Table):
    def __init__(self, **columns):
        super().__init__(**columns)
        self.columns = self.columns * 2

def get_additional_dataframes_extension(tree):
    return {{name: {SHAPES[shape]} for name in {SHEETS!r}}}
"""
        problems = []
        for options in ((), ("--enable_kernel_summary", "--inference_phase_analysis"), ("--legacy_sheet_names",)):
            for name, text in (("trace.json", json.dumps(trace())), ("my_extension.py", extension)):
                with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                    out.write(text)
            done = harness.run([binary, "pytorch", "trace.json", "--output_csvs_dir", "sheets", "--output_xlsx_path", "out.xlsx",
                                "--output_db", "out.db", "--extension_file", "my_extension.py", *options], cwd=folder)
            problems += done.problems() + compare("exit code", done.code, 0) + ([done.stderr] if done.code else [])
            problems += compare("an escape on the terminal", "\x1b" in done.stderr + done.stdout, False)
            if not done.code and len(os.listdir(os.path.join(folder, "sheets"))) < len(SHEETS):
                problems.append("sheets are missing")
            if not done.code and not all(os.path.exists(os.path.join(folder, f)) for f in ("out.xlsx", "out.db")):
                problems.append("a file is missing")
        return problems
    return check


def check_same_columns(binary, folder):
    """A sheet with the columns of the one that it replaces is shown in its place; whole numbers may be whole."""
    done = run(binary, folder, TABLES.split("def get_additional")[0] + """
def get_additional_dataframes_extension(tree):
    return {"gpu_timeline": Table(type=["my_row"], **{"time ms": [3], "percent": [50]})}
""")
    loud = harness.run([binary, "pytorch", "trace.json", "--output_csvs_dir", "sheets", "--extension_file", "my_extension.py"], cwd=folder)
    return done.problems() + loud.problems() + ([] if "my_row" in loud.stdout else [f"not in the summary: {loud.stdout}"])


# ---- extensions that do not end ----

LOOP = "import os, sys\nprint('started', os.getpid(), os.getpgrp(), flush=True)\n"


def is_alive(pid):
    """Whether a process runs; one that has ended but was not waited for does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def start_endless(binary, folder, extension, *options):
    """The running program, and the numbers of the extension's processes."""
    for name, text in (("trace.json", json.dumps(trace())), ("my_extension.py", extension)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
            out.write(text)
    child = subprocess.Popen([binary, "pytorch", "trace.json", "--output_csvs_dir", "sheets", "--extension_file", "my_extension.py",
                              *options], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    line = child.stderr.readline()
    while line and not line.startswith("started"):
        line = child.stderr.readline()
    return child, [int(word) for word in line.split()[1:]]


ENDLESS = {
    "a loop": LOOP + "while True: pass\n",
    "a loop that catches everything": LOOP + "while True:\n    try:\n        while True: pass\n    except BaseException: pass\n",
    "ignored signals": "import signal, time\nfor s in (2, 15, 1): signal.signal(s, signal.SIG_IGN)\n" + LOOP + "time.sleep(3600)\n",
    "a fork": "import os, time\nchild = os.fork()\nif child == 0: time.sleep(3600)\nprint('started', os.getpid(), child, flush=True)\n"
              "while True: pass\n",
}


def check_signal(extension, number):
    """A signal to gputally ends the extension's processes and names the extension."""
    def check(binary, folder):
        child, processes = start_endless(binary, folder, extension)
        problems = [] if processes and is_alive(processes[0]) else ["the extension did not start"]
        child.send_signal(number)
        stderr = child.communicate(timeout=harness.WALL_SECONDS)[1]
        problems += compare("ended by", child.returncode, -number)
        problems += [f"process {p} is left" for p in processes if not wait_until(lambda: not is_alive(p))]
        if number != signal.SIGKILL:
            problems += compare("stderr", stderr, "gputally: my_extension.py: interrupted\n")
        return problems + compare("files", os.path.exists(os.path.join(folder, "sheets")), False)
    return check


def check_timeout(extension):
    def check(binary, folder):
        child, processes = start_endless(binary, folder, extension, "--extension_timeout", "1")
        stderr = child.communicate(timeout=harness.WALL_SECONDS)[1]
        problems = compare("exit code", child.returncode, 1)
        problems += compare("stderr", stderr, "gputally: trace.json: my_extension.py: not finished after 1 s and ended (--extension_timeout)\n")
        problems += [f"process {p} is left" for p in processes if not wait_until(lambda: not is_alive(p))]
        return problems + compare("files", os.path.exists(os.path.join(folder, "sheets")), False)
    return check


def check_left_behind(binary, folder):
    """A process that the extension leaves behind in its group ends with it, and the report is written."""
    done = run(binary, folder, "import os, time\nchild = os.fork()\nif child == 0:\n    time.sleep(3600)\nprint(child, file=open('pid', 'w'))\n")
    with open(os.path.join(folder, "pid"), encoding="utf-8") as file:
        pid = int(file.read())
    return done.problems() + ([] if wait_until(lambda: not is_alive(pid)) else ["it is left"]) + compare(
        "launchers", len(sheet(folder, "ops_summary")), 3)


def check_two_returns(binary, folder):
    """A fork that returns from the extension, too, does not reply a second time."""
    done = run(binary, folder, "import os\ndef tree_postprocess_extension(tree):\n    if os.fork(): os.wait()\n")
    return done.problems() + compare("launchers", len(sheet(folder, "ops_summary") or []), 3)


def check_output(binary, folder):
    """Much output of an extension goes to standard error; none of it reaches standard output."""
    done = run(binary, folder, "import os, sys\nprint('x' * 3000000)\nos.write(1, b'y' * 100000)\nsys.stdout.close()\n")
    return done.problems() + compare("stdout", done.stdout, "") + compare("stderr", len(done.stderr), 3100001)


def check_time_limits(binary, folder):
    problems = []
    done = run(binary, folder, "", "--extension_timeout", "0")
    problems += done.problems() + compare("without a limit", done.code, 0)
    for value, code in (("-1", 2), ("x", 2)):
        problems += compare(value, run(binary, folder, "", "--extension_timeout", value).code, code)
    return problems


# ---- modules beside the files ----

STOLEN = "import os\nopen(os.path.join(os.environ['STOLEN'], 'stolen'), 'a').write(__file__ + chr(10))\n"


def check_modules(binary, folder):
    """Modules of the current folder, of the trace's folder and of the extension's folder are not imported, also not through
    relative entries of PYTHONPATH. Absolute entries are searched, after the standard library."""
    problems = []
    places = {name: os.path.join(folder, name) for name in ("here", "traces", "extensions", "path")}
    for name, place in places.items():
        os.mkdir(place)
        for module in ("json", "os", "pandas", "math", "sitecustomize", "usercustomize", "collections", "my_module"):
            with open(os.path.join(place, module + ".py"), "w", encoding="utf-8") as out:
                out.write(STOLEN if module != "my_module" else f"place = {name!r}\n")
    with open(os.path.join(places["traces"], "trace.json"), "w", encoding="utf-8") as out:
        json.dump(trace(), out)
    for number, (path, expected) in enumerate((("", "none"), (":", "none"), (".", "none"), ("../traces", "none"), (places["path"], "path"))):
        with open(os.path.join(places["extensions"], f"extension{number}.py"), "w", encoding="utf-8") as out:
            out.write("import json, os, math, collections\ntry:\n    from my_module import place\nexcept ImportError:\n    place = 'none'\n"
                      f"assert place == {expected!r}, place\n")
        env = {**os.environ, "PYTHONPATH": path, "STOLEN": folder}
        done = harness.run([binary, "pytorch", "../traces/trace.json", "--output_csvs_dir", "../sheets", "--quiet", "--extension_file",
                            f"../extensions/extension{number}.py"], cwd=places["here"], env=env)
        problems += [f"PYTHONPATH={path!r}: {text}" for text in done.problems() + compare("stderr", done.stderr, "")]
    stolen = os.path.join(folder, "stolen")
    return problems + ([open(stolen, encoding="utf-8").read()] if os.path.exists(stolen) else [])


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
    for name in SHAPES:
        yield Case("sheets with other columns: " + name, check_shape(name))
    yield Case("a sheet with the same columns", check_same_columns)
    for name, extension in ENDLESS.items():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            yield Case(f"endless: {name}, {number.name}", check_signal(extension, number))
        yield Case(f"endless: {name}, time limit", check_timeout(extension))
    yield Case("a process left behind", check_left_behind)
    yield Case("a fork that returns", check_two_returns)
    yield Case("much output", check_output)
    yield Case("time limits", check_time_limits)
    yield Case("modules beside the files", check_modules)


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
