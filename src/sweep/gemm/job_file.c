/* `sweep yaml`: names are completed or shortened, made unique, sorted, escaped and joined.
 *
 * rocprofv3 searches the expression in the demangled name of a kernel, without the suffix of its code object
 * (".kd"), which traces may have. Complete names are anchored; shortened ones, without what changes between
 * builds of a library, match anywhere. */
#include "sweep/gemm/gemm.h"
#include "table/operations.h"

#define ANONYMOUS "(anonymous namespace)"
static const char special_bytes[] = "\\.[]{}()*+?^$|";
static const char *const counters[] = {"SQ_BUSY_CU_CYCLES", "SQ_WAVES", "SQ_WAVE_CYCLES", "SQ_INSTS_MFMA"};
enum { ORIGINAL_SHOWN = 100, RULE_WIDTH = 80 };

/* ---- names ---- */

static bool is_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static gt_str stripped(gt_str text)
{
    while (text.len && is_space(*text.bytes)) text.bytes++, text.len--;
    while (text.len && is_space(text.bytes[text.len - 1])) text.len--;
    return text;
}

static gt_str rest_from(gt_str text, size_t at)
{
    return (gt_str){text.bytes + at, text.len - at};
}

static gt_str cut_at_arguments(gt_str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.bytes[i] == '(' && !gt_str_starts_with(rest_from(text, i), ANONYMOUS))
            return (gt_str){text.bytes, i};
    return text;
}

static gt_str after_namespaces(gt_str text)
{
    for (size_t i = text.len; i-- > 1;)
        if (text.bytes[i] == ':' && text.bytes[i - 1] == ':') return rest_from(text, i + 1);
    return text;
}

/* The name as rocprofv3 matches it. */
static gt_str matched_name(gt_str name)
{
    static const char *const suffixes[] = {" [clone .kd]", ".kd"};
    for (size_t i = 0; i < GT_LENGTH(suffixes); i++) {
        size_t len = strlen(suffixes[i]);
        if (name.len > len && memcmp(name.bytes + name.len - len, suffixes[i], len) == 0) name.len -= len;
    }
    return name;
}

/* "void at::native::f<int>(float*)" gives "f". If nothing would be left, the name stays complete. */
static gt_str shortened(gt_str name)
{
    gt_str text = name;
    if (gt_str_starts_with(text, "void ")) text = rest_from(text, 5);
    const char *template = memchr(text.bytes, '<', text.len);
    if (template) text.len = (size_t)(template - text.bytes);
    text = stripped(after_namespaces(cut_at_arguments(text)));
    return text.len ? text : name;
}

/* ---- regular expression ---- */

/* The number of bytes of a character that YAML does not allow or takes for a line break: control characters,
 * U+0085, U+2028, U+2029. 0 for others. */
static size_t unwanted_bytes(const char *text, size_t len)
{
    const unsigned char *at = (const unsigned char *)text;
    if (at[0] < ' ' || at[0] == 0x7F) return 1;
    if (len >= 2 && at[0] == 0xC2 && at[1] < 0xA0) return 2;
    return len >= 3 && at[0] == 0xE2 && at[1] == 0x80 && (at[2] == 0xA8 || at[2] == 0xA9) ? 3 : 0;
}

/* In place of each byte of a character that the job file may not contain, '.' matches it: the expressions of
 * rocprofv3 match bytes. */
static void add_escaped(gt_buffer *regex, gt_str name)
{
    size_t unwanted = 0;
    for (size_t i = 0; i < name.len; i++) {
        char byte = name.bytes[i];
        if (!unwanted) unwanted = unwanted_bytes(name.bytes + i, name.len - i);
        if (unwanted && unwanted--)
            byte = '.';
        else if (strchr(special_bytes, byte))
            gt_buffer_add(regex, "\\", 1);
        gt_buffer_add(regex, &byte, 1);
    }
}

static void make_regex(gt_kernel_patterns *patterns, bool exact)
{
    gt_buffer *regex = &patterns->regex;
    gt_buffer_add_cstr(regex, exact ? "^(" : "(");
    for (size_t i = 0; i < patterns->count; i++) {
        if (i) gt_buffer_add(regex, "|", 1);
        add_escaped(regex, gt_interner_get(patterns->strings, patterns->items[i].name));
    }
    gt_buffer_add_cstr(regex, exact ? ")$" : ")");
}

