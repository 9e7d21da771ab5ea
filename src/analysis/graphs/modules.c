/* Modules are few compared with all Python functions, so they are kept, and questions about many events are
 * answered together: both are sorted by thread and time, and one pass has the modules that are open. */
#include "analysis/graphs/modules.h"

static const char PREFIX[] = "nn.Module: ";

/* By string id: the name after the prefix; GT_STR_NONE for other strings. NULL: no string has it. */
static uint32_t *find_names(gt_interner *strings)
{
    uint32_t count = gt_interner_count(strings), *names = NULL;
    for (uint32_t id = 1; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        if (text.len < sizeof PREFIX || !gt_str_starts_with(text, PREFIX)) continue;
        if (!names) names = gt_alloc_zero(count, sizeof *names);
        names[id] = gt_interner_add(strings, text.bytes + sizeof PREFIX - 1, text.len - (sizeof PREFIX - 1));
    }
    return names;
}

static void add_frame(gt_module_frames *frames, uint32_t process, uint32_t thread, double start_us,
                      double dur_us, uint32_t name)
{
    if (isnan(start_us) || isnan(dur_us)) return;
    uint32_t next = (uint32_t)frames->threads.count, *number = gt_map_put(&frames->threads, process, thread);
    if (*number == GT_MAP_NONE) *number = next;
    gt_module_frame frame = {start_us, start_us + dur_us, *number, name};
    GT_PUSH(frames->items, frames->count, frames->capacity, frame);
}

static void add_rows(gt_module_frames *frames, const gt_event_view *trace, const uint32_t *names)
{
    for (uint32_t row = 0; trace->has_python && row < trace->recorded; row++)
        if (trace->kind[row] == GT_KIND_PYTHON && names[trace->name[row]] != GT_STR_NONE)
            add_frame(frames, gt_event_process(trace, row), gt_event_thread(trace, row), trace->start_us[row],
                      trace->dur_us[row], names[trace->name[row]]);
}

static void add_blocks(gt_module_frames *frames, const gt_event_view *trace, const uint32_t *names)
{
    gt_frame_block *block = gt_alloc(sizeof *block);
    for (size_t first = 0; gt_frames_read(trace->frames, first, GT_FRAMES_NAME, block);
         first += block->count) {
        size_t i = 0;
        while (i < block->count && names[block->name[i]] == GT_STR_NONE) i++;
        if (i == block->count) continue;
        gt_frames_read(trace->frames, first, GT_FRAMES_ALL & ~GT_FRAMES_UID, block);
        for (; i < block->count; i++)
            if (names[block->name[i]] != GT_STR_NONE)
                add_frame(frames, block->process[i], block->thread[i], block->start_us[i], block->dur_us[i],
                          names[block->name[i]]);
    }
    gt_free(block);
}

GT_ORDER_BY(by_thread_and_time, gt_module_frame, GT_UP(thread) GT_UP(start_us) GT_DOWN(end_us))

gt_module_frames gt_module_frames_find(const gt_event_view *trace)
{
    gt_module_frames frames = {0};
    uint32_t *names = find_names(trace->strings);
    if (!names) return frames;
    add_rows(&frames, trace, names);
    add_blocks(&frames, trace, names);
    if (frames.count) qsort(frames.items, frames.count, sizeof *frames.items, by_thread_and_time);
    gt_free(names);
    return frames;
}

void gt_module_frames_free(gt_module_frames *frames)
{
    gt_free(frames->items);
    gt_map_free(&frames->threads);
    *frames = (gt_module_frames){0};
}

/* ---- questions ---- */

/* An event that is asked about, in place of a frame: its name is its index. */
static gt_module_frame *list_questions(const gt_module_frames *frames, const gt_event_view *trace,
                                       const uint32_t *rows, size_t count, size_t *asked)
{
    gt_module_frame *questions = gt_alloc(count * sizeof *questions);
    *asked = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t thread =
            gt_map_get(&frames->threads, gt_event_process(trace, rows[i]), gt_event_thread(trace, rows[i]));
        double end_us = gt_event_end_us(trace, rows[i]);
        if (thread == GT_MAP_NONE || isnan(end_us)) continue;
        questions[(*asked)++] = (gt_module_frame){trace->start_us[rows[i]], end_us, thread, (uint32_t)i};
    }
    if (*asked) qsort(questions, *asked, sizeof *questions, by_thread_and_time);
    return questions;
}

/* Modules that end before the event does are not around it, nor around any later one. */
static size_t close_modules(const gt_module_frame *items, const size_t *open, size_t depth,
                            const gt_module_frame *next)
{
    while (depth) {
        const gt_module_frame *last = &items[open[depth - 1]];
        if (last->thread == next->thread && last->end_us > next->start_us && last->end_us >= next->end_us)
            break;
        depth--;
    }
    return depth;
}

void gt_module_frames_around(const gt_module_frames *frames, const gt_event_view *trace, const uint32_t *rows,
                             size_t count, uint32_t *names)
{
    size_t asked, depth = 0, next = 0, *open = gt_alloc(frames->count * sizeof *open);
    gt_module_frame *questions = list_questions(frames, trace, rows, count, &asked);
    for (size_t i = 0; i < count; i++) names[i] = GT_STR_NONE;
    for (size_t i = 0; i < asked; i++) {
        const gt_module_frame *q = &questions[i];
        for (; next < frames->count && by_thread_and_time(&frames->items[next], q) <= 0; next++) {
            depth = close_modules(frames->items, open, depth, &frames->items[next]);
            open[depth++] = next;
        }
        depth = close_modules(frames->items, open, depth, q);
        if (depth) names[q->name] = frames->items[open[depth - 1]].name;
    }
    gt_free_all(questions, open);
}
