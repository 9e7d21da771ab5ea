/* The diff of two traces: builds the tables, writes its files (diff.h lists them), prints the terminal
 * summary.
 */
#include "report/diff.h"

#include "json/string.h"
#include "output/file.h"
#include "report/summary.h"

enum {
    ROWS_SHOWN = 10,
    DEPTH_MAX = 10000 /* deeper calls are not written, because the length of a line grows with the depth */
};

/* ---- text files ----
 *
 * The text files of a diff: merged_tree_output.txt, one line per call with box-drawing prefixes, and the JSON
 * maps from ops to kernels. */

static void write_cstr(gt_file *file, const char *text)
{
    gt_file_write(file, text, strlen(text));
}

static void write_text(gt_file *file, gt_str text, gt_buffer *scratch)
{
    text = gt_utf8_repair(text, scratch);
    gt_file_write(file, text.bytes, text.len);
}

/* ---- the tree ---- */

#define LAST_CHILD   "└── "
#define OTHER_CHILD  "├── "
#define BELOW_LAST   "    "
#define BELOW_OTHERS "│   "

/* A call to be written. */
typedef struct pending {
    uint32_t node, depth;
    bool last;
} pending;

typedef struct tree_writer {
    gt_file *file;
    const gt_diff_tree *tree;
    pending *stack;
    size_t count, capacity;
    gt_buffer prefix; /* of the last call written, ... */
    size_t *lengths;  /* ... and its length at each depth */
    size_t length_count, length_capacity;
    gt_buffer scratch;
    size_t too_deep;
} tree_writer;

static void write_name(tree_writer *w, const gt_diff_node *node, size_t side)
{
    const gt_diff_side *s = w->tree->sides[side];
    write_text(w->file, gt_interner_get(s->trace->strings, gt_diff_shown_name(s, node->rows[side])),
               &w->scratch);
}

static bool same_names(const gt_diff_tree *tree, const gt_diff_node *node)
{
    gt_str names[2];
    for (size_t side = 0; side < 2; side++) {
        const gt_diff_side *s = tree->sides[side];
        names[side] = gt_interner_get(s->trace->strings, gt_diff_shown_name(s, node->rows[side]));
    }
    return gt_str_compare(names[0], names[1]) == 0;
}

static void write_label(tree_writer *w, const gt_diff_node *node)
{
    if (!gt_diff_is_combined(node)) {
        size_t side = gt_diff_only_side(node);
        write_cstr(w->file, side ? "<< trace2: " : ">> trace1: ");
        write_name(w, node, side);
    } else if (same_names(w->tree, node)) {
        write_name(w, node, 0);
    } else {
        write_cstr(w->file, "combined: ");
        write_name(w, node, 0);
        write_cstr(w->file, " | ");
        write_name(w, node, 1);
    }
    gt_file_put(w->file, '\n');
}

/* 0: both traces, 1: the first, 2: the second. */
static int kind_of(const gt_diff_node *node)
{
    return gt_diff_is_combined(node) ? 0 : 1 + (int)gt_diff_only_side(node);
}

/* Pushes the last child first, so that the first child is written first. */
static void push_children(tree_writer *w, const gt_diff_node *node, uint32_t depth)
{
    const gt_diff_tree *tree = w->tree;
    bool last = true;
    for (int kind = 2; kind >= 0; kind--)
        for (uint32_t i = node->child_count; i-- > 0;) {
            uint32_t child = tree->children[node->first_child + i];
            if (kind_of(&tree->nodes[child]) != kind) continue;
            GT_PUSH(w->stack, w->count, w->capacity, ((pending){child, depth, last}));
            last = false;
        }
}

