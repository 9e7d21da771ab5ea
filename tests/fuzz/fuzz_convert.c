/* Fuzzes the conversion of Chrome traces to both timeline formats; the output must be complete. */
#include "transform/convert.h"
#include "quiet.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/gputally-fuzz-XXXXXX";

static void remove_folder(void)
{
    rmdir(folder);
}

static void make_folder(void)
{
    static bool made;
    if (made) return;
    if (!mkdtemp(folder)) abort();
    atexit(remove_folder);
    made = true;
}

static void convert(const uint8_t *data, size_t size, gt_timeline_format format)
{
    char path[64];
    gt_error error;
    gt_timeline_totals totals;
    gt_chrome_totals read;
    snprintf(path, sizeof path, "%s/out", folder);
    gt_stream *stream = gt_stream_memory(data, size, 64, &error);
    if (!stream) return;
    gt_output *output = gt_output_new();
    gt_timeline *timeline = gt_timeline_new(output, path, format, 1, &error);
    if (!timeline) abort();
    if (!gt_convert_chrome(stream, timeline, &(gt_read_options){0}, &read, &error))
        gt_timeline_free(timeline);
    else if (!gt_timeline_finish(timeline, &totals, &error))
        abort();
    gt_output_free(output); /* without a commit, no file stays */
    gt_stream_close(stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    make_folder();
    convert(data, size, GT_TIMELINE_PERFETTO);
    convert(data, size, GT_TIMELINE_CHROME);
    return 0;
}
