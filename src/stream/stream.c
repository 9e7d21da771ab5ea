/* The file layer: recognises compression and hands out blocks of text that begin with the tail the caller
 * kept.
 *
 * A caller that meets the end of a block in the middle of a record asks for the next block and keeps that
 * part. For example, with blocks of 8 bytes and the text {"a":1}{"b":2}, the first block is {"a":1}{ and the
 * next call, which keeps "{", gives {"b":2} in one piece.
 *
 * Plain bytes are read after the kept tail into one buffer. Unpacked blocks have headroom before them, into
 * which the tail is copied, so the block itself is not copied. A tail larger than the headroom means a huge
 * record: blocks are then collected after it in the one buffer, each time as many bytes as it already has, so
 * that the total work stays proportional to the size of the record.
 *
 * Unpacking is done ahead of the reader: three buffers circulate between the unpacking thread and it. The
 * reader unpacks the first block itself, because it has nothing else to do at that point; so a small file
 * needs no thread. If the reader is alone, two buffers are enough: it still has the one before when it
 * unpacks the next. */
#include "stream/stream.h"

#include "base/guard.h"
#include "base/progress.h"
#include "base/team.h"
#include "base/threads.h"
#include "stream/unpack.h"

typedef struct gt_readahead gt_readahead;
/* Blocks of `block` bytes (the last one may be shorter), each with `headroom` bytes before it and `pad` bytes
 * after it that belong to the reader (headroom: at least GT_UNPACK_HISTORY). A block is unpacked by
 * readahead_next, or from readahead_begin on before it, unless the reader is to be `alone`. `stored`
 * must outlive this. */
typedef struct gt_readahead_options {
    size_t block, headroom, pad;
    bool alone;
} gt_readahead_options;

/* ---- read-ahead ---- */

enum { SLOTS = 3, SLOTS_ALONE = 2 };

typedef struct slot {
    uint8_t *memory; /* headroom, block, pad; allocated when first needed */
    size_t len;
} slot;

struct gt_readahead {
    const gt_unpacker_kind *kind;
    gt_unpacker *unpacker;
    gt_raw_input *stored;
    gt_readahead_options options;
    size_t slot_count;
    bool alone; /* there is no thread: the reader unpacks */
    pthread_t thread;

    pthread_mutex_t lock; /* protects everything below */
    pthread_cond_t changed;
    slot slots[SLOTS];
    uint64_t filled, given, released; /* blocks so far; block n is in slot n % slot_count */
    bool ended, failed, stopping;
    bool raised; /* the thread ran out of memory */
    gt_error error;
    gt_guard *guard; /* of the call that reads; NULL: none */
};

static gt_readahead *readahead_new(const gt_unpacker_kind *kind, gt_raw_input *stored,
                                   gt_readahead_options options)
{
    gt_readahead *a = gt_alloc_zero(1, sizeof *a);
    a->kind = kind;
    a->stored = stored;
    a->options = options;
    a->slot_count = options.alone ? SLOTS_ALONE : SLOTS;
    a->alone = true;
    a->guard = gt_guard_current();
    pthread_mutex_init(&a->lock, NULL);
    pthread_cond_init(&a->changed, NULL);
    a->unpacker = kind->begin(stored); /* last: if this raises, nothing is left but memory */
    return a;
}

