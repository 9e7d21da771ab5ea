#!/usr/bin/env python3
"""Sheet and column names: each is declared once in src/schema, is used through its handle, and a misspelt one does not
compile.

    python3 -m tests.architecture.test_names
"""
import collections
import glob
import os
import re
import subprocess
import sys

from tests.architecture.run import run_functions

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEADERS = {"COL": "src/schema/columns.h", "SHEET": "src/schema/sheets.h"}
PAGE_HEADER = "src/schema/page.h"  # names of another document: they may be those of sheets, too

# Functions and types of src/table that take names.
CALLS = ("gt_table_new|gt_table_rename|gt_table_is|gt_column_is|gt_table_add_column|gt_table_add_zeroed|gt_table_add_array|"
         "gt_table_find|gt_table_column|gt_table_rename_column|gt_table_list_find|gt_table_list_insert_after|gt_col_named|"
         "gt_sheet_named")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return f.read()


def sources():
    """Path and text of every C source file."""
    for path in sorted(glob.glob(os.path.join(ROOT, "src/**/*.[ch]"), recursive=True)):
        path = os.path.relpath(path, ROOT)
        yield path, read(path)


def declarations(kind, header=None):
    """(handle, name) of each declared name."""
    return re.findall(rf'#define (GT_{kind}_\w+)[\s\\]+GT_{kind}\("([^"]*)"\)', read(header or HEADERS[kind]))


def test_each_name_is_declared_once():
    for kind, header, least in (("COL", HEADERS["COL"], 500), ("SHEET", HEADERS["SHEET"], 100), ("COL", PAGE_HEADER, 50),
                                ("SHEET", PAGE_HEADER, 15)):
        found = declarations(kind, header)
        assert len(found) >= least, (kind, len(found))
        for part in (0, 1):
            twice = [x for x, n in collections.Counter(d[part] for d in found).items() if n > 1]
            assert not twice, twice


def test_each_handle_is_used():
    headers = {*HEADERS.values(), PAGE_HEADER}
    text = "\n".join(text for path, text in sources() if path not in headers)
    used = set(re.findall(r"\bGT_(?:COL|SHEET)_\w+", text))
    # GT_AGGREGATE(TB_PER_S, MEAN) and macros around it make the handles of aggregates from parts of names.
    parts = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    kinds = "FIRST|MEAN|MEDIAN|STD|MIN|MAX|SUM"
    for handle, _ in declarations("COL") + declarations("SHEET"):
        made = re.fullmatch(rf"GT_COL_(\w+?)(?:_(?:{kinds}))?", handle)
        assert handle in used or (made and made[1] in parts), f"{handle} is not used"
    for handle, _ in declarations("COL", PAGE_HEADER) + declarations("SHEET", PAGE_HEADER):
        assert handle in used, f"{handle} is not used"


def test_no_string_is_passed_as_a_name():
    """Names that the program knows go through src/schema; gt_col_named("...") and GT_COL("...") would be a way around."""
    passed = re.compile(rf'\b(?:{CALLS})\((?:[^();"]|\([^()"]*\))*"[^"]+"')
    declared = re.compile(r'\bGT_(?:COL|SHEET)\("')
    for path, text in sources():
        if path in HEADERS.values() or path == PAGE_HEADER:
            continue
        for pattern in (passed, declared):
            found = pattern.search(text)
            assert not found, f"{path}: {found[0]}"


def compiles(body):
    program = ('#include "schema/columns.h"\n#include "schema/sheets.h"\n#include "table/operations.h"\n'
               "void test(gt_table *t, gt_interner *s);\nvoid test(gt_table *t, gt_interner *s)\n{\n    (void)t, (void)s;\n"
               f"    {body}\n}}\n")
    command = [os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               "-Isrc", "-x", "c", "-"]
    return subprocess.run(command, input=program, text=True, cwd=ROOT, capture_output=True).returncode == 0


def test_mistakes_do_not_compile():
    right_and_wrong = [
        ("gt_table_column(t, GT_COL_COUNT);", ["gt_table_column(t, GT_COL_COUTN);", 'gt_table_column(t, "count");',
                                              "gt_table_column(t, GT_SHEET_GPU_TIMELINE);"]),
        ("gt_table_new(GT_SHEET_GPU_TIMELINE, s);", ['gt_table_new("gpu_timeline", s);', "gt_table_new(GT_COL_COUNT, s);"]),
        ("static const gt_sort_key k[] = {{GT_COL_COUNT, true}}; gt_table_sort(t, k, 1);",
         ['static const gt_sort_key k[] = {{"count", true}}; gt_table_sort(t, k, 1);']),
        ("static const gt_aggregate a[] = {GT_AGGREGATE(TB_PER_S, MEAN)}; (void)a;",
         ["static const gt_aggregate a[] = {GT_AGGREGATE(TB_PER_S, MAEN)}; (void)a;",
          'static const gt_aggregate a[] = {{"TB/s", GT_GROUP_MEAN, GT_COL_TB_PER_S_MEAN}}; (void)a;']),
        ("static const gt_col c[] = {GT_COL_COUNT}; gt_table_select(t, c, 1);",
         ['static const gt_col c[] = {"count"}; gt_table_select(t, c, 1);',
          'static const char *const c[] = {"count"}; gt_table_select(t, c, 1);']),
    ]
    for right, wrong in right_and_wrong:
        assert compiles(right), right
        for body in wrong:
            assert not compiles(body), body


if __name__ == "__main__":
    sys.exit(run_functions(globals()))
