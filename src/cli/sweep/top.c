/* `gputally sweep top`: finds the GEMM rows of all reports whose times differ most, writes them as CSV. */
#include "base/length.h"
#include "base/memory.h"
#include "base/threads.h"
#include "cli/sweep/sweep.h"
#include "schema/columns.h"
#include "sweep/gemm/top_gemms.h"
#include "table/stats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_FILE "top5_gemm_kernels_time_variance.csv"
enum { ROWS_SHOWN = 10, NAME_SHOWN = 100 };

static const gt_option top_options[] = {
    {"base_path", GT_OPTION_STRING, "DIR", NULL,
     "read the reports in this folder tracelens_analysis of a sweep (required)"},
    {"top_k", GT_OPTION_INT, "K", "5", "keep K rows per report"},
    {"output_file", GT_OPTION_STRING, "NAME", DEFAULT_FILE,
     "write the CSV file NAME in the folder of --base_path, or an absolute path"},
    {"threads", GT_OPTION_STRINGS, "N...", NULL,
     "read only these thread settings (default: all with reports)"},
    {"channels", GT_OPTION_STRINGS, "N...", NULL,
     "read only these channel settings (default: all with reports)"},
    {"ranks", GT_OPTION_STRINGS, "N...", NULL, "read only these ranks (default: all with reports)"},
};
static const gt_option_group top_group = {"Rows", top_options, GT_LENGTH(top_options)};

const gt_syntax gt_sweep_top_syntax = {
    .groups = {&top_group, &gt_sweep_plain_group},
    .main_options = {"base_path", "top_k", "output_file", "threads", "channels"},
    .files = "",
    .files_max = 0,
};

/* ---- which reports ---- */

typedef struct numbers {
    int64_t *items;
    size_t count, capacity;
} numbers;

static bool parse_numbers(const gt_call *call, const char *option, numbers *into, gt_error *error)
{
    const gt_option_value *value = gt_arguments_value(&call->arguments, option);
    for (size_t i = 0; i < value->text_count; i++) {
        char *end;
        errno = 0;
        int64_t number = strtoll(value->texts[i], &end, 10);
        if (*end || end == value->texts[i] || errno)
            return gt_fail(error, "argument --%s: invalid int value: '%.200s'", option, value->texts[i]);
        GT_PUSH(into->items, into->count, into->capacity, number);
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Adds a number where it is not there yet. */
static void add_new(numbers *list, int64_t number)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == number) return;
    GT_PUSH(list->items, list->count, list->capacity, number);
}

/* What the names of the reports under the folder say, ascending; of lists that are given, nothing. */
static void find_numbers(const char *base, numbers *threads, numbers *channels, numbers *ranks)
{
    const bool find[] = {!threads->count, !channels->count, !ranks->count};
    gt_names_found folders = gt_list_folder(base);
    for (size_t i = 0; i < folders.count; i++) {
        const char *at = folders.items[i];
        int64_t thread, channel, rank;
        if (!gt_take_number(&at, &thread) || strcmp(at, "thread") != 0) continue;
        char *folder = gt_format("%s/%s/individual_reports", base, folders.items[i]);
        gt_names_found files = gt_list_folder(folder);
        if (find[0] && files.count) add_new(threads, thread);
        for (size_t f = 0; f < files.count; f++) {
            if (strncmp(files.items[f], "perf_", 5) != 0) continue;
            at = files.items[f] + 5;
            if (!gt_take_number(&at, &channel) || strncmp(at, "ch_rank", 7) != 0) continue;
            at += 7;
            if (!gt_take_number(&at, &rank) || strcmp(at, ".xlsx") != 0) continue;
            if (find[1]) add_new(channels, channel);
            if (find[2]) add_new(ranks, rank);
        }
        gt_names_found_free(&files);
        gt_free(folder);
    }
    gt_names_found_free(&folders);
    numbers *const lists[] = {threads, channels, ranks};
    for (size_t i = 0; i < GT_LENGTH(lists); i++)
        if (find[i] && lists[i]->count)
            qsort(lists[i]->items, lists[i]->count, sizeof *lists[i]->items, by_number);
}

