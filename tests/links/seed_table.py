"""What each command line of the documents does now, and what it must write: one row per command line, in the order of the documents.

test_seed_documents.py runs them and writes the table of docs/differences.md from this.
"""
from typing import NamedTuple

SWEEP = "experiments/sweep_20251124_222204"
ANALYSIS = SWEEP + "/tracelens_analysis"
TOP = "top5_gemm_kernels_time_variance"


class Row(NamedTuple):
    line: int
    now: str                # what it does now, for the documentation
    files: tuple = ()       # patterns of files that it must write
    sheets: tuple = ()      # sheets that each of these workbooks must have
    copies: tuple = ()      # pairs: before it runs, a folder is a copy of another one
    alone: bool = False     # runs in a copy of the folder, at the same time as the others: it mostly waits


class Document(NamedTuple):
    number: str     # the beginning of its file name
    name: str       # short, for the table
    title: str
    fill: tuple     # pairs: placeholders and what replaces them
    rows: tuple


ROCPROF_SHEETS = ("gpu_timeline", "kernel_summary", "kernel_summary_by_category")
SHORT = ("short_kernels_summary", "short_kernel_histogram")
ROCPROF_NOW = "`gputally rocprof`"

ROCPROF = Document("000", "rocprof", "Generate Performance Report from rocprofv3 (TraceLens)", (), (
    Row(18, ROCPROF_NOW, ("path/to/908_perf_report.xlsx",), ROCPROF_SHEETS),
    Row(24, ROCPROF_NOW, ("path/to/908_perf_report.xlsx",), ROCPROF_SHEETS),
    Row(71, ROCPROF_NOW, ("run_20251209_070939/smci350-zts-gtu-c6-25/908_perf_report.xlsx",), ROCPROF_SHEETS),
    Row(82, ROCPROF_NOW, ("908_perf_report.xlsx",), ROCPROF_SHEETS + SHORT),
    Row(93, ROCPROF_NOW, ("908_perf_report.xlsx",), ROCPROF_SHEETS + ("kernel_details",)),
    Row(104, ROCPROF_NOW, tuple(f"rocprof_analysis/{sheet}.csv" for sheet in ROCPROF_SHEETS)),
    Row(114, ROCPROF_NOW, ("my_custom_report.xlsx",), ROCPROF_SHEETS + ("kernel_details",) + SHORT),
    Row(227, "not needed: gputally writes workbooks itself"),
    Row(233, ROCPROF_NOW, tuple(f"output/{sheet}.csv" for sheet in ROCPROF_SHEETS)),
))

PYTORCH_SHEETS = ("gpu_timeline", "ops_summary_by_category", "ops_summary", "ops_unique_args")
PHASES = ("ops_summary_prefill", "ops_summary_decode")
PYTORCH_NOW = "`gputally pytorch`; the sheet `ops_all` is `ops_unique_args`, as in later versions (`--legacy_sheet_names`)"
PHASES_NOW = "`gputally pytorch`"

PYTORCH = Document("001", "pytorch", "Generate Performance Report (TraceLens)", (), (
    Row(20, PYTORCH_NOW, ("path/to/profile_perf_report.xlsx",), PYTORCH_SHEETS),
    Row(27, PYTORCH_NOW, ("path/to/profile_perf_report.xlsx",), PYTORCH_SHEETS),
    Row(33, "`gputally jax`", ("path/to/profile_perf_report.xlsx",), ("kernel_launchers_summary",)),
    Row(126, PHASES_NOW, ("vllm_trace_perf_report.xlsx",), PYTORCH_SHEETS + PHASES),
    Row(131, PHASES_NOW, ("sglang_trace_perf_report.xlsx",), PYTORCH_SHEETS + PHASES + ("kernel_summary_prefill", "kernel_summary_decode")),
    Row(137, PHASES_NOW, ("trace_perf_report.xlsx",), PYTORCH_SHEETS + PHASES),
    Row(143, PHASES_NOW, ("trace_perf_report.xlsx",), PYTORCH_SHEETS + PHASES),
    Row(167, PYTORCH_NOW, tuple(f"output_csvs/{sheet}.csv" for sheet in PYTORCH_SHEETS)),
    Row(196, PYTORCH_NOW, ("traces/profile_perf_report.xlsx",), PYTORCH_SHEETS),
))

