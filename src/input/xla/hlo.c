/* The index of a compiled module: the message of each instruction, by name and by id. */
#include "input/xla/hlo.h"

gt_str gt_hlo_module_name(gt_str hlo_proto)
{
    gt_proto proto = gt_proto_begin(hlo_proto);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number != 1) continue;
        gt_proto module = gt_proto_message(&field);
        while (gt_proto_next(&module, &field))
            if (field.number == 1) return gt_proto_bytes(&field);
    }
    return (gt_str){"", 0};
}

/* ---- reading ---- */

/* Reads only name and id. */
static bool index_instruction(gt_hlo *module, gt_str message, uint32_t computation)
{
    hlo_place place = {.message = message, .name = {"", 0}, .computation = computation};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number == 1) place.name = gt_proto_bytes(&field);
        if (field.number == 35) place.id = gt_proto_int(&field);
    }
    if (proto.damaged || module->count == GT_HLO_NONE) return false;
    uint32_t index = (uint32_t)module->count;
    uint32_t name = gt_interner_add(module->names, place.name.bytes, place.name.len);
    *gt_map_put(&module->by_name, name, 0) = index;
    *gt_map_put(&module->by_id, computation, (uint64_t)place.id) = index;
    GT_PUSH(module->places, module->count, module->capacity, place);
    return true;
}

static bool index_computation(gt_hlo *module, gt_proto proto)
{
    hlo_computation computation = {.begin = module->count, .name = {"", 0}};
    uint32_t number = (uint32_t)module->computation_count;
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        switch (field.number) {
        case 1:
            computation.name = gt_proto_bytes(&field);
            break;
        case 2:
            if (!index_instruction(module, gt_proto_bytes(&field), number)) return false;
            break;
        case 5:
            computation.id = gt_proto_int(&field);
            break;
        case 6:
            computation.root_id = gt_proto_int(&field);
            break;
        }
    }
    computation.end = module->count;
    GT_PUSH(module->computations, module->computation_count, module->computation_capacity, computation);
    return !proto.damaged;
}

/* Marks the bodies of async-start that have only parameters and a root: the printed text of a module omits
 * them. */
static void mark_async_bodies(gt_hlo *module)
{
    for (size_t i = 0; i < module->count; i++) {
        hlo_instruction instruction = gt_hlo_decode(module, (uint32_t)i);
        bool starts = gt_str_equals(instruction.opcode, "async-start");
        for (size_t c = 0; starts && c < instruction.called.count; c++) {
            uint32_t number = gt_hlo_computation(module, instruction.called.items[c]);
            if (number != GT_HLO_NONE) module->computations[number].is_async_body = true;
        }
        gt_hlo_forget(&instruction);
    }
    for (size_t c = 0; c < module->computation_count; c++) {
        hlo_computation *computation = &module->computations[c];
        for (size_t i = computation->begin; computation->is_async_body && i < computation->end; i++) {
            hlo_instruction instruction = gt_hlo_decode(module, (uint32_t)i);
            if (!gt_str_equals(instruction.opcode, "parameter") &&
                module->places[i].id != computation->root_id)
                computation->is_async_body = false;
            gt_hlo_forget(&instruction);
        }
    }
}

static bool index_module(gt_hlo *module, gt_proto proto)
{
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) {
        if (field.number == 3 && !index_computation(module, gt_proto_message(&field))) return false;
        if (field.number == 7) module->schedule = gt_proto_bytes(&field);
    }
    for (size_t c = 0; c < module->computation_count; c++)
        *gt_map_put(&module->by_computation, (uint64_t)module->computations[c].id, 0) = (uint32_t)c;
    mark_async_bodies(module);
    return !proto.damaged;
}

gt_hlo *gt_hlo_read(gt_str hlo_proto, gt_error *error)
{
    gt_hlo *module = gt_alloc_zero(1, sizeof *module);
    module->names = gt_interner_new();
    gt_proto proto = gt_proto_begin(hlo_proto);
    gt_proto_field field;
    bool ok = true;
    while (ok && gt_proto_next(&proto, &field))
        if (field.number == 1) ok = index_module(module, gt_proto_message(&field));
    if (ok && !proto.damaged) return module;
    gt_hlo_free(module);
    gt_fail(error, "damaged compiled module");
    return NULL;
}

void gt_hlo_free(gt_hlo *module)
{
    if (!module) return;
    gt_interner_free(module->names);
    gt_map_free(&module->by_name);
    gt_map_free(&module->by_id);
    gt_map_free(&module->by_computation);
    gt_free_all(module->places, module->computations, module);
}

/* ---- the order of the printed text ---- */

typedef struct line_list {
    uint32_t *items;
    size_t count;
} line_list;

static void add_sequence(const gt_hlo *module, uint32_t computation, gt_proto sequence, line_list *lines)
{
    const hlo_computation *c = &module->computations[computation];
    gt_proto_field field;
    gt_proto_ints ids = {0};
    while (gt_proto_next(&sequence, &field))
        if (field.number == 1) gt_proto_add_ints(&ids, &field);
    const size_t limit = c->end - c->begin;
    for (size_t i = 0; i < ids.count && i < limit; i++) {
        uint32_t place = gt_map_get(&module->by_id, computation, (uint64_t)ids.items[i]);
        if (place != GT_MAP_NONE) lines->items[lines->count++] = place;
    }
    gt_free(ids.items);
}

