#!/usr/bin/env python3
"""The scripts of aorta's single-configuration pipeline by their old names: the command lines of its README, and then each script alone, in
the order in which the first one calls them. Each ends with status 0 and writes its files; the chain gives the same cells.

    python3 -m tests.links.test_single_scripts --bin build/gputally
"""
import os
import shutil
import subprocess
import sys
import tempfile

from tests.common import harness
from tests.sweep import generate_sweep

WHOLE = """
python3 scripts/tracelens_single_config/run_full_analysis.py \\
  --baseline path/to/baseline \\
  --test path/to/test \\
  --output path/to/output \\
  --all"""
REPORTS = ("tracelens_analysis/individual_reports/perf_rank0.xlsx", "tracelens_analysis/individual_reports/perf_rank1.xlsx", "tracelens_analysis/collective_reports/collective_all_ranks.xlsx")
OUTPUT = ("gpu_timeline_combined.xlsx", "gpu_timeline_comparison.xlsx", "collective_combined.xlsx", "collective_comparison.xlsx", "final_analysis_report.xlsx",
          "performance_analysis_report.html", "plots/improvement_chart.png", "plots/gpu_time_heatmap.png")
LABELS = " --baseline-label baseline --test-label test"
ANALYSIS = "path/to/{}/tracelens_analysis/"

# A command, and the files that it must write.
CHAIN = [
    ("bash SCRIPTS/run_tracelens_single_config.sh path/to/baseline", [f"path/to/baseline/{name}" for name in REPORTS]),
    ("bash SCRIPTS/run_tracelens_single_config.sh path/to/test/torch_profiler", [f"path/to/test/{name}" for name in REPORTS]),
    *((f"python3 SCRIPTS/process_gpu_timeline.py --reports-dir {ANALYSIS.format(run)}individual_reports", [ANALYSIS.format(run) + "gpu_timeline_summary_mean.xlsx"]) for run in ("baseline", "test")),
    ("python3 SCRIPTS/combine_reports.py --baseline path/to/baseline/tracelens_analysis/gpu_timeline_summary_mean.xlsx "
     "--test path/to/test/tracelens_analysis/gpu_timeline_summary_mean.xlsx --output chain/gpu_timeline_combined.xlsx" + LABELS, ["chain/gpu_timeline_combined.xlsx"]),
    ("python3 SCRIPTS/add_comparison_sheets.py --input chain/gpu_timeline_combined.xlsx --output chain/gpu_timeline_comparison.xlsx" + LABELS, ["chain/gpu_timeline_comparison.xlsx"]),
    (f"python3 SCRIPTS/combine_reports.py --baseline path/to/baseline/{REPORTS[2]} --test path/to/test/{REPORTS[2]} --output chain/collective_combined.xlsx" + LABELS,
     ["chain/collective_combined.xlsx"]),
    ("python3 SCRIPTS/add_collective_comparison.py --input chain/collective_combined.xlsx --output chain/collective_comparison.xlsx" + LABELS, ["chain/collective_comparison.xlsx"]),
    ("python3 SCRIPTS/create_final_report.py --gpu-combined chain/gpu_timeline_combined.xlsx --gpu-comparison chain/gpu_timeline_comparison.xlsx "
     "--coll-combined chain/collective_combined.xlsx --coll-comparison chain/collective_comparison.xlsx --output chain/final_analysis_report.xlsx" + LABELS, ["chain/final_analysis_report.xlsx"]),
    ("python3 SCRIPTS/create_final_plots.py --input chain/final_analysis_report.xlsx", ["chain/plots/improvement_chart.png", "chain/plots/gpu_time_heatmap.png"]),
    ("python3 SCRIPTS/create_final_html.py -p chain/plots", ["chain/final_analysis_report.html"]),
    ("python3 SCRIPTS/compare_all_runs.py --inputs path/to/baseline path/to/test --output all", ["all/final_analysis_report_for_all.xlsx"]),
]


def run_line(folder, line, files):
    for name in files:
        if os.path.exists(os.path.join(folder, name)):
            os.remove(os.path.join(folder, name))
    done = subprocess.run(["bash", "-c", line], cwd=folder, capture_output=True, text=True)
    missing = [name for name in files if not os.path.exists(os.path.join(folder, name)) or not os.path.getsize(os.path.join(folder, name))]
    assert done.returncode == 0 and not missing, (line, done.returncode, missing, done.stderr)


def test_pipeline(binary):
    folder = tempfile.mkdtemp(prefix="gputally-single-")
    try:
        subprocess.run([binary, "links", "--quiet", folder], check=True)
        for run, threads in (("baseline", 256), ("test", 512)):
            generate_sweep.lay_out(os.path.join(folder, "made"), (threads,), (28,), range(2))
            shutil.move(os.path.join(folder, "made", f"{threads}thread", "nccl_28channels"), os.path.join(folder, "path/to", run))
        output = [f"path/to/output/{name}" for name in OUTPUT]
        run_line(folder, WHOLE, [f"path/to/{run}/{name}" for run in ("baseline", "test") for name in REPORTS] + output)
        run_line(folder, WHOLE + " --skip-tracelens", output)
        for line, files in CHAIN:
            run_line(folder, line.replace("SCRIPTS", "scripts/tracelens_single_config"), files)
        for name in ("gpu_timeline_comparison.xlsx", "collective_comparison.xlsx", "final_analysis_report.xlsx"):
            alone, together = (generate_sweep.read_workbook(os.path.join(folder, place, name)) for place in ("chain", "path/to/output"))
            assert list(alone) == list(together) and alone == together, name
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(harness.run_test_functions(__doc__, globals()))
