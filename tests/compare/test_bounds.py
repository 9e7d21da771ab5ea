#!/usr/bin/env python3
"""Reports made to hurt `gputally compare`: rows with equal keys, and cells that share one long string. Memory and time stay
in proportion to the files, and rows with equal keys are compared one to one.

    python3 -m tests.compare.test_bounds --bin build/gputally
"""
import os
import sys
import zipfile

from tests.common import harness, scaling

MEMORY_MAX = 400 << 20  # 15,000 equal keys took 11.6 GB


def ops_summary(folder, name, rows, factor):
    report = os.path.join(folder, name)
    os.makedirs(report, exist_ok=True)
    with open(os.path.join(report, "ops_summary.csv"), "w", encoding="utf-8") as file:
        file.write("name,Count,total_direct_kernel_time_ms\n")
        file.writelines(f"aten::mm,1,{i * factor}\n" for i in range(rows))
    return report


def equal_keys(binary, folder, rows):
    reports = [ops_summary(folder, "one", rows, 1), ops_summary(folder, "two", rows, 3)]
    out = os.path.join(folder, "out")
    used = scaling.measure([binary, "compare", *reports, "--output_csvs_dir", out, "--quiet"], 60)
    problems = [] if used.code == 0 and "so many rows have equal keys" in used.stderr else [f"exit code {used.code}: {used.stderr[:300]}"]
    header, cells = harness.read_csv(os.path.join(out, "ops_summary.csv"))
    change = header.index("total_direct_kernel_time_ms__two_diff")
    if sorted(int(row[change]) for row in cells) != [2 * i for i in range(rows)]:
        problems.append(f"{len(cells)} rows, not the differences of {rows} pairs")
    if used.bytes > MEMORY_MAX and not harness.IS_SANITIZED:
        problems.append(f"{used.bytes >> 20} MiB")
    return problems


def few_equal_keys(binary, folder):
    """As pandas merges: each row with each."""
    reports = [ops_summary(folder, "one", 300, 1), ops_summary(folder, "two", 200, 3)]
    outcome = harness.run([binary, "compare", *reports, "--output_csvs_dir", os.path.join(folder, "out"), "--quiet"])
    _, cells = harness.read_csv(os.path.join(folder, "out", "ops_summary.csv"))
    return [] if outcome.code == 0 and len(cells) == 300 * 200 else [f"{len(cells)} rows: {outcome.stderr[:300]}"]


def write_workbook(path, string, cells):
    """One sheet ops_summary whose rows share one string, as Excel stores it."""
    rows = "".join(f'<row><c t="s"><v>0</v></c><c><v>{i}</v></c></row>' for i in range(cells))
    names = '<row><c t="inlineStr"><is><t>name</t></is></c><c t="inlineStr"><is><t>total_direct_kernel_time_ms</t></is></c></row>'
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/workbook.xml", '<workbook><sheets><sheet name="ops_summary" id="r1"/></sheets></workbook>')
        book.writestr("xl/_rels/workbook.xml.rels", '<Relationships><Relationship Id="r1" Target="sheet1.xml"/></Relationships>')
        book.writestr("xl/sharedStrings.xml", f"<sst><si><t>{string}</t></si></sst>")
        book.writestr("xl/sheet1.xml", f"<worksheet><sheetData>{names}{rows}</sheetData></worksheet>")


def shared_string(binary, folder):
    path = os.path.join(folder, "book.xlsx")
    write_workbook(path, "x" * 30_000_000, 200_000)
    used = scaling.measure([binary, "compare", path, path, "--names", "one", "two", "--output_csvs_dir", os.path.join(folder, "out"), "--quiet"], 60)
    if used.code != 1 or used.stderr.count("\n") != 1 or "bytes of strings" not in used.stderr or path not in used.stderr:
        return [f"exit code {used.code}: {used.stderr[:300]}"]
    return [] if used.bytes <= MEMORY_MAX or harness.IS_SANITIZED else [f"{used.bytes >> 20} MiB"]


def long_strings(binary, folder):
    """Keys of 30,000 bytes, which Excel allows, in 1,000 rows: not 30 GB of pairs."""
    path = os.path.join(folder, "book.xlsx")
    write_workbook(path, "x" * 30_000, 1000)
    outcome = harness.run([binary, "compare", path, path, "--names", "one", "two", "--output_csvs_dir", os.path.join(folder, "out"), "--quiet"])
    _, cells = harness.read_csv(os.path.join(folder, "out", "ops_summary.csv"))
    return [] if outcome.code == 0 and len(cells) == 1000 and "so many rows have equal keys" in outcome.stderr else [outcome.stderr[:300]]


CASES = [harness.Case("15,000 equal keys", equal_keys, 15_000), harness.Case("100,000 equal keys", equal_keys, 100_000),
         harness.Case("300 and 200 equal keys", few_equal_keys), harness.Case("200,000 cells share a long string", shared_string),
         harness.Case("long strings", long_strings)]

if __name__ == "__main__":
    sys.exit(harness.run_cases(__doc__, CASES))
