# Runs a user's extension for gputally: passes the call tree to it and reports what it did.
#
# The request is one JSON document (file descriptor 3). The trace itself is read again here, because an extension may
# use anything in it; events are identified by their UID, the position in the trace.
#
#     trace, extension, python   paths; python is null for the default
#     events                     number of events, including added ones; checks that the trace is still the same
#     python_functions           whether the tree has Python functions
#     arch                       the GPU; null if unknown
#     added                      events that gputally added
#     tree, roots                [event, parent, [children]], ...; the root CPU ops
#     launches, gradients        [runtime event, GPU event], ...; [forward, backward], ...
#     gemm_kernels               [name, [A is transposed, B is transposed]], ...
#
# The reply is one JSON document (file descriptor 4):
#
#     added      new events                       models     [op, sheet family, category, backward category], ...
#     parents    [event, parent or null], ...     results    [event, backward, flops, bytes, spec, parameters], ...
#     children   [event, [children]], ...         categories [op, category], ...
#     names      [event, name], ...               tables     additional sheets: [name, titles, columns], ...
#     error      the error message, instead of all of these; gputally puts the extension's file before it
import collections
import gzip
import importlib.util
import inspect
import json
import math
import os
import sys
import traceback
import types
import warnings

HOST = ("cpu_op", "cuda_runtime", "cuda_driver")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
INPUTS = ("Input Dims", "Input type", "Input Strides", "Concrete Inputs")


class Failure(Exception):
    """An error message for the user."""


