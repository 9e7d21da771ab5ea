/* The record reader: generated records with known values, in many layouts, with block boundaries in unusual
 * positions, through the learned path and the general one, with one thread and with several, with every
 * instruction set that the processor has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/team.h"
#include "input/json/records.h"
#include "instruction_sets.h"
#include "written_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIND, NAME, COUNT, TIME, DEEP, SHAPE, LABEL, FIELDS };

static const gt_field fields[FIELDS] = {
    [KIND] = {"kind", GT_FIELD_STRING, true},   [NAME] = {"name", GT_FIELD_STRING, false},
    [COUNT] = {"count", GT_FIELD_INT, false},   [TIME] = {"time", GT_FIELD_TIME, false},
    [DEEP] = {"a/b/deep", GT_FIELD_INT, false}, [SHAPE] = {"a/shape", GT_FIELD_JSON, false},
    [LABEL] = {"label", GT_FIELD_VIEW, false},
};

static const gt_store_column columns[FIELDS] = {
    [KIND] = {GT_STORE_STRING, 0},  [NAME] = {GT_STORE_STRING, 0}, [COUNT] = {GT_STORE_INT, -1},
    [TIME] = {GT_STORE_TIME, 0},    [DEEP] = {GT_STORE_INT, -77},  [SHAPE] = {GT_STORE_STRING, 0},
    [LABEL] = {GT_STORE_STRING, 0},
};

static uint64_t state = 0x1234567;

static uint32_t random32(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 11);
}

/* ---- writing records ---- */

/* The expected values of a written record. */
typedef struct expected {
    uint64_t present, mistyped;
    const char *kind, *name, *shape, *label;
    int64_t count, deep;
    double time;
} expected;

static const struct {
    const char *raw, *meaning;
} names[] = {
    {"add", "add"},
    {"mul", "mul"},
    {"say \\\"hi\\\"", "say \"hi\""},
    {"tab\\there", "tab\there"},
    {"\\u00e9t\\u00e9", "\xC3\xA9t\xC3\xA9"},
    {"", ""},
    {"a, b}{][\\\\", "a, b}{][\\"},
    {"x:\\\"\\\\", "x:\"\\"},
    {"a long name that takes more than one block of sixteen bytes to compare, and then some more", NULL},
    {"the head11111111-middle-22222222the tail", NULL}, /* these differ neither at their ends ... */
    {"the head33333333-middle-22222222the tail", NULL}, /* ... nor in their middle */
    {"the head11111111-middle-33333333the tail", NULL},
};
static const struct {
    const char *raw, *meaning;
} shapes[] = {
    {"[]", "[]"},
    {"[[1, 2], [3]]", "[[1,2],[3]]"},
    {"[[1,2],[3]]", "[[1,2],[3]]"},
    {"{\"k\": \" ] \"}", "{\"k\":\" ] \"}"},
    {"12", "12"},
    {"123", "123"},
    {"\"s t\"", "\"s t\""},
    {"true", "true"},
    {"[\"\\\"]\", 1.5]", "[\"\\\"]\",1.5]"},
    {"[1234567,11,1234567,22,123456]", "[1234567,11,1234567,22,123456]"},
    {"[1234567,13,1234567,22,123456]", "[1234567,13,1234567,22,123456]"},
};
static const char *const kinds[] = {"x", "y", "zebra"};
/* In an unwanted object. */
static const char *const pairs[] = {"16", "16", "-7", "0", "1.5e3", "12345678901234567890", "\"5\"", "{}"};
static const char *const times[] = {"0",
                                    "1.5",
                                    "-2.25",
                                    "5453458362131.123",
                                    "1718289123456789.123",
                                    "1e3",
                                    "12.000",
                                    "0.001",
                                    "123456",
                                    "9007199254740993",
                                    "0.1000000000000000055511151231257827"};

static const char *name_meaning(size_t i)
{
    return names[i].meaning ? names[i].meaning : names[i].raw;
}

