/* Two files with the name of one trace: "t.json" and "t.json.gz". */
#include "cli/inputs/inputs.h"

#include "os/paths.h"
#include "stream/stream.h"

/* What is left of a block of a file. */
typedef struct rest {
    gt_stream *stream;
    const uint8_t *bytes;
    size_t len;
} rest;

static bool read_more(rest *r)
{
    gt_error ignored;
    return r->len || gt_stream_next(r->stream, NULL, 0, &r->bytes, &r->len, &ignored);
}

/* Whether two files have the same contents once they are unpacked. */
static bool have_same_contents(const char *a, const char *b)
{
    gt_error ignored;
    if (!gt_path_is_regular(a) || !gt_path_is_regular(b)) return false;
    rest x = {.stream = gt_stream_open(a, &ignored)}, y = {.stream = gt_stream_open(b, &ignored)};
    bool are_same = x.stream && y.stream;
    while (are_same) {
        are_same = read_more(&x) && read_more(&y) && !x.len == !y.len;
        size_t len = x.len < y.len ? x.len : y.len;
        if (!are_same || !len) break;
        are_same = memcmp(x.bytes, y.bytes, len) == 0;
        x = (rest){x.stream, x.bytes + len, x.len - len};
        y = (rest){y.stream, y.bytes + len, y.len - len};
    }
    gt_stream_close(x.stream);
    gt_stream_close(y.stream);
    return are_same;
}

bool gt_trace_warn_copy(const char *path, const char *taken)
{
    bool is_copy = have_same_contents(taken, path);
    if (is_copy) gt_warn("%s: skipped, because %s is the same trace", path, taken);
    return is_copy;
}

void gt_trace_warn_second(const char *path, const char *taken)
{
    char *other = gt_path_sibling(path, taken);
    if (have_same_contents(other, path)) {
        gt_warn("%s: skipped, because %s is the same trace", path, taken);
    } else {
        int64_t ranks[] = {gt_own_rank_find(other).rank, gt_own_rank_find(path).rank};
        char *named = ranks[0] != ranks[1] && ranks[0] >= 0 && ranks[1] >= 0
                          ? gt_format(" (of rank %lld, and this one of rank %lld)", (long long)ranks[0],
                                      (long long)ranks[1])
                          : gt_strdup("");
        gt_warn(
            "%s: skipped, because %s has the same name, but other contents%s; remove or rename one of them",
            path, taken, named);
        gt_free(named);
    }
    gt_free(other);
}
