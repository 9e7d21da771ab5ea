/* The streams pass their bytes through a small decoder. A character may be split between two writes, so its
 * first bytes are kept until the rest arrives. */
#include "base/printing.h"
#include "base/memory.h"
#include "base/raise.h"

#include <errno.h>
#include <unistd.h>

enum { OUT_BYTES = 4096, ESCAPE_MAX = 16 };

typedef struct filter {
    int descriptor;
    bool is_raw; /* bytes pass unchanged */
    uint8_t begun[4];
    size_t begun_len; /* bytes of an incomplete character */
} filter;

static filter filters[2];
static FILE *streams[2]; /* NULL: not replaced */

static bool write_out(int descriptor, const char *bytes, size_t len)
{
    while (len) {
        ssize_t n = write(descriptor, bytes, len);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes += n, len -= (size_t)n;
    }
    return true;
}

/* The length of the character that begins with this byte; 0 if none does. */
static size_t length_of(uint8_t lead)
{
    return lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
}

static uint32_t code_of(const uint8_t *bytes, size_t len)
{
    uint32_t code = len == 1   ? bytes[0]
                    : len == 2 ? bytes[0] & 0x1Fu
                    : len == 3 ? bytes[0] & 0x0Fu
                               : bytes[0] & 7u;
    for (size_t i = 1; i < len; i++) code = code << 6 | (bytes[i] & 0x3Fu);
    return code;
}

