/* The reader of XLA's text dumps, for their collectives: the lines with the scheduling_name of a collective.
 *
 *     %all-gather-start.1 = (bf16[8,16]{1,0}, bf16[64,16]{1,0}) all-gather-start(%p), channel_id=1,
 *         replica_groups=[1,8]<=[8], dimensions={0}, ..., metadata={... scheduling_name="all-gather-start.1"}
 *
 * The data of a collective are the tensors before the opcode; for an all-gather-start or an all-to-all, only
 * those of its output. In each tensor the dimension in `dimensions` is divided by the number of ranks of the
 * first group. */
#include "input/xla/xplane.h"

enum { RANKS_MAX = 1 << 20, DIMS_MAX = 64 };

static const char *const kinds[] = {"all-to-all", "all-gather", "all-reduce", "reduce-scatter",
                                    "collective-permute"};
enum { KINDS = GT_LENGTH(kinds) };

static const struct {
    const char *type;
    int64_t bytes;
} sizes[] = {
    {"bf16", 2},   {"f16", 2}, {"half", 2}, {"f32", 4},  {"float", 4}, {"f64", 8},
    {"double", 8}, {"s8", 1},  {"s16", 2},  {"s32", 4},  {"s64", 8},   {"u8", 1},
    {"u16", 2},    {"u32", 4}, {"u64", 8},  {"pred", 1}, {"c64", 8},   {"c128", 16},
};

typedef struct numbers {
    int64_t *items;
    size_t count, capacity;
} numbers;

/* ---- text ---- */

static gt_str from(gt_str text, size_t at)
{
    return (gt_str){text.bytes + at, text.len - at};
}

/* The position of the first `word`; SIZE_MAX if there is none. */
static size_t find(gt_str text, const char *word)
{
    const char *at = text.len ? memmem(text.bytes, text.len, word, strlen(word)) : NULL;
    return at ? (size_t)(at - text.bytes) : SIZE_MAX;
}

static bool has_kind(gt_str text)
{
    for (size_t k = 0; k < KINDS; k++)
        if (find(text, kinds[k]) != SIZE_MAX) return true;
    return false;
}

/* Reads the number at *at and moves *at after it; false if there is none or it is too large. */
static bool read_number(gt_str text, size_t *at, int64_t *number)
{
    size_t begin = *at;
    for (*number = 0; *at < text.len && gt_is_digit(text.bytes[*at]); ++*at)
        if (__builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (int64_t)(text.bytes[*at] - '0'), number))
            return false;
    return *at > begin;
}

/* Reads a list such as {1,2,3} at *at. */
static bool read_list(gt_str text, size_t *at, char open, char close, numbers *list)
{
    if (*at >= text.len || text.bytes[*at] != open) return false;
    do {
        int64_t number;
        ++*at;
        if (!read_number(text, at, &number) || list->count >= RANKS_MAX) return false;
        GT_PUSH(list->items, list->count, list->capacity, number);
    } while (*at < text.len && text.bytes[*at] == ',');
    if (*at >= text.len || text.bytes[*at] != close) return false;
    ++*at;
    return true;
}

/* ---- groups ---- */

typedef struct group_list {
    gt_xla_group *items;
    size_t count, capacity;
} group_list;

static gt_xla_group keep_group(gt_arena *arena, const int64_t *ranks, size_t count)
{
    int64_t *kept = gt_arena_alloc(arena, (count + 1) * sizeof *kept);
    memcpy(kept, ranks, count * sizeof *kept);
    return (gt_xla_group){kept, count};
}

/* Reads {{0,1},{2,3}}. `ranks_each`: how many ranks each group must have; 0: any number. Returns the length
 * of the text; 0 if it is something else. */
static size_t read_braces(gt_str text, size_t ranks_each, gt_arena *arena, group_list *groups)
{
    numbers ranks = {0};
    size_t at = 0, total = 0;
    bool ok = text.len && text.bytes[0] == '{';
    do {
        at++;
        ranks.count = 0;
        ok = ok && read_list(text, &at, '{', '}', &ranks) && (!ranks_each || ranks.count == ranks_each);
        ok = ok && (total += ranks.count) <= RANKS_MAX;
        if (ok)
            GT_PUSH(groups->items, groups->count, groups->capacity,
                    keep_group(arena, ranks.items, ranks.count));
    } while (ok && at < text.len && text.bytes[at] == ',');
    gt_free(ranks.items);
    if (ok && at < text.len && text.bytes[at] == '}') return at + 1;
    groups->count = 0;
    return 0;
}

