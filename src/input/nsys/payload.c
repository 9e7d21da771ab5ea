/* Payloads of NVTX ranges: bytes that a library attached to a range, and the schemas that say what they are.
 * Of NCCL's, the size of the message and the communicator are read.
 *
 *     u32 domain, u32, u32 schema, u32, u64 size of the payload, u64 size of all, then the payload
 *
 * all little-endian. Nothing of it is trusted: every place is checked against the number of bytes there are.
 */
#include "input/nsys/reader.h"

/* ---- schemas ---- */

enum { DOMAIN, SCHEMA, TYPE, NAME, OFFSET };
static const char *const entry_columns[] = {"domainId", "schemaId", "type", "name", "offset"};

static void add_entry(gt_nsys_reading *r, gt_nsys_rows *rows)
{
    int64_t domain, schema, type, offset = gt_nsys_int_or(rows, OFFSET, 0);
    gt_str name = gt_nsys_text(rows, NAME);
    bool is_communicator = gt_str_equals(name, "NCCL communicator ID");
    if (!is_communicator && !gt_str_equals(name, "Message size [bytes]")) return;
    if (!gt_nsys_int(rows, DOMAIN, &domain) || !gt_nsys_int(rows, SCHEMA, &schema) ||
        !gt_nsys_int(rows, TYPE, &type))
        return;
    uint32_t *number = gt_map_put(&r->schema_numbers, (uint64_t)domain, (uint64_t)schema);
    if (*number == GT_MAP_NONE) {
        *number = (uint32_t)r->schema_count;
        GT_PUSH(r->schemas, r->schema_count, r->schema_capacity, ((gt_nsys_schema){0}));
    }
    gt_nsys_schema *to = &r->schemas[*number];
    if (is_communicator) {
        to->communicator_at = offset;
        to->communicator_type = type;
    } else {
        to->bytes_at = offset;
        to->bytes_type = type;
    }
}

bool gt_nsys_read_schemas(gt_nsys_reading *r)
{
    gt_nsys_rows rows;
    gt_nsys_begin(&rows, &r->tables, "NVTX_PAYLOAD_SCHEMA_ENTRIES", entry_columns, GT_LENGTH(entry_columns),
                  r->error);
    while (gt_nsys_next(&rows)) add_entry(r, &rows);
    return gt_nsys_end(&rows);
}

/* ---- bytes ---- */

static uint64_t number_at(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;) value = value << 8 | bytes[i];
    return value;
}

/* The value of a field of one of NVTX's integer types. False if it has another one or lies outside. */
static bool read_field(const uint8_t *payload, size_t size, int64_t at, int64_t type, uint64_t *value)
{
    static const struct {
        int64_t type;
        size_t size;
        bool is_signed;
    } types[] = {{5, 4, true},  {6, 4, false},  {15, 4, true}, {16, 4, false},
                 {17, 8, true}, {18, 8, false}, {22, 8, false}};
    for (size_t i = 0; i < GT_LENGTH(types); i++) {
        if (types[i].type != type) continue;
        if (at < 0 || (uint64_t)at > size || size - (size_t)at < types[i].size) return false;
        *value = number_at(payload + at, types[i].size);
        if (types[i].is_signed && types[i].size == 4) *value = (uint64_t)(int64_t)(int32_t)(uint32_t)*value;
        return true;
    }
    return false;
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Some exports have the bytes as hexadecimal text. */
static bool of_text(gt_str text, gt_buffer *bytes)
{
    bytes->len = 0;
    if (gt_str_starts_with(text, "0x")) text = (gt_str){text.bytes + 2, text.len - 2};
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        int high = digit_of(text.bytes[i]), low = digit_of(text.bytes[i + 1]);
        if (high < 0 || low < 0) return false;
        char byte = (char)(high << 4 | low);
        gt_buffer_add(bytes, &byte, 1);
    }
    return text.len % 2 == 0;
}

bool gt_nsys_read_payload(gt_nsys_reading *r, gt_str data, bool is_text, gt_nsys_payload *payload)
{
    enum { SCHEMA_AT = 8, SIZE_AT = 16, HEADER = 32 };
    uint64_t bytes, communicator;
    if (is_text) {
        if (!of_text(data, &r->name)) return false;
        data = (gt_str){r->name.bytes, r->name.len};
    }
    if (!r->schema_count || data.len < HEADER) return false;
    const uint8_t *all = (const uint8_t *)data.bytes;
    uint32_t number = gt_map_get(&r->schema_numbers, number_at(all, 4), number_at(all + SCHEMA_AT, 4));
    if (number == GT_MAP_NONE) return false;
    const gt_nsys_schema *schema = &r->schemas[number];
    uint64_t size = number_at(all + SIZE_AT, 8);
    if (size > data.len - HEADER) size = data.len - HEADER;
    if (!read_field(all + HEADER, (size_t)size, schema->bytes_at, schema->bytes_type, &bytes) ||
        bytes > INT64_MAX)
        return false;
    *payload = (gt_nsys_payload){.bytes = (int64_t)bytes};
    if (read_field(all + HEADER, (size_t)size, schema->communicator_at, schema->communicator_type,
                   &communicator))
        snprintf(payload->communicator, sizeof payload->communicator, "0x%016" PRIx64, communicator);
    return true;
}