/* Writes one member of a record and notes its expected value. */
static void put_value(text *t, int field, expected *e)
{
    size_t pick = random32();
    bool odd = pick % 211 == 0, null = pick % 199 == 0;
    e->mistyped &= ~(UINT64_C(1) << field);
    if (null) {
        put(t, "null");
        return;
    }
    if (odd && field != SHAPE) {
        put(t, field == NAME || field == KIND || field == LABEL ? "17" : "\"seventeen\"");
        e->mistyped |= UINT64_C(1) << field;
        return;
    }
    e->present |= UINT64_C(1) << field;
    switch (field) {
    case KIND:
        put(t, "\"%s\"", e->kind = kinds[pick / 8 % 3]);
        break;
    case NAME:
        pick = pick / 8 % (sizeof names / sizeof *names);
        e->name = name_meaning(pick);
        put(t, "\"%s\"", names[pick].raw);
        break;
    case LABEL:
        pick = pick / 8 % (sizeof names / sizeof *names);
        e->label = names[pick].raw;
        put(t, "\"%s\"", names[pick].raw);
        break;
    case SHAPE:
        pick = pick / 8 % (sizeof shapes / sizeof *shapes);
        e->shape = shapes[pick].meaning;
        put(t, "%s", shapes[pick].raw);
        break;
    case TIME: {
        const char *time = times[pick / 8 % (sizeof times / sizeof *times)];
        e->time = strtod(time, NULL);
        put(t, "%s", time);
        break;
    }
    default: {
        int64_t value = pick % 5   ? 4711
                        : pick % 7 ? (int64_t)(int32_t)random32()
                                   : INT64_MIN + (int64_t)(pick % 3);
        *(field == COUNT ? &e->count : &e->deep) = value;
        put(t, pick % 37 ? "%lld" : "\"%lld\"", (long long)value);
    }
    }
}

/* A record in one of a few layouts and orders, with and without unknown keys. */
static expected put_record(text *t, unsigned style)
{
    static const char *const colons[] = {":", ": ", " :\n\t"};
    static const char *const commas[] = {",", ", ", ",\n      "};
    const char *colon = colons[style % 3], *comma = commas[style % 3];
    expected e = {0};
    bool reversed = style / 3 % 2;
    put(t, "{");
    const char *between = "";
    for (int i = 0; i < 6; i++) {
        int item = reversed ? 5 - i : i;
        if (random32() % 16 == 0) continue;
        put(t, "%s", between);
        between = comma;
        if (item == 0) put(t, "\"kind\"%s", colon), put_value(t, KIND, &e);
        if (item == 1) put(t, "\"name\"%s", colon), put_value(t, NAME, &e);
        if (item == 2) put(t, "\"count\"%s", colon), put_value(t, COUNT, &e);
        if (item == 3) put(t, "\"time\"%s", colon), put_value(t, TIME, &e);
        if (item == 4) {
            put(t, "\"a\"%s{\"x\"%s%u%s\"b\"%s{\"deep\"%s", colon, colon, random32() % 3, comma, colon,
                colon);
            put_value(t, DEEP, &e);
            put(t, "}%s\"shape\"%s", comma, colon);
            put_value(t, SHAPE, &e);
            put(t, "}");
        }
        if (item == 5) put(t, "\"label\"%s", colon), put_value(t, LABEL, &e);
        if (random32() % 8 == 0)
            put(t, "%s\"stranger\"%s[{\"count\": 5}, \"]\", %u]", comma, colon, random32());
        if (random32() % 8 == 0) put(t, "%s\"other\"%s\"%u\\\"\"", comma, colon, random32() % 4);
        if (random32() % 8 == 0) put(t, "%s\"flag\"%s%s", comma, colon, random32() % 2 ? "true" : "null");
        if (random32() % 4 == 0)
            put(t, "%s\"pair\"%s{\"count\"%s%s%s\"z\"%s%u}", comma, colon, colon, pairs[random32() % 8],
                comma, colon, random32() % 3);
    }
    put(t, "}");
    return e;
}

/* ---- reading them back ---- */

static void assert_text(gt_interner *strings, uint32_t id, const char *meaning)
{
    gt_str got = gt_interner_get(strings, id);
    assert_int_equal(got.len, strlen(meaning));
    assert_memory_equal(got.bytes, meaning, got.len);
}

static void assert_record(const gt_record *record, gt_interner *strings, const expected *e)
{
    assert_int_equal(record->present, e->present);
    assert_int_equal(record->mistyped, e->mistyped);
    if (e->present >> KIND & 1) assert_text(strings, record->cells[KIND].text, e->kind);
    if (e->present >> NAME & 1) assert_text(strings, record->cells[NAME].text, e->name);
    if (e->present >> SHAPE & 1) assert_text(strings, record->cells[SHAPE].text, e->shape);
    if (e->present >> COUNT & 1) assert_int_equal(record->cells[COUNT].integer, e->count);
    if (e->present >> DEEP & 1) assert_int_equal(record->cells[DEEP].integer, e->deep);
    if (e->present >> TIME & 1) assert_memory_equal(&record->cells[TIME].time, &e->time, sizeof e->time);
    if (e->present >> LABEL & 1) {
        gt_str label = gt_record_view(record, LABEL);
        assert_int_equal(label.len, strlen(e->label));
        assert_memory_equal(label.bytes, e->label, label.len);
    }
}