CONFIGS = ("013_profile_544p_bs1", "013_profile_720p_bs1", "014_profile_544p_bs1", "014_profile_720p_bs1")
BATCH_NOW = "`gputally batch`"

BATCH = Document("002", "batch", "Enhanced Performance Report Generator (TraceLens)", (("<path to generate_perf_report.py>", "examples/custom_workflows/generate_perf_report.py"),), (
    Row(52, BATCH_NOW, tuple(f"profiles/{c}/{c}_step_8_performance_report.xlsx" for c in CONFIGS)),
    Row(70, BATCH_NOW, (f"profiles/{CONFIGS[0]}/{CONFIGS[0]}_step_8_performance_report.xlsx",)),
    Row(73, BATCH_NOW, (f"profiles/{CONFIGS[0]}/{CONFIGS[0]}_013_profile_544p_bs1_step_8_performance_report.xlsx",)),
    Row(79, BATCH_NOW, tuple(f"profiles/{c}/{c}_rank_0_step_8_performance_report.xlsx" for c in CONFIGS)),
))

DOCKER_NOW = "not gputally's: Docker"
THREADS, CHANNELS, RANKS = (256, 512), (28, 42, 56, 70), range(8)


def runs(channels, *files):
    """The files of each setting of a new sweep."""
    return tuple(f"experiments/sweep_*/{t}thread/nccl_{c}channels/{name}" for t in THREADS for c in channels for name in ("run_output.log", "torch_profiler/rank7/*.json", *files))


COUNTED = tuple(f"rocprof_traces/**/*_{name}" for name in ("agent_info.csv", "counter_collection.csv", "kernel_trace.csv", "results.json"))
TRACED = tuple(f"rocprof_traces/**/*_{name}" for name in ("agent_info.csv", "kernel_trace.csv", "results.json"))
REPORTS = tuple(f"{ANALYSIS}/{t}thread/individual_reports/perf_{c}ch_rank{r}.xlsx" for t in THREADS for c in CHANNELS for r in RANKS) + \
    tuple(f"{ANALYSIS}/{t}thread/collective_reports/collective_{c}ch.xlsx" for t in THREADS for c in CHANNELS)
PLOTS = tuple(f"{ANALYSIS}/plots/variance_{name}.png" for name in ("by_threads_boxplot", "by_channels_boxplot", "by_ranks_boxplot", "violin_combined", "thread_channel_interaction"))
TIMELINE = ("All_Data", "Pivot_Time_ms", "Pivot_Percent", "Summary_By_Config")
YAML = ("scripts/gemm_analysis/rocprof_top5_kernels.yaml", "scripts/gemm_analysis/rocprof_top5_kernels_kernel_list.txt")
RUN_NOW = "`gputally sweep run`"