/* Unpacks into the next slot, which nobody else uses, and signals that it is filled. */
static void fill_slot(gt_readahead *a)
{
    slot *s = &a->slots[a->filled % a->slot_count];
    size_t len = 0;
    gt_error error;
    if (!s->memory) s->memory = gt_alloc(a->options.headroom + a->options.block + a->options.pad);
    bool filled = a->kind->fill(a->unpacker, s->memory + a->options.headroom, a->options.block, &len, &error);

    pthread_mutex_lock(&a->lock);
    if (!filled) {
        a->failed = true;
        a->error = error;
        len = 0;
    }
    s->len = len;
    a->filled += len > 0;
    a->ended = len < a->options.block;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

static void unpack_ahead(void *context)
{
    gt_readahead *a = context;
    for (;;) {
        pthread_mutex_lock(&a->lock);
        while (!a->stopping && a->filled - a->released == a->slot_count)
            pthread_cond_wait(&a->changed, &a->lock);
        bool done = a->stopping || a->ended;
        pthread_mutex_unlock(&a->lock);
        if (done) return;
        fill_slot(a);
    }
}

static void *run_thread(void *context)
{
    gt_readahead *a = context;
    if (gt_guard_attempt(a->guard, unpack_ahead, a)) return NULL;
    pthread_mutex_lock(&a->lock);
    a->raised = a->ended = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
    return NULL;
}

/* After the first block: the reader wants the next ones, too, and a thread begins to unpack them. */
static void readahead_begin(gt_readahead *a)
{
    if (a->alone && !a->ended && !a->options.alone)
        a->alone = gt_thread_start(&a->thread, run_thread, a) != 0;
}

/* Waits for the next block. At the end *len is 0. The reader may hold two blocks: the previous one, until
 * readahead_release, and this one. */
static bool readahead_next(gt_readahead *a, uint8_t **block, size_t *len, gt_error *error)
{
    if (a->alone && !a->ended) fill_slot(a);
    pthread_mutex_lock(&a->lock);
    while (a->filled == a->given && !a->ended) pthread_cond_wait(&a->changed, &a->lock);
    slot *next = a->filled > a->given ? &a->slots[a->given++ % a->slot_count] : NULL;
    bool failed = !next && a->failed, raised = !next && a->raised;
    if (failed && error) *error = a->error;
    pthread_mutex_unlock(&a->lock);
    if (raised) gt_guard_check(); /* the call has failed */

    *block = next ? next->memory + a->options.headroom : NULL;
    *len = next ? next->len : 0;
    return !failed;
}

/* Returns the oldest block that the reader holds. */
static void readahead_release(gt_readahead *a)
{
    pthread_mutex_lock(&a->lock);
    a->released++;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->lock);
}

/* after the end */
static const char *readahead_damage(gt_readahead *a)
{
    pthread_mutex_lock(&a->lock);
    const char *damage = a->ended ? a->kind->damage(a->unpacker) : NULL;
    pthread_mutex_unlock(&a->lock);
    return damage;
}

/* Stops the thread, whatever it is doing. */
static void readahead_free(gt_readahead *a)
{
    if (!a->alone) {
        pthread_mutex_lock(&a->lock);
        a->stopping = true;
        pthread_cond_signal(&a->changed);
        pthread_mutex_unlock(&a->lock);
        gt_raw_input_stop(a->stored);
        pthread_join(a->thread, NULL);
    }
    pthread_mutex_destroy(&a->lock);
    pthread_cond_destroy(&a->changed);
    for (int i = 0; i < SLOTS; i++) gt_free(a->slots[i].memory);
    a->kind->end(a->unpacker);
    gt_free(a);
}

enum {
    TAIL_ROOM = 64 * 1024, /* spare room in the one buffer, for the next tail */
    SHORT_BLOCK = 16 * 1024,
    SMALL_FILE = 1024 * 1024,
};

struct gt_stream {
    const uint8_t *peeked; /* the block that gt_stream_peek showed and that is not taken yet */
    size_t peeked_len;
    gt_raw_input stored;
    char *path; /* owned; NULL if gt_raw_input has a name of its own */
    gt_compression compression;
    size_t block, headroom;
    gt_readahead *ahead; /* compressed input only */
    bool holds_block;    /* the text given last is a block of `ahead` */
    bool is_peeking;     /* perhaps nobody wants the next blocks */
    bool ended;
    uint64_t expected_end; /* see gt_stream_expect_end */
    uint8_t *buffer;
    size_t capacity;
};

static const gt_unpacker_kind *const kinds[] = {[GT_GZIP] = &gt_unpack_gzip, [GT_ZSTD] = &gt_unpack_zstd};

static gt_compression compression_of(const gt_raw_input *stored)
{
    for (gt_compression c = GT_GZIP; c <= GT_ZSTD; c++)
        if (kinds[c]->recognises(stored->head, stored->head_len)) return c;
    return GT_PLAIN;
}

static void close_stream(void *stream)
{
    gt_stream_close(stream);
}

/* Whether the reader unpacks, too: it has the block in its caches, so a thread helps only if it would be
 * idle otherwise; for a small file that is one of several, it costs more memory than it saves time. */
static bool reads_alone(const gt_stream *stream)
{
    bool is_small = stream->stored.regular && stream->stored.size < SMALL_FILE;
    return gt_team_threads() == 1 || gt_team_is_busy() || (is_small && gt_team_is_in_loop());
}

/* The stream's descriptor is open, and its thread may be started from here on. */
static void begin(gt_stream *stream, size_t block)
{
    gt_guard_add(close_stream, stream);
    stream->block = block ? block : GT_STREAM_BLOCK;
    stream->compression = compression_of(&stream->stored);
    if (stream->compression == GT_PLAIN) return;
    stream->headroom = stream->block > GT_UNPACK_HISTORY ? stream->block : GT_UNPACK_HISTORY;
    gt_readahead_options options = {stream->block, stream->headroom, GT_STREAM_PAD, reads_alone(stream)};
    stream->ahead = readahead_new(kinds[stream->compression], &stream->stored, options);
}

