"""Reference model of `gputally diff`, slow and recursive: returns every file that it must write.

    files(events1, events2, python_functions=False, prune_non_gpu=False, explain=False) -> {name: text}

It has nothing in common with the C code: an event is a dict, a tree is lists of indexes, an alignment is a full table.
"""
import csv
import io
import json
import re
from collections import Counter

RUNTIME = ("cuda_runtime", "cuda_driver")
GPU = ("kernel", "gpu_memcpy", "gpu_memset")
GRAPHS = ("hipGraphLaunch", "cudaGraphLaunch")
ARGUMENTS = ("Input Dims", "Input Strides", "Input type", "Concrete Inputs")


# ---- one trace ----


class Tree:
    def __init__(self, events, python_functions):
        self.events = events
        self.children = [[] for _ in events]
        self.parent = [None] * len(events)
        self.work = [[] for _ in events]  # GPU events below
        self.modules = [["root"] for _ in events]
        self.ops = []  # outermost ops, in time order
        self.call(python_functions)
        self.launch()
        self.roots = self.find_roots()

    def category(self, i):
        return self.events[i].get("cat")

    def name(self, i):
        return self.events[i].get("name") or str(i)

    def call(self, python_functions):
        kept = {"cpu_op", *RUNTIME} | ({"python_function"} if python_functions else set())
        stacks = {}
        end = lambda i: self.events[i]["ts"] + self.events[i]["dur"]
        for i in sorted((i for i, e in enumerate(self.events) if e.get("cat") in kept), key=lambda i: self.events[i]["ts"]):
            event = self.events[i]
            stack = stacks.setdefault((event["pid"], event["tid"]), [])
            while stack and event["ts"] >= end(stack[-1]):
                stack.pop()
            if stack and end(i) > end(stack[-1]):
                if end(stack[-1]) - event["ts"] >= 1 or len(stack) < 2:
                    continue
                stack.pop()
            if stack:
                self.parent[i] = stack[-1]
                self.children[stack[-1]].append(i)
            inside = [re.sub(r"_\d+$", "", self.name(s)) for s in stack
                      if self.category(s) == "python_function" and self.name(s).startswith("nn.Module:")]
            self.modules[i] = inside or ["root"]
            if self.category(i) == "cpu_op" and not any(self.category(s) == "cpu_op" for s in stack):
                self.ops.append(i)
            stack.append(i)

    def launch(self):
        first = next((e for e in self.events if e.get("cat") in RUNTIME and "launch" in e["name"].lower()), {"args": {}})
        key = "correlation" if "correlation" in first["args"] else "External id"
        arrows, work, by_id = {"s": {}, "f": {}}, {}, {}
        for i, e in enumerate(self.events):
            if e.get("cat") == "ac2g":
                arrows.setdefault(e["ph"], {})[e["id"]] = e
            elif e.get("cat") in GPU and key in e.get("args", {}):
                work[e["pid"], e["tid"], e["args"][key]] = i
                by_id.setdefault(e["args"][key], []).append(i)
        for i, e in enumerate(self.events):
            if e.get("cat") not in RUNTIME:
                continue
            number = e.get("args", {}).get(key)
            launched = by_id.get(number, []) if e["name"] in GRAPHS else []
            if e["name"] not in GRAPHS and number in arrows["s"] and number in arrows["f"]:
                to = arrows["f"][number]
                launched = [work[k] for k in [(to["pid"], to["tid"], number)] if k in work]
            for gpu in launched:
                self.children[i].append(gpu)
                self.parent[gpu] = i
                above = i
                while above is not None:
                    self.work[above].append(gpu)
                    above = self.parent[above]

    def is_runtime(self, i):
        return self.category(i) in RUNTIME and self.name(i) not in GRAPHS

    def is_kernel(self, i):
        return self.category(i) in ("kernel", "gpu_memcpy")

    def on_gpu(self, i):
        return i is not None and (self.category(i) in GPU or bool(self.work[i]))

    def gpu_children(self, i):
        return [c for c in self.children[i] if self.on_gpu(c)] if i is not None else []

    def find_roots(self):
        roots = []
        for op in self.ops:
            top = op
            while self.parent[top] is not None:
                top = self.parent[top]
            root = top
            while len(self.children[root]) == 1:
                child = self.children[root][0]
                if self.category(child) in ("cpu_op", *RUNTIME) and self.name(child) not in GRAPHS:
                    break
                root = child
            if root != top:
                self.children[top] = self.children[root]
                for child in self.children[root]:
                    self.parent[child] = top
            if root not in roots:
                roots.append(root)
        return roots

    def key(self, i, loose=False, always=False):
        text = self.events[i].get("name") or (str(i) if always else None)
        if text is None:
            return None
        text = re.sub(r"\.py\(\d+\):", ".py:", re.sub(r"0x[0-9a-fA-F]+", "0xXXXX", text))
        if loose:
            text = re.sub(r"^.*/([^/]+\.py)$", r"\1", re.sub(r":\s+\S+$", "", text))
        return "__kernel_launch__" if text in ("hipModuleLaunchKernel", "cuLaunchKernel") else text

    def by_start(self, events):
        return sorted(events, key=lambda i: self.events[i].get("ts", 0))

    def inside(self, i):
        """(the event where wrappers end, its children if several of them lead to GPU events)"""
        while True:
            if self.is_runtime(i) or (self.category(i) == "cpu_op" and any(map(self.is_runtime, self.children[i]))):
                return i, []
            below = self.gpu_children(i)
            if len(below) != 1:
                return i, below
            i = below[0]

    def levels(self, i):
        found, here = [], [i]
        while here and len(found) < 4:
            here = [c for h in here for c in self.gpu_children(h)]
            found.append(sorted(map(self.key, here)))
        return found

    def op_of(self, gpu):
        above = self.parent[gpu]
        while above is not None and self.category(above) != "cpu_op":
            above = self.parent[above]
        return above