static int64_t product(const numbers *list)
{
    int64_t value = 1;
    for (size_t i = 0; i < list->count; i++)
        if (__builtin_mul_overflow(value, list->items[i], &value) || value > RANKS_MAX) return -1;
    return value;
}

/* Reads [groups,ranks]<=[total]: the ranks from 0 on, one row per group. A transposition after it is ignored.
 */
static size_t read_iota(gt_str text, gt_arena *arena, group_list *groups)
{
    numbers dims = {0}, shape = {0};
    size_t at = 0;
    bool ok = read_list(text, &at, '[', ']', &dims) && gt_str_starts_with(from(text, at), "<=");
    at += 2;
    ok = ok && read_list(text, &at, '[', ']', &shape);
    int64_t total = ok ? product(&dims) : -1;
    if (total > 0 && total == product(&shape)) {
        int64_t rows = dims.count > 1 ? dims.items[0] : 1, ranks_each = total / rows;
        int64_t *ranks = gt_arena_alloc(arena, (size_t)total * sizeof *ranks);
        for (int64_t i = 0; i < total; i++) ranks[i] = i;
        for (int64_t row = 0; row < rows; row++)
            GT_PUSH(groups->items, groups->count, groups->capacity,
                    ((gt_xla_group){ranks + row * ranks_each, (size_t)ranks_each}));
    }
    gt_free_all(dims.items, shape.items);
    return ok ? at : 0;
}

/* The first text after `key` that is a list of groups. */
static gt_str find_groups(gt_str line, const char *key, size_t ranks_each, gt_arena *arena,
                          group_list *groups)
{
    for (size_t at; (at = find(line, key)) != SIZE_MAX;) {
        line = from(line, at + strlen(key));
        size_t len = read_braces(line, ranks_each, arena, groups);
        if (!len && !ranks_each) len = read_iota(line, arena, groups);
        if (len) return (gt_str){line.bytes, len};
    }
    return (gt_str){NULL, 0};
}

/* ---- tensors ---- */

static size_t skip_blanks(gt_str text, size_t at)
{
    while (at < text.len && gt_is_blank(text.bytes[at])) at++;
    return at;
}

/* Whether blanks and an opcode with a parenthesis are at `at`, which must not be 0. */
static bool is_opcode(gt_str line, size_t at, bool of_collective)
{
    if (!gt_is_blank(line.bytes[at]) || gt_is_blank(line.bytes[at - 1]))
        return false; /* only the first of several blanks */
    size_t begin = skip_blanks(line, at), end = begin;
    while (end < line.len && ((line.bytes[end] >= 'a' && line.bytes[end] <= 'z') || line.bytes[end] == '-'))
        end++;
    if (end == begin || end == line.len || line.bytes[end] != '(') return false;
    for (size_t k = 0; of_collective && k < KINDS; k++)
        if (end - begin == strlen(kinds[k]) && memcmp(line.bytes + begin, kinds[k], end - begin) == 0)
            return true;
    return !of_collective;
}

/* Whether ", channel_id" or ", replica_groups" is at `at`. */
static bool is_attribute(gt_str line, size_t at)
{
    if (line.bytes[at] != ',') return false;
    size_t name = skip_blanks(line, at + 1);
    return name > at + 1 && (gt_str_starts_with(from(line, name), "channel_id") ||
                             gt_str_starts_with(from(line, name), "replica_groups"));
}

