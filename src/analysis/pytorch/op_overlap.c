/* Overlap of one op: sums over its kernels and their partners, grouped by the partners' names. */
#include "analysis/pytorch/op_overlap.h"

#include "base/memory.h"
#include "compat/python_repr.h"
#include "trace/intervals.h"
#include "compat/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Sums over the partners with one name. */
typedef struct sums {
    double dur_us, overlap_pct, count;
} sums;

struct gt_op_overlap_reader {
    const gt_linked_view *trace;
    const gt_overlaps *overlaps;
    uint32_t *streams;  /* by row */
    uint32_t *place_of; /* by name: its index + 1 in the list of this op; 0: not in it */
    gt_kernel_detail *kernels;
    sums *sums; /* as many */
    size_t count, capacity, sums_capacity;
    gt_intervals beside;
    gt_buffer names;
};

gt_op_overlap_reader *gt_op_overlap_reader_new(const gt_linked_view *trace, const gt_overlaps *overlaps)
{
    gt_op_overlap_reader *r = gt_alloc_zero(1, sizeof *r);
    r->trace = trace;
    r->overlaps = overlaps;
    r->streams = gt_store_string_ids(trace->store, GT_EVENT_STREAM);
    r->place_of = gt_alloc_zero(gt_interner_count(trace->strings), sizeof *r->place_of);
    return r;
}

static sums *sums_of(gt_op_overlap_reader *r, uint32_t partner)
{
    uint32_t name = r->trace->name[partner], *place = &r->place_of[name];
    if (!*place) {
        gt_kernel_detail kernel = {.name = name, .stream = r->streams[partner]};
        GT_PUSH(r->kernels, r->count, r->capacity, kernel);
        r->sums = gt_grow(r->sums, &r->sums_capacity, r->count, sizeof *r->sums);
        r->sums[r->count - 1] = (sums){0};
        *place = (uint32_t)r->count;
    }
    return &r->sums[*place - 1];
}

/* Adds a kernel's partners to the sums of their names. Returns the time in which any of them runs at the same
 * time as the kernel. */
static double add_kernel(gt_op_overlap_reader *r, uint32_t row, double busy_us)
{
    const gt_linked_view *trace = r->trace;
    size_t count;
    const uint32_t *partners = gt_overlaps_of(r->overlaps, row, &count);
    r->beside.count = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t partner = partners[i];
        double start_us = fmax(trace->start_us[row], trace->start_us[partner]);
        double end_us = fmin(trace->end_us[row], trace->end_us[partner]);
        sums *s = sums_of(r, partner);
        s->dur_us += trace->dur_us[partner];
        s->overlap_pct += busy_us > 0 ? gt_python_round2((end_us - start_us) / busy_us) : 0.0;
        s->count += 1.0;
        gt_intervals_add(&r->beside, start_us, end_us);
    }
    gt_intervals_merge(&r->beside);
    return gt_intervals_length(&r->beside);
}

static void finish_details(gt_op_overlap_reader *r)
{
    r->names.len = 0;
    for (size_t i = 0; i < r->count; i++) {
        gt_kernel_detail *kernel = &r->kernels[i];
        kernel->dur_us = gt_python_round2(r->sums[i].dur_us / r->sums[i].count);
        kernel->overlap_pct = gt_python_round2(r->sums[i].overlap_pct / r->sums[i].count);
        gt_buffer_add_cstr(&r->names, i ? ", " : "[");
        gt_python_add_repr(&r->names, gt_interner_get(r->trace->strings, kernel->name));
        r->place_of[kernel->name] = 0;
    }
    gt_buffer_add_cstr(&r->names, "]");
}

gt_op_overlap gt_op_overlap_read(gt_op_overlap_reader *r, const uint32_t *rows, size_t count, double busy_us)
{
    double beside_us = 0.0;
    r->count = 0;
    for (size_t i = 0; i < count; i++) beside_us += add_kernel(r, rows[i], busy_us);
    if (!r->count) return (gt_op_overlap){.overlap_pct = NAN};
    finish_details(r);
    return (gt_op_overlap){.names = gt_interner_add(r->trace->strings, r->names.bytes, r->names.len),
                           .overlap_pct = busy_us > 0 ? gt_python_round2(beside_us / busy_us) : 0.0,
                           .kernels = r->kernels,
                           .count = r->count};
}

void gt_op_overlap_reader_free(gt_op_overlap_reader *r)
{
    if (!r) return;
    gt_free(r->streams);
    gt_free(r->place_of);
    gt_free(r->kernels);
    gt_free(r->sums);
    gt_intervals_free(&r->beside);
    gt_buffer_free(&r->names);
    gt_free(r);
}