static void put_array(text *t, expected *all, size_t count, unsigned styles)
{
    put(t, "[");
    for (size_t i = 0; i < count; i++) {
        if (i) put(t, ",\n  ");
        all[i] = put_record(t, random32() % styles);
    }
    put(t, "]");
}

/* In emulation, which is some thirty times slower, fewer records are read, and large arrays once each. */
static bool is_emulated(void)
{
    return getenv("GPUTALLY_TEST_EMULATED") != NULL;
}

static void records_are_read_as_they_were_written(void **unused)
{
    (void)unused;
    const size_t record_count = is_emulated() ? 400 : 4000;
    static const size_t blocks[] = {0, 1, 7, 16, 100, 1000, 4096};
    static const unsigned style_counts[] = {1, 6};
    expected *all = gt_alloc(record_count * sizeof *all);
    for (size_t s = 0; s < 2; s++) {
        text t = {0};
        put_array(&t, all, record_count, style_counts[s]);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            gt_error error;
            gt_stream *stream = gt_stream_memory(t.items, t.count, blocks[b], &error);
            gt_interner *strings = gt_interner_new();
            gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
            gt_json json;
            gt_record record;
            gt_json_begin(&json, stream, 0);
            assert_true(gt_json_enter_array(&json));
            for (size_t i = 0; i < record_count; i++) {
                assert_true(gt_json_next_element(&json));
                assert_true(gt_record_read(reader, &json, &record));
                assert_record(&record, strings, &all[i]);
            }
            assert_false(gt_json_next_element(&json));
            assert_true(gt_json_finish(&json));
            gt_record_reader_free(reader);
            gt_interner_free(strings);
            gt_stream_close(stream);
        }
        free(t.items);
    }
    free(all);
}

static void repeated_layouts_are_learned(void **unused)
{
    (void)unused;
    text t = {0};
    put(&t, "[");
    for (int i = 0; i < 1000; i++)
        put(&t, "%s{\"kind\": \"%s\", \"name\": \"op%d\", \"pid\": 7, \"count\": %d, \"time\": %d.%03d}",
            i ? ", " : "", kinds[i % 3], i % 10, i / 100, i * 7, i);
    put(&t, "]");
    gt_error error;
    gt_stream *stream = gt_stream_memory(t.items, t.count, 0, &error);
    gt_interner *strings = gt_interner_new();
    gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
    gt_json json;
    gt_record record;
    gt_json_begin(&json, stream, 0);
    assert_true(gt_json_enter_array(&json));
    for (int i = 0; i < 1000; i++) {
        assert_true(gt_json_next_element(&json));
        assert_true(gt_record_read(reader, &json, &record));
        assert_int_equal(record.cells[COUNT].integer,
                         i / 100); /* constant for many records, then different */
    }
    assert_true(gt_record_reader_misses(reader) <=
                5); /* one per kind; the last one may touch the end of the block */
    gt_record_reader_free(reader);
    gt_interner_free(strings);
    gt_stream_close(stream);
    free(t.items);
}

/* Reads records that differ in the number of an unwanted object; the last one is `last`. Returns how many
 * were read. */
static size_t read_pairs(const char *last, uint64_t *misses)
{
    text t = {0};
    put(&t, "[");
    for (int i = 0; i < 200; i++)
        put(&t, "{\"count\":%d,\"pair\":{\"id\":%d,\"of\":0},\"time\":1.5},", i, i * i);
    put(&t, "{\"count\":200,\"pair\":{\"id\":%s,\"of\":0},\"time\":1.5}]     ", last);
    gt_error error;
    gt_stream *stream = gt_stream_memory(t.items, t.count, 0, &error);
    gt_interner *strings = gt_interner_new();
    gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
    gt_json json;
    gt_record record;
    gt_json_begin(&json, stream, 0);
    assert_true(gt_json_enter_array(&json));
    size_t count = 0;
    while (gt_json_next_element(&json) && gt_record_read(reader, &json, &record)) {
        assert_int_equal(record.present, 1u << COUNT | 1u << TIME);
        assert_int_equal(record.cells[COUNT].integer, count);
        count++;
    }
    *misses = gt_record_reader_misses(reader);
    gt_record_reader_free(reader);
    gt_interner_free(strings);
    gt_stream_close(stream);
    free(t.items);
    return count;
}

