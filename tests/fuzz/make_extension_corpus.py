#!/usr/bin/env python3
"""Writes the seeds of the extension fuzz target: replies of extensions, one feature each.

    python3 -m tests.fuzz.make_extension_corpus        writes tests/fuzz/corpus/extension/

Events of the target's trace: 0 aten::linear calls 1 aten::mm calls the launch 2 of kernel 5; 6 my::act calls the launch 7.
"""
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "corpus", "extension")
NOTHING = {"added": [], "parents": [], "children": [], "names": [], "models": [], "results": [], "categories": [], "tables": []}
NEW = {"name": "my::core", "pid": "1", "tid": "1", "ts": None, "dur": None, "inputs": ["[[4,8],[8,2]]", '["float","float"]', None, "[]", 1]}
SEEDS = {
    "nothing": {},
    "error": {"error": "x.py, line 3: ValueError: no"},
    "no_reason": {"error": ""},
    "new_op": {"added": [NEW], "parents": [[11, 1], [2, 11]], "children": [[11, [2]], [1, [11]]]},
    "timed_root": {"added": [NEW | {"ts": 100, "dur": 7.5}], "parents": [[11, None]], "children": [[11, []]]},
    "moved": {"parents": [[6, 0]], "children": [[0, [1, 6]]]},
    "circle": {"parents": [[0, 1]], "children": [[1, [2, 0]]]},
    "twice": {"children": [[6, [7, 2]]]},
    "names": {"names": [[1, "your::mm"], [5, "kernel"]]},
    "model": {"models": [["my::act", "Curves", "curve", None], ["aten::mm", "GEMM", "GEMM", "GEMM_bwd"]], "categories": [["aten::linear", "x"]],
              "results": [[6, False, 120.0, 320, "vector_fp32", [["shape", {"tuple": [4, 8]}], ["odd", [1, 2.5, None, "a", True]]]],
                          [1, False, 128.0, None, "", []], [1, True, 3.5, 1.0, "matrix_bf16", [["M", 4]]]]},
    "tables": {"tables": [["mine", ["a", "b", "c", "d"], [[1, 2], [1.5, None], [True, False], ["x", 3]]], ["none", [], []]]},
}


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name, answer in SEEDS.items():
        with open(os.path.join(FOLDER, name), "w", encoding="utf-8") as file:
            json.dump(answer if "error" in answer else NOTHING | answer, file)


if __name__ == "__main__":
    main()
