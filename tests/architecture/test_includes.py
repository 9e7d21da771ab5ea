#!/usr/bin/env python3
"""Checks that the source tree keeps the structure that ARCHITECTURE.md describes.

    tests/architecture/test_includes.py              check src/ of this repository
    tests/architecture/test_includes.py --self-test  prove that every check can fail

Each layer (a folder directly under src) includes only itself and the layers before it in LAYERS. Inside a layer,
sub-folders may include each other as long as no cycle results; a file that stands directly in the layer's folder
counts as a node of its own, so that `input/detect.c` may use every format while every format uses
`input/options.h`.

A module is a `.c` file with the header of the same name. Modules must not depend on each other in a circle. A
header without a `.c` file (the private header of a module) does not count. Where one public header is implemented
by several modules, those form one unit and are listed in UNITS; a circle inside a unit is allowed, any other circle
is an error, and a unit that no longer needs its entry is an error too.

The closing line is "N passed, N failed"; the exit status is 0 only if nothing failed.
"""
import collections
import os
import re
import sys
import tempfile

# Lowest first.
LAYERS = ["base", "os", "stream", "json", "table", "compat", "schema", "trace", "index", "procs", "model", "input", "analysis",
          "findings", "output", "page", "transform", "extension", "report", "replay", "batch", "run", "sweep", "doctor", "api",
          "helper", "cli"]

# Layers that need not exist (yet).
OPTIONAL = set()

# Modules that are one unit: a public header and the private headers of its implementation.
UNITS = [
    ("input/json/learned", "input/json/learned_tree", "input/json/record"),
    ("input/perfetto/packets", "input/perfetto/perfetto"),
    ("model/family", "model/model"),
    ("table/column", "table/table"),
    ("trace/packing", "trace/store", "trace/store_parts"),
]

# Sub-folders, or files directly in a layer, that may depend on each other: a CSV file of rocprofv3 is recognised by
# its columns, which the reader of such files knows; a folder of rocprofv3 files is read by the format of each.
FOLDER_UNITS = [("input/detect", "input/rocprof")]

FOLDER_FILES_MAX = 40

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.M)
# Type definitions: over several lines, on one line, and of functions and function pointers.
TYPEDEF_BLOCK = re.compile(r"^typedef (?:struct|enum|union)\b[^;{}]*\{[ \t]*\n.*?^\}[^;\n]*?(\w+);", re.M | re.S)
TYPEDEF_LINE = re.compile(r"^typedef [^(;\n]*?(?:\{[^\n]*\}[ \t]*)?(\w+);", re.M)
TYPEDEF_FUNCTION = re.compile(r"^typedef [^({;\n]*?\(?\*?(\w+)\)?\([^;{}]*\);", re.M)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def source_files(root):
    """Paths below src of all C sources and headers, and of the tables that they include."""
    found = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in names:
            if name.endswith((".c", ".h", ".inc")):
                found.append(os.path.relpath(os.path.join(folder, name), os.path.join(root, "src")))
    return sorted(found)


def include_graph(root):
    """{file: [files of src that it includes]}"""
    files = source_files(root)
    known = set(files)
    return {file: [name for name in INCLUDE.findall(read(os.path.join(root, "src", file))) if name in known]
            for file in files}