static void numbers_of_unwanted_objects_are_learned_and_checked(void **unused)
{
    (void)unused;
    static const char *const good[] = {"7", "-1.5E+3", "null", "[1, {\"of\": 2}]"};
    static const char *const bad[] = {"07", "1.", "-", "1e", "7 7", "7,}", "x"};
    uint64_t misses;
    assert_int_equal(read_pairs("7", &misses), 201);
    assert_true(misses <= 2); /* the first one, and the last one, which is near the end of the block */
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_int_equal(read_pairs(good[i], &misses), 201);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_int_equal(read_pairs(bad[i], &misses), 200);
}

/* Every value is checked for being an integer, whatever the values before it were. */
static void a_non_integer_does_not_change_the_learned_layout(void **unused)
{
    (void)unused;
    static const char json_text[] =
        "[{\"count\":88888888888888888888888888},{\"count\":-4},{\"count\":\"seventeen\"},"
        "{\"count\":\"17\"},{\"count\":1.5},{\"count\":5},{\"count\":NaN},{\"count\":6},"
        "{\"count\":88888888888888888888888888},{\"count\":7},{\"count\":\"x\"},{\"count\":\"8\"}]";
    static const int64_t expected_counts[] = {-1, -4, -1, 17, -1, 5, -1, 6, -1, 7, -1, 8}; /* -1: mistyped */
    gt_error error;
    gt_stream *stream = gt_stream_memory(json_text, sizeof json_text - 1, 0, &error);
    gt_interner *strings = gt_interner_new();
    gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
    gt_json json;
    gt_record record;
    gt_json_begin(&json, stream, 0);
    assert_true(gt_json_enter_array(&json));
    for (size_t i = 0; i < sizeof expected_counts / sizeof *expected_counts; i++) {
        assert_true(gt_json_next_element(&json));
        assert_true(gt_record_read(reader, &json, &record));
        bool mistyped = expected_counts[i] == -1;
        assert_int_equal(record.mistyped, mistyped ? 1u << COUNT : 0);
        assert_int_equal(record.present, mistyped ? 0 : 1u << COUNT);
        if (!mistyped) assert_int_equal(record.cells[COUNT].integer, expected_counts[i]);
    }
    gt_record_reader_free(reader);
    gt_interner_free(strings);
    gt_stream_close(stream);
}

static bool is_y(const gt_record *record, gt_record_reader *reader)
{
    return record->present >> KIND & 1 &&
           strcmp(gt_interner_get(gt_record_strings(reader), (uint32_t)record->cells[KIND].text).bytes,
                  "y") == 0;
}

enum { NEEDED = 1 << KIND | 1 << NAME | 1 << TIME };

static uint64_t little_of_y(const gt_record *record, gt_record_reader *reader)
{
    return is_y(record, reader) ? NEEDED : UINT64_MAX;
}

/* A field after those of the text: the first letter of the kind; 0 if there is none. */
enum { LETTER = FIELDS };
static size_t derived_count;

static int64_t letter_of(const gt_record *record, gt_record_reader *reader)
{
    derived_count++;
    return gt_interner_get(gt_record_strings(reader), gt_record_string(record, KIND)).bytes[0];
}

static void assert_letter(gt_record *record, const expected *wanted)
{
    assert_true(record->present >> LETTER & 1);
    assert_int_equal(record->cells[LETTER].integer, wanted->present >> KIND & 1 ? wanted->kind[0] : 0);
    record->present &= ~(UINT64_C(1) << LETTER);
}

/* Reads records of which those of kind y are dropped, or only some of their fields are needed. A field is
 * derived for all others, but not anew for records that are alike. */
