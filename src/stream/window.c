/* The window: blocks of a range of the file's stream, each beginning with the end of the previous one. */
#include "stream/window.h"
#include "base/progress.h"

#include <sys/mman.h>
#include <unistd.h>

static bool hold_all(gt_window *w, gt_stream *stream, bool strict, gt_error *error)
{
    if (!gt_stream_read_all(stream, &w->held, error)) {
        gt_error_prefix(error, gt_stream_path(stream));
        return false;
    }
    const char *damage = gt_stream_damage(stream);
    if (damage && strict) return gt_fail(error, "%s: %s", gt_stream_path(stream), damage);
    if (damage) gt_warn("%s: %s", gt_stream_path(stream), damage);
    memset(gt_buffer_reserve(&w->held, GT_WINDOW_PAD), 0, GT_WINDOW_PAD);
    w->bytes = (const uint8_t *)w->held.bytes;
    w->size = w->len = w->held.len;
    return true;
}

bool gt_window_open(gt_window *w, gt_stream *stream, bool strict, gt_error *error)
{
    *w = (gt_window){.bytes = (const uint8_t *)""};
    if (!gt_stream_seekable(stream) || !gt_stream_size(stream)) return hold_all(w, stream, strict, error);
    w->size = gt_stream_size(stream);
    return (w->range = gt_stream_range(stream, 0, error)) != NULL;
}

void gt_window_close(gt_window *w)
{
    gt_stream_close(w->range);
    gt_buffer_free(&w->held);
    *w = (gt_window){0};
}

/* Moves the window so that it begins at `offset`. */
static bool move_to(gt_window *w, uint64_t offset, size_t want, gt_error *error)
{
    const bool is_inside = offset >= w->begin && offset <= w->begin + w->len;
    size_t kept = is_inside ? (size_t)(w->begin + w->len - offset) : 0;
    const uint8_t *keep = w->bytes + (w->len - kept);
    if (!is_inside) gt_stream_move(w->range, offset);
    w->begin = offset;
    do {
        if (!gt_stream_next(w->range, keep, kept, &w->bytes, &w->len, error)) return false;
        if (w->len == kept) break; /* the end */
        gt_progress_add(w->len - kept, 0);
        keep = w->bytes;
        kept = w->len;
    } while (w->len < want);
    return true;
}

bool gt_window_show(gt_window *w, uint64_t offset, size_t want, gt_str *shown, gt_error *error)
{
    *shown = (gt_str){"", 0};
    if (offset >= w->size) return true;
    if (want > w->size - offset) want = (size_t)(w->size - offset);
    const bool is_there =
        offset >= w->begin && offset - w->begin <= w->len && w->len - (offset - w->begin) >= want;
    if (!is_there && (!w->range || !move_to(w, offset, want, error))) return !w->range;
    size_t at = (size_t)(offset - w->begin);
    *shown = (gt_str){(const char *)w->bytes + at, w->len - at};
    return true;
}

void gt_window_forget(gt_window *w, uint64_t begin, uint64_t end)
{
    if (w->range) return;
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), bytes = (uintptr_t)w->bytes;
    uintptr_t first = (bytes + (uintptr_t)begin + page - 1) / page * page,
              last = (bytes + (uintptr_t)end) / page * page;
    if (last > first) madvise((void *)first, last - first, MADV_DONTNEED);
}
