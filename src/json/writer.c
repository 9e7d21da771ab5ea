/* JSON with the commas, line breaks and spaces of Python's json.dump(indent=2). */
#include "json/writer.h"
#include "json/string.h"

enum { TAKEN_AT_LEAST = 64 * 1024 };

static void hand_over(gt_json_writer *w)
{
    w->take(w->context, gt_buffer_str(&w->text));
    w->text.len = 0;
}

static void new_line(gt_json_writer *w)
{
    gt_buffer_add_cstr(&w->text, "\n");
    for (int i = 0; i < w->depth; i++) gt_buffer_add_cstr(&w->text, "  ");
}

static void before_value(gt_json_writer *w)
{
    if (w->take && w->text.len >= TAKEN_AT_LEAST) hand_over(w);
    if (!w->after_key && w->after_value) gt_buffer_add_cstr(&w->text, ",");
    if (!w->after_key && w->depth) new_line(w);
    w->after_key = false;
    w->after_value = true;
}

void gt_json_open(gt_json_writer *w, char bracket)
{
    before_value(w);
    gt_buffer_add(&w->text, &bracket, 1);
    w->depth++;
    w->after_value = false;
}

void gt_json_close(gt_json_writer *w, char bracket)
{
    w->depth--;
    if (w->after_value) new_line(w); /* otherwise it is empty */
    gt_buffer_add(&w->text, &bracket, 1);
    w->after_value = true;
}

void gt_json_key(gt_json_writer *w, const char *key)
{
    before_value(w);
    gt_json_string_add(&w->text, (gt_str){key, strlen(key)}, &w->scratch);
    gt_buffer_add_cstr(&w->text, ": ");
    w->after_key = true;
}

void gt_json_add_cstr(gt_json_writer *w, const char *text)
{
    before_value(w);
    if (text)
        gt_json_string_add(&w->text, (gt_str){text, strlen(text)}, &w->scratch);
    else
        gt_buffer_add_cstr(&w->text, "null");
}

void gt_json_add_int(gt_json_writer *w, int64_t number)
{
    before_value(w);
    w->text.len += gt_print_int(gt_buffer_reserve(&w->text, GT_NUMBER_MAX), number);
}

void gt_json_add_real(gt_json_writer *w, double number)
{
    before_value(w);
    if (isfinite(number))
        w->text.len += gt_print_double(gt_buffer_reserve(&w->text, GT_NUMBER_MAX), number);
    else
        gt_buffer_add_cstr(&w->text, "null");
}

void gt_json_add_bool(gt_json_writer *w, bool boolean)
{
    before_value(w);
    gt_buffer_add_cstr(&w->text, boolean ? "true" : "false");
}

static void add_items(gt_json_writer *w, const gt_value *value)
{
    bool is_dict = value->type == GT_VALUE_DICT;
    gt_json_open(w, is_dict ? '{' : '[');
    for (uint32_t i = 0; i < value->count; i++) {
        if (is_dict && i % 2 == 0)
            gt_json_key(w, value->items[i].text.bytes);
        else
            gt_json_add_value(w, &value->items[i]);
    }
    gt_json_close(w, is_dict ? '}' : ']');
}

void gt_json_add_value(gt_json_writer *w, const gt_value *value)
{
    switch (value->type) {
    case GT_VALUE_BOOL:
        gt_json_add_bool(w, value->boolean);
        break;
    case GT_VALUE_INT:
        gt_json_add_int(w, value->integer);
        break;
    case GT_VALUE_FLOAT:
        gt_json_add_real(w, value->number);
        break;
    case GT_VALUE_STRING:
        gt_json_add_cstr(w, value->text.bytes);
        break;
    case GT_VALUE_BIG:
        before_value(w);
        gt_buffer_add(&w->text, value->text.bytes, value->text.len);
        break;
    case GT_VALUE_LIST:
    case GT_VALUE_TUPLE:
    case GT_VALUE_DICT:
        add_items(w, value);
        break;
    default:
        gt_json_add_cstr(w, NULL);
    }
}

void gt_json_add_string(gt_json_writer *w, gt_str text)
{
    gt_buffer json = {0};
    gt_json_string_add(&json, text, &w->scratch);
    gt_json_add_raw(w, gt_buffer_str(&json));
    gt_buffer_free(&json);
}

void gt_json_add_raw(gt_json_writer *w, gt_str json)
{
    before_value(w);
    gt_buffer_add(&w->text, json.bytes, json.len);
}

void gt_json_put_open(gt_json_writer *w, const char *key, char bracket)
{
    gt_json_key(w, key);
    gt_json_open(w, bracket);
}

void gt_json_put_cstr(gt_json_writer *w, const char *key, const char *text)
{
    gt_json_key(w, key);
    gt_json_add_cstr(w, text);
}

void gt_json_put_int(gt_json_writer *w, const char *key, int64_t number)
{
    gt_json_key(w, key);
    gt_json_add_int(w, number);
}

void gt_json_put_real(gt_json_writer *w, const char *key, double number)
{
    gt_json_key(w, key);
    gt_json_add_real(w, number);
}

void gt_json_put_bool(gt_json_writer *w, const char *key, bool boolean)
{
    gt_json_key(w, key);
    gt_json_add_bool(w, boolean);
}

void gt_json_put_value(gt_json_writer *w, const char *key, const gt_value *value)
{
    gt_json_key(w, key);
    gt_json_add_value(w, value);
}

void gt_json_put_cstrs(gt_json_writer *w, const char *key, const char *const *texts, size_t count)
{
    gt_json_key(w, key);
    gt_json_open(w, '[');
    for (size_t i = 0; i < count; i++) gt_json_add_cstr(w, texts[i]);
    gt_json_close(w, ']');
}

void gt_json_end_document(gt_json_writer *w)
{
    gt_buffer_add_cstr(&w->text, "\n");
    if (w->take) hand_over(w);
}

void gt_json_writer_free(gt_json_writer *w)
{
    gt_buffer_free(&w->text);
    gt_buffer_free(&w->scratch);
}