static void write_call(tree_writer *w, pending call)
{
    const gt_diff_node *node = &w->tree->nodes[call.node];
    if (call.depth >= DEPTH_MAX) {
        w->too_deep++;
        return;
    }
    w->prefix.len = call.depth ? w->lengths[call.depth - 1] : 0;
    gt_file_write(w->file, w->prefix.bytes, w->prefix.len);
    write_cstr(w->file, call.last ? LAST_CHILD : OTHER_CHILD);
    write_label(w, node);
    gt_buffer_add_cstr(&w->prefix, call.last ? BELOW_LAST : BELOW_OTHERS);
    w->length_count = call.depth;
    GT_PUSH(w->lengths, w->length_count, w->length_capacity, w->prefix.len);
    push_children(w, node, call.depth + 1);
}

static bool uses_gpu(const gt_diff_tree *tree, const gt_diff_node *node)
{
    for (size_t side = 0; side < 2; side++)
        if (node->rows[side] != GT_NO_EVENT && gt_diff_uses_gpu(tree->sides[side], node->rows[side]))
            return true;
    return false;
}

/* Writes one line per call. Returns the number of calls that were too deep. */
static size_t print_tree(gt_file *file, const gt_diff_tree *tree, bool prune_non_gpu)
{
    tree_writer w = {.file = file, .tree = tree};
    gt_buffer_str(&w.prefix); /* allocates it */
    for (size_t i = 0; i < tree->root_count; i++) {
        if (prune_non_gpu && !uses_gpu(tree, &tree->nodes[tree->roots[i]])) continue;
        GT_PUSH(w.stack, w.count, w.capacity, ((pending){tree->roots[i], 0, i + 1 == tree->root_count}));
        while (w.count) write_call(&w, w.stack[--w.count]);
    }
    gt_free_all(w.stack, w.lengths);
    gt_buffer_free(&w.prefix);
    gt_buffer_free(&w.scratch);
    return w.too_deep;
}

/* ---- JSON ---- */

typedef struct map_writer {
    gt_file *file;
    const gt_table *map;
    gt_buffer text, scratch;
} map_writer;

static void write_json(map_writer *w, gt_str text)
{
    w->text.len = 0;
    gt_json_string_add_short(&w->text, text, &w->scratch);
    gt_file_write(w->file, w->text.bytes, w->text.len);
}

static void new_line(map_writer *w, size_t depth)
{
    gt_file_put(w->file, '\n');
    while (depth-- > 0) write_cstr(w->file, "  ");
}

static void write_cell(map_writer *w, gt_col column, size_t row)
{
    write_json(w, gt_interner_get(w->map->strings, gt_table_column(w->map, column)->texts[row]));
    write_cstr(w->file, ": ");
}

static void write_list(map_writer *w, gt_col column, size_t row, size_t depth)
{
    const gt_column *lists = gt_table_column(w->map, column);
    size_t begin = gt_list_begin_of(lists, row), end = gt_list_end_of(lists, row);
    gt_file_put(w->file, '[');
    for (size_t i = begin; i < end; i++) {
        if (i > begin) gt_file_put(w->file, ',');
        new_line(w, depth + 1);
        write_json(w, gt_interner_get(w->map->strings, lists->items->texts[i]));
    }
    if (end > begin) new_line(w, depth);
    gt_file_put(w->file, ']');
}

static void write_lists(map_writer *w, size_t row, size_t depth)
{
    gt_file_put(w->file, '{');
    new_line(w, depth + 1);
    write_cstr(w->file, "\"kernels\": ");
    write_list(w, GT_COL_KERNELS, row, depth + 1);
    gt_file_put(w->file, ',');
    new_line(w, depth + 1);
    write_cstr(w->file, "\"nn_module_parents\": ");
    write_list(w, GT_COL_NN_MODULE_PARENTS, row, depth + 1);
    new_line(w, depth);
    gt_file_put(w->file, '}');
}

/* The sources of one op: rows begin .. end. */
static void write_sources(map_writer *w, size_t begin, size_t end)
{
    gt_file_put(w->file, '{');
    for (size_t row = begin; row < end; row++) {
        if (row > begin) gt_file_put(w->file, ',');
        new_line(w, 2);
        write_cell(w, GT_COL_SOURCE, row);
        write_lists(w, row, 2);
    }
    new_line(w, 1);
    gt_file_put(w->file, '}');
}

