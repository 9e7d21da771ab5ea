/* As the Python tool writes them: JSON by two blanks a level, CSV with two decimals where a column has
 * fractions. */
#include "transform/split_details.h"

#include "json/string.h"
#include "base/memory.h"
#include "base/number.h"
#include "output/file.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static void print(gt_buffer *out, const char *format, ...)
{
    char text[512];
    va_list values;
    va_start(values, format);
    int len = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    gt_buffer_add(out, text, len < (int)sizeof text ? (size_t)len : sizeof text - 1);
}

static void print_time(gt_buffer *out, double us, bool is_integral)
{
    char text[GT_NUMBER_MAX];
    if (is_integral)
        gt_buffer_add(out, text, gt_print_int(text, (int64_t)us));
    else
        gt_buffer_add(out, text, gt_print_double(text, us));
}

/* ---- JSON ---- */

static void add_step(gt_buffer *out, const gt_serving_step *s)
{
    print(out, "      {\n        \"batch_size\": %" PRId64 ",\n        \"num_requests\": %" PRId64 ",\n",
          s->batch_size, gt_step_requests(s));
    print(out, "        \"context_requests\": %" PRId64 ",\n        \"context_sum\": %" PRId64 ",\n",
          s->context_requests, s->context_sum);
    print(out,
          "        \"generation_requests\": %" PRId64 ",\n        \"generation_sum\": %" PRId64 "\n      }",
          s->generation_requests, s->generation_sum);
}

static void add_part(gt_buffer *out, const gt_split_part *part, const gt_serving_step *steps,
                     gt_buffer *scratch)
{
    const gt_step_events *found = &part->found;
    print(out, "  {\n    \"idx\": %zu,\n    \"output_path\": ", part->idx);
    gt_json_string_add(out, (gt_str){part->path, strlen(part->path)}, scratch);
    print(out,
          ",\n    \"event_count\": %zu,\n    \"num_gpu_events\": %zu,\n    \"gpu_duration\": ", found->count,
          found->gpu_events);
    print_time(out, found->gpu_us, found->is_integral);
    gt_buffer_add_cstr(out, ",\n    \"gpu_busy_duration\": ");
    print_time(out, found->gpu_busy_us, found->is_integral);
    gt_buffer_add_cstr(out, ",\n    \"steps\": [\n");
    for (size_t i = 0; i < part->step_count; i++) {
        add_step(out, &steps[part->steps[i]]);
        gt_buffer_add_cstr(out, i + 1 < part->step_count ? ",\n" : "\n");
    }
    print(out,
          "    ],\n    \"phase\": {\n      \"num_prefill\": %zu,\n      \"num_prefilldecode\": %zu,\n"
          "      \"num_decode\": %zu,\n      \"avg_bs\": %" PRId64 ",\n      \"avg_conc\": %" PRId64
          "\n    }\n  }",
          part->mix.prefill, part->mix.mixed, part->mix.decode, part->mix.batch_size, part->mix.requests);
}

/* ---- CSV ---- */

static void add_row(gt_buffer *out, const gt_split_part *part, bool integral)
{
    const gt_step_events *found = &part->found;
    bool quoted = strpbrk(part->path, ",\"\r\n") != NULL;
    print(out, "%zu,%s", part->idx, quoted ? "\"" : "");
    for (const char *at = part->path; *at; at++) {
        if (*at == '"') gt_buffer_add_cstr(out, "\"");
        gt_buffer_add(out, at, 1);
    }
    print(out, "%s,%zu,%zu,", quoted ? "\"" : "", found->count, found->gpu_events);
    print(out, integral ? "%.0f,%.0f" : "%.2f,%.2f", found->gpu_us, found->gpu_busy_us);
    print(out, ",%zu,%zu,%zu,%" PRId64 ",%" PRId64 ",%zu\n", part->mix.prefill, part->mix.mixed,
          part->mix.decode, part->mix.batch_size, part->mix.requests, part->step_count);
}

/* ---- files ---- */

static bool write_file(gt_output *output, const char *dir, const char *name, const gt_buffer *text,
                       gt_error *error)
{
    gt_file file;
    char *path = gt_format("%s/%s", dir, name);
    bool written = gt_file_open(&file, output, path, error);
    if (written) {
        gt_file_write(&file, text->bytes, text->len);
        written = gt_file_close(&file, error);
    }
    gt_free(path);
    return written;
}

bool gt_split_write_details(gt_output *output, const char *dir, const gt_split_part *parts, size_t count,
                            const gt_serving_step *steps, gt_error *error)
{
    gt_buffer json = {0}, csv = {0}, scratch = {0};
    bool integral = true;
    for (size_t p = 0; p < count; p++) integral = integral && parts[p].found.is_integral;
    gt_buffer_add_cstr(&json, "[\n");
    gt_buffer_add_cstr(&csv, "idx,output_path,event_count,num_gpu_events,gpu_duration,gpu_busy_duration,"
                             "phase_num_prefill,phase_num_prefilldecode,phase_num_decode,phase_avg_bs,"
                             "phase_avg_conc,num_steps\n");
    for (size_t p = 0; p < count; p++) {
        add_part(&json, &parts[p], steps, &scratch);
        gt_buffer_add_cstr(&json, p + 1 < count ? ",\n" : "\n");
        add_row(&csv, &parts[p], integral);
    }
    gt_buffer_add_cstr(&json, "]");
    bool written = write_file(output, dir, "execution_details.json", &json, error) &&
                   write_file(output, dir, "execution_details.csv", &csv, error);
    gt_buffer_free(&json);
    gt_buffer_free(&csv);
    gt_buffer_free(&scratch);
    return written;
}