class TraceTree:
    """The call tree as extensions see it. Events are dicts; UID is the position in the trace."""

    def __init__(self, document, request):
        events = document["traceEvents"] if isinstance(document, dict) else document
        self.trace_metadata = {k: v for k, v in document.items() if k != "traceEvents"} if isinstance(document, dict) else {}
        self.metadata = {}
        self.events = [{**event, "UID": uid} for uid, event in enumerate(events)]
        if len(self.events) + len(request["added"]) != request["events"]:
            raise Failure(f"{request['trace']}: the trace has changed since it was read (now {len(self.events)} events)")
        self.events += request["added"]
        self.events_by_uid = {event["UID"]: event for event in self.events}
        self.event_to_category = lambda event: event.get("cat")
        self.add_python_func = request["python_functions"]
        self.name2event_uids = collections.defaultdict(list)
        self.seq_num2event_uids_map = collections.defaultdict(list)
        self.pid_tid_event_map, self.ac2g_event_map = {}, {"start": {}, "end": {}}
        self.linking_id_to_gpu_events = collections.defaultdict(list)
        self.dict_stream_index2event = {}
        self.runtime_event_uids, self.cpu_root_nodes = [], request["roots"]
        self._set_linking_key()
        self._index()
        self._link(request)
        self.label_non_gpu_paths()

    def _set_linking_key(self):
        launch = next((e for e in self.events if e.get("cat") in HOST[1:] and "launch" in e.get("name", "").lower()), None)
        self.linking_key = "correlation" if launch and "correlation" in launch.get("args", {}) else "External id"

    def _index(self):
        streams = collections.defaultdict(list)
        for event in self.events:
            event.setdefault("cat", None)
            if isinstance(event.get("ts"), (int, float)) and isinstance(event.get("dur"), (int, float)):
                event["t_end"] = event["ts"] + event["dur"]
            if event["cat"] in HOST[1:]:
                self.runtime_event_uids.append(event["UID"])
            if event["cat"] == "ac2g":
                self.ac2g_event_map.setdefault({"s": "start", "f": "end"}.get(event.get("ph")), {})[event.get("id")] = event
                continue
            args = event.get("args")
            if not isinstance(args, dict):
                continue
            link = args.get(self.linking_key)
            if event["cat"] in GPU and link is not None:
                self.linking_id_to_gpu_events[link].append(event)
            if None not in (event.get("pid"), event.get("tid"), link):
                self.pid_tid_event_map[event["pid"], event["tid"], link] = event
            if args.get("Sequence number") is not None:
                self.seq_num2event_uids_map[args["Sequence number"]].append(event["UID"])
            if args.get("stream") is not None:
                streams[str(args["stream"])].append(event)
        for events in streams.values():
            for position, event in enumerate(sorted(events, key=lambda e: e.get("ts", 0))):
                event["args"]["stream_index"] = position
                self.dict_stream_index2event[event["args"]["stream"], position] = event

    def _link(self, request):
        in_tree = HOST + (("python_function",) if self.add_python_func else ())
        for event in sorted((e for e in self.events if e["cat"] in in_tree and "ts" in e), key=lambda e: e["ts"]):
            event["tree"] = True
            self.name2event_uids[event.get("name")].append(event["UID"])
        for uid, parent, children in request["tree"]:
            event = self.events_by_uid[uid]
            if parent is not None:
                event["parent"] = parent
            if children:
                event["children"] = children
        for uid in self.cpu_root_nodes:
            self.events_by_uid[uid]["cpu_op_root"] = True
        for runtime, gpu in request["launches"]:
            self._add_launch(self.events_by_uid[runtime], self.events_by_uid[gpu])
        for forward, backward in request["gradients"]:
            self.events_by_uid[forward].setdefault("bwd_events", []).append(backward)
            self.events_by_uid[backward]["fwd_event"] = forward

    def _add_launch(self, runtime, gpu):
        runtime.setdefault("children", []).append(gpu["UID"])
        gpu["parent"], gpu["tree"] = runtime["UID"], True
        self.name2event_uids[gpu.get("name")].append(gpu["UID"])
        event = runtime
        while event is not None:
            event.setdefault("gpu_events", []).append(gpu["UID"])
            event = self.get_parent_event(event)

    # The methods below are called by extensions.

    def label_non_gpu_paths(self):
        for event in self.events:
            if event.get("cat") not in GPU and "gpu_events" not in event:
                event["non_gpu_path"] = True

    def get_UID2event(self, uid):
        return self.events_by_uid[uid]

    def get_parent_event(self, event):
        parent = event.get("parent")
        return None if parent is None else self.events_by_uid[parent]

    def get_children_events(self, event):
        return [self.events_by_uid[uid] for uid in event.get("children", [])]

    def get_gpu_events(self, event):
        return [self.events_by_uid[uid] for uid in event.get("gpu_events", [])]

    def below(self, uid):
        """The event and everything that it called, directly or indirectly."""
        pending, seen = [uid], set()
        while pending:
            uid = pending.pop()
            if uid in seen:
                continue
            seen.add(uid)
            event = self.events_by_uid[uid]
            yield event
            pending += reversed(event.get("children", []))

    def get_subtree_bwd_events(self, uid):
        found = set()
        for event in self.below(uid):
            found.update(event.get("bwd_events", []))
        return list(found)

    def get_seq_nums_for_node_subtree(self, uid):
        numbers = (event.get("args", {}).get("Sequence number") for event in self.below(uid))
        return {number for number in numbers if number is not None}

    def link_bwd_events(self, uid):
        """Sets the backward events of an op, by the sequence numbers of everything that it called."""
        event, found = self.events_by_uid[uid], []
        for number in self.get_seq_nums_for_node_subtree(uid):
            found += [u for u in self.seq_num2event_uids_map[number]
                      if self.events_by_uid[u].get("name", "").startswith("autograd::engine::evaluate_function:")]
        event["bwd_events"] = found

    def _is_module(self, event):
        return event.get("cat") == "python_function" and event.get("name", "").startswith("nn.Module:")

    def get_nn_module_children(self, event):
        found, pending = [], list(event.get("children", []))
        while pending:
            child = self.events_by_uid[pending.pop(0)]
            if self._is_module(child):
                found.append(child)
            else:
                pending = list(child.get("children", [])) + pending
        return found

    def get_nn_module_parent(self, event):
        parent = self.get_parent_event(event)
        while parent is not None and not self._is_module(parent):
            parent = self.get_parent_event(parent)
        return parent

    def traverse_parents_and_get_callstack(self, event, **options):
        names = []
        while event is not None:
            names.append(event.get("name"))
            event = self.get_parent_event(event)
        return " => ".join(map(str, names))

    def traverse_parents_and_print(self, event, **options):
        print(self.traverse_parents_and_get_callstack(event))

    def traverse_subtree_and_print(self, event, prune_non_gpu=True, **options):
        pending = [(event["UID"], 0)]
        while pending:
            uid, depth = pending.pop()
            event = self.events_by_uid[uid]
            if not (prune_non_gpu and event.get("non_gpu_path")):
                print("  " * depth + f"{event.get('cat')} {event.get('name')} [{uid}]")
                pending += [(child, depth + 1) for child in reversed(event.get("children", []))]

    def apply_annotation(self, name_filters=()):
        annotations = sorted((e for e in self.events if "user_annotation" in (e.get("cat") or "")), key=lambda e: e.get("ts", 0))
        for event in self.events:
            if any(event.get("name", "").startswith(start) for start in name_filters):
                around = (n for n in annotations if n["ts"] <= event["ts"] and event["ts"] + event["dur"] < n["ts"] + n["dur"])
                event["annotation"] = next((n.get("name") for n in around), "NA")


