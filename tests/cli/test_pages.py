#!/usr/bin/env python3
"""Where `gputally report` and its relatives write pages: defaults, options, the last line, all files or none.

    python3 -m tests.cli.test_pages --bin build/gputally [ONLY]
"""
import os
import sys

from tests.cli.folder import OLD_NAME, Folder
from tests.common import harness
from tests.findings import small_traces
from tests.page.pack import read_page


def sh(folder, line, code=0):
    done = folder.sh(line)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done


def last_line(done):
    return done.stdout.splitlines()[-1]


def size(folder, name):
    return os.stat(folder.file(name)).st_size


def test_beside_the_workbook(binary):
    with Folder(binary) as folder:
        done = sh(folder, "gputally report tiny_results.json")
        assert last_line(done) == "wrote tiny_perf_report.html" and not done.stderr, done
        assert folder.names() == ["tiny_perf_report.html", "tiny_perf_report.xlsx"], folder.names()
        done = sh(folder, "gputally report tiny_results.json -o a/b.xlsx --output_csvs_dir c --output_db d.db --output_json e.json "
                          "--output_md f.md")
        assert last_line(done) == "wrote a/b.html" and not done.stderr, done
        assert folder.names()[:2] == ["a/b.html", "a/b.xlsx"], folder.names()


def test_only_beside_a_workbook(binary):
    """Other outputs replace the default ones, and a workbook that is not written has no page."""
    with Folder(binary) as folder:
        for option, name in (("--output_json e.json", "e.json"), ("--output_md f.md", "f.md"), ("--output_db d.db", "d.db")):
            sh(folder, f"gputally report tiny_results.json -q {option}")
            assert folder.names() == [name], folder.names()
            os.remove(folder.file(name))
        sh(folder, "gputally report tiny_results.json -q --output_csvs_dir c")
        assert not [name for name in folder.names() if name.endswith((".html", ".xlsx"))], folder.names()


def test_no_html(binary):
    with Folder(binary) as folder:
        done = sh(folder, "gputally report tiny_results.json --no_html")
        assert last_line(done) == "wrote tiny_perf_report.xlsx" and not done.stderr, done
        assert folder.names() == ["tiny_perf_report.xlsx"], folder.names()
        done = sh(folder, "gputally report tiny_results.json --no_html --output_html p.html", 2)
        assert "argument --no_html: not allowed with argument --output_html" in done.stderr, done.stderr
        done = sh(folder, "gputally report tiny_results.json --output_html ''", 2)
        assert "--output_html needs a file name" in done.stderr, done.stderr


def test_output_html(binary):
    with Folder(binary) as folder:
        done = sh(folder, "gputally report tiny_results.json --output_html new/p.html")
        assert last_line(done) == "wrote new/p.html" and not done.stderr, done
        assert folder.names() == ["new/p.html"], "a workbook that nobody asked for"
        sh(folder, "gputally report tiny_results.json -q --output_html new")  # a folder that exists
        sh(folder, "gputally report tiny_results.json -q --output_html other/")
        assert folder.names() == ["new/p.html", "new/tiny.html", "other/tiny.html"], folder.names()
        done = sh(folder, "gputally report tiny_results.json --output_html p.html --output_csvs_dir c")
        assert last_line(done) == "wrote p.html", done.stdout  # after the line about CSV files


def test_several_traces(binary):
    with Folder(binary) as folder:
        sh(folder, "cp tiny_results.json b.json")
        done = sh(folder, "gputally report tiny_results.json b.json --output_html pages")
        assert [line for line in done.stdout.splitlines() if "wrote" in line] == ["wrote pages/tiny.html", "wrote pages/b.html"], done.stdout
        assert read_page(folder.file("pages/b.html")).front["title"] == "b.json"
        sh(folder, "mkdir x; cp b.json x; mkdir y; cp b.json y")
        done = sh(folder, "gputally report x/b.json y/b.json -q --output_html pages", 2)
        assert "have the same output path pages/b.html" in done.stderr, done.stderr


def test_standard_input(binary):
    with Folder(binary) as folder:
        done = sh(folder, "gputally report - < tiny_results.json")
        assert last_line(done) == "wrote stdin_perf_report.html", done.stdout
        page = read_page(folder.file("stdin_perf_report.html"))
        assert page.front["title"] == "standard input" and page.front["command"] == "gputally report -", page.front["command"]