static void read_without_y(bool drops)
{
    const size_t record_count = is_emulated() ? 300 : 3000;
    static const size_t blocks[] = {0, 5, 64, 777};
    expected *all = gt_alloc(record_count * sizeof *all);
    for (unsigned styles = 1; styles <= 6; styles += 5) {
        text t = {0};
        put_array(&t, all, record_count, styles);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            gt_error error;
            gt_stream *stream = gt_stream_memory(t.items, t.count, blocks[b], &error);
            gt_interner *strings = gt_interner_new();
            gt_record_reader *reader = gt_record_reader_new(fields, FIELDS, strings);
            if (drops)
                gt_record_reader_drop(reader, is_y);
            else
                gt_record_reader_need(reader, little_of_y);
            gt_record_reader_derive(reader, LETTER, letter_of);
            derived_count = 0;
            size_t without_kind = 0;
            gt_json json;
            gt_record record;
            gt_json_begin(&json, stream, 0);
            assert_true(gt_json_enter_array(&json));
            for (size_t i = 0; i < record_count; i++) {
                bool unwanted = all[i].present >> KIND & 1 && strcmp(all[i].kind, "y") == 0;
                assert_true(gt_json_next_element(&json));
                assert_true(gt_record_read(reader, &json, &record));
                assert_int_equal(record.dropped, unwanted && drops);
                expected wanted = all[i];
                without_kind += !(all[i].present >> KIND & 1);
                if (!record.dropped) assert_letter(&record, &wanted);
                if (unwanted && !drops) {
                    record.present &= NEEDED;
                    record.mistyped &= NEEDED;
                    wanted.present &= NEEDED;
                    wanted.mistyped &= NEEDED;
                }
                if (!record.dropped) assert_record(&record, strings, &wanted);
            }
            assert_false(gt_json_next_element(&json));
            assert_true(gt_json_finish(&json));
            assert_true(derived_count <= gt_record_reader_misses(reader) + without_kind);
            gt_record_reader_free(reader);
            gt_interner_free(strings);
            gt_stream_close(stream);
        }
        free(t.items);
    }
    free(all);
}

/* Unwanted records are recognised in every layout, and the records after them are read correctly. */
static void unwanted_records_are_dropped(void **unused)
{
    (void)unused;
    read_without_y(true);
}

/* So are those of which only some fields are needed. */
static void needed_fields_are_enough(void **unused)
{
    (void)unused;
    read_without_y(false);
}

/* ---- whole arrays ---- */

typedef struct columns_read {
    size_t count;
    uint32_t *kinds, *names, *shapes;
    int64_t *counts, *deeps;
    double *times;
    gt_interner *strings;
    gt_store *store;
} columns_read;

typedef struct records_call {
    gt_json *json;
    const gt_record_format *format;
    gt_store *store;
    unsigned threads;
    bool read;
} records_call;

static void read_in_team(void *context)
{
    records_call *call = context;
    gt_read_options options = {.threads = call->threads};
    call->read = gt_records_read(call->json, call->format, call->store, &options);
}

/* gt_records_read with a team of threads. */
static bool read_records(gt_json *json, const gt_record_format *format, gt_store *store, unsigned threads)
{
    records_call call = {json, format, store, threads, false};
    gt_team_run(threads, read_in_team, &call);
    return call.read;
}

static columns_read read_array(const text *t, size_t block, unsigned threads)
{
    static const gt_record_format format = {"record", fields, columns, FIELDS, NULL, NULL, NULL, NULL};
    gt_error error;
    columns_read r = {.strings = gt_interner_new()};
    gt_stream *stream = gt_stream_memory(t->items, t->count, block, &error);
    gt_json json;
    gt_json_begin(&json, stream, 0);
    r.store = gt_store_new(columns, FIELDS, r.strings);
    assert_true(gt_json_enter_object(&json));
    gt_str key;
    assert_true(gt_json_next_key(&json, &key));
    assert_true(read_records(&json, &format, r.store, threads));
    assert_true(gt_json_next_key(&json, &key)); /* the rest of the document is read as usual */
    assert_true(key.len == 5 && memcmp(key.bytes, "after", 5) == 0);
    assert_true(gt_json_skip(&json));
    assert_false(gt_json_next_key(&json, &key));
    assert_true(gt_json_finish(&json));
    gt_stream_close(stream);
    r.count = gt_store_count(r.store);
    r.kinds = gt_store_string_ids(r.store, KIND);
    r.names = gt_store_string_ids(r.store, NAME);
    r.shapes = gt_store_string_ids(r.store, SHAPE);
    r.counts = gt_store_ints(r.store, COUNT);
    r.deeps = gt_store_ints(r.store, DEEP);
    r.times = gt_store_times(r.store, TIME);
    return r;
}

static void free_columns(columns_read *r)
{
    free(r->kinds);
    free(r->names);
    free(r->shapes);
    free(r->counts);
    free(r->deeps);
    free(r->times);
    gt_store_free(r->store);
    gt_interner_free(r->strings);
}

