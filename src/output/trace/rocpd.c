/* The schema of rocpd as data (columns of tables, SELECTs of views), and the insertion of rows.
 *
 * Views always join rows by id and guid, with LEFT JOIN, so that no row is lost because something about it is
 * unknown. Rows are inserted with one prepared statement per table and set, created for the first row. */
#include "output/trace/rocpd.h"

/* ---- schema ---- */

#define JSON(name) name " TEXT NOT NULL DEFAULT '{}'"

static const struct {
    const char *name, *columns; /* after id and guid */
} tables[] = {
    {"rocpd_string", "string TEXT NOT NULL"},
    {"rocpd_info_node", "hash INTEGER, machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, "
                        "version TEXT, hardware_name TEXT, domain_name TEXT"},
    {"rocpd_info_process",
     "nid INTEGER, ppid INTEGER, pid INTEGER NOT NULL, init INTEGER, fini INTEGER, start INTEGER, "
     "\"end\" INTEGER, command TEXT, " JSON("environment") ", " JSON("extdata")},
    {"rocpd_info_thread", "nid INTEGER, ppid INTEGER, pid INTEGER, tid INTEGER NOT NULL, name TEXT, "
                          "start INTEGER, \"end\" INTEGER, " JSON("extdata")},
    {"rocpd_info_agent",
     "nid INTEGER, pid INTEGER, type TEXT, absolute_index INTEGER, logical_index INTEGER, "
     "type_index INTEGER, uuid INTEGER, name TEXT, model_name TEXT, vendor_name TEXT, "
     "product_name TEXT, user_name TEXT, " JSON("extdata")},
    {"rocpd_info_queue", "nid INTEGER, pid INTEGER, name TEXT, " JSON("extdata")},
    {"rocpd_info_stream", "nid INTEGER, pid INTEGER, name TEXT, " JSON("extdata")},
    {"rocpd_info_pmc",
     "nid INTEGER, pid INTEGER, agent_id INTEGER, target_arch TEXT, event_code INTEGER, "
     "instance_id INTEGER, name TEXT NOT NULL, symbol TEXT NOT NULL, description TEXT, "
     "long_description TEXT, component TEXT, units TEXT, value_type TEXT, block TEXT, expression TEXT, "
     "is_constant INTEGER, is_derived INTEGER, " JSON("extdata")},
    {"rocpd_info_code_object",
     "nid INTEGER, pid INTEGER, agent_id INTEGER, uri TEXT, load_base INTEGER, load_size INTEGER, "
     "load_delta INTEGER, storage_type TEXT, " JSON("extdata")},
    {"rocpd_info_kernel_symbol",
     "nid INTEGER, pid INTEGER, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, "
     "kernel_object INTEGER, kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER, "
     "group_segment_size INTEGER, private_segment_size INTEGER, sgpr_count INTEGER, "
     "arch_vgpr_count INTEGER, accum_vgpr_count INTEGER, " JSON("extdata")},
    {"rocpd_track", "nid INTEGER, pid INTEGER, tid INTEGER, name_id INTEGER, " JSON("extdata")},
    {"rocpd_event",
     "category_id INTEGER, stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, " JSON(
         "call_stack") ", " JSON("line_info") ", " JSON("extdata")},
    {"rocpd_arg", "event_id INTEGER, position INTEGER, type TEXT, name TEXT, value TEXT, " JSON("extdata")},
    {"rocpd_pmc_event", "event_id INTEGER, pmc_id INTEGER NOT NULL, value REAL, " JSON("extdata")},
    {"rocpd_region",
     "nid INTEGER, pid INTEGER, tid INTEGER, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
     "name_id INTEGER, event_id INTEGER, " JSON("extdata")},
    {"rocpd_sample", "track_id INTEGER, timestamp INTEGER, event_id INTEGER, " JSON("extdata")},
    {"rocpd_kernel_dispatch",
     "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, "
     "queue_id INTEGER, stream_id INTEGER, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
     "private_segment_size INTEGER, group_segment_size INTEGER, workgroup_size_x INTEGER, "
     "workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER, grid_size_y INTEGER, "
     "grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER, " JSON("extdata")},
    {"rocpd_memory_copy",
     "nid INTEGER, pid INTEGER, tid INTEGER, start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, "
     "name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER, src_agent_id INTEGER, "
     "src_address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, region_name_id INTEGER, "
     "event_id INTEGER, " JSON("extdata")},
    {"rocpd_memory_allocate",
     "nid INTEGER, pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start INTEGER, "
     "\"end\" INTEGER, address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER, "
     "event_id INTEGER, " JSON("extdata")},
};
enum { TABLES = GT_LENGTH(tables) };