def cycles(graph):
    """The strongly connected components of more than one node, each sorted (Tarjan, without recursion)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []
    for start in sorted(graph):
        if start in index:
            continue
        work = [(start, iter(sorted(graph.get(start, ()))))]
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(sorted(graph.get(target, ())))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    component = []
                    while not component or component[-1] != node:
                        component.append(stack.pop())
                        on_stack.discard(component[-1])
                    if len(component) > 1:
                        found.append(sorted(component))
    return sorted(found)


def layer_of(path):
    return path.split("/")[0]


def module_of(path):
    return os.path.splitext(path)[0]


def folder_node(path):
    """The sub-folder of a layer that a file belongs to; a file directly in the layer is its own node."""
    parts = path.split("/")
    return module_of(path) if len(parts) == 2 else "/".join(parts[:2])


def merged_graph(graph, node_of):
    """The include graph between groups of files, without the edges inside a group."""
    merged = collections.defaultdict(set)
    for file, targets in graph.items():
        for target in targets:
            if node_of(file) != node_of(target):
                merged[node_of(file)].add(node_of(target))
    return merged


# ---- the checks: each returns a list of problems ----

def check_folders_are_layers(root):
    present = {name for name in os.listdir(os.path.join(root, "src")) if os.path.isdir(os.path.join(root, "src", name))}
    return ([f"src/{name}: not in the table of layers" for name in sorted(present - set(LAYERS))] +
            [f"src/{name}: in the table of layers, but there is no such folder"
             for name in LAYERS if name not in present | OPTIONAL])


def check_directions(root):
    place = {name: i for i, name in enumerate(LAYERS)}
    return [f"src/{file} includes {target}, which is in a higher layer"
            for file, targets in include_graph(root).items() for target in targets
            if place.get(layer_of(target), 0) > place.get(layer_of(file), 0)]


def check_file_cycles(root):
    return ["files include each other: " + ", ".join(cycle) for cycle in cycles(include_graph(root))]


def check_module_cycles(root):
    graph = merged_graph(include_graph(root), module_of)
    compiled = {module_of(file) for file in source_files(root) if file.endswith(".c")}
    problems, used = [], set()
    for cycle in cycles(graph):
        if len(compiled & set(cycle)) < 2:
            continue
        unit = next((i for i, unit in enumerate(UNITS) if set(cycle) <= set(unit)), None)
        if unit is None:
            problems.append("modules depend on each other: " + ", ".join(cycle))
        else:
            used.add(unit)
    return problems + ["UNITS lists modules that do not depend on each other any more: " + ", ".join(unit)
                       for i, unit in enumerate(UNITS) if i not in used]


def check_folder_cycles(root):
    graph = merged_graph(include_graph(root), folder_node)
    inside = {node: {target for target in targets if layer_of(target) == layer_of(node)}
              for node, targets in graph.items()}
    # Circles between files of the layer's own folder are the business of check_module_cycles.
    folders = {"/".join(file.split("/")[:2]) for file in source_files(root) if file.count("/") > 1}
    found = [cycle for cycle in cycles(inside) if any(node in folders for node in cycle)]
    return (["folders depend on each other: " + ", ".join(cycle) for cycle in found
             if not any(set(cycle) <= set(unit) for unit in FOLDER_UNITS)] +
            ["FOLDER_UNITS lists folders that do not depend on each other any more: " + ", ".join(unit)
             for unit in FOLDER_UNITS if not any(set(cycle) <= set(unit) for cycle in found)])


def check_folder_sizes(root):
    problems = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        if len(names) > FOLDER_FILES_MAX:
            problems.append(f"{os.path.relpath(folder, root)}: {len(names)} files, more than {FOLDER_FILES_MAX}")
    return sorted(problems)


def check_architecture_table(root):
    path = os.path.join(root, "ARCHITECTURE.md")
    if not os.path.exists(path):
        return []
    listed = re.findall(r"^\| *`src/([^`/]+)/?` *\|", read(path), re.M)
    present = [name for name in LAYERS if name not in OPTIONAL or os.path.isdir(os.path.join(root, "src", name))]
    if listed == present:
        return []
    return [f"ARCHITECTURE.md lists {', '.join(listed) or 'no layers'}; this test has {', '.join(present)}"]


def declared_types(text):
    return {name for pattern in (TYPEDEF_BLOCK, TYPEDEF_LINE, TYPEDEF_FUNCTION) for name in pattern.findall(text)}


def check_type_names(root):
    """A type of a header, and every gt_ type, has a name that no other file of src uses for a type.

    Types without the prefix that only one source file sees (`job`, `reader`) may share names."""
    homes, shared = collections.defaultdict(set), set()
    for file in source_files(root):
        text = read(os.path.join(root, "src", file))
        for name in declared_types(text):
            homes[name].add(file)
            if file.endswith(".h") or name.startswith("gt_"):
                shared.add(name)
    return [f"the type {name} is defined in " + ", ".join(sorted(homes[name]))
            for name in sorted(shared) if len(homes[name]) > 1]


def check_headers_once(root):
    """A header can be included twice."""
    return [f"src/{file} lacks #pragma once" for file in source_files(root)
            if file.endswith(".h") and "\n#pragma once\n" not in "\n" + read(os.path.join(root, "src", file))
            and "#ifndef GT_" not in read(os.path.join(root, "src", file))]


CHECKS = [
    ("every folder of src is a layer", check_folders_are_layers),
    ("no layer includes a higher one", check_directions),
    ("no file includes itself through others", check_file_cycles),
    ("no modules depend on each other in a circle", check_module_cycles),
    ("no sub-folders of a layer depend on each other in a circle", check_folder_cycles),
    ("no folder is too large", check_folder_sizes),
    ("ARCHITECTURE.md lists the same layers", check_architecture_table),
    ("type names are unique", check_type_names),
    ("headers can be included twice", check_headers_once),
]


# ---- self-test: one small tree per check, valid at first and then broken ----

def header(body):
    return f"/* A header. */\n#pragma once\n\n{body}"


def sound_tree():
    files = {f"src/{layer}/{layer}.h": header(f"typedef struct gt_{layer} {{\n    int x;\n}} gt_{layer};\n")
             for layer in LAYERS}
    files["src/cli/main.c"] = '#include "cli/cli.h"\n#include "base/base.h"\n'
    files["src/input/detect.c"] = '#include "input/json/json.h"\n'
    files["src/input/json/json.h"] = header('#include "input/input.h"\n')
    files["src/input/json/json.c"] = '#include "input/json/json.h"\n'
    files["ARCHITECTURE.md"] = "".join(f"| `src/{layer}` | … |\n" for layer in LAYERS)
    return files


# What is wrong, the files that make it so (None removes one), and the check that must find it.
BROKEN = [
    ("a folder outside the table", {"src/extra/a.c": ""}, check_folders_are_layers),
    ("a missing layer", {"src/sweep/sweep.h": None}, check_folders_are_layers),
    ("an upward include", {"src/base/up.c": '#include "json/json.h"\n'}, check_directions),
    ("an upward include with spaces", {"src/model/up.c": ' # include "input/input.h"\n'}, check_directions),
    ("headers that include each other",
     {"src/os/a.h": header('#include "os/b.h"\n'), "src/os/b.h": header('#include "os/a.h"\n')},
     check_file_cycles),
    ("a module and its part",
     {"src/os/a.h": header(""), "src/os/a.c": '#include "os/b.h"\n',
      "src/os/b.h": header('#include "os/a.h"\n'), "src/os/b.c": ""}, check_module_cycles),
    ("a circle of three modules",
     {"src/os/a.h": header(""), "src/os/a.c": '#include "os/b.h"\n', "src/os/b.h": header(""),
      "src/os/b.c": '#include "os/c.h"\n', "src/os/c.h": header('#include "os/a.h"\n')},
     check_module_cycles),
    ("sub-folders that use each other",
     {"src/run/x/a.h": header(""), "src/run/y/b.h": header(""),
      "src/run/x/c.c": '#include "run/y/b.h"\n', "src/run/y/d.c": '#include "run/x/a.h"\n'}, check_folder_cycles),
    ("sub-folders that use each other through a file above them",
     {"src/run/x/a.h": header(""), "src/run/top.h": header('#include "run/x/a.h"\n'),
      "src/run/x/c.c": '#include "run/top.h"\n'}, check_folder_cycles),
    ("a crowded folder", {f"src/os/{i}.c": "" for i in range(FOLDER_FILES_MAX)}, check_folder_sizes),
    ("a table without a layer", {"ARCHITECTURE.md": "| `src/base` | … |\n"}, check_architecture_table),
    ("a table in another order",
     {"ARCHITECTURE.md": "".join(f"| `src/{layer}` | … |\n" for layer in reversed(LAYERS))}, check_architecture_table),
    ("one type name in two headers",
     {"src/os/a.h": header("typedef enum gt_base { GT_A } gt_base;\n")}, check_type_names),
    ("a type name of a header in a source file",
     {"src/os/a.c": "typedef struct gt_base {\n    int y;\n} gt_base;\n"}, check_type_names),
    ("a type without prefix in two headers",
     {f"src/os/{name}.h": header("typedef union cell {\n    int y;\n} cell;\n") for name in "ab"},
     check_type_names),
    ("a function type in two headers",
     {f"src/os/{name}.h": header("typedef bool gt_visit(void *context);\n") for name in "ab"},
     check_type_names),
    ("no #pragma once", {"src/os/a.h": "int x;\n"}, check_headers_once),
]


def write_tree(root, files):
    for path, text in files.items():
        if text is None:
            continue
        os.makedirs(os.path.dirname(os.path.join(root, path)) or root, exist_ok=True)
        with open(os.path.join(root, path), "w", encoding="utf-8") as file:
            file.write(text)


def self_test():
    global UNITS, FOLDER_UNITS
    units, folder_units = UNITS, FOLDER_UNITS
    UNITS, FOLDER_UNITS = [], []
    passed = failed = 0
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, sound_tree())
        for title, check in CHECKS:
            problems = check(root)
            passed, failed = passed + (not problems), failed + bool(problems)
            if problems:
                print(f"failed: {title}: the valid tree has {problems}")
    for title, changes, check in BROKEN:
        with tempfile.TemporaryDirectory() as root:
            write_tree(root, {**sound_tree(), **changes})
            found = check(root)
            passed, failed = passed + bool(found), failed + (not found)
            if not found:
                print(f"failed: {check.__name__} does not find {title}")
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, sound_tree())
        UNITS = [("os/a", "os/b")]
        stale = check_module_cycles(root)
        write_tree(root, BROKEN[5][1])
        allowed = check_module_cycles(root)
        passed, failed = passed + bool(stale) + (not allowed), failed + (not stale) + bool(allowed)
        if not stale or allowed:
            print("failed: UNITS does not work")
        FOLDER_UNITS = [("run/x", "run/y")]
        stale = check_folder_cycles(root)
        write_tree(root, BROKEN[7][1])
        allowed = check_folder_cycles(root)
        passed, failed = passed + bool(stale) + (not allowed), failed + (not stale) + bool(allowed)
        if not stale or allowed:
            print("failed: FOLDER_UNITS does not work")
    UNITS, FOLDER_UNITS = units, folder_units
    return passed, failed


def check_repository():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    passed = failed = 0
    for title, check in CHECKS:
        problems = check(root)
        passed, failed = passed + (not problems), failed + bool(problems)
        for problem in problems:
            print(f"failed: {title}: {problem}")
    return passed, failed


def main():
    if sys.argv[1:] not in ([], ["--self-test"]):
        sys.exit("usage: test_includes.py [--self-test]")
    passed, failed = self_test()
    if not sys.argv[1:]:
        also_passed, also_failed = check_repository()
        passed, failed = passed + also_passed, failed + also_failed
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
