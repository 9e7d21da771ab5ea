/* Fuzzes what is loaded from partials, as if their checksums were right: the partials of two ranks, one after
 * the other. The first four bytes are the length of the first one; both are sections (image_sections.h). What
 * is loaded must be sound enough for the report of all ranks, with findings. A partial that is loaded can be
 * saved and loaded again. make_partial_corpus.py makes seeds of real partials. */
#include "image_sections.h"
#include "quiet.h"
#include "report/collective.h"
#include "sound_table.h"

#include <stdlib.h>

enum { RANKS = 2 };

/* The loaded partial, or NULL. */
static gt_rank_collectives *load(const uint8_t *data, size_t size, size_t rank)
{
    gt_image image = image_of(data, size);
    gt_rank_collectives *c = gt_rank_collectives_load(&image, (int64_t)rank);
    gt_image_free(&image);
    return c;
}

static void save_again(const gt_rank_collectives *c, int64_t rank)
{
    gt_image image = {0};
    gt_rank_collectives_save(c, rank, &image);
    if (gt_rank_collectives_saved_rank(&image) != rank) abort();
    gt_image_free(&image);
}

static void check_tables(gt_table_list *tables)
{
    for (size_t i = 0; i < tables->count; i++) check_table(tables->items[i]);
    gt_table_list_free(tables);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t first;
    char names[] = "a\0b", *paths[RANKS] = {names, names + 2};
    if (size < sizeof first) return 0;
    memcpy(&first, data, sizeof first);
    data += sizeof first;
    size -= sizeof first;
    if (first > size) first = (uint32_t)size;
    gt_rank_collectives *ranks[RANKS] = {load(data, first, 0), load(data + first, size - first, 1)};
    for (size_t rank = 0; rank < RANKS; rank++) {
        if (!ranks[rank]) paths[rank] = NULL;
        if (ranks[rank]) save_again(ranks[rank], (int64_t)rank);
    }
    gt_error error = {""};
    gt_rank_traces traces;
    gt_table_list tables = {0};
    gt_rank_traces_read(
        &traces, &(gt_rank_request){.paths = paths, .rank_count = RANKS, .ready = ranks, .threads = 1});
    gt_collective_options options = {
        .world_size = RANKS, .gpus_per_node = 1, .heatmap = true, .facts = traces.facts};
    gt_aggregations_add(&options.aggregations, "mean", &error);
    gt_table *rows = traces.rows, *stragglers = NULL;
    traces.rows = NULL;
    /* Commands make no report without collectives. */
    if (!rows->row_count)
        gt_table_free(rows);
    else if (!gt_collective_tables(rows, &options, &tables, &stragglers, &error) && !error.text[0])
        abort();
    check_tables(&tables);
    gt_table_free(stragglers);
    check_tables(&traces.extra);
    gt_rank_traces_free(&traces);
    return 0;
}
