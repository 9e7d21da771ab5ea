/* What is kept of one rank as an image, and back: a partial report that another process finishes.
 *
 *     strings    of everything below
 *     tables     the rows, then the extra sheets, all or none
 *     rank       numbers: see the enum
 *     facts      those of findings/ranks/image.c, if there are any
 *
 * The arrays of the image are not used after loading. */
#include "report/collective.h"

#include "table/image.h"

static const char owner[] = "rank";
enum { EXTRA_MAX = 6 }; /* sheets of extra_sheets.h */

enum {
    RANK,
    BASE_KNOWN,
    BASE_NS,
    OWN_RANK,
    WORLD_SIZE,
    DEVICES,
    IS_WHOLE,
    EVENTS,
    HAS_FACTS,
    BY_DEVICE,
    NUMBERS
};

/* Whoever adds a member must save it, and check it when it is loaded. */
_Static_assert(sizeof(gt_rank_collectives) == 112 && sizeof(gt_run_info) == 32, "save the new member");

/* ---- saving ---- */

void gt_rank_collectives_save(const gt_rank_collectives *c, int64_t rank, gt_image *image)
{
    const int64_t numbers[NUMBERS] = {[RANK] = rank,
                                      [BASE_KNOWN] = c->base.known,
                                      [BASE_NS] = c->base.ns,
                                      [OWN_RANK] = c->run.distributed.rank,
                                      [WORLD_SIZE] = c->run.distributed.world_size,
                                      [DEVICES] = (int64_t)c->run.devices,
                                      [IS_WHOLE] = c->run.is_whole,
                                      [EVENTS] = (int64_t)c->events,
                                      [HAS_FACTS] = c->facts != NULL,
                                      [BY_DEVICE] = c->extra.by_device};
    gt_image_add_numbers(image, owner, "numbers", numbers, NUMBERS);
    gt_table *tables[1 + EXTRA_MAX] = {c->rows};
    for (size_t i = 0; i < c->extra.tables.count && i < EXTRA_MAX; i++)
        tables[1 + i] = c->extra.tables.items[i];
    gt_tables_save(tables, 1 + c->extra.tables.count, c->strings, image);
    if (c->facts) gt_rank_facts_save(c->facts, c->strings, image);
    gt_strings_save(c->strings, image);
}

/* ---- loading ---- */

static const int64_t *numbers_of(const gt_image *image)
{
    return gt_image_get_all(image, owner, "numbers", sizeof(int64_t), NUMBERS);
}

int64_t gt_rank_collectives_saved_rank(const gt_image *image)
{
    const int64_t *numbers = numbers_of(image);
    return numbers && numbers[RANK] >= 0 ? numbers[RANK] : -1;
}

int64_t gt_rank_collectives_saved_world_size(const gt_image *image)
{
    const int64_t *numbers = numbers_of(image);
    return numbers && numbers[WORLD_SIZE] > 0 && numbers[WORLD_SIZE] <= GT_COLLECTIVE_RANKS_MAX
               ? numbers[WORLD_SIZE]
               : 0;
}

static bool load_numbers(gt_rank_collectives *c, const int64_t *numbers)
{
    if ((uint64_t)numbers[BASE_KNOWN] > 1 || (uint64_t)numbers[IS_WHOLE] > 1 ||
        (uint64_t)numbers[HAS_FACTS] > 1 || (uint64_t)numbers[BY_DEVICE] > 1 || numbers[DEVICES] < 0 ||
        numbers[EVENTS] < 0)
        return false;
    c->base = (gt_base_time){numbers[BASE_KNOWN] != 0, numbers[BASE_NS]};
    c->run = (gt_run_info){.distributed = {numbers[OWN_RANK], numbers[WORLD_SIZE]},
                           .devices = (size_t)numbers[DEVICES],
                           .is_whole = numbers[IS_WHOLE] != 0};
    c->events = (size_t)numbers[EVENTS];
    c->extra.by_device = numbers[BY_DEVICE] != 0;
    return true;
}

static void add_table(void *list, gt_table *table)
{
    gt_table_list_add(list, table);
}

/* Moves the first table to the rows and the others to the extra sheets. */
static bool take_tables(gt_rank_collectives *c, gt_table_list *tables, int64_t rank)
{
    if (!tables->count) return false;
    for (size_t i = 0; i < tables->count; i++) gt_table_use_strings(tables->items[i], c->strings);
    c->rows = tables->items[0];
    for (size_t i = 1; i < tables->count; i++) gt_table_list_add(&c->extra.tables, tables->items[i]);
    tables->count = 0;
    return gt_collectives_are_sound(c->rows, rank) && gt_extra_are_sound(&c->extra);
}

gt_rank_collectives *gt_rank_collectives_load(const gt_image *image, int64_t rank)
{
    const int64_t *numbers = numbers_of(image);
    gt_interner *strings = numbers && numbers[RANK] == rank ? gt_strings_load(image) : NULL;
    if (!strings) return NULL;
    gt_rank_collectives *c = gt_alloc_zero(1, sizeof *c);
    gt_table_list tables = {0};
    c->strings = gt_interner_new();
    bool sound = load_numbers(c, numbers) && gt_tables_load(image, strings, add_table, &tables) &&
                 take_tables(c, &tables, rank);
    if (sound && numbers[HAS_FACTS]) {
        c->facts = gt_rank_facts_load(image, strings);
        sound = c->facts && c->facts->collective_count == c->rows->row_count;
    }
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    if (sound) return c;
    gt_rank_collectives_free(c);
    return NULL;
}
