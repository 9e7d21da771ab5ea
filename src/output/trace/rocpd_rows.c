/* Rows of a rocpd database: one prepared statement a table and set, made when its first row comes. */
#include "output/trace/rocpd_rows.h"

#include <string.h>

/* The columns that are filled; the others keep their defaults. */
static const struct {
    const char *name, *columns;
} tables[GT_ROCPD_TABLES] = {
    [GT_ROCPD_STRINGS] = {"rocpd_string", "id, string"},
    [GT_ROCPD_NODES] = {"rocpd_info_node", "id, hash, machine_id, hostname"},
    [GT_ROCPD_PROCESSES] = {"rocpd_info_process", "id, nid, ppid, pid, init, fini, start, \"end\", command"},
    [GT_ROCPD_THREADS] = {"rocpd_info_thread", "id, nid, pid, tid"},
    [GT_ROCPD_AGENTS] = {"rocpd_info_agent",
                         "id, nid, pid, type, absolute_index, logical_index, type_index, name, "
                         "model_name, vendor_name, product_name, extdata"},
    [GT_ROCPD_QUEUES] = {"rocpd_info_queue", "id, nid, pid, name"},
    [GT_ROCPD_STREAMS] = {"rocpd_info_stream", "id, nid, pid, name"},
    [GT_ROCPD_COUNTERS] = {"rocpd_info_pmc", "id, nid, pid, agent_id, target_arch, name, symbol, value_type"},
    [GT_ROCPD_KERNELS] =
        {"rocpd_info_kernel_symbol",
         "id, nid, pid, code_object_id, kernel_name, display_name, group_segment_size, sgpr_count, "
         "arch_vgpr_count, accum_vgpr_count, extdata"},
    [GT_ROCPD_EVENTS] = {"rocpd_event", "id, category_id, stack_id, parent_stack_id, correlation_id"},
    [GT_ROCPD_VALUES] = {"rocpd_pmc_event", "event_id, pmc_id, value"},
    [GT_ROCPD_REGIONS] = {"rocpd_region", "nid, pid, tid, start, \"end\", name_id, event_id"},
    [GT_ROCPD_DISPATCHES] =
        {"rocpd_kernel_dispatch",
         "nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, \"end\", "
         "private_segment_size, group_segment_size, workgroup_size_x, workgroup_size_y, "
         "workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id"},
    [GT_ROCPD_COPIES] = {"rocpd_memory_copy",
                         "nid, pid, tid, start, \"end\", name_id, dst_agent_id, src_agent_id, size, "
                         "stream_id, region_name_id, event_id"},
};

static bool prepare(gt_rocpd_rows *rows, gt_rocpd_set *set, gt_rocpd_table table)
{
    char suffix[GT_ROCPD_GUID + 2];
    gt_rocpd_suffix(suffix, set->guid);
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "INSERT INTO ");
    gt_buffer_add_cstr(&sql, tables[table].name);
    gt_buffer_add_cstr(&sql, suffix);
    gt_buffer_add_cstr(&sql, " (");
    gt_buffer_add_cstr(&sql, tables[table].columns);
    gt_buffer_add_cstr(&sql, ") VALUES (?");
    for (const char *at = tables[table].columns; (at = strchr(at, ',')); at++) gt_buffer_add_cstr(&sql, ",?");
    gt_buffer_add_cstr(&sql, ")");
    set->inserts[table] = gt_database_prepare(&rows->database, gt_buffer_str(&sql).bytes, rows->error);
    gt_buffer_free(&sql);
    return set->inserts[table] != NULL;
}

static int bind(gt_rocpd_rows *rows, sqlite3_stmt *statement, int parameter, const gt_rocpd_value *v)
{
    if (v->kind == GT_ROCPD_INT) return sqlite3_bind_int64(statement, parameter, v->integer);
    if (v->kind == GT_ROCPD_REAL) return sqlite3_bind_double(statement, parameter, v->real);
    if (v->kind == GT_ROCPD_NONE) return sqlite3_bind_null(statement, parameter);
    gt_str repaired = gt_utf8_repair(v->text, &rows->scratch);
    return sqlite3_bind_text64(statement, parameter, repaired.bytes, repaired.len, SQLITE_TRANSIENT,
                               SQLITE_UTF8);
}

void gt_rocpd_insert(gt_rocpd_rows *rows, gt_rocpd_set *set, gt_rocpd_table table,
                     const gt_rocpd_value *values, size_t count)
{
    if (rows->failed || (!set->inserts[table] && !prepare(rows, set, table))) {
        rows->failed = true;
        return;
    }
    for (size_t i = 0; i < count && !rows->failed; i++)
        if (bind(rows, set->inserts[table], (int)i + 1, &values[i]) != SQLITE_OK)
            rows->failed = !gt_database_fail(&rows->database, rows->error);
    if (!rows->failed) rows->failed = !gt_database_step(&rows->database, set->inserts[table], rows->error);
}

void gt_rocpd_set_free(gt_rocpd_set *set)
{
    for (int table = 0; table < GT_ROCPD_TABLES; table++) gt_database_finish(set->inserts[table]);
}
