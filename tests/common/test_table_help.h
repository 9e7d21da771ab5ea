/* Tables as text, for tests: the first line names the columns and their types, the others are rows; cells are
 * separated by spaces, `-` is null, a LIST cell is written [1,2,[3]].
 *
 *     name:text dur:int
 *     gemm 10
 *     copy -
 */
#ifndef TEST_TABLE_HELP_H
#define TEST_TABLE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "table/table.h"

static const char *const type_names[] = {"int", "float", "text", "bool", "list"};

static uint64_t random_state = 1;

__attribute__((unused)) static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((random_state >> 33) % limit);
}

static void read_cell(gt_table *table, size_t column, size_t row, const char *word)
{
    if (strcmp(word, "-") == 0) return;
    switch (table->columns[column].type) {
    case GT_TYPE_INT:
        gt_table_set_int(table, column, row, strtoll(word, NULL, 10));
        break;
    case GT_TYPE_FLOAT:
        gt_table_set_float(table, column, row, strtod(word, NULL));
        break;
    case GT_TYPE_STRING:
        gt_table_set_cstr(table, column, row, word);
        break;
    case GT_TYPE_BOOL:
        gt_table_set_bool(table, column, row, strcmp(word, "true") == 0);
        break;
    case GT_TYPE_LIST:
        fail_msg("lists are not read from text");
    }
}

static void read_line(gt_table *table, char *line)
{
    char *rest;
    bool header = table->column_count == 0;
    size_t row = header ? 0 : gt_table_add_row(table), column = 0;
    for (char *word = strtok_r(line, " ", &rest); word; word = strtok_r(NULL, " ", &rest), column++) {
        if (!header) {
            read_cell(table, column, row, word);
            continue;
        }
        char *type_name = strrchr(word, ':') + 1;
        unsigned type = 0;
        while (strcmp(type_names[type], type_name)) type++;
        type_name[-1] = 0;
        gt_table_add_column(table, gt_col_named(word), (gt_type)type);
    }
    assert_int_equal(column, table->column_count);
}

__attribute__((unused)) static gt_table *read_table(gt_interner *strings, const char *text)
{
    gt_table *table = gt_table_new(GT_SHEET("test"), strings);
    char *copy = strdup(text), *rest;
    for (char *line = strtok_r(copy, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        read_line(table, line);
    free(copy);
    return table;
}

static void print_float(FILE *out, double value)
{
    char digits[40];
    int precision = 1;
    do snprintf(digits, sizeof digits, "%.*g", precision++, value);
    while (strtod(digits, NULL) != value);
    fputs(digits, out);
}

static void print_cell(FILE *out, const gt_column *column, size_t row, const gt_interner *strings)
{
    if (gt_column_is_null(column, row)) {
        fputc('-', out);
        return;
    }
    switch (column->type) {
    case GT_TYPE_INT:
        fprintf(out, "%lld", (long long)column->ints[row]);
        break;
    case GT_TYPE_FLOAT:
        print_float(out, column->floats[row]);
        break;
    case GT_TYPE_STRING:
        fputs(gt_interner_get(strings, column->texts[row]).bytes, out);
        break;
    case GT_TYPE_BOOL:
        fputs(column->bools[row] ? "true" : "false", out);
        break;
    case GT_TYPE_LIST:
        fputc('[', out);
        for (size_t i = gt_list_begin_of(column, row); i < gt_list_end_of(column, row); i++) {
            if (i > gt_list_begin_of(column, row)) fputc(',', out);
            print_cell(out, column->items, i, strings);
        }
        fputc(']', out);
    }
}

/* The caller frees it. */
__attribute__((unused)) static char *print_table(const gt_table *table)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (size_t c = 0; c < table->column_count; c++)
        fprintf(out, "%s%s:%s", c ? " " : "", table->columns[c].name, type_names[table->columns[c].type]);
    fputc('\n', out);
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t c = 0; c < table->column_count; c++) {
            if (c) fputc(' ', out);
            print_cell(out, &table->columns[c], row, table->strings);
        }
        fputc('\n', out);
    }
    fclose(out);
    return text;
}

__attribute__((unused)) static void expect_table(const gt_table *table, const char *expected)
{
    char *text = print_table(table);
    assert_string_equal(text, expected);
    free(text);
}

#endif