static void assert_columns(const columns_read *r, const expected *all, size_t count)
{
    assert_int_equal(r->count, count);
    for (size_t i = 0; i < count; i++) {
        const expected *e = &all[i];
        if (e->present >> NAME & 1)
            assert_text(r->strings, r->names[i], e->name);
        else
            assert_int_equal(r->names[i], GT_STR_NONE);
        if (e->present >> KIND & 1) assert_text(r->strings, r->kinds[i], e->kind);
        if (e->present >> SHAPE & 1) assert_text(r->strings, r->shapes[i], e->shape);
        assert_int_equal(r->counts[i], e->present >> COUNT & 1 ? e->count : -1);
        assert_int_equal(r->deeps[i], e->present >> DEEP & 1 ? e->deep : -77);
        if (e->present >> TIME & 1)
            assert_memory_equal(&r->times[i], &e->time, sizeof e->time);
        else
            assert_true(isnan(r->times[i]));
    }
}

static void several_threads_read_the_same_as_one(void **unused)
{
    (void)unused;
    enum { MANY = 60000 }; /* some 11 MB: several chunks */
    expected *all = gt_alloc(MANY * sizeof *all);
    text t = {0};
    put(&t, "{\"events\": ");
    put_array(&t, all, MANY, 1);
    put(&t, ", \"after\": [{\"kind\": \"x\"},\n  {\"kind\": \"y\"}]}");
    assert_true(t.count > 3 * 1024 * 1024 * 2);
    for (unsigned threads = is_emulated() ? 5 : 1; threads <= 5; threads++) {
        columns_read r = read_array(&t, 0, threads);
        assert_columns(&r, all, MANY);
        free_columns(&r);
    }
    free(t.items);
    free(all);
}

static void nested_arrays_that_look_like_records(void **unused)
{
    (void)unused;
    /* Each record holds an array whose elements look like records, and one record reaches over several
     * chunks. */
    enum { MANY = 30000 };
    expected *all = gt_alloc_zero(MANY, sizeof *all);
    text t = {0};
    put(&t, "{\"events\": [");
    for (size_t i = 0; i < MANY; i++) {
        put(&t,
            "%s{\"count\": %zu,\n\"list\": [{\"count\": 1},\n  {\"count\": 2},\n  {\"count\": 3}], \"name\": "
            "\"add\"",
            i ? ",\n  " : "", i);
        if (i == MANY / 2) {
            put(&t, ", \"long\": [");
            for (int k = 0; k < 400000; k++) put(&t, "{\"count\": %d},\n  ", k);
            put(&t, "0]");
        }
        put(&t, "}");
        all[i] = (expected){.present = 1u << COUNT | 1u << NAME, .count = (int64_t)i, .name = "add"};
    }
    put(&t, "], \"after\": 0}");
    for (unsigned threads = is_emulated() ? 4 : 1; threads <= 4; threads += 3) {
        columns_read r = read_array(&t, 0, threads);
        assert_columns(&r, all, MANY);
        free_columns(&r);
    }
    free(t.items);
    free(all);
}

/* The last record of an array begins in one chunk of 2 MiB and ends at its end or in the next one. Chunks are
 * counted from the second record on. */
static void an_array_may_end_near_the_end_of_a_chunk(void **unused)
{
    (void)unused;
    static const gt_record_format format = {"record", fields, columns, FIELDS, NULL, NULL, NULL, NULL};
    enum { LENGTH = 256, WHOLE = 2 * 8 * 1024 }; /* of a record and its comma; records before the last one */
    static const int last_lengths[] = {LENGTH - 2, LENGTH - 1, LENGTH, 3 * LENGTH};
    for (size_t i = 0; i < sizeof last_lengths / sizeof *last_lengths; i++) {
        text t = {0};
        put(&t, "[");
        for (int k = 0; k < WHOLE; k++) put(&t, "{\"name\":\"%0*d\"},", LENGTH - 12, k);
        put(&t, "{\"name\":\"%0*d\"}],1", last_lengths[i] - 11, 0);
        gt_error error;
        gt_interner *strings = gt_interner_new();
        gt_stream *stream = gt_stream_memory(t.items, t.count, 0, &error);
        gt_store *store = gt_store_new(columns, FIELDS, strings);
        gt_json json;
        gt_json_begin(&json, stream, 0);
        assert_true(read_records(&json, &format, store, 2));
        assert_int_equal(gt_store_count(store), WHOLE + 1);
        assert_int_equal(gt_json_offset(&json), t.count - 2);
        gt_store_free(store);
        gt_stream_close(stream);
        gt_interner_free(strings);
        free(t.items);
    }
}

