/* Kernels of one collective op are numbered on each GPU by their start: kernels with the same number are one
 * slice. */
#include "analysis/jax/collective_slices.h"
#include "analysis/jax/timeline.h"
#include "base/map.h"
#include "schema/columns.h"
#include "schema/sheets.h"
#include "table/operations.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    NODE,
    RANK,
    PID,
    START,
    DUR,
    NAME,
    MODULE,
    CORRELATION,
    REPLICAS,
    GROUPS,
    BYTES,
    PROCESS,
    INDEX,
    ID,
    COLUMNS
};

static const gt_column_head columns[COLUMNS] = {
    [NODE] = {GT_COL_NODE, GT_TYPE_INT},
    [RANK] = {GT_COL_GPU_RANK, GT_TYPE_INT},
    [PID] = {GT_COL_PID, GT_TYPE_INT},
    [START] = {GT_COL_TS, GT_TYPE_FLOAT},
    [DUR] = {GT_COL_DUR, GT_TYPE_FLOAT},
    [NAME] = {GT_COL_JAX_COLLECTIVE_NAME, GT_TYPE_STRING},
    [MODULE] = {GT_COL_HLO_MODULE, GT_TYPE_STRING},
    [CORRELATION] = {GT_COL_CORRELATION_ID, GT_TYPE_INT},
    [REPLICAS] = {GT_COL_REPLICA_STRING, GT_TYPE_STRING},
    [GROUPS] = {GT_COL_REPLICA_GROUPS, GT_TYPE_LIST},
    [BYTES] = {GT_COL_DATA_BYTES, GT_TYPE_INT},
    [PROCESS] = {GT_COL_PROCESS_NAME, GT_TYPE_STRING},
    [INDEX] = {GT_COL_INDEX_IN_GROUP, GT_TYPE_INT},
    [ID] = {GT_COL_COLLECTIVE_ID, GT_TYPE_STRING},
};

gt_jax_collectives *gt_jax_collectives_new(int64_t gpus_per_node)
{
    gt_jax_collectives *c = gt_alloc_zero(1, sizeof *c);
    c->gpus_per_node = gpus_per_node;
    c->strings = gt_interner_new();
    return c;
}

void gt_jax_collectives_free(gt_jax_collectives *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->slice_count; i++) gt_free(c->slices[i].events);
    for (size_t k = 0; k < KINDS; k++) {
        gt_free(c->of_kind[k].bandwidths);
        gt_free(c->of_kind[k].bus_bandwidths);
    }
    gt_free(c->slices);
    gt_free(c->events);
    gt_interner_free(c->strings);
    gt_free(c);
}

gt_interner *gt_jax_collectives_strings(gt_jax_collectives *c)
{
    return c->strings;
}

/* ---- events ---- */

static uint32_t copy_text(gt_jax_collectives *c, const gt_jax *trace, uint32_t id)
{
    if (id == GT_STR_NONE) return GT_STR_NONE;
    gt_str text = gt_interner_get(trace->strings, id);
    return gt_interner_add(c->strings, text.bytes, text.len);
}

static uint32_t process_name(gt_jax_collectives *c, const char *host, const gt_jax *trace,
                             const gt_jax_gpu *gpu)
{
    char *name = gt_format("%s %s", host, gt_interner_get(trace->strings, gpu->plane).bytes);
    uint32_t id = gt_interner_add_cstr(c->strings, name);
    gt_free(name);
    return id;
}

void gt_jax_collectives_add(gt_jax_collectives *c, int64_t node, const char *host, const gt_jax *trace,
                            const gt_xla *program)
{
    for (size_t g = 0; g < trace->gpu_count; g++) {
        const gt_jax_gpu *gpu = &trace->gpus[g];
        uint32_t process = process_name(c, host, trace, gpu);
        for (size_t i = gpu->begin; i < gpu->end; i++) {
            if (!gt_jax_is_communication(gt_jax_name(trace, i))) continue;
            const gt_jax_op *op = trace->op[i] == GT_JAX_NONE ? NULL : &trace->ops[trace->op[i]];
            uint32_t name = op ? copy_text(c, trace, op->hlo_op) : GT_STR_NONE;
            const gt_xla_collective *found =
                program && name != GT_STR_NONE ? gt_xla_find(program, name) : NULL;
            collective_event e = {
                .node = node,
                .gpu_rank = node * c->gpus_per_node + (int64_t)gpu->pid - 1,
                .data_bytes = found ? found->data_bytes : 0,
                .correlation = trace->correlation[i],
                .has_correlation = trace->flags[i] & GT_JAX_HAS_CORRELATION,
                .start_us = gt_jax_start_us(trace, i),
                .dur_us = gt_jax_dur_us(trace, i),
                .pid = gpu->pid,
                .name = name == GT_STR_NONE ? gt_interner_add_cstr(c->strings, "unknown") : name,
                .module = op ? copy_text(c, trace, op->hlo_module) : GT_STR_NONE,
                .process = process,
                .collective = found,
            };
            GT_PUSH(c->events, c->count, c->capacity, e);
        }
    }
}

