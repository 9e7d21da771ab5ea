/* The table of commands. To add a command, add a row here, a file in cli/commands that defines its syntax and
 * its run function, and their declarations in cli/commands/commands.h. */
#include "cli/commands/commands.h"
#include "cli/sweep/sweep.h"

/* The headings of `gputally help`. */
static const char REPORTS[] = "Reports", COMPARISONS[] = "Comparisons", TRACES[] = "Traces",
                  PROGRAMS[] = "Running programs", MODELS[] = "Performance models", SETUP[] = "Setup";

const gt_command gt_commands[] = {
    {"report", NULL, "detect the format and write the report", &gt_report_syntax, gt_cmd_report,
     "Detects the format of each FILE from its contents and writes the matching report, one per FILE. FILE "
     "may be compressed with gzip or zstd, or be a folder; \"-\" is standard input. Of a folder with PyTorch "
     "traces, each trace gets a report; if they are one per rank, there is also a report on the collectives "
     "of "
     "all ranks.",
     REPORTS},
    {"doctor", NULL, "say what a file is, what is missing in it and what to type next", &gt_doctor_syntax,
     gt_cmd_doctor,
     "Says what each FILE is, how it was made, what is missing in it, what gputally can do with it, and "
     "which "
     "command to type next. FILE may be anything: a trace, a folder, a report, a file of another tool. A "
     "trace "
     "is read whole and its report is made in memory, so that what is said holds for all of it; nothing is "
     "written. The exit status is 0 if gputally can use every FILE, and 1 if not.",
     REPORTS},
    {"pytorch", "TraceLens_generate_perf_report_pytorch", "report on a PyTorch trace: timeline, ops, kernels",
     &gt_pytorch_syntax, gt_cmd_pytorch,
     "Writes the performance report of a torch.profiler (Kineto) trace: GPU timeline, ops by category, by "
     "name and by arguments, and collectives; optionally kernels and a study of short kernels. FILE may be "
     "compressed with gzip or zstd; \"-\" is standard input.",
     REPORTS},
    {"pytorch-inference", "TraceLens_generate_perf_report_pytorch_inference",
     "report on the trace of an inference server, with captures of its graphs", &gt_pytorch_inference_syntax,
     gt_cmd_pytorch_inference,
     "Writes the performance report of a PyTorch trace of an inference server: as `gputally pytorch`, "
     "without "
     "backward passes and collectives, optionally by nn.Module. If the server launches CUDA or HIP graphs, "
     "traces that were made while these were captured tell which op each kernel is of: give their folder "
     "with --capture_folder. FILE may be compressed with gzip or zstd; \"-\" is standard input.",
     REPORTS},
    {"rocprof", "TraceLens_generate_perf_report_rocprof",
     "report on a rocprofv3 run: timeline, kernels, API calls, copies, counters", &gt_rocprof_syntax,
     gt_cmd_rocprof,
     "Writes the performance report of a rocprofv3 run: GPU timeline, kernels by name and by category, and "
     "the API calls, memory copies and counters that were recorded; optionally every dispatch and a study of "
     "short kernels. FILE is a rocpd database (*_results.db), a *_results.json, a *_results.pftrace, one of "
     "the CSV files, or the folder that rocprofv3 wrote; all processes of a folder go into one report. JSON "
     "and CSV may be compressed with gzip or zstd; \"-\" is standard input.",
     REPORTS},
    {"nsys", NULL, "report on an Nsight Systems export: timeline, kernels, CUDA calls, NVTX, NCCL",
     &gt_nsys_syntax, gt_cmd_nsys,
     "Writes the performance report of an Nsight Systems capture: GPU timeline, kernels by name and by "
     "category, and the CUDA calls, memory copies, NVTX ranges, NCCL messages, CUDA graphs and calls of the "
     "operating system that were recorded; optionally every kernel and a study of short kernels. FILE is the "
     "SQLite file that `nsys export --type sqlite` writes of a report (*.nsys-rep), which only nsys can "
     "read.",
     REPORTS},
    {"jax", "TraceLens_generate_perf_report_jax",
     "report on a JAX profile (xplane.pb): timeline, kernels, ops", &gt_jax_syntax, gt_cmd_jax,
     "Writes the performance report of a JAX profile (*.xplane.pb): timeline of each GPU, kernels with the "
     "shapes from XLA's compiled modules, and the flops and bytes of GEMMs, convolutions and attention. FILE "
     "may be compressed with gzip or zstd, or be a folder that jax.profiler wrote (its newest run is used). "
     "\"-\" is standard input.",
     REPORTS},
    {"jax-analysis", "TraceLens_generate_perf_report_jax_analysis",
     "write a short report on a JAX profile: times, kernel classes, GEMMs", &gt_jax_analysis_syntax,
     gt_cmd_jax_analysis,
     "Writes a short report on a JAX profile, rounded to two decimals: average GPU times, computation "
     "by kernel class, unclassified kernels by name, and the GEMMs of the module jit_train_step with the "
     "speed of each of their kernels on the first GPU. FILE may be compressed with gzip or zstd, or be a "
     "folder that jax.profiler wrote; \"-\" is standard input.",
     REPORTS},
    {"jax-collective", NULL, "measure the bandwidth of the collectives of a multi-node JAX run",
     &gt_jax_collective_syntax, gt_cmd_jax_collective,
     "Writes one report on the communication kernels (NCCL, RCCL) of a JAX run, from one profile per node "
     "and the text dumps that XLA wrote: how much data each collective moved between which GPUs, and how "
     "fast. The FILEs are the profiles of node 0, node 1 and so on; profiles and dumps may be compressed "
     "with gzip or zstd.",
     REPORTS},
    {"collective", "TraceLens_generate_multi_rank_collective_report_pytorch",
     "report on the collectives of all ranks of a PyTorch run", &gt_collective_syntax, gt_cmd_collective,
     "Writes one report on the communication kernels (NCCL, RCCL) of all ranks of a run, from one "
     "torch.profiler trace per rank: how long each collective took, which ranks waited for which, how much "
     "was sent and how fast. Traces may be compressed with gzip or zstd and are read in parallel; only "
     "collectives are kept in memory.",
     REPORTS},
    {"partial", NULL, "keep what the report of all ranks needs of one trace, for merge", &gt_partial_syntax,
     gt_cmd_partial,
     "Reads PyTorch traces, one per rank, and writes what a report of all ranks needs of each to a small "
     "file, which `gputally merge` puts together with those of the other ranks (docs/scale.md). So separate "
     "jobs can read the traces of a large run. TRACE may be compressed with gzip or zstd, or be a folder "
     "with one trace per rank. A partial that is up to date is not made again.",
     REPORTS},
    {"merge", NULL, "write the report of all ranks from their partials", &gt_merge_syntax, gt_cmd_merge,
     "Writes the report of all ranks from the files that `gputally partial` made of their traces: the same "
     "report that `gputally report` writes for a folder of traces, or, with --no_findings, that of "
     "`gputally collective`. PARTIAL may be a folder. Ranks without a partial, and partials that are "
     "damaged, "
     "made by another version, or older than their trace, are named.",
     REPORTS},
    {"query", NULL, "run SQL on the sheets of any number of traces", &gt_query_syntax, gt_cmd_query,
     "Makes the sheets of `gputally report` of each TRACE and runs a query (SQLite's SQL) on them. Each "
     "sheet is a table with the rows of all traces; its first columns, trace and rank, say which trace a "
     "row is of. Without SQL, lists the tables with their columns (docs/query.md). TRACE may be compressed "
     "with gzip or zstd, or be a folder of traces or a rocprofv3 run; \"-\" is standard input. Started by "
     "mpirun or srun, the processes share the traces.",
     REPORTS},
    {"batch", "TraceLens_generate_perf_report",
     "write one report per folder of PyTorch traces, all ranks combined", &gt_batch_syntax, gt_cmd_batch,
     "Searches a folder recursively for torch.profiler traces and writes one workbook per folder that "
     "contains some, all ranks combined: ops by parameters and their speed, time by launching op and by op "
     "group, GPU timelines side by side, short and unlinked kernels, runtime calls, and, for several ranks, "
     "collectives.",
     REPORTS},
    {"genesis", "TraceLens_generate_perf_report_genesis",
     "report on a Genesis physics simulation, from its rocprofv3 capture folder", &gt_genesis_syntax,
     gt_cmd_genesis,
     "Writes the rocprofv3 report of a simulation, with kernel categories for such programs (solver, "
     "collision, contacts), and the timeline of its steady state, that is without the pause in which the "
     "simulation is built. Kernels are read from the capture's *_kernel_trace.csv, or else from its "
     "*_results.json; a *_results.pftrace adds HIP calls and copies.",
     REPORTS},
    {"ncu", NULL, "report on kernels that NVIDIA's ncu profiled: time, utilisation, occupancy",
     &gt_ncu_syntax, gt_cmd_ncu,
     "Writes the metrics of kernel launches that Nsight Compute collected: one row per kernel with its time, "
     "how busy SMs and memory were, occupancy and registers; one row per launch; and all metrics. FILE is "
     "what "
     "`ncu --csv` printed, with --page raw or --page details, and may be compressed with gzip or zstd; \"-\" "
     "is standard input. Of a report, use: ncu --import REPORT --csv --page raw > FILE.",
     REPORTS},
    {"pftrace-hip-api", "TraceLens_generate_perf_report_pftrace_hip_api",
     "list the HIP calls of a rocprofv3 pftrace: call, wait and kernel times", &gt_pftrace_api_syntax,
     gt_cmd_pftrace_hip_api,
     "Pairs each HIP call of a rocprofv3 trace with the kernel that it launched, and shows how long the call "
     "took, how long the kernel waited and how long it ran. FILE is a Perfetto trace (.pftrace) or its "
     "conversion to Chrome JSON, and may be compressed with gzip or zstd; no converter is needed. \"-\" is "
     "standard input.",
     REPORTS},
    {"pftrace-hip-activity", "TraceLens_generate_perf_report_pftrace_hip_activity",
     "break down the GPU time of a rocprofv3 pftrace by category, kernels, HIP calls",
     &gt_pftrace_activity_syntax, gt_cmd_pftrace_hip_activity,
     "Shows what each GPU of a rocprofv3 trace spent its time on: categories of kernels, overlap of "
     "communication and computation, kernels by launch configuration, HIP calls. FILE is a Perfetto trace "
     "(.pftrace) or its conversion to Chrome JSON, and may be compressed with gzip or zstd; no converter is "
     "needed. \"-\" is standard input.",
     REPORTS},
    {"pftrace-memory-copy", "TraceLens_generate_perf_report_pftrace_memory_copy",
     "count the memory copies of a rocprofv3 pftrace by size and direction", &gt_pftrace_copy_syntax,
     gt_cmd_pftrace_memory_copy,
     "Counts the memory copies of a rocprofv3 trace by size and direction. FILE is a Perfetto trace "
     "(.pftrace) or its conversion to Chrome JSON, and may be compressed with gzip or zstd; no converter is "
     "needed. \"-\" is standard input.",
     REPORTS},
    {"compare", "TraceLens_compare_perf_reports_pytorch",
     "compare traces or reports, and fail on regressions (--fail_if)", &gt_compare_syntax, gt_cmd_compare,
     "Says why a step of one PyTorch trace takes longer than a step of another, with parts that add up to "
     "the "
     "difference, and puts the sheets of two or more reports side by side, with the difference of each from "
     "the first one, the baseline. A FILE is a trace, whose report is then made in memory, or a report: an "
     "Excel workbook or a folder of CSV files, written by gputally or TraceLens. `gputally diff` compares "
     "call trees. With --fail_if, the exit status is 3 if a change is larger than allowed.",
     COMPARISONS},
    {"what-if", NULL, "predict the step with findings repaired, larger batches or another GPU",
     &gt_what_if_syntax, gt_cmd_what_if,
     "Runs the step of a torch.profiler trace again with what would be different, and prints how long it "
     "would take, what would bound it, and the time of each kind of kernel. The host does what it did. Only "
     "what was measured to be right within 25 % is answered (docs/what_if.md).",
     COMPARISONS},
    {"diff", NULL, "compare the call trees and kernels of two PyTorch traces", &gt_diff_syntax, gt_cmd_diff,
     "Merges the call trees of two torch.profiler traces, for example of the same model on two GPUs, and "
     "matches their GPU work. Writes the merged tree, the kernels under each call that both traces share, "
     "and the kernels launched by each op. Traces may be compressed with gzip or zstd; \"-\" is standard "
     "input.",
     COMPARISONS},
    {"jax-llama-compare", "TraceLens_compare_traces_jax_llama",
     "compare the stages of a JAX Llama model on an AMD and an NVIDIA GPU", &gt_jax_llama_syntax,
     gt_cmd_jax_llama,
     "Compares two Chrome traces (JSON) of a Llama model in JAX, one from an AMD GPU and one from an NVIDIA "
     "GPU: the time of each stage per layer and per token, and the longest kernels and ops. Tokens and "
     "layers are recognised by the op paths (Transformer/block_N/norm_attn). The report is Markdown.",
     COMPARISONS},
    {"convert", NULL, "convert a trace to Perfetto, Chrome JSON or SQLite", &gt_convert_syntax,
     gt_cmd_convert,
     "Reads any output of rocprofv3 (JSON, CSV, database, Perfetto trace, or a folder of them) and writes a "
     "Perfetto trace (.pftrace), Chrome JSON (.json; both also .gz) or an SQLite database with rocpd's "
     "tables and views (.db), depending on the extension of OUT. A PyTorch or other Chrome trace can be "
     "converted to a Perfetto trace. Nothing is dropped: overlapping slices get their own tracks, and all "
     "arguments are kept. IN may be compressed with gzip or zstd; \"-\" is standard input.",
     TRACES},
    {"fuse", NULL, "merge the traces of several ranks into one, for Perfetto and other viewers",
     &gt_fuse_syntax, gt_cmd_fuse,
     "Merges the torch.profiler traces of several ranks into one Chrome trace. Each rank keeps its own "
     "processes, named by rank. The FILEs are rank 0, rank 1 and so on; or a folder, a pattern or a glob "
     "finds them. Traces may be compressed with gzip or zstd and of any size: they are streamed.",
     TRACES},
    {"split", "TraceLens_split_inference_trace",
     "extract single steps or phases from an inference server's trace", &gt_split_syntax, gt_cmd_split,
     "Cuts a torch.profiler trace of an inference server (vLLM, SGLang, ATOM) at its steps, which the "
     "server's annotations mark: into single steps, into sequences of steps of one phase (prefill, decode), "
     "or into steady-state windows. Each output is a complete trace, for a viewer or a report.",
     TRACES},
    {"match-blocks", NULL, "pair blocks of steps of two inference servers that did the same work",
     &gt_match_syntax, gt_cmd_match_blocks,
     "Finds the sequences of steps of one phase in the traces of two inference servers (vLLM, SGLang, ATOM "
     "with sequence lengths in the names of steps), pairs the two of equal length that differ least, and "
     "cuts "
     "them out of their traces, for `gputally compare` or `gputally diff`. match_report.json and .csv "
     "describe "
     "the pairs, match_notes.json the phases without one.",
     TRACES},
    {"replay-ir", NULL, "extract ops of a PyTorch trace and run them alone on a GPU", &gt_replay_syntax,
     gt_cmd_replay_ir,
     "Writes the ops of a torch.profiler trace that launched kernels, once per name and arguments, as a JSON "
     "document in the form of TraceLens' EventReplay, and a Python program that runs them one at a time on "
     "any "
     "GPU with PyTorch. With its results, or --run, writes how long each op takes in the trace and alone. "
     "TRACE "
     "may be compressed with gzip or zstd; \"-\" is standard input.",
     TRACES},
    {"index", NULL, "keep what reports read from a trace, so that the next ones are fast", &gt_index_syntax,
     gt_cmd_index,
     "Reads each TRACE (a PyTorch or rocprofv3 file, or a JAX profile) and keeps its events and the sheets "
     "of "
     "`gputally report` in an index, TRACE.gtindex. Commands that read the trace then use the index by "
     "themselves, and accept it instead of the trace. Results do not change. An index of a trace that has "
     "changed is noticed and not used; --index auto of the other commands makes it again.",
     TRACES},
    {"run", NULL, "run a command under a profiler; sample power and memory, count library calls",
     &gt_run_syntax, gt_cmd_run,
     "Runs COMMAND under rocprofv3 (or another profiler) as a context specifies, collects the output and "
     "writes reports. A context is a JSON object that names tools; shipped contexts answer common questions: "
     "gputally run -f rocprofv3_lightweight -- python3 train.py. madengine contexts work unchanged. With "
     "--tags or --manifest_file, models of models.json run instead of COMMAND, each in a container of its "
     "image, and their figures go to perf.csv. The exit "
     "status is 2 if no image could be built, 3 if the command or a model fails, and 4 if the context is "
     "invalid.",
     PROGRAMS},
    {"build", NULL, "build the container images of models, and write a manifest of them", &gt_build_syntax,
     gt_cmd_build,
     "Builds the images of the models of models.json that tags select, with docker or podman, from the "
     "Dockerfiles that fit the context, and writes build_manifest.json for gputally run --manifest_file. "
     "Options are those of madengine build. The exit status is 2 if a build fails and 4 if the context or an "
     "argument is invalid.",
     PROGRAMS},
    {"discover", NULL, "list the models of a folder", &gt_discover_syntax, gt_cmd_discover,
     "Lists the models of the current folder: of models.json, scripts/NAME/models.json and "
     "scripts/NAME/get_models_json.py. With --tags, prints the models that the tags select as JSON.",
     PROGRAMS},
    {"sweep", NULL, "run a grid of settings and analyse the results", NULL, NULL,
     "Analyses a sweep: traces of one program under many settings of the communication library, in folders "
     "SWEEP/<T>thread/nccl_<C>channels. Each step reads what earlier steps wrote to "
     "SWEEP/tracelens_analysis.",
     PROGRAMS},
    {"model", NULL, "print the performance model of an op: flops, bytes, minimum time", &gt_model_syntax,
     gt_cmd_model,
     "Prints the floating-point operations of an OP, the bytes it must move and the parameters that its "
     "model derives from the given shapes and types; optionally also the minimum time on a GPU. Names are "
     "those of PyTorch traces, such as aten::mm; \"list\" prints all ops that have a model.",
     MODELS},
    {"links", NULL, "write the old command names of TraceLens, aorta and madengine into a folder",
     &gt_links_syntax, gt_cmd_links,
     "Writes the names of the programs and scripts that gputally replaces into DIR, so that old command "
     "lines "
     "run unchanged: links for the commands of TraceLens and madengine, scripts under their own paths "
     "(generate_perf_report_pytorch.py, scripts/gemm_analysis/...) and a Python package TraceLens whose "
     "modules start gputally. Prints what to add to PATH and PYTHONPATH. Files that are not ours are never "
     "replaced without --force. The names stay valid if gputally is replaced by a newer one; if it is moved, "
     "run this again.",
     SETUP},
    {"completion", NULL, "print the script that completes command lines in bash, zsh or fish",
     &gt_completion_syntax, gt_cmd_completion,
     "Prints the script with which a SHELL (bash, zsh or fish) completes commands, options and their values: "
     "names of GPUs, methods, formats. An installed gputally has it already. Otherwise, for bash: "
     "eval \"$(gputally completion bash)\" in ~/.bashrc; for zsh the same in ~/.zshrc, after compinit; for "
     "fish: gputally completion fish | source in ~/.config/fish/config.fish.",
     SETUP},
};
const size_t gt_command_count = GT_LENGTH(gt_commands);