/* The text between "= " and the opcode. */
static gt_str find_tensors(gt_str line)
{
    size_t begin = 0;
    while (begin + 1 < line.len && !(line.bytes[begin] == '=' && gt_is_blank(line.bytes[begin + 1]))) begin++;
    begin = skip_blanks(line, begin + 1);
    if (begin >= line.len) return (gt_str){NULL, 0};
    for (size_t end = begin + 1; end < line.len; end++)
        if (is_opcode(line, end, true)) return (gt_str){line.bytes + begin, end - begin};
    size_t end = begin + 1;
    while (end < line.len && !is_opcode(line, end, false) && !is_attribute(line, end)) end++;
    while (end > begin && gt_is_blank(line.bytes[end - 1])) end--;
    if (end > begin && line.bytes[end - 1] == ',') end--;
    return (gt_str){line.bytes + begin, end - begin};
}

static gt_str without_parentheses(gt_str text)
{
    while (text.len && text.bytes[text.len - 1] == ')') text.len--;
    return text;
}

/* The second of the pieces between separators, of which there are at least two. */
static gt_str second_piece(gt_str text, const char *separator)
{
    text = from(text, find(text, separator) + strlen(separator));
    size_t end = find(text, separator);
    if (end != SIZE_MAX) text.len = end;
    return text;
}

/* The output of ((in), (out)), ((in), out) and (in, out). */
static gt_str output_of(gt_str name, gt_str tensors)
{
    if (find(name, "reduce-scatter") != SIZE_MAX || find(name, "collective-permute") != SIZE_MAX ||
        (find(name, "all-gather-start") == SIZE_MAX && find(name, "all-to-all") == SIZE_MAX))
        return tensors;
    if (gt_str_starts_with(tensors, "((")) {
        if (find(tensors, "), (") != SIZE_MAX) return without_parentheses(second_piece(tensors, "), ("));
        if (find(tensors, "), ") != SIZE_MAX) return without_parentheses(second_piece(tensors, "), "));
        return tensors;
    }
    bool is_flat = gt_str_starts_with(tensors, "(") && find(from(tensors, 1), "(") == SIZE_MAX;
    if (!is_flat || find(tensors, ", ") == SIZE_MAX) return tensors;
    return second_piece((gt_str){tensors.bytes + 1, tensors.len - 2}, ", ");
}

static int64_t size_of_type(gt_str type)
{
    for (size_t i = 0; i < GT_LENGTH(sizes); i++)
        if (gt_str_equals_nocase(type, sizes[i].type)) return sizes[i].bytes;
    return 0;
}

/* The type that ends at `end`: letters, then digits. */
static gt_str type_before(gt_str text, size_t end)
{
    size_t begin = end;
    while (begin && gt_is_digit(text.bytes[begin - 1])) begin--;
    size_t digits = begin;
    while (begin && gt_is_letter(text.bytes[begin - 1])) begin--;
    return begin == digits ? (gt_str){"", 0} : (gt_str){text.bytes + begin, end - begin};
}

/* Reads the dimensions at *at, after '['; false if they do not end in ']'. */
static bool read_dims(gt_str text, size_t *at, int64_t dims[DIMS_MAX], size_t *count)
{
    size_t begin = *at;
    *count = 0;
    while (*at < text.len && (gt_is_digit(text.bytes[*at]) || text.bytes[*at] == ',')) {
        if (text.bytes[*at] == ',') {
            ++*at;
            continue;
        }
        if (*count == DIMS_MAX || !read_number(text, at, &dims[(*count)++])) return false;
    }
    return *at > begin && *at < text.len && text.bytes[*at] == ']';
}

/* The bytes of one rank's part of a tensor; 0 if the split dimension is not divisible. */
static int64_t part_bytes(gt_str type, int64_t *dims, size_t count, int64_t split, int64_t ranks)
{
    if (split >= 0) {
        if ((uint64_t)split >= count || dims[split] % ranks != 0) return 0;
        dims[split] /= ranks;
    }
    int64_t bytes = count ? size_of_type(type) : 0;
    for (size_t i = 0; i < count; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes)) return 0;
    return bytes;
}

static int64_t data_bytes(gt_str tensors, int64_t split, int64_t ranks)
{
    int64_t sum = 0, dims[DIMS_MAX];
    for (size_t at = 0; at < tensors.len; at++) {
        if (tensors.bytes[at] != '[') continue;
        gt_str type = type_before(tensors, at);
        size_t after = at + 1, count;
        if (!type.len || !read_dims(tensors, &after, dims, &count)) continue;
        if (__builtin_add_overflow(sum, part_bytes(type, dims, count, split, ranks), &sum)) return 0;
        at = after;
    }
    return sum;
}