/* {op: [kernel, ...]} for a table with cpu_op_name and kernels only; otherwise {op: {source: {"kernels":
 * [...], "nn_module_parents": [...]}}}, without the sources if there is no such column. Formatted like
 * Python's json.dump with indent=2. */
static void print_map(gt_file *file, const gt_table *map)
{
    map_writer w = {.file = file, .map = map};
    const uint32_t *ops = gt_table_column(map, GT_COL_CPU_OP_NAME)->texts;
    bool has_modules = gt_table_find(map, GT_COL_NN_MODULE_PARENTS) != SIZE_MAX;
    bool has_sources = gt_table_find(map, GT_COL_SOURCE) != SIZE_MAX;
    gt_file_put(file, '{');
    for (size_t row = 0, end; row < map->row_count; row = end) {
        for (end = row + 1; has_sources && end < map->row_count && ops[end] == ops[row];) end++;
        if (row) gt_file_put(file, ',');
        new_line(&w, 1);
        write_cell(&w, GT_COL_CPU_OP_NAME, row);
        if (has_sources)
            write_sources(&w, row, end);
        else if (has_modules)
            write_lists(&w, row, 1);
        else
            write_list(&w, GT_COL_KERNELS, row, 1);
    }
    if (map->row_count) new_line(&w, 0);
    gt_file_put(file, '}');
    gt_buffer_free(&w.text);
    gt_buffer_free(&w.scratch);
}

/* ---- the report ---- */

struct gt_diff {
    gt_diff_tree *tree;
    gt_table_list tables;
    gt_table *maps[3]; /* cpu_op_map of both traces and of each; NULL without rows */
    gt_table *parts, *differences;
    size_t events[2];
    bool identical, prune_non_gpu;
};

static void keep_tables(gt_diff *d, gt_diff_stats *stats)
{
    d->parts = gt_diff_parts(d->tree, stats);
    if (!stats->table->row_count) {
        gt_info("No GPU events found in either trace");
        return;
    }
    gt_diff_summary summary = gt_diff_summarize(stats);
    d->differences = gt_diff_differences(stats);
    d->identical = stats->identical;
    gt_table_list_add(&d->tables, gt_diff_stats_sheet(stats));
    gt_table_list_add(&d->tables, summary.table);
    d->maps[0] = summary.op_map;
    d->maps[1] = summary.op_maps[0];
    d->maps[2] = summary.op_maps[1];
}

static void warn_about_unlinked(const gt_linked_view *trace, const char *title)
{
    gt_left_out left_out = gt_pytorch_find_left_out(trace);
    char text[GT_LEFT_OUT_TEXT_MAX];
    if (!gt_gpu_share_any(left_out.unlinked)) return;
    gt_unlinked_describe(&left_out, text);
    gt_warn("%s: %s; it is not compared", title, text);
}

gt_diff *gt_diff_new(const gt_linked_view *first, const gt_linked_view *second,
                     const gt_diff_options *options, gt_error *error)
{
    gt_diff_tree *tree = gt_diff_tree_new(first, second, error);
    if (!tree) return NULL;
    warn_about_unlinked(first, "trace1");
    warn_about_unlinked(second, "trace2");
    gt_diff *d = gt_alloc_zero(1, sizeof *d);
    *d = (gt_diff){.tree = tree,
                   .events = {first->uid_count, second->uid_count},
                   .prune_non_gpu = options->prune_non_gpu};
    gt_diff_stats stats = gt_diff_stats_make(tree, (gt_diff_stats_options){.explain = options->explain});
    keep_tables(d, &stats);
    gt_diff_stats_free(&stats);
    return d;
}

void gt_diff_free(gt_diff *d)
{
    if (!d) return;
    gt_table_list_free(&d->tables);
    for (size_t i = 0; i < GT_LENGTH(d->maps); i++) gt_table_free(d->maps[i]);
    gt_table_free(d->parts);
    gt_table_free(d->differences);
    gt_diff_tree_free(d->tree);
    gt_free(d);
}

