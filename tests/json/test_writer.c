/* A long JSON document that is handed over in pieces has the same bytes as one that stays in memory. */
#include "json/writer.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { VALUES = 50000, PIECE_MAX = 128 * 1024 };

typedef struct taken {
    gt_buffer text;
    size_t pieces, longest;
} taken;

static void take(void *context, gt_str text)
{
    taken *t = context;
    gt_buffer_add(&t->text, text.bytes, text.len);
    t->pieces++;
    if (text.len > t->longest) t->longest = text.len;
}

static void write_document(gt_json_writer *w, int64_t values)
{
    gt_json_open(w, '{');
    gt_json_key(w, "values");
    gt_json_open(w, '[');
    for (int64_t i = 0; i < values; i++) {
        if (i % 2)
            gt_json_add_int(w, i);
        else
            gt_json_add_cstr(w, "say \"x\"");
    }
    gt_json_close(w, ']');
    gt_json_close(w, '}');
    gt_json_end_document(w);
}

static void a_long_document_is_handed_over_in_pieces(void **state)
{
    (void)state;
    gt_json_writer whole = {0};
    write_document(&whole, VALUES);
    taken t = {0};
    gt_json_writer w = {.take = take, .context = &t};
    write_document(&w, VALUES);
    assert_int_equal(w.text.len, 0);
    assert_int_equal(t.text.len, whole.text.len);
    assert_memory_equal(t.text.bytes, whole.text.bytes, whole.text.len);
    assert_true(t.pieces > 5);
    assert_true(t.longest < PIECE_MAX);
    gt_json_writer_free(&whole);
    gt_json_writer_free(&w);
    gt_buffer_free(&t.text);
}

static void a_short_document_is_one_piece(void **state)
{
    (void)state;
    taken t = {0};
    gt_json_writer w = {.take = take, .context = &t};
    write_document(&w, 2);
    assert_int_equal(t.pieces, 1);
    assert_string_equal(gt_buffer_str(&t.text).bytes,
                        "{\n  \"values\": [\n    \"say \\\"x\\\"\",\n    1\n  ]\n}\n");
    gt_json_writer_free(&w);
    gt_buffer_free(&t.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_long_document_is_handed_over_in_pieces),
        cmocka_unit_test(a_short_document_is_one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
