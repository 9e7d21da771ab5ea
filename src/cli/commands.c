/* The table of commands. Adding a command is adding a row here and a file that defines its syntax and run
 * function. */
#include "cli/command.h"
#include "cli/commands/batch.h"
#include "base/length.h"
#include "cli/commands/compare.h"
#include "cli/commands/collective.h"
#include "cli/commands/convert.h"
#include "cli/commands/fuse.h"
#include "cli/commands/diff.h"
#include "cli/commands/genesis.h"
#include "cli/commands/jax.h"
#include "cli/commands/jax_analysis.h"
#include "cli/commands/jax_collective.h"
#include "cli/commands/jax_llama.h"
#include "cli/commands/model.h"
#include "cli/commands/pftrace.h"
#include "cli/commands/pytorch.h"
#include "cli/commands/report.h"
#include "cli/commands/rocprof.h"
#include "cli/commands/run.h"
#include "cli/commands/split.h"
#include "cli/sweep/sweep.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const gt_command gt_commands[] = {
    {"report", NULL, "the report that fits each trace, whatever its format", &gt_report_syntax, gt_cmd_report,
     "Finds out from its bytes what each FILE is and makes the report for that format. Several files give "
     "one report each. FILE may be compressed with gzip or zstd; \"-\" is standard input."},
    {"pytorch", "TraceLens_generate_perf_report_pytorch", "report of a PyTorch trace: timeline, ops, kernels",
     &gt_pytorch_syntax, gt_cmd_pytorch,
     "Makes the performance report of a torch.profiler (Kineto) trace: GPU timeline, ops by category, by "
     "name and by arguments, collectives, and on request kernels and a study of short ones. FILE may be "
     "compressed with gzip or zstd; \"-\" is standard input."},
    {"rocprof", "TraceLens_generate_perf_report_rocprof",
     "report of a rocprofv3 run: timeline and kernels, calls, copies, counters", &gt_rocprof_syntax,
     gt_cmd_rocprof,
     "Makes the performance report of a rocprofv3 run: GPU timeline, kernels by name and by category, API "
     "calls, memory copies and counters where they were recorded, and on request every dispatch and a study "
     "of short kernels. FILE is a rocpd database (*_results.db), a *_results.json, one of the CSV files, or "
     "the folder that rocprofv3 wrote, whose processes become one report. JSON and CSV may be compressed "
     "with gzip or zstd; \"-\" is standard input."},
    {"compare", "TraceLens_compare_perf_reports_pytorch",
     "what changed between reports, and a gate for regressions", &gt_compare_syntax, gt_cmd_compare,
     "Lays the sheets of two or more reports side by side, with the difference of each from the first one, "
     "the baseline. A REPORT is an Excel workbook or a folder of CSV files, of gputally or of the Python "
     "tool. With --fail_if the exit status is 3 where a change is larger than allowed."},
    {"collective", "TraceLens_generate_multi_rank_collective_report_pytorch",
     "report of the collectives of all ranks of a PyTorch run", &gt_collective_syntax, gt_cmd_collective,
     "Makes one report of the communication kernels (NCCL, RCCL) of all ranks of a run, from one "
     "torch.profiler trace a rank: how long each collective took, which ranks waited for which, how much was "
     "sent and how fast. Traces may be compressed with gzip or zstd and are read in parallel; only "
     "collectives are kept of them."},
    {"batch", "TraceLens_generate_perf_report",
     "one report for each folder of PyTorch traces below a folder, of all its ranks", &gt_batch_syntax,
     gt_cmd_batch,
     "Searches a folder and all below it for torch.profiler traces and makes one workbook for each folder "
     "that holds some, of all its ranks together: ops by parameters and how fast they were, time by "
     "launching op and by group of ops, GPU timelines side by side, short and unlinked kernels, runtime "
     "calls, and the collectives of several ranks."},
    {"fuse", NULL, "the traces of several ranks as one, for Perfetto and other viewers", &gt_fuse_syntax,
     gt_cmd_fuse,
     "Puts the torch.profiler traces of several ranks into one Chrome trace in which each rank's processes "
     "stand apart, named by rank. FILEs are the ranks from 0 on; or a folder, a pattern or a search finds "
     "them. Traces may be compressed with gzip or zstd and be of any size: they are streamed."},
    {"split", "TraceLens_split_inference_trace",
     "traces of single steps or phases out of one of an inference server", &gt_split_syntax, gt_cmd_split,
     "Cuts a torch.profiler trace of an inference server (vLLM, SGLang, ATOM) at its steps, which the "
     "server's annotations name: into traces of single steps, of rows of steps of one phase (prefill, "
     "decode), or of windows in which the server is at work as usual. Each is a whole trace, for a viewer or "
     "for a report."},
    {"diff", NULL, "where the call trees of two PyTorch traces differ, and in which GPU work",
     &gt_diff_syntax, gt_cmd_diff,
     "Merges the call trees of two torch.profiler traces, say of the same model on two GPUs, and tells which "
     "GPU work belongs together: as a tree, as tables of the kernels under each call that both traces have, "
     "and as lists of the kernels behind each op. Traces may be compressed with gzip or zstd; \"-\" is "
     "standard input."},
    {"jax", "TraceLens_generate_perf_report_jax",
     "report of a JAX profile (xplane.pb): timeline, kernels, ops", &gt_jax_syntax, gt_cmd_jax,
     "Makes the performance report of a JAX profile from its *.xplane.pb: timeline of each GPU, kernels with "
     "the shapes that XLA's compiled modules tell, and what matrix products, convolutions and attention had "
     "to do. FILE may be compressed with gzip or zstd, or a folder that jax.profiler wrote: its newest run "
     "is taken. \"-\" is standard input."},
    {"jax-analysis", "TraceLens_generate_perf_report_jax_analysis",
     "short report of a JAX profile: times, classes of kernels, matrix products", &gt_jax_analysis_syntax,
     gt_cmd_jax_analysis,
     "Makes five small tables of a JAX profile, rounded to two decimals: the GPUs' times on average, "
     "computation by class of kernel, kernels of no class by name, and the matrix products of the module "
     "jit_train_step with what each of their kernels reached on the first GPU. FILE may be compressed with "
     "gzip or zstd, or a folder that jax.profiler wrote; \"-\" is standard input."},
    {"jax-collective", NULL, "how fast the collectives of a JAX run over several nodes were",
     &gt_jax_collective_syntax, gt_cmd_jax_collective,
     "Makes one report of the communication kernels (NCCL, RCCL) of a JAX run, from one profile a node and "
     "the text dumps that XLA wrote of the program: how much each collective moved between which GPUs, and "
     "how fast. FILEs are the profiles of node 0, node 1 and so on; profiles and dumps may be compressed "
     "with gzip or zstd."},
    {"jax-llama-compare", "TraceLens_compare_traces_jax_llama",
     "stages of a language model in JAX on an AMD and an NVIDIA GPU", &gt_jax_llama_syntax, gt_cmd_jax_llama,
     "Compares two Chrome traces (JSON) of a Llama model in JAX, one of an AMD and one of an NVIDIA GPU: how "
     "long each stage of a layer takes, a layer and a token, and which kernels and ops take longest. Tokens "
     "and layers are told by the paths of the ops (Transformer/block_N/norm_attn). The report is Markdown."},
    {"convert", NULL, "a trace in another format: for Perfetto, chrome://tracing or SQL", &gt_convert_syntax,
     gt_cmd_convert,
     "Reads any output of rocprofv3 (JSON, CSV, database, Perfetto trace, or a folder of them) and writes it "
     "as a Perfetto trace (.pftrace), as Chrome JSON (.json, both also .gz) or as an SQLite database with "
     "the tables and views of rocpd (.db): OUT's name tells. A PyTorch or other Chrome trace becomes a "
     "Perfetto trace. Nothing is dropped: slices that overlap are put on tracks of their own, and all "
     "arguments are kept. IN may be compressed with gzip or zstd; \"-\" is standard input."},
    {"pftrace-hip-api", "TraceLens_generate_perf_report_pftrace_hip_api",
     "HIP calls of a rocprofv3 pftrace: call, queue and kernel times", &gt_pftrace_api_syntax,
     gt_cmd_pftrace_hip_api,
     "Pairs each HIP call of a rocprofv3 trace with the kernel that it launched and says how long the call "
     "took, how long the kernel waited and how long it ran. FILE is a Perfetto trace (.pftrace) or its "
     "conversion to Chrome JSON, may be compressed with gzip or zstd, and is read without a converter; \"-\" "
     "is standard input."},
    {"pftrace-hip-activity", "TraceLens_generate_perf_report_pftrace_hip_activity",
     "GPU time of a rocprofv3 pftrace by kind of work, kernels, HIP calls", &gt_pftrace_activity_syntax,
     gt_cmd_pftrace_hip_activity,
     "Says what filled the time of each GPU of a rocprofv3 trace: kinds of work, communication beside "
     "computation, kernels by configuration, HIP calls. FILE is a Perfetto trace (.pftrace) or its "
     "conversion to Chrome JSON, may be compressed with gzip or zstd, and is read without a converter; \"-\" "
     "is standard input."},
    {"pftrace-memory-copy", "TraceLens_generate_perf_report_pftrace_memory_copy",
     "memory copies of a rocprofv3 pftrace by size and direction", &gt_pftrace_copy_syntax,
     gt_cmd_pftrace_memory_copy,
     "Counts the memory copies of a rocprofv3 trace by size and direction. FILE is a Perfetto trace "
     "(.pftrace) or its conversion to Chrome JSON, may be compressed with gzip or zstd, and is read without "
     "a converter; \"-\" is standard input."},
    {"genesis", "TraceLens_generate_perf_report_genesis",
     "report of a physics simulation (Genesis) from the folder of its rocprofv3 capture", &gt_genesis_syntax,
     gt_cmd_genesis,
     "Makes the rocprofv3 report of a simulation with kinds of kernels of such programs (solver, collision, "
     "contacts), and the timeline of its steady state: without the pause in which the simulation is built. "
     "Kernels are read from the capture's *_kernel_trace.csv, else from its *_results.json; a "
     "*_results.pftrace adds HIP calls and copies."},
    {"run", NULL, "a command under a profiler, with power, memory and library calls", &gt_run_syntax,
     gt_cmd_run,
     "Runs COMMAND under rocprofv3 (or another profiler) as a context asks, collects what it wrote and makes "
     "reports of it. A context is a JSON object that names tools; shipped ones answer common questions: "
     "gputally run -f rocprofv3_lightweight -- python3 train.py. Contexts of madengine work as they are. The "
     "exit status is 3 where the command failed and 4 where the context makes no sense."},
    {"model", NULL, "what the performance model of an op says, without a trace", &gt_model_syntax,
     gt_cmd_model,
     "Prints the floating-point operations of an OP, the bytes it must move and the parameters that its "
     "model reads from the shapes and types given, and on request the least time that it can take on a GPU. "
     "Names are those of PyTorch traces: aten::mm; \"list\" names all that have a model."},
    {"sweep", NULL, "the whole analysis of runs under many settings: reports, kernels that vary, plots", NULL,
     NULL,
     "Analyses a sweep: the traces of one program under many settings of the communication library, in "
     "folders SWEEP/<T>thread/nccl_<C>channels. Each step reads what the steps before it wrote into "
     "SWEEP/tracelens_analysis."},
};
const size_t gt_command_count = GT_LENGTH(gt_commands);

const gt_old_program *gt_old_program_of(const gt_command *command)
{
    static const gt_old_program programs[] = {
        {"TraceLens_generate_perf_report_pytorch", GT_JOURNAL_PLAIN, true, NULL},
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

gt_exit gt_usage_error(const char *program, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: error: ", program);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\nTry '%s --help'.\n", program);
    va_end(args);
    return GT_EXIT_USAGE;
}
