/* What is kept of one rank as an image, and back: a partial report that another process finishes. And images
 * of many ranks in a temporary file, which this process reads again when it has read all traces.
 *
 *     strings    of everything below
 *     tables     the rows, then the extra sheets, all or none
 *     rank       numbers: see the enum
 *     facts      those of findings/ranks/image.c, if there are any
 *
 * The arrays of the image are not used after loading. */
#include "report/collective.h"

#include "base/memory.h"
#include "base/pages/spill.h"
#include "base/guard.h"
#include "output/file.h"
#include "table/image.h"

#include <pthread.h>
#include <string.h>

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

/* ---- many ranks in a temporary file ----
 *
 * A record has, for each part of the image, its head and its bytes, which begin at multiples of 8. */

enum { READABLE_AFTER_STRINGS = 64, PART_ALIGNMENT = 8 };

typedef struct part_head {
    char name[GT_IMAGE_NAME_MAX];
    uint64_t len;
} part_head;

typedef struct stowed {
    gt_rank_collectives *in_memory; /* owned; NULL if it is in the file */
    uint64_t position;              /* in the file, plus 1; 0: not there */
} stowed;

struct gt_rank_stow {
    gt_temp_store *store; /* NULL: there is none */
    bool is_sealed;
    stowed *ranks;
    size_t count, capacity;
    pthread_mutex_t lock; /* for reading the store */
};

gt_rank_stow *gt_rank_stow_new(void)
{
    gt_rank_stow *stow = gt_alloc_zero(1, sizeof *stow);
    gt_error ignored;
    char *path = gt_format("%s/ranks", gt_spill_folder());
    stow->store = gt_temp_store_open(path, &ignored);
    pthread_mutex_init(&stow->lock, NULL);
    gt_free(path);
    return stow;
}

void gt_rank_stow_free(gt_rank_stow *stow)
{
    if (!stow) return;
    for (size_t i = 0; i < stow->count; i++) gt_rank_collectives_free(stow->ranks[i].in_memory);
    gt_temp_store_close(stow->store);
    pthread_mutex_destroy(&stow->lock);
    gt_free(stow->ranks);
    gt_free(stow);
}

static void align(gt_buffer *record)
{
    static const char zeros[PART_ALIGNMENT];
    gt_buffer_add(record, zeros, -record->len % PART_ALIGNMENT);
}

static void add_part(gt_buffer *record, const gt_image_part *part)
{
    part_head head = {.len = part->len};
    memcpy(head.name, part->name, sizeof head.name);
    gt_buffer_add(record, &head, sizeof head);
    for (size_t i = 0; i < part->piece_count; i++)
        gt_buffer_add(record, part->pieces[i].bytes, part->pieces[i].len);
    if (!part->piece_count && part->len) gt_buffer_add(record, part->bytes, part->len);
    align(record);
}

/* The parts borrow the bytes of the record. */
static gt_rank_collectives *load_record(gt_str record, int64_t rank)
{
    gt_image image = {0};
    for (size_t at = 0; at < record.len;) {
        part_head head;
        memcpy(&head, record.bytes + at, sizeof head);
        at += sizeof head;
        char *slash = strchr(head.name, '/');
        *slash = 0;
        gt_image_add(&image, head.name, slash + 1, record.bytes + at, head.len);
        at += (head.len + PART_ALIGNMENT - 1) / PART_ALIGNMENT * PART_ALIGNMENT;
    }
    gt_rank_collectives *c = gt_rank_collectives_load(&image, rank);
    gt_image_free(&image);
    return c;
}

/* False if the disk is full, or if it cannot be loaded again: an image has only numbers that make sense, a
 * trace may have others. */
static bool put_in_file(gt_rank_stow *stow, int64_t rank, const gt_rank_collectives *c)
{
    static const char zeros[READABLE_AFTER_STRINGS];
    gt_image image = {0};
    gt_buffer record = {0};
    gt_rank_collectives_save(c, rank, &image);
    for (size_t i = 0; i < image.count; i++) add_part(&record, &image.parts[i]);
    gt_image_free(&image);
    gt_str bytes = gt_buffer_str(&record);
    gt_buffer_add(&record, zeros, sizeof zeros);
    gt_rank_collectives *again = load_record((gt_str){record.bytes, bytes.len}, rank);
    bool fits = again && gt_temp_store_has_room(stow->store, bytes.len);
    if (fits) stow->ranks[rank].position = 1 + gt_temp_store_add(stow->store, record.bytes, bytes.len);
    gt_rank_collectives_free(again);
    gt_buffer_free(&record);
    return fits;
}

void gt_rank_stow_put(gt_rank_stow *stow, int64_t rank, gt_rank_collectives *c)
{
    if (!c) return;
    size_t before = stow->capacity;
    if (stow->count <= (size_t)rank) {
        stow->ranks = gt_grow(stow->ranks, &stow->capacity, (size_t)rank + 1, sizeof *stow->ranks);
        memset(stow->ranks + before, 0, (stow->capacity - before) * sizeof *stow->ranks);
        stow->count = (size_t)rank + 1;
    }
    if (stow->store && put_in_file(stow, rank, c))
        gt_rank_collectives_free(c);
    else
        stow->ranks[rank].in_memory = c;
}

/* The record of a rank, with the bytes that loading strings may read after it. */
static void read_record(gt_rank_stow *stow, uint64_t position, gt_buffer *record)
{
    static const char zeros[READABLE_AFTER_STRINGS];
    gt_error error;
    gt_lock(&stow->lock);
    if (!stow->is_sealed && !gt_temp_store_seal(stow->store, &error)) {
        gt_unlock(&stow->lock);
        gt_raise("%s", error.text); /* the disk is full */
    }
    stow->is_sealed = true;
    gt_str bytes = gt_temp_store_read(stow->store, position);
    gt_buffer_add(record, bytes.bytes, bytes.len);
    gt_unlock(&stow->lock);
    gt_buffer_add(record, zeros, sizeof zeros);
}

gt_rank_collectives *gt_rank_stow_take(void *from, size_t rank)
{
    gt_rank_stow *stow = from;
    if (rank >= stow->count) return NULL;
    stowed *s = &stow->ranks[rank];
    gt_rank_collectives *c = s->in_memory;
    s->in_memory = NULL;
    if (!s->position) return c;
    gt_buffer record = {0};
    read_record(stow, s->position - 1, &record);
    c = load_record((gt_str){record.bytes, record.len - READABLE_AFTER_STRINGS}, (int64_t)rank);
    gt_buffer_free(&record);
    return c;
}
