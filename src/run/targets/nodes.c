/* The records of a job's nodes. A node without a record is MISSING: it never started, or was killed. */
#include "run/targets/nodes.h"
#include "os/paths.h"
#include "output/file.h"
#include "run/execute/execute.h"
#include "schema/columns.h"

gt_nodes gt_nodes_read(gt_arena *arena, const char *folder, size_t count)
{
    gt_nodes nodes = {gt_arena_alloc(arena, (count + 1) * sizeof *nodes.items), count};
    for (size_t i = 0; i < count; i++) {
        gt_error ignored;
        gt_node *node = &nodes.items[i];
        node->folder = gt_path_join(arena, folder, gt_arena_format(arena, "node_%zu", i));
        const gt_value *record =
            gt_settings_read(arena, gt_path_join(arena, node->folder, "gputally_run.json"), &ignored);
        node->record = record ? record : &gt_value_missing;
        const char *status = gt_settings_string(node->record, "status");
        node->status = status ? status : "MISSING";
        node->reason = gt_settings_string(node->record, "reason");
    }
    return nodes;
}

bool gt_nodes_all_succeeded(const gt_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count; i++)
        if (strcmp(nodes->items[i].status, "SUCCESS") != 0) return false;
    return true;
}

static void add_node(gt_json_writer *json, const gt_node *node, size_t rank)
{
    const gt_value *exit_code = gt_value_get(node->record, "exit_code");
    gt_json_open(json, '{');
    gt_json_put_int(json, "node", (int64_t)rank);
    gt_json_put_cstr(json, "folder", node->folder);
    gt_json_put_cstr(json, "status", node->status);
    gt_json_put_value(json, "exit_code", exit_code);
    gt_json_put_value(json, "performance", gt_value_get(node->record, "performance"));
    gt_json_put_cstr(json, "metric", gt_settings_string(node->record, "metric"));
    gt_json_put_cstr(json, "reason", node->reason);
    gt_json_close(json, '}');
}

static void add_metrics(gt_arena *arena, gt_json_writer *json, const gt_nodes *nodes)
{
    gt_performances figures = {0};
    for (size_t i = 0; i < nodes->count; i++) {
        const char *metric = gt_settings_string(nodes->items[i].record, "metric");
        const gt_value *value = gt_value_get(nodes->items[i].record, "performance");
        if (metric && (value->type == GT_VALUE_FLOAT || value->type == GT_VALUE_INT))
            gt_performances_add(&figures, arena, metric,
                                value->type == GT_VALUE_INT ? (double)value->integer : value->number);
    }
    gt_performances_write(&figures, json, "metrics");
}

bool gt_nodes_write(gt_arena *arena, const gt_nodes *nodes, const char *folder, const char *job,
                    const char *name, const char *status, const char *reason, gt_error *error)
{
    gt_json_writer json = {0};
    gt_json_open(&json, '{');
    gt_json_put_cstr(&json, "job", job);
    gt_json_put_cstr(&json, "name", name);
    if (status) gt_json_put_cstr(&json, "status", status);
    if (status) gt_json_put_cstr(&json, "reason", reason);
    gt_json_put_open(&json, "nodes", '[');
    for (size_t i = 0; i < nodes->count; i++) add_node(&json, &nodes->items[i], i);
    gt_json_close(&json, ']');
    add_metrics(arena, &json, nodes);
    gt_json_close(&json, '}');
    gt_buffer_add_cstr(&json.text, "\n");
    gt_output *output = gt_output_new();
    bool ok = gt_output_write_file(output, gt_path_join(arena, folder, "results_summary.json"),
                                   gt_buffer_str(&json.text), error) &&
              gt_output_commit(output, error);
    gt_output_free(output);
    gt_json_writer_free(&json);
    return ok;
}

/* ---- sheet ---- */

static double number(const gt_value *dict, const char *key)
{
    const gt_value *value = gt_value_get(dict, key);
    return value->type == GT_VALUE_INT     ? (double)value->integer
           : value->type == GT_VALUE_FLOAT ? value->number
                                           : NAN;
}

static void set_number(gt_table *table, size_t column, size_t row, double value)
{
    if (isfinite(value)) gt_table_set_float(table, column, row, value);
}

static gt_table *nodes_table(const gt_nodes *nodes, gt_interner *strings)
{
    static const struct {
        gt_col column;
        gt_type type;
    } columns[] = {{GT_COL_NODE, GT_TYPE_INT},
                   {GT_COL_RUN_STATUS, GT_TYPE_STRING},
                   {GT_COL_RUN_DURATION_S, GT_TYPE_FLOAT},
                   {GT_COL_PERFORMANCE, GT_TYPE_FLOAT},
                   {GT_COL_NCU_METRIC, GT_TYPE_STRING},
                   {GT_COL_ENERGY_J, GT_TYPE_FLOAT}};
    gt_table *table = gt_table_new(GT_SHEET_NODES, strings);
    for (size_t i = 0; i < GT_LENGTH(columns); i++)
        gt_table_add_column(table, columns[i].column, columns[i].type);
    for (size_t i = 0; i < nodes->count; i++) {
        const gt_node *node = &nodes->items[i];
        const char *metric = gt_settings_string(node->record, "metric");
        size_t row = gt_table_add_row(table);
        gt_table_set_int(table, 0, row, (int64_t)i);
        gt_table_set_string(table, 1, row, gt_interner_add_cstr(strings, node->status));
        set_number(table, 2, row, number(node->record, "duration_s"));
        set_number(table, 3, row, number(node->record, "performance"));
        if (metric) gt_table_set_string(table, 4, row, gt_interner_add_cstr(strings, metric));
        set_number(table, 5, row, number(gt_value_get(node->record, "energy"), "total_J"));
    }
    return table;
}

bool gt_nodes_write_sheet(const gt_nodes *nodes, const char *path, gt_error *error)
{
    gt_interner *strings = gt_interner_new();
    gt_table_list tables = {0};
    gt_table_list_add(&tables, nodes_table(nodes, strings));
    bool ok = gt_output_workbook(&tables, path, error);
    gt_table_list_free(&tables);
    gt_interner_free(strings);
    return ok;
}