GEMMS = Document("003", "sweep", "GEMM Sweep Profiling; GEMM Visualization and Reporting (aorta)", (("YYYYMMDD_HHMMSS", "20251124_222204"),), (
    Row(15, DOCKER_NOW),
    Row(16, DOCKER_NOW),
    Row(17, DOCKER_NOW),
    Row(18, DOCKER_NOW),
    Row(24, RUN_NOW, runs(CHANNELS), alone=True),
    Row(51, RUN_NOW, runs(CHANNELS[:3], *COUNTED), alone=True),
    Row(98, "`gputally sweep report`", REPORTS),
    Row(104, "`gputally sweep top`", (f"{ANALYSIS}/{TOP}.csv",)),
    Row(119, "`gputally sweep yaml`", YAML, copies=(("experiments/sweep_20251212_141317", SWEEP),)),
    Row(132, RUN_NOW, runs(CHANNELS[:3], *COUNTED), alone=True),
    Row(172, RUN_NOW, runs(CHANNELS), alone=True),
    Row(178, RUN_NOW, runs(CHANNELS, *TRACED), alone=True),
    Row(184, "`gputally sweep report`", REPORTS),
    Row(187, "`gputally sweep top`", (f"{ANALYSIS}/{TOP}.csv",)),
    Row(192, "`gputally sweep yaml`", YAML),
    Row(197, RUN_NOW + "; `--stats` is ignored with a job file, as in the script, with a warning", runs(CHANNELS, *COUNTED), alone=True),
    Row(206, RUN_NOW + "; `--stats` is ignored with a job file, as in the script, with a warning", runs(CHANNELS, *COUNTED), alone=True),
    Row(228, "`gputally sweep plot`", PLOTS),
    Row(243, "`gputally sweep timestamps`", (f"{ANALYSIS}/{TOP}_with_timestamps.csv",)),
    Row(255, "`gputally sweep overlap`", (f"{ANALYSIS}/{TOP}_with_collective_overlap.csv",)),
    Row(267, "`gputally sweep html`", ("sweep_comparison.html",), copies=(("experiments/sweep_20251121_155219", SWEEP),)),
    Row(288, "`gputally sweep timeline`", (f"{ANALYSIS}/gpu_timeline_all_configs_mean.xlsx",), TIMELINE),
    Row(303, "`gputally sweep comms`", (f"{ANALYSIS}/nccl_master_all_configs.xlsx", f"{ANALYSIS}/nccl_master_all_configs.csv")),
    Row(334, "`gputally sweep plot`", PLOTS),
    Row(338, "`gputally sweep timestamps`", (f"{ANALYSIS}/{TOP}_with_timestamps.csv",)),
    Row(342, "`gputally sweep overlap`", (f"{ANALYSIS}/{TOP}_with_collective_overlap.csv",)),
    Row(347, "`gputally sweep timeline`", (f"{ANALYSIS}/gpu_timeline_all_configs_mean.xlsx",), TIMELINE),
    Row(348, "`gputally sweep comms`", (f"{ANALYSIS}/nccl_master_all_configs.xlsx", f"{ANALYSIS}/nccl_master_all_configs.csv")),
    Row(351, "`gputally sweep html`", ("comparison.html",), copies=(("experiments/sweep1", SWEEP), ("experiments/sweep2", SWEEP))),
))

MADENGINE_NOW = "`gputally run`"
TOOL_NOW = "a tool of `gputally run`, which runs rocprofv3 itself"
PROFILER_NOW = "not gputally's: ROCm"

# Files of the shell blocks are in tests/run/seed_commands.py, which runs them.
MADENGINE = Document("004", "madengine", "ROCprofv3 Profiling Configurations (madengine; [in detail](run.md#the-madengine-document-line-by-line))", (("[options]", "--hip-trace"), ("<application>", "true")), (
    *(Row(line, MADENGINE_NOW) for line in (20, 36, 52, 69, 85)),
    Row(101, "`gputally build`", ("build_manifest.json",)),
    *(Row(line, MADENGINE_NOW) for line in (104, 112, 122, 137)),
    Row(161, TOOL_NOW),
    Row(166, "not gputally's: how rocprofv3 is called; `gputally run` does so"),
    Row(167, "not gputally's: how the legacy rocprof is called; `gputally run` does so if there is no rocprofv3"),
    Row(173, TOOL_NOW + "; the missing `--` is added, with a note"),
    Row(178, TOOL_NOW),
    Row(234, "reads the view `kernels` of rocprofv3's database, which stays where rocprofv3 wrote it"),
    *(Row(line, PROFILER_NOW) for line in (257, 258, 261, 267)),
    *(Row(line, MADENGINE_NOW) for line in (274, 294, 300, 306, 312)),
))

DOCUMENTS = (ROCPROF, PYTORCH, BATCH, GEMMS, MADENGINE)