/* Abbreviations in the views below: X is the row that a view shows; rows that belong to it are joined under
 * an alias of one or two letters. */
#define JOIN(table, alias, id)                                                                               \
    "LEFT JOIN " table " " alias " ON " alias ".id = " id " AND " alias ".guid = X.guid"
#define AGENT(alias, prefix)                                                                                 \
    alias ".absolute_index AS " prefix "agent_abs_index, " alias ".logical_index AS " prefix                 \
          "agent_log_index, " alias ".type_index AS " prefix "agent_type_index, " alias ".type AS " prefix   \
          "agent_type"

static const struct {
    const char *name, *text;
} abbreviations[] = {
    {"$SPAN", "X.start, X.\"end\", X.\"end\" - X.start AS duration"},
    {"$STACK", "E.stack_id, E.parent_stack_id, E.correlation_id AS corr_id"},
    {"$NODE", "N.id AS nid, N.machine_id, N.system_name, N.hostname, N.release AS system_release, "
              "N.version AS system_version"},
    {"$AGENT", AGENT("A", "")},
    {"$TO_AGENT", AGENT("D", "dst_")},
    {"$FROM_AGENT", AGENT("F", "src_")},
    {"$KERNEL", "COALESCE(S.display_name, 'unknown_kernel_None')"},
    {"$join_event", JOIN("rocpd_event", "E", "X.event_id") " " JOIN("rocpd_string", "C", "E.category_id")},
    {"$join_node", JOIN("rocpd_info_node", "N", "X.nid")},
    {"$join_process", JOIN("rocpd_info_process", "P", "X.pid")},
    {"$join_thread", JOIN("rocpd_info_thread", "T", "X.tid")},
    {"$join_queue", JOIN("rocpd_info_queue", "Q", "X.queue_id")},
    {"$join_stream", JOIN("rocpd_info_stream", "ST", "X.stream_id")},
    {"$join_agent", JOIN("rocpd_info_agent", "A", "X.agent_id")},
    {"$join_destination", JOIN("rocpd_info_agent", "D", "X.dst_agent_id")},
    {"$join_source", JOIN("rocpd_info_agent", "F", "X.src_agent_id")},
    {"$join_name", JOIN("rocpd_string", "N", "X.name_id")},
    {"$join_region", JOIN("rocpd_string", "R", "X.region_name_id")},
    {"$join_kernel", JOIN("rocpd_info_kernel_symbol", "S", "X.kernel_id")},
    {"$join_counter", JOIN("rocpd_info_pmc", "I", "V.pmc_id")},
    {"$join_track",
     JOIN("rocpd_track", "TR", "X.track_id") " " JOIN("rocpd_string", "N", "TR.name_id") " " JOIN(
         "rocpd_info_process", "P", "TR.pid") " " JOIN("rocpd_info_thread", "T", "TR.tid")},
    {"$counted",
     "rocpd_pmc_event V JOIN rocpd_kernel_dispatch X ON X.event_id = V.event_id AND X.guid = V.guid"},
    {"$gpu_spans", "(SELECT agent_id, guid, start, \"end\" FROM rocpd_kernel_dispatch UNION ALL "
                   "SELECT dst_agent_id, guid, start, \"end\" FROM rocpd_memory_copy)"},
    {"$kernel_times", "SELECT $KERNEL AS name, $SPAN FROM rocpd_kernel_dispatch X $join_kernel"},
    {"$all_times", "$kernel_times UNION ALL "
                   "SELECT N.string, $SPAN FROM rocpd_memory_copy X $join_name UNION ALL "
                   "SELECT N.string, $SPAN FROM rocpd_region X $join_name"},
    {"$TOTALS", "COUNT(*) AS total_calls, SUM(duration) / 1000.0 AS total_duration, "
                "SUM(duration) / 1000.0 / COUNT(*) AS average"}, /* microseconds */
};

