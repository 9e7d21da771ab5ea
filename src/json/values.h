/* JSON values as a tree: arguments of ops, settings, parameters of performance models.
 *
 * The event store keeps arguments as interned JSON text. Each text is parsed once into a small tree, however
 * many events have it; the same type holds what models compute for an op (M, N, a stride, a list of pairs).
 * Values point into memory of others (an arena, a string) and are never freed one by one. Tuples come from
 * Python, not from JSON; compat/python_repr.h prints values as Python would. */
#pragma once

#include "base/base.h"

typedef enum gt_value_type {
    GT_VALUE_MISSING, /* no such key, no such index */
    GT_VALUE_NONE,
    GT_VALUE_BOOL,
    GT_VALUE_INT,
    GT_VALUE_BIG, /* an integer beyond 64 bits: its digits as a string */
    GT_VALUE_FLOAT,
    GT_VALUE_STRING,
    GT_VALUE_LIST,
    GT_VALUE_TUPLE,
    GT_VALUE_DICT, /* items are key, value, key, value, ... */
} gt_value_type;

typedef struct gt_value {
    gt_value_type type;
    uint32_t count; /* of items */
    union {
        bool boolean;
        int64_t integer;
        double number;
        gt_str text;
        const struct gt_value *items;
    };
} gt_value;

extern const gt_value gt_value_missing, gt_value_none;

gt_value gt_value_bool(bool boolean);
gt_value gt_value_int(int64_t integer);
gt_value gt_value_float(double number);
gt_value gt_value_cstr(const char *text); /* which must outlive the value */
gt_value gt_value_tuple(gt_arena *arena, const gt_value *items, size_t count); /* copies the items */
gt_value gt_value_as_tuple(const gt_value *list); /* tuple(list): only the outermost list changes */

bool gt_value_is_list(const gt_value *value);  /* or a tuple */
bool gt_value_is_empty(const gt_value *value); /* false in Python: missing, None, False, 0, "", [] */
bool gt_value_equals_cstr(const gt_value *value, const char *text);
/* A NUL-terminated copy of a string in the arena; NULL if the value is not a string. */
const char *gt_value_copy(gt_arena *arena, const gt_value *value);
/* Item i of a list, counted from the end if i is negative; MISSING if there is none. */
const gt_value *gt_value_at(const gt_value *list, int64_t i);
/* The value of a key of a dict, the last one if there are several; MISSING if there is none. */
const gt_value *gt_value_get(const gt_value *dict, const char *key);

/* Parses JSON text into the arena; MISSING if it is not valid or nested more than 64 deep. */
const gt_value *gt_value_parse(gt_arena *arena, gt_str json);

/* The values of interned JSON texts, each parsed when it is first needed. */
typedef struct gt_values gt_values;
gt_values *gt_values_new(const gt_interner *strings);
void gt_values_free(gt_values *values);
/* MISSING for GT_STR_NONE, and for texts of more than 16 MiB, whose values would need a gigabyte. */
const gt_value *gt_values_get(gt_values *values, uint32_t text);
/* Forgets which texts were parsed, which takes memory for every string of the interner. The values stay. */
void gt_values_forget(gt_values *values);