/* ---- what is said and written ---- */

static void show(const gt_top_gemms *found, const char *path)
{
    const gt_table *table = found->table;
    const gt_interner *strings = table->strings;
    double least = found->difference[table->row_count - 1], most = found->difference[0];
    printf("%zu reports, %zu rows\n\nRows whose kernel times differ most:\n", found->files, table->row_count);
    for (size_t row = 0; row < table->row_count && row < ROWS_SHOWN; row++) {
        gt_str name = gt_interner_get(strings, gt_table_column(table, GT_COL_GEMM_KERNEL_NAME)->texts[row]);
        printf("%zu. threads=%s, ch=%s, rank=%s, diff=%.4fus\n   %.*s...\n", row + 1,
               gt_interner_get(strings, table->columns[0].texts[row]).bytes,
               gt_interner_get(strings, table->columns[1].texts[row]).bytes,
               gt_interner_get(strings, table->columns[2].texts[row]).bytes, found->difference[row],
               NAME_SHOWN, name.bytes);
    }
    size_t unique = 0;
    uint8_t *met = gt_alloc_zero(gt_interner_count(strings), 1);
    for (size_t row = 0; row < table->row_count; row++) {
        uint32_t name = gt_table_column(table, GT_COL_GEMM_KERNEL_NAME)->texts[row];
        unique += !met[name];
        met[name] = 1;
    }
    gt_free(met);
    printf("\nUnique kernels: %zu\nAverage time difference: %.4f us\nMax time difference: %.4f us\n"
           "Min time difference: %.4f us\n\nwrote %s\n",
           unique, gt_mean(found->difference, table->row_count), most, least, path);
}

static bool make(const gt_call *call, const gt_top_gemms_options *options, gt_error *error)
{
    const char *base = gt_arguments_value(&call->arguments, "base_path")->text;
    const char *name = gt_arguments_value(&call->arguments, "output_file")->text;
    gt_interner *strings = gt_interner_new();
    gt_top_gemms found = gt_top_gemms_find(base, options, strings);
    char *path = name[0] == '/' ? gt_strdup(name) : gt_format("%s/%s", base, name);
    bool made = found.table->row_count ? gt_sweep_write_csv(found.table, path, "\r\n", error)
                                       : gt_fail(error, "No data extracted!");
    if (made && !gt_sweep_is_quiet(call)) show(&found, path);
    gt_free(path);
    gt_top_gemms_free(&found);
    gt_interner_free(strings);
    return made;
}

gt_exit gt_cmd_sweep_top(const gt_call *call)
{
    gt_error error;
    numbers threads = {0}, channels = {0}, ranks = {0};
    gt_exit status = GT_EXIT_USAGE;
    if (!gt_sweep_open_input(call, (const char *[]){"base_path", NULL})) return status;
    const char *base = gt_arguments_value(&call->arguments, "base_path")->text;
    if (!parse_numbers(call, "threads", &threads, &error) ||
        !parse_numbers(call, "channels", &channels, &error) ||
        !parse_numbers(call, "ranks", &ranks, &error)) {
        gt_usage_error(call->program, "%s", error.text);
    } else {
        find_numbers(base, &threads, &channels, &ranks);
        const gt_top_gemms_options options = {.threads = threads.items,
                                              .thread_count = threads.count,
                                              .channels = channels.items,
                                              .channel_count = channels.count,
                                              .ranks = ranks.items,
                                              .rank_count = ranks.count,
                                              .top = gt_arguments_int(&call->arguments, "top_k"),
                                              .workers = gt_threads_default()};
        bool made = (gt_sweep_has_folder(base) || gt_fail(&error, "Base path does not exist: %s", base)) &&
                    make(call, &options, &error);
        status = made ? GT_EXIT_DONE : gt_sweep_failed(&error);
    }
    gt_free(threads.items);
    gt_free(channels.items);
    gt_free(ranks.items);
    return status;
}