gt_stream *gt_stream_open_blocks(const char *path, size_t block, gt_error *error)
{
    gt_stream *stream = gt_alloc_zero(1, sizeof *stream);
    stream->path = gt_strdup(path);
    if (!gt_raw_input_open(&stream->stored, stream->path, error)) {
        gt_free_all(stream->path, stream);
        return NULL;
    }
    begin(stream, block);
    return stream;
}

gt_stream *gt_stream_open(const char *path, gt_error *error)
{
    return gt_stream_open_blocks(path, 0, error);
}

gt_stream *gt_stream_memory(const void *bytes, size_t len, size_t block, gt_error *error)
{
    (void)error;
    gt_stream *stream = gt_alloc_zero(1, sizeof *stream);
    gt_raw_input_memory(&stream->stored, bytes, len);
    begin(stream, block);
    return stream;
}

gt_stream *gt_stream_range(const gt_stream *plain, uint64_t begin_offset, gt_error *error)
{
    if (!gt_stream_seekable(plain)) {
        gt_fail(error, "%s cannot be read in several places", gt_stream_path(plain));
        return NULL;
    }
    gt_stream *stream = gt_alloc_zero(1, sizeof *stream);
    gt_raw_input_share(&stream->stored, &plain->stored, begin_offset);
    stream->block = plain->block;
    return stream;
}

void gt_stream_move(gt_stream *stream, uint64_t offset)
{
    stream->stored.offset = offset;
    stream->ended = false;
    stream->expected_end = 0;
}

void gt_stream_expect_end(gt_stream *stream, uint64_t offset)
{
    stream->expected_end = offset;
}

bool gt_stream_read_at(const gt_stream *plain, uint64_t offset, void *out, size_t len, size_t *got,
                       gt_error *error)
{
    *got = 0;
    if (!gt_stream_seekable(plain))
        return gt_fail(error, "%s cannot be read in several places", gt_stream_path(plain));
    gt_raw_input there;
    gt_raw_input_share(&there, &plain->stored, offset);
    return gt_raw_input_read(&there, out, len, got, error);
}

void gt_stream_finish(gt_stream *stream)
{
    if (stream->ahead) readahead_free(stream->ahead);
    gt_free(stream->buffer);
    stream->ahead = NULL;
    stream->buffer = NULL;
    stream->capacity = stream->peeked_len = 0;
    stream->peeked = NULL;
    stream->holds_block = false;
    stream->ended = true;
}

void gt_stream_close(gt_stream *stream)
{
    if (!stream) return;
    gt_guard_remove(stream);
    gt_stream_finish(stream);
    gt_raw_input_close(&stream->stored);
    gt_free_all(stream->path, stream);
}

static void write_pad(uint8_t *end)
{
    memset(end, 0, GT_STREAM_PAD);
    end[0] = end[1] = '"';
}

static void release_block(gt_stream *stream)
{
    if (stream->holds_block) readahead_release(stream->ahead);
    stream->holds_block = false;
}

/* Puts the kept bytes at the front of the one buffer, with room for `room` more after them. They may already
 * be in it. */
static void keep_in_buffer(gt_stream *stream, const uint8_t *keep, size_t keep_len, size_t room)
{
    size_t need = keep_len + room + GT_STREAM_PAD;
    bool inside = keep_len && !stream->holds_block;
    size_t at = inside ? (size_t)(keep - stream->buffer) : 0;
    if (need > stream->capacity) {
        stream->capacity = need + TAIL_ROOM;
        stream->buffer = gt_realloc(stream->buffer, stream->capacity);
    }
    if (keep_len) memmove(stream->buffer, inside ? stream->buffer + at : keep, keep_len);
    if (stream->capacity / 8 > need) { /* the huge record is done */
        stream->capacity = need + TAIL_ROOM;
        stream->buffer = gt_realloc(stream->buffer, stream->capacity);
    }
}

/* Copies blocks after the kept bytes in the one buffer until there are `want` bytes. */
static bool gather_blocks(gt_stream *stream, uint8_t *out, size_t want, size_t *got, gt_error *error)
{
    for (*got = 0; *got < want;) {
        uint8_t *block;
        size_t len;
        if (!readahead_next(stream->ahead, &block, &len, error)) return false;
        if (!len) break;
        memcpy(out + *got, block, len);
        readahead_release(stream->ahead);
        *got += len;
    }
    return true;
}

