/* Making reports for the public interface: a row a format, which reads a trace and makes its tables. */
#include "api/report.h"
#include "base/length.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/threads.h"
#include "input/detect.h"
#include "input/chrome/kineto.h"
#include "input/rocprof/rocprof.h"
#include "input/xla/xplane.h"
#include "report/jax.h"
#include "report/pytorch.h"
#include "report/rocprof.h"

#include <stdio.h>
#include <stdlib.h>

gputally_options gputally_options_default(void)
{
    gt_rocprof_options rocprof = gt_rocprof_options_default();
    gt_pytorch_options pytorch = gt_pytorch_options_default();
    return (gputally_options){
        .short_kernel_study = rocprof.short_kernel_study,
        .short_kernel_threshold_us = rocprof.short_threshold_us,
        .short_kernel_histogram_bins = rocprof.short_bins,
        .kernel_summary = rocprof.kernel_summary,
        .kernel_details = rocprof.kernel_details,
        .topk_kernels = INT64_MAX,
        .pytorch_kernel_summary = pytorch.kernel_summary,
        .coll_analysis = pytorch.coll_analysis,
    };
}

/* ---- one function a format ---- */

typedef bool report_maker(gputally_report *report, gt_stream *stream, const gputally_options *options,
                          const gt_read_options *read, gt_error *error);

static void free_rocprof(void *trace)
{
    gt_rocprof_free(trace);
}

static bool make_rocprof(gputally_report *report, gt_stream *stream, const gputally_options *options,
                         const gt_read_options *read, gt_error *error)
{
    gt_rocprof_options wanted = gt_rocprof_options_default();
    wanted.kernel_summary = options->kernel_summary;
    wanted.kernel_details = options->kernel_details;
    wanted.short_kernel_study = options->short_kernel_study;
    wanted.short_threshold_us = options->short_kernel_threshold_us;
    wanted.short_bins = options->short_kernel_histogram_bins;
    wanted.limit_details = options->topk_kernels != INT64_MAX;
    wanted.topk_kernels = options->topk_kernels;
    report->trace = gt_rocprof_read(stream, gt_stream_path(stream), read, error);
    report->free_trace = free_rocprof;
    return report->trace && gt_rocprof_tables(report->trace, &wanted, &report->tables, error);
}

static void free_pytorch(void *trace)
{
    gt_pytorch_linked_free(trace);
}

static bool make_pytorch(gputally_report *report, gt_stream *stream, const gputally_options *options,
                         const gt_read_options *read, gt_error *error)
{
    gt_pytorch_options wanted = gt_pytorch_options_default();
    wanted.kernel_summary = options->pytorch_kernel_summary;
    wanted.coll_analysis = options->coll_analysis;
    wanted.include_unlinked_kernels = options->include_unlinked_kernels;
    wanted.overlap_info = options->include_overlap_info;
    wanted.call_stack = options->include_call_stack;
    wanted.detect_recompute = options->detect_recompute;
    wanted.short_kernel_study = options->short_kernel_study;
    wanted.short_threshold_us = options->short_kernel_threshold_us;
    wanted.short_bins = options->short_kernel_histogram_bins;
    gt_arena arena = {0};
    gt_gpu_arch own;
    bool sound = options->gpu_arch_json_path && options->gpu_arch_platform
                     ? gt_fail(error, "gpu_arch_json_path and gpu_arch_platform both name a GPU")
                     : gt_gpu_arch_choose(options->gpu_arch_platform, options->gpu_arch_json_path, &arena,
                                          &own, &wanted.gpu_arch, error);
    if (sound) {
        gt_kineto_options keep = {.python_functions = gt_pytorch_needs_python(&wanted)};
        gt_pytorch_read *events = gt_kineto_read_stream(stream, keep, read, error);
        report->trace = events ? gt_pytorch_link(gt_pytorch_build_tree(events)) : NULL;
        report->free_trace = free_pytorch;
        sound = report->trace && gt_pytorch_tables(report->trace, &wanted, &report->tables, error);
    }
    gt_arena_free(&arena);
    return sound;
}

static void free_jax(void *trace)
{
    gt_jax_free(trace);
}

static bool make_jax(gputally_report *report, gt_stream *stream, const gputally_options *options,
                     const gt_read_options *read, gt_error *error)
{
    (void)options;
    gt_jax_options wanted = {0};
    report->trace = gt_xplane_read_stream(stream, read, error);
    report->free_trace = free_jax;
    return report->trace && gt_jax_tables(report->trace, &wanted, &report->tables, error);
}

static const struct {
    gt_trace_format format;
    gputally_kind kind;
    report_maker *make;
} reports[] = {
    {GT_FORMAT_ROCPROF_JSON, GPUTALLY_ROCPROF, make_rocprof},
    {GT_FORMAT_ROCPROF_CSV, GPUTALLY_ROCPROF, make_rocprof},
    {GT_FORMAT_SQLITE, GPUTALLY_ROCPROF, make_rocprof},
    {GT_FORMAT_KINETO_JSON, GPUTALLY_PYTORCH, make_pytorch},
    {GT_FORMAT_XPLANE, GPUTALLY_JAX, make_jax},
};

/* ---- any trace ---- */

bool gt_copy_error(const gt_error *from, char *error, size_t error_size)
{
    if (error && error_size) snprintf(error, error_size, "%s", from->text);
    return false;
}

static bool make_fitting(gputally_report *report, gt_stream *stream, const gputally_options *options,
                         gt_error *error)
{
    gt_read_options read = {.threads = options->threads ? options->threads : gt_threads_default(),
                            .strict = options->strict};
    gt_trace_format format;
    if (!gt_detect(stream, &format, error)) return false;
    for (size_t i = 0; i < GT_LENGTH(reports); i++) {
        if (reports[i].format != format) continue;
        report->kind = reports[i].kind;
        bool made = reports[i].make(report, stream, options, &read, error);
        if (!made && report->trace)
            gt_error_prefix(error, gt_stream_path(stream)); /* readers name it themselves */
        return made;
    }
    return gt_fail(error, "%s: this is %s; gputally %s makes no report of it", gt_stream_path(stream),
                   gt_format_name(format), GT_VERSION);
}

gputally_report *gputally_report_make(const char *trace_path, const gputally_options *options, char *error,
                                      size_t error_size)
{
    gputally_options defaults = gputally_options_default();
    gt_error problem = {""};
    gt_log_quiet(true);
    gputally_report *report = gt_alloc_zero(1, sizeof *report);
    gt_stream *stream = gt_stream_open(trace_path, &problem);
    bool made = stream && make_fitting(report, stream, options ? options : &defaults, &problem);
    if (stream) gt_stream_close(stream);
    if (made) return report;
    gt_copy_error(&problem, error, error_size);
    gputally_report_free(report);
    return NULL;
}

void gputally_report_free(gputally_report *report)
{
    if (!report) return;
    gt_table_list_free(&report->tables);
    if (report->trace) report->free_trace(report->trace);
    gt_free(report);
}

gputally_kind gputally_report_kind(const gputally_report *report)
{
    return report->kind;
}