/* Control characters, and those that break lines or change the direction of text. */
static bool is_escaped(uint32_t code)
{
    if (code < 0x20) return code != '\n' && code != '\t';
    return (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F || code == 0x061C ||
           (code >= 0x2028 && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

static size_t add_character(char *out, const uint8_t *bytes, size_t len)
{
    uint32_t code = code_of(bytes, len);
    if (is_escaped(code))
        return (size_t)snprintf(out, ESCAPE_MAX, code < 0x100 ? "\\x%02x" : "\\u%04x", code);
    memcpy(out, bytes, len);
    return len;
}

/* Decodes one byte more; returns the number of bytes to print. */
static size_t take_byte(filter *f, uint8_t byte, char *out)
{
    size_t made = 0;
    if (f->begun_len && (byte & 0xC0) != 0x80) { /* the character before is incomplete */
        for (size_t i = 0; i < f->begun_len; i++)
            made += (size_t)snprintf(out + made, ESCAPE_MAX, "\\x%02x", f->begun[i]);
        f->begun_len = 0;
    }
    if (!f->begun_len && !length_of(byte))
        return made + (size_t)snprintf(out + made, ESCAPE_MAX, "\\x%02x", byte);
    f->begun[f->begun_len++] = byte;
    if (f->begun_len < length_of(f->begun[0])) return made;
    made += add_character(out + made, f->begun, f->begun_len);
    f->begun_len = 0;
    return made;
}

static ssize_t write_filtered(void *context, const char *bytes, size_t len)
{
    filter *f = context;
    char out[OUT_BYTES];
    size_t used = 0;
    bool ok = true;
    if (f->is_raw) return write_out(f->descriptor, bytes, len) ? (ssize_t)len : 0;
    for (size_t i = 0; i < len && ok; i++) {
        used += take_byte(f, (uint8_t)bytes[i], out + used);
        if (used <= OUT_BYTES - 5 * ESCAPE_MAX && i + 1 < len) continue;
        ok = write_out(f->descriptor, out, used);
        used = 0;
    }
    return ok ? (ssize_t)len : 0;
}

#ifdef __GLIBC__
static FILE *replace(int descriptor, int mode)
{
    static const cookie_io_functions_t functions = {.write = write_filtered};
    filters[descriptor - 1] = (filter){.descriptor = descriptor};
    FILE *file = fopencookie(&filters[descriptor - 1], "w", functions);
    if (file) setvbuf(file, NULL, mode, BUFSIZ);
    return streams[descriptor - 1] = file;
}
#endif

void gt_print_escaped(void)
{
#ifdef __GLIBC__
    FILE *out = replace(STDOUT_FILENO, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF);
    FILE *errors = replace(STDERR_FILENO, _IOLBF);
    if (out) stdout = out;
    if (errors) stderr = errors;
#endif
}

static filter *filter_of(FILE *file)
{
    for (int i = 0; i < 2; i++)
        if (streams[i] && streams[i] == file) return &filters[i];
    return NULL;
}

/* ---- printing later ---- */

static _Thread_local gt_kept_print *keeping GT_THREAD_LOCAL;

void gt_print_keep(gt_kept_print *kept, FILE *to)
{
    *kept = (gt_kept_print){.to = to, .outer = keeping};
    kept->file = open_memstream(&kept->bytes, &kept->len);
    if (!kept->file) gt_raise("out of memory");
    keeping = kept;
}

void gt_print_keep_end(gt_kept_print *kept)
{
    keeping = kept->outer;
    kept->outer = NULL;
    bool whole = fclose(kept->file) == 0;
    kept->file = NULL;
    if (!whole) gt_raise("out of memory");
}

/* The one of this thread whose file this is; NULL: none. */
static gt_kept_print *kept_of(const FILE *file)
{
    gt_kept_print *kept = keeping;
    while (kept && kept->file != file) kept = kept->outer;
    return kept;
}

static void keep_raw(gt_kept_print *kept, const char *bytes, size_t len)
{
    fflush(kept->file); /* sets kept->len */
    GT_PUSH(kept->raw, kept->raw_count, kept->raw_capacity, kept->len);
    GT_PUSH(kept->raw, kept->raw_count, kept->raw_capacity, kept->len + len);
    fwrite(bytes, 1, len, kept->file);
}

void gt_print_kept(gt_kept_print *kept)
{
    size_t at = 0;
    for (size_t i = 0; i < kept->raw_count; i += 2) {
        fwrite(kept->bytes + at, 1, kept->raw[i] - at, kept->to);
        gt_print_raw(kept->to, kept->bytes + kept->raw[i], kept->raw[i + 1] - kept->raw[i]);
        at = kept->raw[i + 1];
    }
    if (kept->len > at) fwrite(kept->bytes + at, 1, kept->len - at, kept->to);
    gt_print_drop(kept);
}

void gt_print_drop(gt_kept_print *kept)
{
    free(kept->bytes);
    gt_free(kept->raw);
    *kept = (gt_kept_print){0};
}

void gt_print_join(gt_kept_print *all, gt_kept_print *more)
{
    size_t need = all->len + more->len;
    if (need > all->capacity) {
        size_t capacity = need + all->capacity / 2;
        char *bytes = realloc(all->bytes, capacity); /* not gt_realloc: a stream of libc makes the others */
        if (!bytes) gt_raise_out_of_memory(capacity);
        all->bytes = bytes;
        all->capacity = capacity;
    }
    if (more->len) memcpy(all->bytes + all->len, more->bytes, more->len);
    for (size_t i = 0; i < more->raw_count; i++)
        GT_PUSH(all->raw, all->raw_count, all->raw_capacity, all->len + more->raw[i]);
    all->len = need;
    if (more->to) all->to = more->to;
    gt_print_drop(more);
}

/* ---- as an image ---- */

void gt_print_save(const gt_kept_print *kept, gt_image *image)
{
    uint64_t *raw = gt_alloc((kept->raw_count + 1) * sizeof *raw);
    for (size_t i = 0; i < kept->raw_count; i++) raw[i] = kept->raw[i];
    gt_image_add(image, "printed", "bytes", kept->bytes, kept->len);
    gt_image_give(image, "printed", "raw", raw, kept->raw_count * sizeof *raw);
}

/* The length of a colour, "\033[1;36m"; 0 if there is none. */
static size_t colour_length(const char *bytes, size_t len)
{
    if (len < 3 || bytes[0] != '\033' || bytes[1] != '[') return 0;
    size_t at = 2;
    while (at < len && (bytes[at] == ';' || (bytes[at] >= '0' && bytes[at] <= '9'))) at++;
    return at < len && bytes[at] == 'm' ? at + 1 : 0;
}

/* The length of a character that is printed as it is also when it is not raw; 0 if there is none. */
static size_t harmless_length(const uint8_t *bytes, size_t len)
{
    size_t own = length_of(bytes[0]);
    if (!own || own > len) return 0;
    for (size_t i = 1; i < own; i++)
        if ((bytes[i] & 0xC0) != 0x80) return 0;
    return is_escaped(code_of(bytes, own)) ? 0 : own;
}

/* Whether unescaped bytes change nothing but colours. */
static bool may_be_raw(const char *bytes, size_t len)
{
    for (size_t at = 0, step; at < len; at += step) {
        step = colour_length(bytes + at, len - at);
        if (!step) step = harmless_length((const uint8_t *)bytes + at, len - at);
        if (!step) return false;
    }
    return true;
}

bool gt_print_load(gt_kept_print *kept, FILE *to, const gt_image *image)
{
    size_t len = 0, raw_count = 0;
    const char *bytes = gt_image_get(image, "printed", "bytes", 1, &len);
    const char *raw = gt_image_get(image, "printed", "raw", sizeof(uint64_t), &raw_count);
    *kept = (gt_kept_print){.to = to};
    if (!bytes || !raw || raw_count % 2) return false;
    uint64_t at = 0, ends[2];
    for (size_t i = 0; i < raw_count; i += 2) {
        memcpy(ends, raw + i * sizeof *ends, sizeof ends);
        if (ends[0] < at || ends[1] < ends[0] || ends[1] > len) return false;
        if (!may_be_raw(bytes + ends[0], (size_t)(ends[1] - ends[0]))) return false;
        at = ends[1];
    }
    kept->bytes = malloc(len + 1); /* as open_memstream's */
    if (!kept->bytes) gt_raise("out of memory");
    memcpy(kept->bytes, bytes, len);
    kept->len = len;
    for (size_t i = 0; i < raw_count; i++) {
        memcpy(&at, raw + i * sizeof at, sizeof at);
        GT_PUSH(kept->raw, kept->raw_count, kept->raw_capacity, (size_t)at);
    }
    return true;
}

/* ---- what passes as it is ---- */

void gt_print_raw(FILE *file, const char *bytes, size_t len)
{
    gt_kept_print *kept = kept_of(file);
    if (kept) {
        keep_raw(kept, bytes, len);
        return;
    }
    filter *f = filter_of(file);
    flockfile(file);
    if (f) {
        fflush(file);
        f->is_raw = true;
    }
    fwrite(bytes, 1, len, file);
    if (f) {
        fflush(file);
        f->is_raw = false;
    }
    funlockfile(file);
}

int gt_print_descriptor(FILE *file)
{
    for (const gt_kept_print *kept = kept_of(file); kept; kept = kept_of(file)) file = kept->to;
    const filter *f = filter_of(file);
    return f ? f->descriptor : fileno(file);
}