enum { ABBREVIATIONS = GT_LENGTH(abbreviations) };

static const struct {
    const char *name, *select;
} views[] = {
    {"processes", "SELECT $NODE, X.guid, X.ppid, X.pid, X.init, X.start, X.\"end\", X.fini, X.command "
                  "FROM rocpd_info_process X $join_node"},
    {"threads", "SELECT $NODE, X.guid, P.ppid, P.pid, X.tid, X.start, X.\"end\", X.name "
                "FROM rocpd_info_thread X $join_node $join_process"},
    {"code_objects", "SELECT X.id, X.guid, X.nid, P.pid, A.absolute_index AS agent_abs_index, X.uri, "
                     "X.load_base, X.load_size, "
                     "X.load_delta, X.storage_type AS storage_type_str, json_extract(X.extdata, '$.size') AS "
                     "code_object_size, "
                     "json_extract(X.extdata, '$.storage_type') AS storage_type, "
                     "json_extract(X.extdata, '$.memory_base') AS memory_base, "
                     "json_extract(X.extdata, '$.memory_size') AS memory_size "
                     "FROM rocpd_info_code_object X $join_agent $join_process"},
    {"kernel_symbols",
     "SELECT X.id, X.guid, X.nid, P.pid, X.code_object_id, X.kernel_name, X.display_name, X.kernel_object, "
     "X.kernarg_segment_size, X.kernarg_segment_alignment, X.group_segment_size, X.private_segment_size, "
     "X.sgpr_count, X.arch_vgpr_count, X.accum_vgpr_count, "
     "json_extract(X.extdata, '$.size') AS kernel_symbol_size, "
     "json_extract(X.extdata, '$.kernel_id') AS kernel_id, "
     "json_extract(X.extdata, '$.kernel_code_entry_byte_offset') AS kernel_code_entry_byte_offset, "
     "json_extract(X.extdata, '$.formatted_kernel_name') AS formatted_kernel_name, "
     "json_extract(X.extdata, '$.demangled_kernel_name') AS demangled_kernel_name, "
     "json_extract(X.extdata, '$.truncated_kernel_name') AS truncated_kernel_name, "
     "json_extract(X.extdata, '$.kernel_address.handle') AS kernel_address "
     "FROM rocpd_info_kernel_symbol X $join_process"},
    {"regions",
     "SELECT X.id, X.guid, C.string AS category, N.string AS name, X.nid, P.pid, T.tid, $SPAN, X.event_id, "
     "$STACK, E.extdata, E.call_stack, E.line_info "
     "FROM rocpd_region X $join_event $join_name $join_process $join_thread"},
    {"region_args", "SELECT X.id, X.guid, X.nid, P.pid, G.type, G.name, G.value FROM rocpd_region X "
                    "JOIN rocpd_arg G ON G.event_id = X.event_id AND G.guid = X.guid $join_process"},
    {"samples",
     "SELECT X.id, X.guid, C.string AS category, N.string AS name, TR.nid, P.pid, T.tid, X.timestamp, "
     "X.event_id, $STACK, E.extdata, E.call_stack, E.line_info "
     "FROM rocpd_sample X $join_track $join_event"},
    {"sample_regions",
     "SELECT X.id, X.guid, C.string AS category, N.string AS name, TR.nid, P.pid, T.tid, "
     "X.timestamp AS start, X.timestamp AS \"end\", 0 AS duration, X.event_id, $STACK, E.extdata, "
     "E.call_stack, E.line_info FROM rocpd_sample X $join_track $join_event"},
    {"regions_and_samples", "SELECT * FROM regions UNION ALL SELECT * FROM sample_regions"},
    {"kernels",
     "SELECT X.id, X.guid, T.tid, C.string AS category, R.string AS region, $KERNEL AS name, X.nid, P.pid, "
     "$AGENT, "
     "S.code_object_id, X.kernel_id, X.dispatch_id, X.stream_id, X.queue_id, Q.name AS queue, ST.name AS "
     "stream, "
     "$SPAN, X.grid_size_x AS grid_x, X.grid_size_y AS grid_y, X.grid_size_z AS grid_z, "
     "X.workgroup_size_x AS workgroup_x, X.workgroup_size_y AS workgroup_y, X.workgroup_size_z AS "
     "workgroup_z, "
     "X.group_segment_size AS lds_size, X.private_segment_size AS scratch_size, S.arch_vgpr_count AS "
     "vgpr_count, "
     "S.accum_vgpr_count, S.sgpr_count, S.group_segment_size AS static_lds_size, "
     "S.private_segment_size AS static_scratch_size, $STACK FROM rocpd_kernel_dispatch X "
     "$join_agent $join_event $join_region $join_kernel $join_queue $join_stream $join_process $join_thread"},
    {"memory_copies",
     "SELECT X.id, X.guid, C.string AS category, X.nid, P.pid, T.tid, $SPAN, N.string AS name, "
     "R.string AS region_name, X.stream_id, X.queue_id, ST.name AS stream_name, Q.name AS queue_name, "
     "X.size, "
     "D.name AS dst_device, $TO_AGENT, X.dst_address, F.name AS src_device, $FROM_AGENT, X.src_address, "
     "$STACK "
     "FROM rocpd_memory_copy X $join_name $join_region $join_destination $join_source $join_queue "
     "$join_stream "
     "$join_event $join_process $join_thread"},
    {"memory_allocations",
     "SELECT X.id, X.guid, C.string AS category, X.nid, P.pid, T.tid, $SPAN, X.type, X.level, "
     "A.name AS agent_name, $AGENT, X.address, X.size, X.queue_id, Q.name AS queue_name, X.stream_id, "
     "ST.name AS stream_name, $STACK FROM rocpd_memory_allocate X "
     "$join_agent $join_queue $join_stream $join_event $join_process $join_thread"},
    {"scratch_memory",
     "SELECT X.id, X.guid, X.nid, P.pid, X.type AS operation, A.name AS agent_name, $AGENT, X.queue_id, "
     "T.tid, "
     "json_extract(X.extdata, '$.flags') AS alloc_flags, $SPAN, X.size, X.address, E.correlation_id, $STACK, "
     "C.string AS category, E.extdata AS event_extdata FROM rocpd_memory_allocate X "
     "$join_agent $join_event $join_process $join_thread WHERE X.level = 'SCRATCH' ORDER BY X.start"},
    {"pmc_info", "SELECT X.id, X.guid, X.nid, P.pid, A.absolute_index AS agent_abs_index, X.is_constant, "
                 "X.is_derived, X.name, X.description, X.block, X.expression "
                 "FROM rocpd_info_pmc X $join_agent $join_process"},
    {"pmc_events",
     "SELECT V.id, X.guid, V.pmc_id, X.event_id, C.string AS category, $KERNEL AS name, X.nid, P.pid, "
     "X.dispatch_id, $SPAN, I.name AS counter_name, V.value AS counter_value "
     "FROM $counted $join_counter $join_kernel $join_event $join_process"},
    {"counters_collection",
     "SELECT MIN(V.id) AS id, X.guid, X.dispatch_id, X.kernel_id, X.event_id, E.correlation_id, E.stack_id, "
     "E.parent_stack_id, P.pid, T.tid, X.agent_id, $AGENT, X.queue_id, X.grid_size_x, X.grid_size_y, "
     "X.grid_size_z, X.grid_size_x * X.grid_size_y * X.grid_size_z AS grid_size, $KERNEL AS kernel_name, "
     "R.string AS kernel_region, X.workgroup_size_x, X.workgroup_size_y, X.workgroup_size_z, "
     "X.workgroup_size_x * X.workgroup_size_y * X.workgroup_size_z AS workgroup_size, "
     "X.group_segment_size AS lds_block_size, X.private_segment_size AS scratch_size, "
     "S.arch_vgpr_count AS vgpr_count, S.accum_vgpr_count, S.sgpr_count, I.name AS counter_name, "
     "I.symbol AS counter_symbol, I.component, I.description, I.block, I.expression, I.value_type, "
     "I.id AS counter_id, SUM(V.value) AS value, X.start, X.\"end\", I.is_constant, I.is_derived, "
     "X.\"end\" - X.start AS duration, C.string AS category, X.nid, E.extdata, S.code_object_id "
     "FROM $counted $join_counter $join_kernel $join_region $join_agent $join_event $join_process "
     "$join_thread "
     "GROUP BY X.guid, X.dispatch_id, I.name, X.agent_id"},
    {"events_args",
     "SELECT X.id AS event_id, C.string AS category, X.stack_id, X.parent_stack_id, X.correlation_id, "
     "G.position AS arg_position, G.type AS arg_type, G.name AS arg_name, G.value AS arg_value, "
     "X.call_stack, "
     "X.line_info, G.extdata FROM rocpd_event X JOIN rocpd_arg G ON G.event_id = X.id AND G.guid = X.guid "
     "LEFT JOIN rocpd_string C ON C.id = X.category_id AND C.guid = X.guid"},
    {"stream_args",
     "SELECT G.id AS argument_id, G.event_id, G.position AS arg_position, G.type AS arg_type, "
     "G.value AS arg_value, X.id AS stream_id, X.nid, P.pid, X.name AS stream_name, X.extdata FROM rocpd_arg "
     "G "
     "JOIN rocpd_info_stream X ON X.id = json_extract(G.extdata, '$.stream_id') AND X.guid = G.guid "
     "$join_process WHERE G.name = 'stream'"},
    {"top_kernels", "SELECT name, $TOTALS, SUM(duration) * 100.0 / NULLIF((SELECT SUM(duration) "
                    "FROM ($kernel_times)), 0) AS percentage "
                    "FROM ($kernel_times) GROUP BY name ORDER BY total_duration DESC"},
    {"top",
     "SELECT name, $TOTALS, SUM(duration) * 100.0 / NULLIF((SELECT SUM(duration) FROM ($all_times)), 0) "
     "AS percentage FROM ($all_times) GROUP BY name ORDER BY total_duration DESC"},
    {"busy",
     "SELECT X.agent_id, A.type, X.GpuTime, W.WallTime, X.GpuTime * 1.0 / NULLIF(W.WallTime, 0) AS Busy "
     "FROM (SELECT agent_id, guid, SUM(\"end\" - start) AS GpuTime FROM $gpu_spans "
     "GROUP BY agent_id, guid) X "
     "JOIN (SELECT MAX(\"end\") - MIN(start) AS WallTime FROM $gpu_spans) W $join_agent"},
};

