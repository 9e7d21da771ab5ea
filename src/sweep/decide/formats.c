/* Measurements in traces of other profilers than PyTorch's: rocprofv3 and JAX. They have kernels, but no ops
 * and shapes, and no sizes of collectives. Their files are not kept in the cache: a run of rocprofv3 may have
 * several. */
#include "sweep/decide/decide.h"

#include "findings/formats/formats.h"
#include "input/rocprof/rocprof.h"
#include "input/xla/xplane.h"

const char *const gt_trace_source_names[] = {"torch.profiler", "rocprofv3", "JAX"};

static gt_trace_measures *measure(gt_schedule *schedule, gt_error *error)
{
    gt_trace_measures *found = schedule ? gt_trace_measures_of_schedule(schedule, error) : NULL;
    if (schedule)
        gt_schedule_free(schedule);
    else
        gt_fail(error, "no GPU events");
    return found;
}

static gt_trace_measures *measure_rocprof(gt_stream *stream, const char *path, const gt_read_options *options,
                                          gt_error *error)
{
    gt_read_options read = *options;
    read.wanted = GT_WANT_FOR_FINDINGS;
    read.full_names = true; /* GEMMs with the same short name are apart */
    gt_rocprof *run = gt_rocprof_read(stream, path, &read, error);
    gt_trace_measures *found = run ? measure(gt_schedule_of_rocprof(run, false), error) : NULL;
    if (run) gt_rocprof_free(run);
    return found;
}

static gt_trace_measures *measure_jax(gt_stream *stream, const gt_read_options *read, gt_error *error)
{
    gt_jax *trace = gt_xplane_read_stream(stream, read, error);
    gt_trace_measures *found =
        trace ? measure(trace->count ? gt_schedule_of_jax(trace, false) : NULL, error) : NULL;
    if (trace) gt_jax_free(trace);
    return found;
}

gt_trace_measures *gt_trace_measures_read_other(const char *path, gt_trace_source source,
                                                const gt_read_options *read, gt_error *error)
{
    gt_stream *stream = gt_stream_open(path, error);
    gt_trace_measures *found = !stream                       ? NULL
                               : source == GT_SOURCE_ROCPROF ? measure_rocprof(stream, path, read, error)
                                                             : measure_jax(stream, read, error);
    gt_stream_close(stream);
    return found;
}