/* The schedule per computation, as a message; empty if it has none. */
static gt_str *list_sequences(const gt_hlo *module)
{
    gt_str *sequences = gt_alloc_zero(module->computation_count + 1, sizeof *sequences);
    gt_proto schedule = gt_proto_begin(module->schedule);
    gt_proto_field field;
    while (gt_proto_next(&schedule, &field)) {
        if (field.number != 1) continue;
        gt_proto entry = gt_proto_message(&field);
        int64_t id = 0;
        gt_str sequence = {"", 0};
        while (gt_proto_next(&entry, &field)) {
            if (field.number == 1) id = gt_proto_int(&field);
            if (field.number == 2) sequence = gt_proto_bytes(&field);
        }
        uint32_t computation = gt_hlo_computation(module, id);
        if (computation != GT_HLO_NONE) sequences[computation] = sequence;
    }
    return sequences;
}

uint32_t *gt_hlo_lines(const gt_hlo *module, size_t *count)
{
    line_list lines = {.items = gt_alloc(module->count * sizeof *lines.items)};
    gt_str *sequences = list_sequences(module);
    for (uint32_t c = 0; c < module->computation_count; c++) {
        const hlo_computation *computation = &module->computations[c];
        if (sequences[c].len)
            add_sequence(module, c, gt_proto_begin(sequences[c]), &lines);
        else
            for (size_t i = computation->begin; i < computation->end; i++)
                lines.items[lines.count++] = (uint32_t)i;
    }
    gt_free(sequences);
    *count = lines.count;
    return lines.items;
}

bool gt_hlo_is_product(const gt_hlo *module, uint32_t instruction)
{
    hlo_instruction decoded = gt_hlo_decode(module, instruction);
    bool is_product = gt_hlo_is_product_call(decoded.target);
    gt_hlo_forget(&decoded);
    return is_product;
}

/* ---- instructions ---- */

size_t gt_hlo_count(const gt_hlo *module)
{
    return module->count;
}

gt_str gt_hlo_name(const gt_hlo *module, uint32_t instruction)
{
    return module->places[instruction].name;
}

uint32_t gt_hlo_find(const gt_hlo *module, gt_str name)
{
    uint32_t id = gt_interner_find(module->names, name.bytes, name.len);
    return id == GT_STR_NONE ? GT_HLO_NONE : gt_map_get(&module->by_name, id, 0);
}

uint32_t gt_hlo_computation(const gt_hlo *module, int64_t id)
{
    return gt_map_get(&module->by_computation, (uint64_t)id, 0);
}

uint32_t gt_hlo_operand(const gt_hlo *module, uint32_t instruction, int64_t id)
{
    return gt_map_get(&module->by_id, module->places[instruction].computation, (uint64_t)id);
}

bool gt_hlo_is_root(const gt_hlo *module, uint32_t instruction)
{
    const hlo_place *place = &module->places[instruction];
    return place->id == module->computations[place->computation].root_id;
}

bool gt_hlo_is_product_call(gt_str target)
{
    return gt_str_contains(target, "matmul") || gt_str_contains(target, "cublas");
}

hlo_instruction gt_hlo_decode(const gt_hlo *module, uint32_t instruction)
{
    const gt_str none = {"", 0};
    hlo_instruction i = {.opcode = none, .shape = none, .metadata = none, .target = none, .config = none};
    gt_proto proto = gt_proto_begin(module->places[instruction].message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 2:
            i.opcode = gt_proto_bytes(&field);
            break;
        case 3:
            i.shape = gt_proto_bytes(&field);
            break;
        case 7:
            i.metadata = gt_proto_bytes(&field);
            break;
        case 9:
            i.parameter_number = gt_proto_int(&field);
            break;
        case 28:
            i.target = gt_proto_bytes(&field);
            break;
        case 36:
            gt_proto_add_ints(&i.operands, &field);
            break;
        case 37:
            i.has_control_predecessors = true;
            break;
        case 38:
            gt_proto_add_ints(&i.called, &field);
            break;
        case 43:
            i.config = gt_proto_bytes(&field);
            break;
        }
    return i;
}

void gt_hlo_forget(hlo_instruction *instruction)
{
    gt_free_all(instruction->operands.items, instruction->called.items);
}

hlo_metadata gt_hlo_metadata(gt_str message)
{
    const gt_str none = {"", 0};
    hlo_metadata m = {none, none, none, none, none, 0, false};
    gt_proto proto = gt_proto_begin(message);
    gt_proto_field field;
    while (gt_proto_next(&proto, &field)) switch (field.number) {
        case 1:
            m.op_type = gt_proto_bytes(&field);
            break;
        case 2:
            m.op_name = gt_proto_bytes(&field);
            break;
        case 3:
            m.source_file = gt_proto_bytes(&field);
            break;
        case 4:
            m.source_line = (int32_t)gt_proto_int(&field);
            break;
        case 5:
            m.has_profile_type = true;
            break;
        case 12:
            m.deduplicated_name = gt_proto_bytes(&field);
            break;
        case 16:
            m.scheduling_name = gt_proto_bytes(&field);
            break;
        }
    return m;
}

gt_hlo_source gt_hlo_source_of(const gt_hlo *module, uint32_t instruction)
{
    hlo_instruction decoded = gt_hlo_decode(module, instruction);
    hlo_metadata m = gt_hlo_metadata(decoded.metadata);
    gt_hlo_forget(&decoded);
    return (gt_hlo_source){m.op_name, m.op_type, m.source_file, m.source_line, true};
}