static void an_invalid_record_is_reported(void **unused)
{
    (void)unused;
    static const gt_record_format format = {"record", fields, columns, FIELDS, NULL, NULL, NULL, NULL};
    text t = {0};
    put(&t, "[");
    for (int i = 0; i < 100000; i++)
        put(&t, "%s{\"kind\": \"x\", \"count\": %06d, \"name\": \"y\"}", i ? "," : "", i + 100000);
    size_t whole = t.count;
    for (unsigned threads = is_emulated() ? 3 : 1; threads <= 3; threads++) {
        gt_error error;
        gt_interner *strings = gt_interner_new();
        /* Record 70,001 lacks a colon. */
        char *bad = memmem(t.items, whole, "\"count\": 170000", 15);
        bad[7] = ' ';
        gt_stream *stream = gt_stream_memory(t.items, whole, 0, &error);
        gt_store *store = gt_store_new(columns, FIELDS, strings);
        gt_json json;
        gt_json_begin(&json, stream, 0);
        assert_false(read_records(&json, &format, store, threads));
        assert_int_equal(gt_store_count(store), 70000);
        char message[200];
        snprintf(message, sizeof message, "expected ':' but found '1' at byte %zu, in record 70001",
                 (size_t)(bad + 9 - t.items));
        assert_string_equal(json.error.text, message);
        assert_false(json.truncated);
        bad[7] = ':';
        gt_store_free(store);
        gt_stream_close(stream);

        /* The text ends without closing the array. */
        stream = gt_stream_memory(t.items, whole - 5, 0, &error);
        store = gt_store_new(columns, FIELDS, strings);
        gt_json_begin(&json, stream, 0);
        assert_false(read_records(&json, &format, store, threads));
        assert_true(json.truncated);
        assert_int_equal(gt_store_count(store), 99999);
        gt_store_free(store);
        gt_stream_close(stream);
        gt_interner_free(strings);
    }
    free(t.items);
}

/* Writes records in runs of one to eight, of which those of kind y are not wanted. In these, brackets and
 * quotes are in strings, and some have elements that look like records. */
static void put_runs(text *t, bool *wanted, size_t count)
{
    bool wants = true;
    for (size_t i = 0, left = 0; i < count; i++) {
        if (!left) {
            wants = !wants;
            left = 1 + random32() % 8;
        }
        left--;
        wanted[i] = wants;
        put(t, "%s{\"kind\": \"%s\", \"name\": \"%s\", \"count\": %zu", i ? ",\n" : "[", wants ? "x" : "y",
            names[random32() % (sizeof names / sizeof *names)].raw, i);
        if (random32() % 3 == 0) put(t, ", \"a\": {\"b\": {\"deep\": 7}, \"shape\": [[1], \"]}\"]}");
        if (random32() % 9 == 0) put(t, ", \"list\": [{\"kind\": \"x\"},\n{\"kind\": \"y\"}]");
        if (random32() % 50 == 0) put(t, ", \"label\": \"%0*d\"", (int)(random32() % 200), 1);
        put(t, "}");
    }
}

/* Reads them and compares which were kept, their values and their positions in the array. */
static void read_runs(const text *t, size_t block, unsigned threads, const bool *wanted, size_t count)
{
    static const gt_record_format format = {
        .what = "record", .fields = fields, .columns = columns, .count = FIELDS, .unwanted = is_y};
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_stream *stream = gt_stream_memory(t->items, t->count, block, &error);
    gt_store *store = gt_store_new(columns, FIELDS, strings);
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool read = read_records(&json, &format, store, threads);
    assert_int_equal(gt_store_records(store), count);
    int64_t *counts = gt_store_ints(store, COUNT);
    size_t row = 0;
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i]) continue;
        assert_int_equal(counts[row], i);
        assert_int_equal(gt_store_position(store, row), i);
        row++;
    }
    assert_int_equal(gt_store_count(store), row);
    if (!read) {
        char where[64];
        snprintf(where, sizeof where, "in record %zu", count + 1);
        assert_non_null(strstr(json.error.text, where));
    }
    assert_int_equal(read, t->items[t->count - 1] == ']');
    free(counts);
    gt_store_free(store);
    gt_stream_close(stream);
    gt_interner_free(strings);
}

