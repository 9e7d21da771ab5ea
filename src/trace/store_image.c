/* Images of event stores, for indexes.
 *
 * The arrays of a store: a head per segment, the packing of its columns and of its positions, and the packed
 * data of all segments. Segments that were written with strings of their own refer to one of the lists that
 * gt_store_adopt_strings made; all lists are one array. */
#include "trace/store_parts.h"

#include <stdatomic.h>

typedef struct image_head {
    uint64_t first_position;
    uint64_t data_start; /* in the data of all segments */
    uint32_t rows, bytes;
    uint32_t list; /* number of the list of string ids; NO_LIST: none */
    uint32_t unused;
} image_head;

typedef struct image_packing {
    int64_t base, absent;
    uint32_t start;
    uint8_t width, thousandths, unused[2];
} image_packing;

#define NO_LIST UINT32_MAX

enum { STORE_RECORDS, STORE_BASE_KNOWN, STORE_BASE_NS, STORE_NUMBERS };

static uint32_t list_of(const gt_store *store, const gt_segment *s)
{
    for (size_t i = 0; s->string_ids && i < store->adopted_count; i++)
        if (store->adopted[i].ids == s->string_ids) return (uint32_t)i;
    return NO_LIST;
}

static image_packing packing_to_image(const gt_packed *p)
{
    return (image_packing){.base = p->base,
                           .absent = p->absent,
                           .start = p->start,
                           .width = p->width,
                           .thousandths = p->thousandths};
}

static void save_lists(const gt_store *store, gt_image *image, const char *owner)
{
    gt_str *pieces = gt_alloc((store->adopted_count + 1) * sizeof *pieces);
    uint64_t *ends = gt_alloc(store->adopted_count * sizeof *ends), end = 0;
    for (size_t i = 0; i < store->adopted_count; i++) {
        const gt_adopted_strings *list = &store->adopted[i];
        pieces[i] = (gt_str){(const char *)list->ids, list->count * sizeof *list->ids};
        ends[i] = end += list->count;
    }
    gt_image_give(image, owner, "list_ends", ends, store->adopted_count * sizeof *ends);
    gt_image_give_pieces(image, owner, "lists", pieces, store->adopted_count);
}

void gt_store_save(const gt_store *store, gt_image *image, const char *owner)
{
    size_t segments = store->all.count, width = store->column_count + 1;
    image_head *heads = gt_alloc_zero(segments, sizeof *heads);
    image_packing *packings = gt_alloc_zero(segments * width, sizeof *packings);
    gt_str *data = gt_alloc((segments + 1) * sizeof *data);
    uint64_t start = 0;
    for (size_t i = 0; i < segments; i++) {
        const gt_segment *s = store->all.segments[i];
        heads[i] = (image_head){.first_position = s->first_position,
                                .data_start = start,
                                .rows = s->rows,
                                .bytes = s->bytes,
                                .list = list_of(store, s)};
        for (size_t c = 0; c < store->column_count; c++)
            packings[i * width + c] = packing_to_image(&s->columns[c]);
        packings[i * width + store->column_count] = packing_to_image(&s->positions);
        data[i] = (gt_str){(const char *)s->data, s->bytes};
        start += s->bytes;
    }
    int64_t numbers[STORE_NUMBERS] = {[STORE_RECORDS] = (int64_t)store->all.records,
                                      [STORE_BASE_KNOWN] = store->base_time.known,
                                      [STORE_BASE_NS] = store->base_time.ns};
    gt_image_add_numbers(image, owner, "numbers", numbers, STORE_NUMBERS);
    gt_image_give(image, owner, "heads", heads, segments * sizeof *heads);
    gt_image_give(image, owner, "packings", packings, segments * width * sizeof *packings);
    gt_image_give_pieces(image, owner, "data", data, segments);
    save_lists(store, image, owner);
}

/* What loading checks the segments with, range by range. */
typedef struct load_job {
    gt_store *store;
    const uint8_t *const *allowed;
    _Atomic bool damaged;
} load_job;

enum { LOAD_GRAIN = 8 };

static bool packing_from_image(const image_packing *from, const image_head *head, gt_store_type type,
                               gt_packed *to)
{
    bool known = from->width <= 2 || from->width == 4 || from->width == 8;
    if (!known || from->thousandths > (type == GT_STORE_TIME)) return false;
    if (from->start + (uint64_t)from->width * head->rows > head->bytes) return false;
    *to = (gt_packed){.base = from->base,
                      .absent = from->absent,
                      .start = from->start,
                      .width = from->width,
                      .thousandths = from->thousandths};
    return true;
}

/* String ids must be in the interner, or in the segment's list of ids, and be allowed in their column. */
static bool strings_are_sound(const gt_segment *s, size_t column, const uint8_t *allowed)
{
    int64_t cells[GT_SEGMENT_ROWS];
    size_t rows = s->columns[column].width ? s->rows : 1; /* all values are the same */
    gt_unpack(&s->columns[column], s->data, rows, cells);
    uint64_t high = 0;
    for (size_t row = 0; row < rows; row++) high = (uint64_t)cells[row] > high ? (uint64_t)cells[row] : high;
    if (high >= s->string_limit) return false;
    for (size_t row = 0; allowed && row < rows; row++)
        if (!allowed[s->string_ids ? s->string_ids[cells[row]] : (uint64_t)cells[row]]) return false;
    return true;
}

static uint64_t first_place(const gt_segment *s)
{
    int64_t cell;
    gt_unpack(&s->positions, s->data, 1, &cell);
    return s->first_position + (uint64_t)cell;
}