/* ---- slices ---- */

static int by_place_and_start(const void *left, const void *right, void *of)
{
    const gt_jax_collectives *c = of;
    const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
    const collective_event *a = &c->events[x], *b = &c->events[y];
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->pid != b->pid) return a->pid < b->pid ? -1 : 1;
    if (a->start_us != b->start_us) return a->start_us < b->start_us ? -1 : 1;
    return (x > y) - (x < y);
}

/* Numbers the events of each name on each GPU by their start. */
static void number_events(gt_jax_collectives *c)
{
    uint32_t *order = gt_order_new(c->count);
    if (c->count) qsort_r(order, c->count, sizeof *order, by_place_and_start, c);
    for (size_t i = 0; i < c->count; i++) {
        collective_event *e = &c->events[order[i]];
        const collective_event *before = i ? &c->events[order[i - 1]] : NULL;
        bool goes_on = before && before->name == e->name && before->node == e->node && before->pid == e->pid;
        e->index = goes_on ? before->index + 1 : 0;
    }
    gt_free(order);
}

static void make_slices(gt_jax_collectives *c)
{
    gt_map places = {0};
    for (uint32_t i = 0; i < c->count; i++) {
        collective_event *e = &c->events[i];
        uint32_t *place = gt_map_put(&places, e->name, e->index);
        if (*place == GT_MAP_NONE) {
            char *id = gt_format("%s_%" PRIu32, gt_interner_get(c->strings, e->name).bytes, e->index);
            *place = (uint32_t)c->slice_count;
            slice new = {
                .name = e->name, .id = gt_interner_add_cstr(c->strings, id), .bandwidth = (double)NAN};
            GT_PUSH(c->slices, c->slice_count, c->slice_capacity, new);
            gt_free(id);
        }
        slice *s = &c->slices[*place];
        e->id = s->id;
        GT_PUSH(s->events, s->count, s->capacity, i);
    }
    gt_map_free(&places);
}

/* ---- the long table ---- */

static void add_groups(gt_column *cells, size_t row, const gt_xla_collective *collective)
{
    if (!collective || collective->replicas == GT_STR_NONE) return;
    gt_list_begin(cells, row);
    for (size_t g = 0; g < collective->group_count; g++) {
        gt_column *ranks = gt_list_push_list(cells);
        for (size_t r = 0; r < collective->groups[g].count; r++)
            gt_list_push_int(ranks, collective->groups[g].ranks[r]);
    }
}

static void set_row(gt_table *table, size_t row, const collective_event *e)
{
    gt_table_set_int(table, NODE, row, e->node);
    gt_table_set_int(table, RANK, row, e->gpu_rank);
    gt_table_set_int(table, PID, row, e->pid);
    gt_table_set_float(table, START, row, e->start_us);
    gt_table_set_float(table, DUR, row, e->dur_us);
    gt_table_set_string(table, NAME, row, e->name);
    gt_table_set_string(table, MODULE, row, e->module);
    if (e->has_correlation) gt_table_set_int(table, CORRELATION, row, (int64_t)e->correlation);
    if (e->collective) gt_table_set_string(table, REPLICAS, row, e->collective->replicas);
    if (e->collective) gt_table_set_int(table, BYTES, row, e->data_bytes);
    gt_table_set_string(table, PROCESS, row, e->process);
    gt_table_set_int(table, INDEX, row, e->index);
    gt_table_set_string(table, ID, row, e->id);
    add_groups(&table->columns[GROUPS], row, e->collective);
}

gt_table *gt_jax_collective_events(gt_jax_collectives *c)
{
    number_events(c);
    make_slices(c);
    gt_table *table = gt_table_new(GT_SHEET_COLLECTIVE_EVENTS, c->strings);
    gt_table_add_columns(table, columns, COLUMNS);
    gt_list_of(gt_list_of(&table->columns[GROUPS], GT_TYPE_LIST), GT_TYPE_INT);
    for (size_t i = 0; i < c->count; i++) set_row(table, gt_table_add_row(table), &c->events[i]);
    gt_table_widen_ints(table);
    return table;
}