/* Adds the text with its abbreviations expanded, recursively. */
static void add_expanded(gt_buffer *sql, const char *text)
{
    while (*text) {
        size_t plain = strcspn(text, "$"), i = 0;
        gt_buffer_add(sql, text, plain);
        text += plain;
        size_t len =
            *text ? 1 + strspn(text + 1, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") : 0;
        while (i < ABBREVIATIONS &&
               !(strlen(abbreviations[i].name) == len && memcmp(abbreviations[i].name, text, len) == 0))
            i++;
        if (i < ABBREVIATIONS)
            add_expanded(sql, abbreviations[i].text);
        else
            gt_buffer_add(sql, text, len); /* a path into JSON, or the end */
        text += len;
    }
}

/* The suffix of the tables of a set: "_" and the guid with "_" for "-". */
static void set_suffix(char suffix[GT_ROCPD_GUID + 2], const char *guid)
{
    suffix[0] = '_';
    for (size_t i = 0; i < GT_ROCPD_GUID; i++) suffix[i + 1] = guid[i] == '-' ? '_' : guid[i];
    suffix[GT_ROCPD_GUID + 1] = 0;
}

static bool run_and_free(gt_database *database, char *sql, gt_error *error)
{
    bool done = gt_database_run(database, sql, error);
    gt_free(sql);
    return done;
}

static bool create_set(gt_database *database, const char *guid, gt_error *error)
{
    char suffix[GT_ROCPD_GUID + 2];
    set_suffix(suffix, guid);
    bool ok = run_and_free(
        database,
        gt_format(
            "CREATE TABLE rocpd_metadata%s (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, value TEXT NOT NULL); "
            "INSERT INTO rocpd_metadata%s (tag, value) VALUES ('schema_version', '3'), ('uuid', '%s'), "
            "('guid', '%s')",
            suffix, suffix, suffix, guid),
        error);
    for (size_t i = 0; ok && i < TABLES; i++)
        ok = run_and_free(
            database,
            gt_format("CREATE TABLE %s%s (id INTEGER PRIMARY KEY, guid TEXT NOT NULL DEFAULT '%s', %s)",
                      tables[i].name, suffix, guid, tables[i].columns),
            error);
    return ok;
}

/* SQLite's work for a new table grows with the number of tables that exist, so for many sets, the entries of
 * finished tables are put aside, and entered together at the end. Their root pages stay where they are. */
enum { SETS_AT_ONCE = 8 };

static bool begin_aside(gt_database *database, gt_error *error)
{
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
    return gt_database_run(database,
                           "PRAGMA writable_schema = ON; "
                           "CREATE TEMP TABLE aside (type, name, tbl_name, rootpage, sql)",
                           error);
}

static bool put_aside(gt_database *database, gt_error *error)
{
    return gt_database_run(
        database,
        "INSERT INTO temp.aside SELECT type, name, tbl_name, rootpage, sql FROM main.sqlite_master "
        "ORDER BY rowid; DELETE FROM main.sqlite_master; "
        "PRAGMA writable_schema = RESET; PRAGMA writable_schema = ON",
        error);
}

static bool end_aside(gt_database *database, gt_error *error)
{
    return gt_database_run(
        database,
        "INSERT INTO main.sqlite_master SELECT * FROM temp.aside ORDER BY rowid; DROP TABLE temp.aside; "
        "PRAGMA writable_schema = RESET",
        error);
}

bool gt_rocpd_create_sets(gt_database *database, const char *const *guids, size_t count, gt_error *error)
{
    bool many = count > SETS_AT_ONCE;
    bool ok = !many || begin_aside(database, error);
    for (size_t i = 0; ok && i < count; i++) {
        ok = create_set(database, guids[i], error);
        if (ok && many && ((i + 1) % SETS_AT_ONCE == 0 || i + 1 == count)) ok = put_aside(database, error);
    }
    return ok && (!many || end_aside(database, error));
}

static bool create_union(gt_database *database, const char *name, const char *const *guids, size_t count,
                         gt_error *error)
{
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "CREATE VIEW ");
    gt_buffer_add_cstr(&sql, name);
    for (size_t i = 0; i < count; i++) {
        char suffix[GT_ROCPD_GUID + 2];
        set_suffix(suffix, guids[i]);
        gt_buffer_add_cstr(&sql, i == 0 ? " AS SELECT * FROM " : " UNION ALL SELECT * FROM ");
        gt_buffer_add_cstr(&sql, name);
        gt_buffer_add_cstr(&sql, suffix);
    }
    bool done = gt_database_run(database, gt_buffer_str(&sql).bytes, error);
    gt_buffer_free(&sql);
    return done;
}