/* Runs of unwanted records are skipped at once: those around them are read, and all are counted, wherever a
 * block or a chunk ends, and if the last one is invalid. */
static void runs_of_unwanted_records_are_skipped(void **unused)
{
    (void)unused;
    static const size_t blocks[] = {0, 5, 64, 777};
    static const char *const ends[] = {"]", ",\n{\"kind\": \"y\", \"name\": \"add\", \"count\": 1",
                                       ",\n{\"kind\": \"y\", \"name\": \"add"};
    const size_t few = 600, many = is_emulated() ? 600 : 90000; /* many: some 7 MB, several chunks */
    bool *wanted = gt_alloc(many * sizeof *wanted);
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++) {
        text t = {0};
        put_runs(&t, wanted, few);
        put(&t, "%s", ends[e]);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) read_runs(&t, blocks[b], 1, wanted, few);
        free(t.items);
        t = (text){0};
        put_runs(&t, wanted, many);
        put(&t, "%s", ends[e]);
        for (unsigned threads = 1; threads <= 3; threads++) read_runs(&t, 0, threads, wanted, many);
        free(t.items);
    }
    free(wanted);
}

/* A record of a shape of its own: so many spaces behind its bracket. */
static void put_shape(text *t, const char *between, size_t shape, const char *kind, const char *count)
{
    put(t, "%s{%*s\"kind\": \"%s\", \"name\": \"add\", \"count\": %s, \"size\": 7}", between, (int)shape, "",
        kind, count);
}

/* Records of so many shapes that some are forgotten, the last one unwanted and invalid behind its kind.
 * Between the records is one of two texts in turn. Whether they can be read. */
static bool read_shapes(const uint8_t *order, size_t count, const char *other_between)
{
    static const gt_record_format format = {
        .what = "record", .fields = fields, .columns = columns, .count = FIELDS, .unwanted = is_y};
    text t = {0};
    for (size_t i = 0; i < count; i++)
        put_shape(&t,
                  !i      ? "["
                  : i % 2 ? ",\n"
                          : other_between,
                  order[i] / 2, order[i] % 2 ? "y" : "x", i + 1 < count ? "1" : "01");
    put(&t, "]");
    gt_error error;
    gt_interner *strings = gt_interner_new();
    gt_stream *stream = gt_stream_memory(t.items, t.count, 0, &error);
    gt_store *store = gt_store_new(columns, FIELDS, strings);
    gt_json json;
    gt_json_begin(&json, stream, 0);
    bool read = read_records(&json, &format, store, 1);
    gt_store_free(store);
    gt_stream_close(stream);
    gt_interner_free(strings);
    free(t.items);
    return read;
}

/* Runs of unwanted records are only looked for if the text between records is always the same. What is known
 * of a record must not depend on that. */
static void looking_for_runs_forgets_nothing(void **unused)
{
    (void)unused;
    enum { RECORDS = 40, SHAPES = 18 };
    size_t known = 0;
    for (int round = 0; round < 400; round++) {
        uint8_t order[RECORDS];
        for (size_t i = 0; i < RECORDS; i++) order[i] = (uint8_t)(random32() % (2 * SHAPES));
        order[RECORDS - 1] |= 1;
        bool read = read_shapes(order, RECORDS, ",\n");
        assert_int_equal(read, read_shapes(order, RECORDS, ", \n"));
        known += read;
    }
    assert_in_range(known, 20, 380); /* of some records it is known that nobody wants them, of others not */
}

static int tests_of_set(gt_scan_set set)
{
    (void)set;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_are_read_as_they_were_written),
        cmocka_unit_test(repeated_layouts_are_learned),
        cmocka_unit_test(numbers_of_unwanted_objects_are_learned_and_checked),
        cmocka_unit_test(a_non_integer_does_not_change_the_learned_layout),
        cmocka_unit_test(unwanted_records_are_dropped),
        cmocka_unit_test(needed_fields_are_enough),
        cmocka_unit_test(several_threads_read_the_same_as_one),
        cmocka_unit_test(nested_arrays_that_look_like_records),
        cmocka_unit_test(an_array_may_end_near_the_end_of_a_chunk),
        cmocka_unit_test(an_invalid_record_is_reported),
        cmocka_unit_test(runs_of_unwanted_records_are_skipped),
        cmocka_unit_test(looking_for_runs_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
    return run_per_set(argc, argv, tests_of_set);
}