/* Positions ascend, and those of the segment end before `end`. */
static bool positions_are_sound(const gt_segment *s, uint64_t end)
{
    int64_t cells[GT_SEGMENT_ROWS];
    gt_unpack(&s->positions, s->data, s->rows, cells);
    uint64_t next = s->first_position;
    for (size_t row = 0; row < s->rows; row++) {
        uint64_t position = s->first_position + (uint64_t)cells[row] + row;
        if (position < next || position >= end) return false;
        next = position + 1;
    }
    return true;
}

static void check_segments(void *context, size_t begin, size_t end)
{
    load_job *job = context;
    const gt_store *store = job->store;
    bool sound = true;
    for (size_t i = begin; sound && i < end; i++) {
        const gt_segment *s = store->all.segments[i];
        bool last = i + 1 == store->all.count;
        sound = positions_are_sound(s, last ? store->all.records : first_place(store->all.segments[i + 1]));
        for (size_t c = 0; sound && c < store->column_count; c++)
            if (store->columns[c].type == GT_STORE_STRING)
                sound = strings_are_sound(s, c, job->allowed ? job->allowed[c] : NULL);
    }
    if (!sound) job->damaged = true;
}

static bool load_lists(gt_store *store, const gt_image *image, const char *owner)
{
    size_t count = 0, all = 0;
    const uint64_t *ends = gt_image_get(image, owner, "list_ends", sizeof *ends, &count);
    const uint32_t *ids = gt_image_get(image, owner, "lists", sizeof *ids, &all);
    if (!ends || !ids || (count ? ends[count - 1] : 0) != all) return false;
    uint32_t strings = gt_interner_count(store->strings);
    for (size_t i = 0; i < all; i++)
        if (ids[i] >= strings) return false;
    for (size_t i = 0; i < count; i++) {
        uint64_t begin = i ? ends[i - 1] : 0;
        if (ends[i] < begin || ends[i] > all || ends[i] - begin > UINT32_MAX) return false;
        gt_adopted_strings list = {NULL, NULL, (uint32_t)(ends[i] - begin)};
        list.ids = gt_alloc(list.count * sizeof *list.ids);
        if (list.count) memcpy(list.ids, ids + begin, list.count * sizeof *list.ids);
        GT_PUSH(store->adopted, store->adopted_count, store->adopted_capacity, list);
    }
    return true;
}

/* A segment from its head, without a look at its data. NULL if they do not fit. */
static gt_segment *load_segment_head(gt_store *store, const image_head *head, const image_packing *packings,
                                     const uint8_t *data, uint64_t data_bytes)
{
    if (!head->rows || head->rows > GT_SEGMENT_ROWS || head->data_start > data_bytes ||
        head->bytes > data_bytes - head->data_start ||
        (head->list != NO_LIST && head->list >= store->adopted_count))
        return NULL;
    gt_segment *s = gt_alloc_zero(1, sizeof *s + store->column_count * sizeof *s->columns);
    s->rows = head->rows;
    s->first_position = head->first_position;
    s->strings = store->strings;
    s->string_ids = head->list == NO_LIST ? NULL : store->adopted[head->list].ids;
    s->string_limit =
        head->list == NO_LIST ? gt_interner_count(store->strings) : store->adopted[head->list].count;
    s->data = (uint8_t *)(uintptr_t)(data + head->data_start); /* never written to: see repack */
    s->bytes = head->bytes;
    bool sound = packing_from_image(&packings[store->column_count], head, GT_STORE_INT, &s->positions);
    for (size_t c = 0; sound && c < store->column_count; c++)
        sound = packing_from_image(&packings[c], head, store->columns[c].type, &s->columns[c]);
    if (sound) return s;
    gt_free(s);
    return NULL;
}

static bool load_segments(gt_store *store, const gt_image *image, const char *owner)
{
    size_t count = 0, data_bytes = 0, width = store->column_count + 1;
    const int64_t *numbers =
        gt_image_get_all(image, owner, "numbers", sizeof *numbers, (size_t)STORE_NUMBERS);
    const image_head *heads = gt_image_get(image, owner, "heads", sizeof *heads, &count);
    const image_packing *packings =
        gt_image_get_all(image, owner, "packings", width * sizeof *packings, count);
    const uint8_t *data = gt_image_get(image, owner, "data", 1, &data_bytes);
    if (!numbers || !heads || !packings || !data) return false;
    if ((uint64_t)numbers[STORE_RECORDS] > UINT32_MAX) return false;
    store->all.records = (size_t)numbers[STORE_RECORDS];
    store->base_time = (gt_base_time){numbers[STORE_BASE_KNOWN] != 0, numbers[STORE_BASE_NS]};
    for (size_t i = 0; i < count; i++) {
        gt_segment *s = load_segment_head(store, &heads[i], packings + i * width, data, data_bytes);
        if (!s) return false;
        gt_store_add_segment(store, s);
    }
    return true;
}

gt_store *gt_store_load(const gt_image *image, const char *owner, const gt_store_column *columns,
                        size_t column_count, gt_interner *strings, const uint8_t *const *allowed)
{
    load_job job = {.store = gt_store_new(columns, column_count, strings), .allowed = allowed};
    if (load_lists(job.store, image, owner) && load_segments(job.store, image, owner)) {
        gt_parallel_ranges(job.store->all.count, LOAD_GRAIN, check_segments, &job);
        if (!job.damaged) return job.store;
    }
    gt_store_free(job.store);
    return NULL;
}