# ---- two traces ----


def wagner_fischer(a, b):
    cost = [[i + j if not i or not j else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost[i][j] = min(cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    i, j, ops = len(a), len(b), []
    while i or j:
        if i and j and a[i - 1] == b[j - 1]:
            i, j = i - 1, j - 1
            ops.append((i, j))
        elif i and (not j or cost[i][j] == cost[i - 1][j] + 1):
            i -= 1
            ops.append((i, None))
        else:
            j -= 1
            ops.append((None, j))
    return ops[::-1]


def is_match(op):
    return None not in op


def likeness(a, b):
    for depth in range(max(len(a), len(b))):
        left, right = (x[depth] if depth < len(x) else [] for x in (a, b))
        if left != right:
            return depth, sum((Counter(left) & Counter(right)).values())
    return max(len(a), len(b)), 0


class Merger:
    def __init__(self, first, second):
        self.trees = (first, second)
        self.nodes = []  # [event of trace1, event of trace2, children]
        self.known = {}
        self.roots = []
        for k in range(max(len(first.roots), len(second.roots))):
            self.roots.append(self.merge(*(t.roots[k] if k < len(t.roots) else None for t in self.trees)))

    def align(self, a, b, loose=False):
        first, second = self.trees
        ops = wagner_fischer([first.key(i, loose, True) for i in a], [second.key(i, loose, True) for i in b])
        return self.pair_twins(ops, a, b)

    def pair_twins(self, ops, a, b):
        first, second = self.trees
        names = {(0, i): first.key(a[i]) for i in range(len(a))} | {(1, j): second.key(b[j]) for j in range(len(b))}
        matched = {names[0, i] for i, j in ops if is_match((i, j))} | {names[1, j] for i, j in ops if is_match((i, j))}
        before, pairs, touched, alone = set(filter(is_match, ops)), [], (set(), set()), []
        for name in {names[k] for k in names} & matched:
            ours = [i for i in range(len(a)) if names[0, i] == name]
            theirs = [j for j in range(len(b)) if names[1, j] == name]
            if not ours or not theirs or len(ours) + len(theirs) == 2:
                continue
            touched[0].update(ours)
            touched[1].update(theirs)
            shapes = {i: first.levels(a[i]) for i in ours}, {j: second.levels(b[j]) for j in theirs}
            ranked = sorted((tuple(-x for x in likeness(shapes[0][i], shapes[1][j])), (i, j) not in before, i, j)
                            for i in ours for j in theirs)
            left, right = set(ours), set(theirs)
            for _, _, i, j in ranked:
                if i in left and j in right:
                    pairs.append((i, j))
                    left.remove(i)
                    right.remove(j)
            alone += [(i, None) for i in left] + [(None, j) for j in right]
        if set(pairs) <= before:
            return ops
        kept = [(i, j) for i, j in ops if i not in touched[0] and j not in touched[1]]
        return kept + sorted(pairs) + sorted(o for o in alone if o[1] is None) + sorted(
            (o for o in alone if o[0] is None), key=lambda o: o[1])

    def align_or_pair(self, a, b):
        first, second = self.trees
        if len(a) == len(b) and not any(map(first.is_runtime, a)) and not any(map(second.is_runtime, b)):
            return [(k, k) for k in range(len(a))]
        return self.align(a, b)

    def candidates(self, rows):
        lists = [t.gpu_children(r) for t, r in zip(self.trees, rows)]
        names = [{t.key(i) for i in own} for t, own in zip(self.trees, lists)]
        for w in (0, 1):
            everything = {self.trees[w].key(c): c for c in (self.trees[w].children[rows[w]] if rows[w] is not None else [])}
            lists[w] = lists[w] + [everything[n] for n in names[1 - w] - names[w] if n in everything]
        return [t.by_start(own) for t, own in zip(self.trees, lists)]

    def open_unmatched(self, ops, a, b):
        first, second = self.trees
        deleted, inserted = [i for i, j in ops if j is None], [j for i, j in ops if i is None]
        opened = {}, {}
        may = lambda tree, i: tree.category(i) not in ("kernel", *RUNTIME) or tree.name(i) in GRAPHS
        for i in deleted:
            for j in inserted:
                if not may(first, a[i]) or not may(second, b[j]):
                    continue
                ours, theirs = first.gpu_children(a[i]), second.gpu_children(b[j])
                our_names, their_names = [first.key(c) for c in ours], [second.key(c) for c in theirs]
                if first.key(a[i]) and first.key(a[i]) in their_names:
                    opened[1][j] = theirs
                if second.key(b[j]) and second.key(b[j]) in our_names:
                    opened[0][i] = ours
                if ours and our_names == their_names:
                    opened[0][i], opened[1][j] = ours, theirs
        if not opened[0] and not opened[1]:
            return ops, a, b
        new = [tree.by_start([c for k, i in enumerate(own) for c in which.get(k, [i])])
               for tree, own, which in zip(self.trees, (a, b), opened)]
        result = [(new[0].index(a[i]), new[1].index(b[j])) for i, j in ops if is_match((i, j))]
        free = [[k for k in range(len(new[w])) if k not in {r[w] for r in result}] for w in (0, 1)]
        if free[0] and free[1]:
            again = self.align_or_pair([new[0][k] for k in free[0]], [new[1][k] for k in free[1]])
        else:
            again = [(k, None) for k in range(len(free[0]))] + [(None, k) for k in range(len(free[1]))]
        result += [(None if i is None else free[0][i], None if j is None else free[1][j]) for i, j in again]
        return result, new[0], new[1]

    def align_inside(self, ops, a, b):
        first, second = self.trees
        deleted, inserted = [i for i, j in ops if j is None], [j for i, j in ops if i is None]
        if not deleted or not inserted:
            return ops, a, b
        ours, theirs = [first.inside(a[i])[0] for i in deleted], [second.inside(b[j])[0] for j in inserted]
        found = self.align(ours, theirs)
        left, right = [i for i, j in found if j is None], [j for i, j in found if i is None]
        if left and right:
            again = self.align([ours[i] for i in left], [theirs[j] for j in right], loose=True)
            found = list(filter(is_match, found)) + [(None if i is None else left[i], None if j is None else right[j])
                                                    for i, j in again]
        a, b, result = list(a), list(b), list(filter(is_match, ops))
        for i, j in found:
            if i is not None:
                a[deleted[i]] = ours[i]
            if j is not None:
                b[inserted[j]] = theirs[j]
            result.append((None if i is None else deleted[i], None if j is None else inserted[j]))
        return result, a, b

    def merge(self, first, second):
        if (first, second) in self.known:
            return self.known[first, second]
        number = self.known[first, second] = len(self.nodes)
        rows = [first, second]
        self.nodes.append(None)
        lists = self.candidates(rows)
        if len(lists[0]) != len(lists[1]):
            for w in (0, 1):
                if len(lists[w]) == 1:
                    end, below = self.trees[w].inside(lists[w][0])
                    if below:
                        rows[w], lists[w] = end, below
                    break
        ops = self.align_or_pair(*lists)
        ops, *lists = self.open_unmatched(ops, *lists)
        ops, *lists = self.align_inside(ops, *lists)
        self.nodes[number] = (rows, [self.merge(None if i is None else lists[0][i], None if j is None else lists[1][j])
                                     for i, j in ops])
        return number

    # ---- what is written ----

    def kind(self, number):
        rows = self.nodes[number][0]
        return 2 if rows[0] is None else 1 if rows[1] is None else 0

    def lines(self, number, prefix, last):
        rows, children = self.nodes[number]
        names = [None if r is None else t.name(r) for t, r in zip(self.trees, rows)]
        label = (names[0] if names[0] == names[1] else f"combined: {names[0]} | {names[1]}",
                 f">> trace1: {names[0]}", f"<< trace2: {names[1]}")[self.kind(number)]
        yield prefix + ("└── " if last else "├── ") + label
        children = sorted(children, key=self.kind)
        for place, child in enumerate(children):
            yield from self.lines(child, prefix + ("    " if last else "│   "), place + 1 == len(children))

    def on_gpu(self, number):
        return [t.on_gpu(r) for t, r in zip(self.trees, self.nodes[number][0])]

    def text(self, prune_non_gpu):
        return "".join(line + "\n" for place, root in enumerate(self.roots) if not prune_non_gpu or any(self.on_gpu(root))
                       for line in self.lines(root, "", place + 1 == len(self.roots)))

    def rows(self, explain):
        rows, done = [], set()
        clean = lambda w, number: re.sub(r"\(\d+\)", "", self.trees[w].name(self.nodes[number][0][w]))

        def add(w, work, name, number, root):
            tree = self.trees[w]
            for gpu in work:
                op = tree.op_of(gpu)
                if op is None:
                    continue
                args = tree.events[op].get("args", {})
                row = {"name": tree.events[gpu]["name"], "cpu_op_name": tree.name(op), "cpu_op_uid": op,
                       "source": f"trace{w + 1}"}
                row |= {a: "" if args.get(a) is None else str(tuples(args[a])) for a in ARGUMENTS}
                row |= {"kernel_time": tree.events[gpu]["dur"], "busy_time": busy(tree, work),
                        "lowest_common_ancestor_name": name, "lowest_common_ancestor_id": number, "gpu_op_uid": gpu,
                        "nn_module_stack": ";".join(tree.modules[op]), "nn_module_parent": tree.modules[op][-1]}
                if explain:
                    below = ["" if number is None else "; ".join(map(t.name, t.gpu_children(self.nodes[number][0][k])))
                             for k, t in enumerate(self.trees)]
                    stack, above = [], tree.parent[gpu]
                    while above is not None:
                        stack.insert(0, tree.name(above))
                        above = tree.parent[above]
                    row |= {"lca_children_t1": below[0], "lca_children_t2": below[1], "root_index": root,
                            "callstack": ", ".join(stack)}
                rows.append(row)

        def visit(number, parent, root):
            if number in done:
                return
            events, children = self.nodes[number]
            if self.kind(number):
                w = self.kind(number) - 1
                if self.on_gpu(number)[w]:
                    add(w, self.trees[w].work[events[w]], None if parent is None else clean(w, parent), parent, root)
                done.add(number)
                return
            alone = [[c for c in children if self.kind(c) == w + 1 and self.on_gpu(c)[w]] for w in (0, 1)]
            kernels = [t.is_kernel(e) for t, e in zip(self.trees, events)]
            if all(self.on_gpu(number)) and (any(alone) or all(kernels)):
                names = [clean(w, number) for w in (0, 1)]
                name = names[0] if names[0] == names[1] else " | ".join(names)
                for w, tree in enumerate(self.trees):
                    work = [g for c in alone[w] for i in [self.nodes[c][0][w]]
                            for g in tree.work[i] + ([i] if tree.is_kernel(i) else [])]
                    add(w, work + ([events[w]] if kernels[w] else []), name, number, root)
                done.update(alone[0], alone[1], [number])
            if any(self.on_gpu(number)):
                for child in children:
                    visit(child, number, root)

        for place, root in enumerate(self.roots):
            visit(root, None, place)
        return rows


def tuples(value):
    return tuple(map(tuples, value)) if isinstance(value, list) else value


def busy(tree, work):
    spans = sorted((tree.events[g]["ts"], tree.events[g]["ts"] + tree.events[g]["dur"]) for g in work)
    merged = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    total = sum(end - start for start, end in merged)
    return total if isinstance(total, int) else round(total * 1000) / 1000


# ---- tables ----


def write_csv(rows):
    columns = list(rows[0])
    floats = {c for c in columns if any(isinstance(r[c], float) or r[c] is None for r in rows)}
    cell = lambda c, v: "" if v is None else repr(float(v)) if c in floats and isinstance(v, (int, float)) else str(v)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([cell(c, r[c]) for c in columns] for r in rows)
    return out.getvalue()


def kahan(values):
    total = lost = 0
    for value in values:
        step = value - lost
        now = total + step
        lost = now - total - step
        total = now
    return total


def summarise(rows):
    apart = ("kernel_time", "lowest_common_ancestor_id", "gpu_op_uid")
    keys = [c for c in rows[0] if c not in apart]
    floats = {c for c in rows[0] if any(isinstance(r[c], float) for r in rows)}
    groups = {}
    for row in rows:
        groups.setdefault(tuple(row[k] for k in keys), []).append(row["kernel_time"])
    table = []
    for key, times in groups.items():
        total = kahan(times) if "kernel_time" in floats else sum(times)
        row = {"name": key[0], "operation_count": len(times), **dict(zip(keys[1:], key[1:]))}
        table.append(row | {"kernel_time_mean": kahan(map(float, times)) / len(times), "kernel_time_sum": total})
    text = lambda c, v: repr(float(v)) if c in floats else str(v)
    return sorted(table, key=lambda r: (-r["kernel_time_sum"], [text(c, r[c]) for c in r if c != "kernel_time_sum"]))


def distinct(values):
    return list(dict.fromkeys(values))


def common_name(a, b, modules):
    short, other = a.split("::")[-1], b.split("::")[-1]
    if short in other:
        return short
    if other in short:
        return other
    if short[:20] == other[:20]:
        return f"{short}/{other}"
    if len(modules[a]) == 1 and modules[a] == modules[b]:
        return modules[a][0].replace(" ", "")
    return None


def common_names(rows):
    modules = {}
    for source in ("trace1", "trace2"):
        mine = [r for r in rows if r["source"] == source]
        modules |= {op: distinct(r["nn_module_parent"] for r in mine if r["cpu_op_name"] == op)
                    for op in distinct(r["cpu_op_name"] for r in mine)}
    renamed, visited = {}, set()
    for call in distinct(r["lowest_common_ancestor_id"] for r in rows):
        sides = [distinct(r["cpu_op_name"] for r in rows if r["lowest_common_ancestor_id"] == call and r["source"] == s)
                 for s in ("trace1", "trace2")]
        if call is None or not all(sides) or visited.issuperset(sides[0] + sides[1]):
            continue
        visited.update(sides[0] + sides[1])
        if len(sides[0]) == len(sides[1]):
            for a, b in zip(*sides):
                name = common_name(a, b, modules) if a != b else None
                if name is not None:
                    renamed[a] = renamed[b] = name
            continue
        left = [b for b in sides[1] if b not in sides[0]]
        for a in [a for a in sides[0] if a not in sides[1]]:
            for b in left:
                name = common_name(a, b, modules)
                if name is not None:
                    renamed[a] = renamed[b] = name
                    left.remove(b)
                    break
    return renamed


def dump(value):
    return json.dumps(value, indent=2, ensure_ascii=False)


def files(events1, events2, python_functions=False, prune_non_gpu=False, explain=False):
    merger = Merger(*(Tree(events, python_functions) for events in (events1, events2)))
    written = {"merged_tree_output.txt": merger.text(prune_non_gpu)}
    rows = merger.rows(explain)
    if not rows:
        return written
    summary = summarise(rows)
    for source in ("trace1", "trace2"):
        mine = [r for r in summary if r["source"] == source]
        written[f"cpu_op_map_{source}.json"] = dump({op: sorted({r["name"] for r in mine if r["cpu_op_name"] == op})
                                                     for op in sorted({r["cpu_op_name"] for r in mine})})
    renamed = common_names(rows)
    for row in summary:
        row["cpu_op_name"] = renamed.get(row["cpu_op_name"], row["cpu_op_name"])
        row["nn_module_parent"] = row["nn_module_parent"].replace(" ", "")
    ops = {op: {source: {"kernels": sorted({r["name"] for r in mine}), "nn_module_parents": sorted({r["nn_module_parent"] for r in mine})}
                for source in ("trace1", "trace2")
                for mine in [[r for r in summary if r["source"] == source and r["cpu_op_name"] == op]] if mine}
           for op in distinct(r["cpu_op_name"] for r in summary)}
    sides = [[{c: v for c, v in r.items() if c != "source"} for r in rows if r["source"] == s] for s in ("trace1", "trace2")]
    if sides[0] == sides[1]:
        rows = sides[0]
        summary = [{c: v for c, v in r.items() if c != "source"} for r in summary if r["source"] == "trace1"]
        ops = {op: by_source["trace1"] for op, by_source in ops.items()}
    # In a CSV file an empty string is an empty cell; so is a missing name, which does not make its column numeric.
    written["diff_stats.csv"] = write_csv(rows)
    written["diff_stats_unique_args_summary.csv"] = write_csv(summary)
    written["cpu_op_map.json"] = dump(ops)
    return written