# ---- the extension ----


def provide_package():
    """`import TraceLens` imports this program's classes, whether or not a package of that name is installed."""
    package, model, tree = (types.ModuleType(name) for name in
                            ("TraceLens", "TraceLens.PerfModel", "TraceLens.Trace2Tree"))
    model.__dict__.update({name: value for name, value in globals().items() if name in (
        "GEMM", "SDPA", "GroupedGemm", "Normalization", "name2bpe", "torch_dtype_map", "extract_sdpa_cfg")})
    model.perf_model = model
    tree.TraceToTree = package.TraceToTree = TraceTree
    package.PerfModel, package.Trace2Tree = model, tree
    package.__path__ = model.__path__ = tree.__path__ = []
    for module in (package, model, tree):
        module.__doc__ = "Classes for extensions of gputally reports."
        sys.modules[module.__name__] = module
    sys.modules["TraceLens.PerfModel.perf_model"] = model


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or not os.path.isfile(path):
        raise Failure("no such Python file")
    extension = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(extension)
    return extension


def get_dict(extension, name):
    value = getattr(extension, name, {})
    if not isinstance(value, dict):
        raise Failure(f"expected {name} to be a dict, got {type(value).__name__}")
    return value


def read_trace(path):
    with open(path, "rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if packed else open)(path, "rt", encoding="utf-8", errors="replace") as file:
        return json.load(file, strict=False)


# ---- changes of the tree ----


def host_children(tree, event):
    return [uid for uid in event.get("children", []) if tree.events_by_uid[uid].get("cat") not in GPU]


def inputs_of(event):
    """The inputs as JSON strings, and the sequence number."""
    args = event.get("args") or {}
    sequence = args.get("Sequence number")
    texts = [None if args.get(key) is None else json.dumps(args[key], default=str) for key in INPUTS]
    return texts + [sequence if type(sequence) is int else None]


def state(tree, event):
    return event.get("parent"), host_children(tree, event), event.get("name")


def changes(tree, before):
    reply = {"added": [], "parents": [], "children": [], "names": []}
    for position, event in enumerate(tree.events):
        if position < len(before):
            if before[position] is None:
                continue
            was, now = before[position], state(tree, event)
            for key, old, new in zip(("parents", "children", "names"), was, now):
                if old != new:
                    reply[key].append([event["UID"], new])
            continue
        if event.get("UID") != position:
            raise Failure(f"new event with the UID {event.get('UID')}; it must be {position}, its position in tree.events")
        if event.get("cat") != "cpu_op":
            raise Failure(f"new event {event.get('name')!r} has the category {event.get('cat')!r}; only 'cpu_op' can be added")
        ts, dur = event.get("ts"), event.get("dur")
        reply["added"].append({"name": event["name"], "pid": json.dumps(event.get("pid")), "tid": json.dumps(event.get("tid")),
                                "ts": ts, "dur": dur, "inputs": inputs_of(event)})
        reply["parents"].append([position, event.get("parent")])
        reply["children"].append([position, host_children(tree, event)])
    return reply


# ---- models ----


def family_of(model):
    """The part of sheet names for the ops of a model."""
    family = getattr(model, "sheet_category", None) or model.category
    return family[:-4] if family.endswith(("_fwd", "_bwd")) and not getattr(model, "sheet_category", None) else family


def kernels_of(tree, event, backward):
    roots = tree.get_subtree_bwd_events(event["UID"]) if backward else [event["UID"]]
    uids = [uid for root in roots for uid in tree.events_by_uid[root].get("gpu_events", [])]
    return sorted((tree.events_by_uid[uid] for uid in uids), key=lambda e: e.get("ts", 0))


def to_json(value):
    """The value of a parameter in JSON; a tuple becomes {"tuple": [...]}, because JSON has no tuples."""
    if isinstance(value, tuple):
        return {"tuple": [to_json(item) for item in value]}
    if isinstance(value, (list, set, frozenset)):
        return [to_json(item) for item in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    return str(value)


def number(value):
    if value is None:
        return None
    value = float(value)
    return value if math.isfinite(value) else None


def evaluate(tree, model, event, backward, request):
    event["kernel_details"] = [{"name": k.get("name"), "dur": k.get("dur"), "stream": k.get("args", {}).get("stream"),
                                "gpu_op_uid": k["UID"]} for k in kernels_of(tree, event, backward)]
    options = {"event": event, "arch": request["arch"], "python_path": request["python"]}
    accepted = inspect.signature(model.__init__).parameters
    takes_all = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in accepted.values())
    options |= {key: value for key, value in (("enable_origami", False), ("inductor_cache_dir", None))
                if takes_all or key in accepted}
    instance = model(**options)
    flops = instance.flops_bwd() if backward else instance.flops()
    size = instance.bytes_bwd() if backward else instance.bytes()
    units = instance.get_maf_type() if hasattr(instance, "get_maf_type") else None
    precision = instance.get_compute_precision() if hasattr(instance, "get_compute_precision") else None
    spec = f"{units}_{precision}" if None not in (units, precision) else ""
    if not math.isfinite(float(flops)):
        raise ValueError(f"flops are {flops}")
    return [float(flops), number(size), spec, [[str(k), to_json(v)] for k, v in instance.param_details.items()]]


def evaluate_all(tree, models, request):
    results, reasons = [], collections.Counter()
    for event in tree.events:
        model = models.get(event.get("name"))
        if model is None or event.get("cat") in GPU or (hasattr(model, "can_model") and not model.can_model(event)):
            continue
        for backward in (False, True):
            try:
                results.append([event["UID"], backward, *evaluate(tree, model, event, backward, request)])
            except NotImplementedError:
                pass
            except Exception as error:  # a model may fail: its op is omitted, as with built-in models
                reasons[model.__name__, backward, f"{type(error).__name__}: {error}"] += not backward
    for (name, backward, reason), count in reasons.items():
        if count and not backward:
            print(f"warning: {name} gave no result for {count} events: {reason}", file=sys.stderr)
    return results


def describe_models(models, families):
    described = []
    for op, model in models.items():
        category = getattr(model, "category", None) or families.get(op)
        if category is None:
            raise Failure(f"model {getattr(model, '__name__', model)!r} of {op!r} must define a category attribute")
        family = families.get(op) or family_of(model)
        described.append([str(op), str(family), str(category), getattr(model, "bwd_category", None)])
    return described


def families_by_name(extension):
    """The inverse of dict_cat2names_extension."""
    families = {}
    for family, names in get_dict(extension, "dict_cat2names_extension").items():
        if not isinstance(names, (list, tuple)):
            raise Failure(f"expected dict_cat2names_extension[{family!r}] to be a list, got {type(names).__name__}")
        families |= {name: family for name in names}
    return families


# ---- sheets ----


def cell(value):
    if hasattr(value, "item"):  # a numpy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def column_of(sheet, table, column):
    values = table[column]
    if not hasattr(values, "tolist") and list(table.columns).count(column) > 1:  # pandas gives a table of all of them
        raise Failure(f"sheet {sheet!r}: two columns are named {column!r}")
    values = values.tolist()
    if not isinstance(values, list):
        raise Failure(f"sheet {sheet!r}: column {column!r} is not a list of values, but {type(values).__name__}")
    return [cell(value) for value in values]


def sheet_of(name, table):
    columns = [column_of(name, table, column) for column in table.columns]
    for title, column in zip(table.columns, columns):
        if len(column) != len(columns[0]):
            raise Failure(f"sheet {name!r}: the columns {table.columns[0]!r} and {title!r} have different lengths: "
                          f"{len(columns[0])} and {len(column)}")
    return [str(name), [str(title) for title in table.columns], columns]


def tables_of(extension, tree):
    make = getattr(extension, "get_additional_dataframes_extension", None)
    tables = make(tree) if make else {}
    return [sheet_of(name, table) for name, table in (tables or {}).items()]


def run_extension(request):
    provide_package()
    try:
        document = read_trace(request["trace"])
    except (OSError, ValueError) as error:
        raise Failure(f"{request['trace']}: extensions need a complete JSON trace, plain or gzip: {error}") from error
    tree = TraceTree(document, request)
    GEMM.kernel_infos = {name: {"transpose": tuple(pair)} for name, pair in request["gemm_kernels"]}
    extension = load(request["extension"])
    before = [state(tree, e) if e.get("cat") in HOST + ("python_function",) else None for e in tree.events]
    if hasattr(extension, "tree_postprocess_extension"):
        extension.tree_postprocess_extension(tree)
        tree.label_non_gpu_paths()
    reply = changes(tree, before)
    models = get_dict(extension, "perf_model_extension")
    families = families_by_name(extension)
    reply["models"] = describe_models(models, families)
    reply["results"] = evaluate_all(tree, models, request)
    categories = {op: family for op, family in families.items() if op not in models}
    categories |= get_dict(extension, "op_category_extension")
    reply["categories"] = [[str(op), str(category)] for op, category in categories.items()]
    reply["tables"] = tables_of(extension, tree)
    return reply


def reply_or_error(request):
    """The reply; on failure one with the reason, and the last line of the extension on the way to it."""
    try:
        return json.dumps(run_extension(request), ensure_ascii=True, allow_nan=False)
    except Failure as failure:
        reason = str(failure)
    except BaseException as error:  # also sys.exit and KeyboardInterrupt
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == request["extension"]]
        where = f"line {frames[-1].lineno}: " if frames else ""
        said = " ".join(str(error).split())
        reason = f"{where}{type(error).__name__}" + (f": {said}" if said else "")
    return json.dumps({"error": reason[:800] + ("..." if len(reason) > 800 else "")})


def main():
    warnings.simplefilter("default")
    process = os.getpid()
    with os.fdopen(3, "r", encoding="utf-8", errors="surrogateescape") as file:
        request = json.load(file)
    reply = reply_or_error(request)
    if os.getpid() != process:  # a fork that the extension did not end
        os._exit(0)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # the extension has closed or replaced it
    with os.fdopen(4, "w", encoding="utf-8", errors="replace") as file:
        file.write(reply)


main()