def test_command_shows_what_changes_the_report(binary):
    with Folder(binary) as folder:
        sh(folder, "mkdir 'a b'; cp tiny_results.json 'a b/it'\\''s.json'")
        sh(folder, "gputally report \"a b/it's.json\" -q --threads 2 --no-progress --short_kernel_study --short_kernel_threshold_us 7 "
                   "--comm_kernel_regex 'x y' --comm_kernel_regex z --index off --output_html p.html --output_db x.db")
        assert read_page(folder.file("p.html")).front["command"] == (
            "gputally report 'it'\\''s.json' --comm_kernel_regex 'x y' z --short_kernel_study --short_kernel_threshold_us 7"
        ), read_page(folder.file("p.html")).front["command"]


def test_existing_files_and_second_run(binary):
    """A page is replaced; a second report of the same folder reads no page."""
    with Folder(binary) as folder:
        sh(folder, "mkdir run; cp tiny_results.json run/t.csv.json; echo old > run/t_perf_report.html")
        small_traces.write(folder.file("run/a.json"), small_traces.training())
        small_traces.write(folder.file("run/b.json"), small_traces.training())
        first = sh(folder, "gputally report run/a.json run/b.json")
        names = folder.names()
        again = sh(folder, "gputally report run/a.json run/b.json")
        assert folder.names() == names and again.stdout == first.stdout
        os.remove(folder.file("run/t.csv.json"))
        os.remove(folder.file("run/t_perf_report.html"))
        of_folder = folder.sh("gputally report run")
        assert of_folder.returncode == 0 and ".html" not in of_folder.stderr, of_folder.stderr
        assert [name for name in folder.names() if name.endswith(".html")] == ["run/a_perf_report.html", "run/b_perf_report.html"]


def test_input_is_never_replaced(binary):
    with Folder(binary) as folder:
        sh(folder, "cp tiny_results.json t.html")
        before = size(folder, "t.html")
        done = sh(folder, "gputally report t.html --output_html ./t.html", 1)
        assert "gputally: ./t.html: output path is the input trace" in done.stderr, done.stderr
        done = sh(folder, "gputally report t.html -o t.xlsx", 1)  # the page beside it
        assert "gputally: t.html: output path is the input trace" in done.stderr, done.stderr
        assert size(folder, "t.html") == before and folder.names() == ["t.html"], folder.names()


def test_all_files_or_none(binary):
    with Folder(binary) as folder:
        sh(folder, "mkdir taken.html taken")
        done = sh(folder, "gputally report tiny_results.json -q -o taken.xlsx", 1)
        assert "taken.html" in done.stderr, done.stderr
        assert folder.names() == [], folder.names()
        done = sh(folder, "(ulimit -f 20; gputally report tiny_results.json -q --output_csvs_dir c --output_html p.html)", 1)
        assert folder.names() == [], (folder.names(), done.stderr)
        sh(folder, "echo '{' > bad.json; gputally report bad.json -q", 1)
        assert folder.names() == ["bad.json"], folder.names()


def test_commands_of_one_format(binary):
    """They write a page only if asked to, also under the names of TraceLens."""
    traces = {"rocprof": "tiny_results.json", "pytorch": os.path.join(harness.FIXTURES, "pytorch", "training.json.gz"),
              "jax": os.path.join(harness.FIXTURES, "jax", "training.xplane.pb.gz")}
    with Folder(binary) as folder:
        for command, trace in traces.items():
            done = sh(folder, f"gputally {command} {trace} -q -o {command}.xlsx")
            assert not done.stderr or "warning" in done.stderr, done.stderr
        assert folder.names() == ["jax.xlsx", "pytorch.xlsx", "rocprof.xlsx"], folder.names()
        for command, trace in traces.items():
            done = sh(folder, f"gputally {command} {trace} --output_html {command}.html")
            assert last_line(done) == f"wrote {command}.html", done.stdout
            page = read_page(folder.file(f"{command}.html"))
            assert page.front["answers"]["findings"] == [] and "page_facts" in page.tables[0], command
        sh(folder, f"{OLD_NAME} --profile_json_path tiny_results.json --quiet --output_xlsx_path old.xlsx")
        assert not os.path.exists(folder.file("old.html"))
        sh(folder, f"{OLD_NAME} --profile_json_path tiny_results.json --quiet --output_html old.html")
        assert read_page(folder.file("old.html")).front["framework"] == "rocprofv3"


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