bool gt_rocpd_create_views(gt_database *database, const char *const *guids, size_t count, gt_error *error)
{
    bool ok = create_union(database, "rocpd_metadata", guids, count, error);
    for (size_t i = 0; ok && i < TABLES; i++)
        ok = create_union(database, tables[i].name, guids, count, error);
    gt_buffer sql = {0};
    for (size_t i = 0; ok && i < GT_LENGTH(views); i++) {
        sql.len = 0;
        gt_buffer_add_cstr(&sql, "CREATE VIEW ");
        gt_buffer_add_cstr(&sql, views[i].name);
        gt_buffer_add_cstr(&sql, " AS ");
        add_expanded(&sql, views[i].select);
        ok = gt_database_run(database, gt_buffer_str(&sql).bytes, error);
    }
    gt_buffer_free(&sql);
    return ok;
}

/* ---- rows ---- */

/* The columns that are filled; the others keep their defaults. */
static const struct {
    const char *name, *columns;
} filled[GT_ROCPD_TABLES] = {
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
    set_suffix(suffix, set->guid);
    gt_buffer sql = {0};
    gt_buffer_add_cstr(&sql, "INSERT INTO ");
    gt_buffer_add_cstr(&sql, filled[table].name);
    gt_buffer_add_cstr(&sql, suffix);
    gt_buffer_add_cstr(&sql, " (");
    gt_buffer_add_cstr(&sql, filled[table].columns);
    gt_buffer_add_cstr(&sql, ") VALUES (?");
    for (const char *at = filled[table].columns; (at = strchr(at, ',')); at++) gt_buffer_add_cstr(&sql, ",?");
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
