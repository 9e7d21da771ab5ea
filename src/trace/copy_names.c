/* Reads the names of memory copies. */
#include "trace/copy_names.h"

static const char unknown[] = "unknown";

/* Directions as words, as in hipMemcpyHostToDevice and MEMORY_COPY_HOST_TO_DEVICE: in lower case and without
 * underscores. */
static const struct {
    const char *words, *direction;
} spelled_out[] = {
    {"hosttodevice", "HtoD"}, {"devicetohost", "DtoH"}, {"devicetodevice", "DtoD"},
    {"hosttohost", "HtoH"},   {"peertopeer", "PtoP"},
};

/* Kinds of memory by the letter of a direction. Both ends of PtoP are devices. */
static const struct {
    char letter;
    const char *kind;
} letters[] = {{'H', "host"}, {'D', "device"}, {'P', "device"}, {'A', "array"}};

static const char *kind_of_letter(char letter)
{
    for (size_t i = 0; i < GT_LENGTH(letters); i++)
        if (letters[i].letter == letter) return letters[i].kind;
    return unknown;
}

static char letter_of_kind(const char *kind)
{
    if (strncmp(kind, "device", strlen("device")) == 0) return 'D';
    if (strcmp(kind, "array") == 0) return 'A';
    bool is_host = strcmp(kind, "host") == 0 || strcmp(kind, "pageable") == 0 || strcmp(kind, "pinned") == 0;
    return is_host ? 'H' : '?';
}

/* The first word like HtoD in the name. */
static bool find_short_direction(gt_str name, char direction[GT_COPY_TEXT_MAX])
{
    for (size_t i = 0; i + 4 <= name.len; i++) {
        const char *at = name.bytes + i;
        bool whole = (i == 0 || !isalnum((unsigned char)at[-1])) &&
                     (i + 4 == name.len || !isalnum((unsigned char)at[4]));
        if (!whole || !isupper((unsigned char)at[0]) || at[1] != 't' || at[2] != 'o' ||
            !isupper((unsigned char)at[3]))
            continue;
        snprintf(direction, GT_COPY_TEXT_MAX, "%.4s", at);
        return true;
    }
    return false;
}

static bool find_spelled_direction(gt_str name, char direction[GT_COPY_TEXT_MAX])
{
    char words[256];
    size_t len = 0;
    for (size_t i = 0; i < name.len && len + 1 < sizeof words; i++)
        if (name.bytes[i] != '_') words[len++] = (char)tolower((unsigned char)name.bytes[i]);
    for (size_t i = 0; i < GT_LENGTH(spelled_out); i++) {
        if (!gt_str_contains((gt_str){words, len}, spelled_out[i].words)) continue;
        snprintf(direction, GT_COPY_TEXT_MAX, "%s", spelled_out[i].direction);
        return true;
    }
    return false;
}

static void copy_lower(char out[GT_COPY_TEXT_MAX / 2], const char *text, size_t len)
{
    while (len && text[0] == ' ') text++, len--;
    while (len && text[len - 1] == ' ') len--;
    size_t kept = len < GT_COPY_TEXT_MAX / 2 ? len : GT_COPY_TEXT_MAX / 2 - 1;
    for (size_t i = 0; i < kept; i++) out[i] = (char)tolower((unsigned char)text[i]);
    out[kept] = 0;
}

/* The two kinds in "(Pageable -> Device)". */
static bool find_kinds(gt_str name, char from[GT_COPY_TEXT_MAX / 2], char to[GT_COPY_TEXT_MAX / 2])
{
    const char *open = memchr(name.bytes, '(', name.len);
    if (!open) return false;
    size_t left = (size_t)(name.bytes + name.len - open) - 1;
    const char *close = memchr(open, ')', left + 1), *arrow = memmem(open, left + 1, "->", 2);
    if (!close || !arrow || arrow > close) return false;
    copy_lower(from, open + 1, (size_t)(arrow - open) - 1);
    copy_lower(to, arrow + 2, (size_t)(close - arrow) - 2);
    return *from && *to;
}

static void join_kinds(char kind[GT_COPY_TEXT_MAX], const char *from, const char *to)
{
    bool from_device = strcmp(from, "device") == 0, to_device = strcmp(to, "device") == 0;
    if (strcmp(from, to) == 0 || to_device)
        snprintf(kind, GT_COPY_TEXT_MAX, "%s", from);
    else if (from_device)
        snprintf(kind, GT_COPY_TEXT_MAX, "%s", to);
    else
        snprintf(kind, GT_COPY_TEXT_MAX, "%.28s -> %.28s", from, to);
}

gt_copy_name gt_copy_name_read(gt_str name)
{
    gt_copy_name read = {"", ""};
    char from[GT_COPY_TEXT_MAX / 2] = "", to[GT_COPY_TEXT_MAX / 2] = "";
    bool has_kinds = find_kinds(name, from, to), has_direction = find_short_direction(name, read.direction) ||
                                                                 find_spelled_direction(name, read.direction);
    if (!has_direction && has_kinds && letter_of_kind(from) != '?' && letter_of_kind(to) != '?') {
        snprintf(read.direction, GT_COPY_TEXT_MAX, "%cto%c", letter_of_kind(from), letter_of_kind(to));
    } else if (!has_direction) {
        snprintf(read.direction, GT_COPY_TEXT_MAX, "%s", unknown);
    } else if (!has_kinds) {
        snprintf(from, sizeof from, "%s", kind_of_letter(read.direction[0]));
        snprintf(to, sizeof to, "%s", kind_of_letter(read.direction[3]));
        has_kinds = true;
    }
    if (has_kinds)
        join_kinds(read.kind, from, to);
    else
        snprintf(read.kind, GT_COPY_TEXT_MAX, "%s", unknown);
    return read;
}

/* ---- kernels ---- */

/* With or without ".kd" at the end. */
static const char *const copies_named_as_kernels[] = {
    "MEMORY_COPY_HOST_TO_DEVICE",         "MEMORY_COPY_DEVICE_TO_HOST",
    "MEMORY_COPY_DEVICE_TO_DEVICE",       "__amd_rocclr_copyBuffer",
    "__amd_rocclr_copyBufferRect",        "__amd_rocclr_copyBufferAligned",
    "__amd_rocclr_copyBufferRectAligned",
};

bool gt_is_copy_kernel(gt_str name)
{
    if (name.len > 3 && memcmp(name.bytes + name.len - 3, ".kd", 3) == 0) name.len -= 3;
    for (size_t i = 0; i < GT_LENGTH(copies_named_as_kernels); i++)
        if (gt_str_equals(name, copies_named_as_kernels[i])) return true;
    return false;
}