/* The number in dimensions={0}; -1 if there is none or several. */
static int64_t split_dimension(gt_str line)
{
    static const char key[] = "dimensions={";
    for (size_t at; (at = find(line, key)) != SIZE_MAX;) {
        line = from(line, at + strlen(key));
        size_t end = 0;
        while (end < line.len && (gt_is_digit(line.bytes[end]) || line.bytes[end] == ',')) end++;
        if (!end || end == line.len || line.bytes[end] != '}') continue;
        int64_t number;
        size_t digits = 0;
        return read_number(line, &digits, &number) && digits == end ? number : -1;
    }
    return -1;
}

/* ---- lines ---- */

/* The first name in scheduling_name="...", if one of these names is that of a collective. */
static gt_str collective_name(gt_str line)
{
    static const char key[] = "scheduling_name=\"";
    gt_str name = {NULL, 0};
    bool is_collective = false;
    for (size_t at; (at = find(line, key)) != SIZE_MAX;) {
        line = from(line, at + strlen(key));
        const char *quote = memchr(line.bytes, '"', line.len);
        if (!quote) break;
        gt_str value = {line.bytes, (size_t)(quote - line.bytes)};
        if (!name.bytes && value.len) name = value;
        is_collective |= has_kind(value);
    }
    return is_collective ? name : (gt_str){NULL, 0};
}

void gt_xla_dump_add_line(gt_xla *program, gt_str line)
{
    gt_str name = collective_name(line);
    if (!name.bytes) return;
    group_list groups = {0};
    gt_str replicas = find_groups(line, "replica_groups=", 0, &program->arena, &groups);
    if (!replicas.bytes) replicas = find_groups(line, "source_target_pairs=", 2, &program->arena, &groups);
    gt_str tensors = find_tensors(line);
    gt_xla_collective collective = {
        .name = gt_interner_add(program->strings, name.bytes, name.len),
        .replicas =
            replicas.bytes ? gt_interner_add(program->strings, replicas.bytes, replicas.len) : GT_STR_NONE,
        .group_count = groups.count,
    };
    if (groups.count) {
        gt_xla_group *kept = gt_arena_alloc(&program->arena, groups.count * sizeof *kept);
        memcpy(kept, groups.items, groups.count * sizeof *kept);
        collective.groups = kept;
        if (tensors.bytes)
            collective.data_bytes =
                data_bytes(output_of(name, tensors), split_dimension(line), (int64_t)groups.items[0].count);
    }
    gt_free(groups.items);
    gt_xla_add(program, &collective);
}

enum { LINE_MAX_BYTES = 64 << 20 };

bool gt_xla_dump_read(gt_xla *program, const char *path, gt_interner *strings, gt_error *error)
{
    *program = (gt_xla){.strings = strings};
    gt_stream *stream = gt_stream_open(path, error);
    if (!stream) return false;
    const uint8_t *block, *keep = NULL;
    size_t len, kept = 0;
    bool ok;
    while ((ok = gt_stream_next(stream, keep, kept, &block, &len, error)) && len > kept) {
        gt_str rest = {(const char *)block, len};
        for (const char *end; (end = memchr(rest.bytes, '\n', rest.len));) {
            gt_xla_dump_add_line(program, (gt_str){rest.bytes, (size_t)(end - rest.bytes)});
            rest = from(rest, (size_t)(end + 1 - rest.bytes));
        }
        keep = (const uint8_t *)rest.bytes;
        kept = rest.len;
        if (kept > LINE_MAX_BYTES) {
            ok = gt_fail(error, "%s: a line is longer than %d MiB", path, LINE_MAX_BYTES >> 20);
            break;
        }
    }
    if (ok) gt_xla_dump_add_line(program, (gt_str){(const char *)block, len});
    const char *damage = ok ? gt_stream_damage(stream) : NULL;
    if (damage) ok = gt_fail(error, "%s: %s", path, damage);
    gt_stream_close(stream);
    if (!ok) gt_xla_free(program);
    return ok;
}