/* How many bytes to read after `keep_len` kept ones, which may be the beginning of a huge record. */
static size_t bytes_to_read(const gt_stream *stream, size_t keep_len)
{
    size_t block = stream->block;
    uint64_t at = stream->stored.offset, end = stream->expected_end;
    if (stream->ended) return 0;
    if (end && at + block > end)
        block = at < end ? (size_t)(end - at) : SHORT_BLOCK < block ? SHORT_BLOCK : block;
    return keep_len > block ? keep_len : block;
}

static bool next_in_buffer(gt_stream *stream, const uint8_t *keep, size_t keep_len, const uint8_t **text,
                           size_t *len, gt_error *error)
{
    size_t want = bytes_to_read(stream, keep_len), got = 0;
    size_t room = !stream->ended && want < stream->block ? stream->block : want;
    keep_in_buffer(stream, keep, keep_len, stream->ahead && want ? room + stream->block : room);
    release_block(stream);
    uint8_t *out = stream->buffer + keep_len;
    bool read = !want || (stream->ahead ? gather_blocks(stream, out, want, &got, error)
                                        : gt_raw_input_read(&stream->stored, out, want, &got, error));
    if (!read) return false;
    if (got < want) stream->ended = true;
    write_pad(out + got);
    *text = stream->buffer;
    *len = keep_len + got;
    return true;
}

bool gt_stream_next(gt_stream *stream, const uint8_t *keep, size_t keep_len, const uint8_t **text,
                    size_t *len, gt_error *error)
{
    if (stream->peeked) {
        *text = stream->peeked;
        *len = stream->peeked_len;
        stream->peeked = NULL;
        if (stream->ahead && !stream->is_peeking) readahead_begin(stream->ahead);
        return true;
    }
    if (!stream->ahead || stream->ended || keep_len > stream->headroom)
        return next_in_buffer(stream, keep, keep_len, text, len, error);

    uint8_t *block;
    size_t block_len;
    if (!readahead_next(stream->ahead, &block, &block_len, error)) return false;
    if (!stream->is_peeking) readahead_begin(stream->ahead);
    if (!block_len) {
        stream->ended = true;
        return next_in_buffer(stream, keep, keep_len, text, len, error);
    }
    if (keep_len) memcpy(block - keep_len, keep, keep_len);
    release_block(stream);
    stream->holds_block = true;
    gt_free(stream->buffer); /* of a huge record, if there was one */
    stream->buffer = NULL;
    stream->capacity = 0;
    write_pad(block + block_len);
    *text = block - keep_len;
    *len = keep_len + block_len;
    return true;
}

bool gt_stream_read_all(gt_stream *stream, gt_buffer *text, gt_error *error)
{
    const uint8_t *block;
    size_t len;
    do {
        if (!gt_stream_next(stream, NULL, 0, &block, &len, error)) return false;
        gt_buffer_add(text, block, len);
        gt_progress_add(len, 0);
        if (stream->ahead && text->len > GT_STREAM_HELD_BYTES &&
            text->len / GT_STREAM_HELD_RATIO > gt_stream_consumed(stream))
            return gt_fail(error, "inflates to more than %d MiB and %d times its size",
                           GT_STREAM_HELD_BYTES >> 20, GT_STREAM_HELD_RATIO);
    } while (len);
    return true;
}

bool gt_stream_peek(gt_stream *stream, const uint8_t **text, size_t *len, gt_error *error)
{
    stream->is_peeking = true;
    bool found = gt_stream_next(stream, NULL, 0, text, len, error);
    stream->is_peeking = false;
    if (!found) return false;
    stream->peeked = *text;
    stream->peeked_len = *len;
    return true;
}

const char *gt_stream_path(const gt_stream *stream)
{
    return stream->stored.path;
}

gt_compression gt_stream_compression(const gt_stream *stream)
{
    return stream->compression;
}

bool gt_stream_seekable(const gt_stream *stream)
{
    return stream->compression == GT_PLAIN && stream->stored.regular;
}

uint64_t gt_stream_size(const gt_stream *stream)
{
    return stream->stored.size;
}

uint64_t gt_stream_consumed(const gt_stream *stream)
{
    return atomic_load_explicit(&stream->stored.consumed, memory_order_relaxed);
}

const char *gt_stream_damage(const gt_stream *stream)
{
    return stream->ahead && stream->ended ? readahead_damage(stream->ahead) : NULL;
}