/* The names in byte order, each with its original by id: the last one that was found. */
void gt_kernel_patterns_make(gt_kernel_patterns *patterns, const gt_column *names, size_t count,
                             gt_interner *strings, bool exact)
{
    *patterns = (gt_kernel_patterns){.strings = strings};
    uint32_t *ids = NULL, *originals = NULL;
    size_t capacity = 0, id_count = 0, known = 0;
    for (size_t row = 0; row < count; row++) {
        gt_str whole = matched_name(stripped(gt_interner_get(strings, names->texts[row])));
        if (!whole.len) continue;
        gt_str name = exact ? whole : shortened(whole);
        uint32_t original =
            name.len < whole.len ? gt_interner_add(strings, whole.bytes, whole.len) : GT_STR_NONE;
        uint32_t id = gt_interner_add(strings, name.bytes, name.len);
        if (id >= known) {
            size_t need = (size_t)id * 2;
            originals = gt_realloc(originals, need * sizeof *originals);
            memset(originals + known, 0xff, (need - known) * sizeof *originals);
            known = need;
        }
        if (originals[id] == UINT32_MAX) {
            originals[id] = GT_STR_NONE;
            GT_PUSH(ids, id_count, capacity, id);
        }
        if (original != GT_STR_NONE) originals[id] = original;
    }
    gt_sort_strings(ids, id_count, strings);
    patterns->items = gt_alloc(id_count * sizeof *patterns->items);
    for (size_t i = 0; i < id_count; i++) {
        patterns->items[patterns->count++] = (gt_kernel_pattern){ids[i], originals[ids[i]]};
        patterns->shortened += originals[ids[i]] != GT_STR_NONE;
    }
    gt_free_all(ids, originals);
    make_regex(patterns, exact);
}

void gt_kernel_patterns_free(gt_kernel_patterns *patterns)
{
    gt_free(patterns->items);
    gt_buffer_free(&patterns->regex);
    *patterns = (gt_kernel_patterns){0};
}

/* ---- files ---- */

static void add_number(gt_buffer *out, size_t number)
{
    char *text = gt_format("%zu", number);
    gt_buffer_add_cstr(out, text);
    gt_free(text);
}

/* In a comment, which a line break would end. */
static void add_on_one_line(gt_buffer *out, const char *text)
{
    for (size_t left = strlen(text), bytes; left; text += bytes, left -= bytes) {
        bool wanted = !(bytes = unwanted_bytes(text, left));
        bytes += wanted;
        gt_buffer_add(out, wanted ? text : " ", 1);
    }
}

static void add_quoted(gt_buffer *yaml, gt_str text)
{
    gt_buffer_add(yaml, "'", 1);
    for (size_t i = 0; i < text.len; i++)
        gt_buffer_add(yaml, text.bytes[i] == '\'' ? "''" : text.bytes + i, text.bytes[i] == '\'' ? 2 : 1);
    gt_buffer_add(yaml, "'", 1);
}

void gt_kernel_patterns_job(const gt_kernel_patterns *patterns, const char *source, gt_buffer *yaml)
{
    gt_buffer_add_cstr(yaml, "# rocprofv3 -i THIS_FILE: counters of the kernels named in\n# ");
    add_on_one_line(yaml, source);
    gt_buffer_add_cstr(yaml, "\n# Kernel name patterns: ");
    add_number(yaml, patterns->count);
    gt_buffer_add_cstr(yaml, "\njobs:\n  - kernel_include_regex: ");
    add_quoted(yaml, (gt_str){patterns->regex.bytes, patterns->regex.len});
    gt_buffer_add_cstr(yaml, "\n    kernel_trace: true\n    output_format: [json, csv]\n    pmc:\n");
    for (size_t i = 0; i < GT_LENGTH(counters); i++) {
        gt_buffer_add_cstr(yaml, "      - ");
        gt_buffer_add_cstr(yaml, counters[i]);
        gt_buffer_add_cstr(yaml, "\n");
    }
}

static void add_original(gt_buffer *list, gt_str original)
{
    const char *at = original.bytes, *end = at + original.len;
    for (size_t i = 0; i < ORIGINAL_SHOWN && at < end; i++) gt_utf8_next(&at, end);
    gt_buffer_add_cstr(list, "   (Original: ");
    gt_buffer_add(list, original.bytes, (size_t)(at - original.bytes));
    gt_buffer_add_cstr(list, at < end ? "...)\n" : ")\n");
}

void gt_kernel_patterns_list(const gt_kernel_patterns *patterns, const char *source, gt_buffer *list)
{
    gt_buffer_add_cstr(list, "Kernels of ");
    add_on_one_line(list, source);
    gt_buffer_add_cstr(list, "\n");
    for (int i = 0; i < RULE_WIDTH; i++) gt_buffer_add(list, "=", 1);
    gt_buffer_add_cstr(list, "\nEach name is one alternative of the job file's kernel_include_regex.\n");
    if (patterns->shortened) {
        gt_buffer_add_cstr(list, "Shortened (without templates, arguments and namespaces): ");
        add_number(list, patterns->shortened);
        gt_buffer_add_cstr(list, "\n");
    }
    gt_buffer_add_cstr(list, "\n");
    for (size_t i = 0; i < patterns->count; i++) {
        gt_str name = gt_interner_get(patterns->strings, patterns->items[i].name);
        add_number(list, i + 1);
        gt_buffer_add_cstr(list, ". ");
        gt_buffer_add(list, name.bytes, name.len);
        gt_buffer_add_cstr(list, "\n");
        if (patterns->items[i].original != GT_STR_NONE)
            add_original(list, gt_interner_get(patterns->strings, patterns->items[i].original));
    }
}
