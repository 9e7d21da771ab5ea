/* Where each column of agent_info.csv stands in an agent's JSON. */
#include "input/rocprof/agents.h"

const gt_field gt_agent_fields[GT_AGENT_FIELDS] = {
    [GT_AGENT_ID] = {"id/handle", GT_FIELD_INT, false},
    [GT_AGENT_PROCESS] = {NULL, GT_FIELD_INT, false},
    [GT_AGENT_INFO] = {"node_id", GT_FIELD_INT, false},
    {"logical_node_id", GT_FIELD_INT, false},
    {NULL, GT_FIELD_STRING, false},
    {"cpu_cores_count", GT_FIELD_INT, false},
    {"simd_count", GT_FIELD_INT, false},
    {"cpu_core_id_base", GT_FIELD_INT, false},
    {"simd_id_base", GT_FIELD_INT, false},
    {"max_waves_per_simd", GT_FIELD_INT, false},
    {"lds_size_in_kb", GT_FIELD_INT, false},
    {"gds_size_in_kb", GT_FIELD_INT, false},
    {"num_gws", GT_FIELD_INT, false},
    {"wave_front_size", GT_FIELD_INT, false},
    {"num_xcc", GT_FIELD_INT, false},
    {"cu_count", GT_FIELD_INT, false},
    {"array_count", GT_FIELD_INT, false},
    {"num_shader_banks", GT_FIELD_INT, false},
    {"simd_arrays_per_engine", GT_FIELD_INT, false},
    {"cu_per_simd_array", GT_FIELD_INT, false},
    {"simd_per_cu", GT_FIELD_INT, false},
    {"max_slots_scratch_cu", GT_FIELD_INT, false},
    {"gfx_target_version", GT_FIELD_INT, false},
    {"vendor_id", GT_FIELD_INT, false},
    {"device_id", GT_FIELD_INT, false},
    {"location_id", GT_FIELD_INT, false},
    {"domain", GT_FIELD_INT, false},
    {"drm_render_minor", GT_FIELD_INT, false},
    {"num_sdma_engines", GT_FIELD_INT, false},
    {"num_sdma_xgmi_engines", GT_FIELD_INT, false},
    {"num_sdma_queues_per_engine", GT_FIELD_INT, false},
    {"num_cp_queues", GT_FIELD_INT, false},
    {"max_engine_clk_ccompute", GT_FIELD_INT, false},
    {"max_engine_clk_fcompute", GT_FIELD_INT, false},
    {"sdma_fw_version/uCodeSDMA", GT_FIELD_INT, false},
    {"fw_version/uCode", GT_FIELD_INT, false},
    {NULL, GT_FIELD_INT, false},
    {"cu_per_engine", GT_FIELD_INT, false},
    {"max_waves_per_cu", GT_FIELD_INT, false},
    {"family_id", GT_FIELD_INT, false},
    {"workgroup_max_size", GT_FIELD_INT, false},
    {"grid_max_size", GT_FIELD_INT, false},
    {"local_mem_size", GT_FIELD_INT, false},
    {"hive_id", GT_FIELD_JSON, false},
    {"gpu_id", GT_FIELD_INT, false},
    {"workgroup_max_dim/x", GT_FIELD_INT, false},
    {"workgroup_max_dim/y", GT_FIELD_INT, false},
    {"workgroup_max_dim/z", GT_FIELD_INT, false},
    {"grid_max_dim/x", GT_FIELD_INT, false},
    {"grid_max_dim/y", GT_FIELD_INT, false},
    {"grid_max_dim/z", GT_FIELD_INT, false},
    {"name", GT_FIELD_STRING, false},
    {"vendor_name", GT_FIELD_STRING, false},
    {"product_name", GT_FIELD_STRING, false},
    {"model_name", GT_FIELD_STRING, false},
    [GT_AGENT_TYPE_NUMBER] = {"type", GT_FIELD_INT, false},
};

/* By rocprofiler's number. */
static const char *const types[] = {"UNK", "CPU", "GPU"};

void gt_agent_complete(gt_record *record, gt_record_reader *reader)
{
    if (!(record->present >> GT_AGENT_TYPE_NUMBER & 1)) return;
    int64_t number = record->cells[GT_AGENT_TYPE_NUMBER].integer;
    const char *type = number >= 0 && number < 3 ? types[number] : types[0];
    record->cells[GT_AGENT_TYPE].text = gt_interner_add_cstr(gt_record_strings(reader), type);
    record->present |= UINT64_C(1) << GT_AGENT_TYPE;
    record->present &= (UINT64_C(1) << GT_AGENT_COLUMNS) - 1;
}
