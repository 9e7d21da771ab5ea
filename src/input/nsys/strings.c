/* Strings of an export by their ids. The table may have millions of them, most of which nothing refers to,
 * and its primary key finds each quickly: so it is never read whole. Where somebody removed the key, the ids
 * that other tables mention are collected first. */
#include "input/nsys/reader.h"

uint32_t gt_nsys_intern(gt_nsys_strings *strings, gt_str text)
{
    text = gt_utf8_repair(text, &strings->repaired);
    return gt_interner_add(strings->interner, text.bytes, text.len);
}

/* ---- without a key ---- */

static const struct {
    const char *table, *column;
} mentions[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "shortName"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName"},
    {"CUPTI_ACTIVITY_KIND_KERNEL", "mangledName"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId"},
    {"CUPTI_ACTIVITY_KIND_DRIVER", "nameId"},
    {"OSRT_API", "nameId"},
    {"NVTX_EVENTS", "textId"},
};

static bool collect(gt_nsys_strings *strings)
{
    bool read = true;
    for (size_t i = 0; read && i < GT_LENGTH(mentions); i++) {
        gt_nsys_rows rows;
        int64_t id;
        gt_nsys_begin(&rows, strings->tables, mentions[i].table, &mentions[i].column, 1, strings->error);
        while (gt_nsys_next(&rows))
            if (gt_nsys_int(&rows, 0, &id)) *gt_map_put(&strings->met, (uint64_t)id, 0) = GT_STR_NONE;
        read = gt_nsys_end(&rows);
    }
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, strings->tables, "StringIds", GT_NSYS_COLUMNS("id", "value"), strings->error);
    while (read && gt_nsys_next(&rows)) {
        int64_t id;
        if (!gt_nsys_int(&rows, 0, &id) || gt_nsys_is_null(&rows, 1)) continue;
        if (gt_map_get(&strings->met, (uint64_t)id, 0) != GT_STR_NONE) continue;
        *gt_map_put(&strings->met, (uint64_t)id, 0) = gt_nsys_intern(strings, gt_nsys_text(&rows, 1));
    }
    return gt_nsys_end(&rows) && read;
}

/* ---- with a key ---- */

bool gt_nsys_strings_begin(gt_nsys_strings *strings, const gt_nsys_tables *tables, gt_interner *interner,
                           gt_error *error)
{
    *strings = (gt_nsys_strings){.tables = tables, .interner = interner, .error = error};
    strings->cache = gt_alloc_zero(GT_NSYS_CACHED, sizeof *strings->cache);
    if (!gt_nsys_is_key(tables, "StringIds", "id")) return collect(strings);
    strings->lookup = gt_sqlite_prepare(&tables->sqlite, "SELECT value FROM StringIds WHERE id = ?1");
    return strings->lookup || gt_sqlite_fail(&tables->sqlite, error);
}

void gt_nsys_strings_end(gt_nsys_strings *strings)
{
    if (strings->lookup) gt_sqlite_end(strings->lookup);
    gt_free(strings->cache);
    gt_map_free(&strings->met);
    gt_buffer_free(&strings->repaired);
    *strings = (gt_nsys_strings){0};
}

static uint32_t look_up(gt_nsys_strings *strings, int64_t id)
{
    bool failed = false;
    uint32_t text = GT_STR_NONE;
    sqlite3_bind_int64(strings->lookup, 1, id);
    if (gt_sqlite_next(&strings->tables->sqlite, strings->lookup, &failed, strings->error) &&
        sqlite3_column_type(strings->lookup, 0) != SQLITE_NULL)
        text = gt_nsys_intern(strings, gt_sqlite_string(strings->lookup, 0));
    strings->failed |= failed;
    sqlite3_reset(strings->lookup);
    return text;
}

uint32_t gt_nsys_string(gt_nsys_strings *strings, int64_t id)
{
    if (!strings->lookup) {
        uint32_t text = gt_map_get(&strings->met, (uint64_t)id, 0);
        return text == GT_MAP_NONE ? GT_STR_NONE : text;
    }
    gt_nsys_cached *cached = &strings->cache[(uint64_t)id % GT_NSYS_CACHED];
    if (cached->used && cached->id == id) return cached->text;
    *cached = (gt_nsys_cached){id, look_up(strings, id), true};
    return cached->text;
}