const gt_table_list *gt_diff_tables(const gt_diff *d)
{
    return &d->tables;
}

/* ---- files ---- */

static char *path_in(const char *dir, const char *name, const char *ending)
{
    return gt_format("%s/%s%s", dir, name, ending);
}

static bool write_tree(const gt_diff *d, gt_output *output, const char *dir, gt_error *error)
{
    gt_file file;
    char *path = path_in(dir, "merged_tree_output", ".txt");
    bool open = gt_file_open(&file, output, path, error);
    gt_free(path);
    if (!open) return false;
    size_t too_deep = print_tree(&file, d->tree, d->prune_non_gpu);
    if (too_deep)
        gt_warn("merged_tree_output.txt: calls deeper than %d omitted, below %zu calls", DEPTH_MAX, too_deep);
    return gt_file_close(&file, error);
}

static bool write_map(const gt_table *map, gt_output *output, const char *dir, gt_error *error)
{
    gt_file file;
    char *path = path_in(dir, map->name, ".json");
    bool open = gt_file_open(&file, output, path, error);
    gt_free(path);
    if (!open) return false;
    print_map(&file, map);
    return gt_file_close(&file, error);
}

bool gt_diff_write(const gt_diff *d, gt_output *output, const char *dir, gt_error *error)
{
    if (!write_tree(d, output, dir, error) ||
        !gt_output_csvs(output, dir, d->tables.items, d->tables.count, error))
        return false;
    for (size_t i = 0; i < GT_LENGTH(d->maps); i++)
        if (d->maps[i] && !write_map(d->maps[i], output, dir, error)) return false;
    return true;
}

/* ---- terminal summary ---- */

static void print_parts(const gt_terminal *terminal, const gt_table *parts)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_TRACE1_MS, NULL, 3, NULL}, {GT_COL_TRACE1_PERCENT, "share", 1, "%"},
        {GT_COL_TRACE2_MS, NULL, 3, NULL}, {GT_COL_TRACE2_PERCENT, "share", 1, "%"},
        {GT_COL_PART, NULL, 0, NULL},
    };
    gt_terminal_heading(terminal, "GPU time by match");
    gt_terminal_rows(terminal, parts, columns, GT_LENGTH(columns), parts->row_count);
}

static void print_differences(const gt_terminal *terminal, const gt_table *differences)
{
    static const gt_terminal_column columns[] = {
        {GT_COL_DIFFERENCE_MS, "trace2 - trace1 ms", 3, NULL},
        {GT_COL_TRACE1_MS, NULL, 3, NULL},
        {GT_COL_TRACE2_MS, NULL, 3, NULL},
        {GT_COL_COUNT, NULL, 0, NULL},
        {GT_COL_CALL, "below the common call", 0, NULL},
    };
    gt_terminal_heading(terminal, "Largest differences");
    gt_summary_rows(terminal, differences, columns, GT_LENGTH(columns), ROWS_SHOWN);
}

void gt_diff_print_summary(FILE *out, const gt_diff *d, int width, bool utf8)
{
    size_t alone[2] = {0, 0}, both = 0;
    for (size_t i = 0; i < d->tree->count; i++) {
        if (gt_diff_is_combined(&d->tree->nodes[i]))
            both++;
        else
            alone[gt_diff_only_side(&d->tree->nodes[i])]++;
    }
    gt_terminal terminal = gt_terminal_for(out);
    terminal.width = width > 0 ? (size_t)width : 0;
    terminal.utf8 = utf8;
    fprintf(out, "%zu and %zu %s; %zu %s in both traces, %zu only in trace1, %zu only in trace2\n",
            d->events[0], d->events[1], gt_noun(d->events[1], "event", "events"), both,
            gt_noun(both, "call", "calls"), alone[0], alone[1]);
    if (d->identical) fputs("the traces do the same in the same time\n", out);
    fputc('\n', out);
    print_parts(&terminal, d->parts);
    if (!d->differences || !d->differences->row_count) return;
    fputc('\n', out);
    print_differences(&terminal, d->differences);
}