const gt_old_program *gt_old_program_of(const gt_command *command)
{
    static const gt_old_program programs[] = {
        {"TraceLens_generate_perf_report_pytorch", GT_JOURNAL_PLAIN, true, NULL},
        {"TraceLens_generate_perf_report_pytorch_inference", GT_JOURNAL_PLAIN, true, NULL},
        {"TraceLens_generate_perf_report_rocprof", GT_JOURNAL_LOG, false, NULL},
        {"TraceLens_generate_perf_report_pftrace_hip_api", GT_JOURNAL_LOG, false, NULL},
        {"TraceLens_generate_perf_report_pftrace_hip_activity", GT_JOURNAL_LOG, false, "Error: "},
        {"TraceLens_generate_perf_report_pftrace_memory_copy", GT_JOURNAL_LOG, false,
         "Error generating memory copy report: "},
    };
    static const gt_old_program other = {NULL, GT_JOURNAL_PLAIN, false, NULL};
    for (size_t i = 0; command->old_name && i < GT_LENGTH(programs); i++)
        if (strcmp(programs[i].name, command->old_name) == 0) return &programs[i];
    return &other;
}

const gt_command *gt_command_find(const char *name)
{
    for (size_t i = 0; i < gt_command_count; i++)
        if (strcmp(gt_commands[i].name, name) == 0) return &gt_commands[i];
    return NULL;
}

const gt_command *gt_command_find_by_old_name(const char *name)
{
    for (size_t i = 0; i < gt_command_count; i++)
        if (gt_commands[i].old_name && strcmp(gt_commands[i].old_name, name) == 0) return &gt_commands[i];
    return NULL;
}

const gt_command *gt_command_steps(const gt_command *command)
{
    return strcmp(command->name, "sweep") == 0 && !command->run ? gt_sweep_steps : NULL;
}
