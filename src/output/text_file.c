/* Long texts produced by several threads (gt_text_file of file.h).
 *
 * The slots form a ring: the caller puts pieces into them, threads produce and compress the texts, and the
 * caller writes the result of a slot before it reuses it. While the caller waits, it produces texts too, so
 * everything also works if no thread could be started. */
#include "output/file.h"

#include "base/guard.h"
#include "base/threads.h"
#include "os/own.h"

#include <fcntl.h>
#include <libdeflate.h>
#include <unistd.h>
#include <zlib.h>

enum {
    LEVEL = 1,
    THREADS_MAX = 64,
    INPUT_MAX = 1 << 30, /* zlib counts bytes in 32 bits */
    RAW_DEFLATE = -15,   /* for zlib: a window of 2^15 and no header */
    MEMORY_LEVEL = 8,
};

typedef struct slot {
    const gt_text_file_job *job;
    void *piece;
    bool is_made;
    gt_buffer text, packed;
    uint32_t crc;
} slot;

struct gt_text_file {
    gt_file file;
    bool gzip, is_part;
    uint32_t crc;
    uint64_t len;
    uint64_t bytes; /* of a part: written so far */
    uint32_t bytes_crc;
    gt_error error;    /* "": none */
    z_stream deflater; /* of the caller's thread */

    pthread_mutex_t lock; /* for all fields below; a slot belongs to its thread until its text is made */
    pthread_cond_t added, made;
    slot *slots;
    size_t slot_count;
    /* The number of the next piece to add, make and write; piece n is in slot n % slot_count. */
    uint64_t adding, making, writing;
    bool closing;
    pthread_t threads[THREADS_MAX];
    unsigned thread_count;
};

/* ---- compressing ---- */

static void begin_deflater(z_stream *deflater)
{
    *deflater = (z_stream){0};
    if (deflateInit2(deflater, LEVEL, Z_DEFLATED, RAW_DEFLATE, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        gt_raise("out of memory");
}

/* Adds the deflated text to `packed`, up to a byte boundary; `finish` is deflate's flush mode. */
static void deflate_text(z_stream *deflater, gt_str text, int finish, gt_buffer *packed)
{
    do {
        size_t part = text.len < INPUT_MAX ? text.len : INPUT_MAX;
        deflateReset(deflater);
        deflater->next_in = (Bytef *)(uintptr_t)text.bytes;
        deflater->avail_in = (uInt)part;
        size_t room = deflateBound(deflater, part) + 64;
        deflater->next_out = (Bytef *)gt_buffer_reserve(packed, room);
        deflater->avail_out = (uInt)room;
        deflate(deflater, finish);
        packed->len += room - deflater->avail_out;
        text.bytes += part;
        text.len -= part;
    } while (text.len);
}

/* ---- the ring ---- */

static void make_text(const gt_text_file *file, slot *s, z_stream *deflater)
{
    s->text.len = s->packed.len = 0;
    s->job->make(s->piece, &s->text);
    if (!file->gzip || !s->text.len) return;
    gt_str text = {s->text.bytes, s->text.len};
    deflate_text(deflater, text, Z_SYNC_FLUSH, &s->packed);
    s->crc = libdeflate_crc32(0, text.bytes, text.len);
}

/* Produces the next text that no thread has started. Called with the lock held. False if there is none. */
static bool make_next(gt_text_file *file, z_stream *deflater)
{
    if (file->making == file->adding) return false;
    slot *s = &file->slots[file->making++ % file->slot_count];
    pthread_mutex_unlock(&file->lock);
    make_text(file, s, deflater);
    pthread_mutex_lock(&file->lock);
    s->is_made = true;
    pthread_cond_signal(&file->made);
    return true;
}

static void *run_thread(void *context)
{
    gt_text_file *file = context;
    z_stream deflater;
    begin_deflater(&deflater);
    pthread_mutex_lock(&file->lock);
    for (;;) {
        if (make_next(file, &deflater)) continue;
        if (file->closing) break;
        pthread_cond_wait(&file->added, &file->lock);
    }
    pthread_mutex_unlock(&file->lock);
    deflateEnd(&deflater);
    return NULL;
}

static void write_slot(gt_text_file *file, slot *s)
{
    if (!s->job->take(s->piece) || !s->text.len) return;
    const gt_buffer *bytes = file->gzip ? &s->packed : &s->text;
    gt_file_write(&file->file, bytes->bytes, bytes->len);
    if (file->is_part) {
        file->bytes += bytes->len;
        file->bytes_crc = libdeflate_crc32(file->bytes_crc, bytes->bytes, bytes->len);
    }
    if (file->gzip) file->crc = (uint32_t)crc32_combine(file->crc, s->crc, (z_off_t)s->text.len);
    file->len += s->text.len;
}

/* Writes pieces until at most `left` are not written. */
static void write_pieces(gt_text_file *file, uint64_t left)
{
    pthread_mutex_lock(&file->lock);
    while (file->adding - file->writing > left) {
        slot *s = &file->slots[file->writing % file->slot_count];
        while (!s->is_made)
            if (!make_next(file, &file->deflater)) pthread_cond_wait(&file->made, &file->lock);
        pthread_mutex_unlock(&file->lock);
        write_slot(file, s);
        pthread_mutex_lock(&file->lock);
        s->is_made = false;
        file->writing++;
    }
    pthread_mutex_unlock(&file->lock);
}

void gt_text_file_add(gt_text_file *file, const gt_text_file_job *job, void *piece)
{
    write_pieces(file, file->slot_count - 1);
    pthread_mutex_lock(&file->lock);
    slot *s = &file->slots[file->adding++ % file->slot_count];
    s->job = job;
    s->piece = piece;
    pthread_cond_signal(&file->added);
    pthread_mutex_unlock(&file->lock);
}

void gt_text_file_finish_pieces(gt_text_file *file)
{
    write_pieces(file, 0);
}

/* ---- opening and closing ---- */

static gt_text_file *open_file(gt_output *output, const char *path, bool gzip, bool is_part, unsigned threads,
                               gt_error *error)
{
    static const uint8_t gzip_header[] = {0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3}; /* no name, no time, Unix */
    gt_text_file *file = gt_alloc_zero(1, sizeof *file);
    if (!gt_file_open(&file->file, output, path, error)) {
        gt_free(file);
        return NULL;
    }
    file->gzip = gzip;
    file->is_part = is_part;
    if (gzip && !is_part) gt_file_write(&file->file, gzip_header, sizeof gzip_header);
    if (threads > THREADS_MAX) threads = THREADS_MAX;
    file->slot_count = (size_t)threads + 2;
    file->slots = gt_alloc_zero(file->slot_count, sizeof *file->slots);
    begin_deflater(&file->deflater);
    pthread_mutex_init(&file->lock, NULL);
    pthread_cond_init(&file->added, NULL);
    pthread_cond_init(&file->made, NULL);
    while (file->thread_count + 1 < threads &&
           gt_thread_start(&file->threads[file->thread_count], run_thread, file) == 0)
        file->thread_count++;
    return file;
}

gt_text_file *gt_text_file_open(gt_output *output, const char *path, unsigned threads, gt_error *error)
{
    size_t len = strlen(path);
    return open_file(output, path, len >= 3 && strcmp(path + len - 3, ".gz") == 0, false, threads, error);
}

gt_text_file *gt_text_part_open(gt_output *output, const char *path, bool gzip, unsigned threads,
                                gt_error *error)
{
    return open_file(output, path, gzip, true, threads, error);
}

static void add_own_text(void *piece, gt_buffer *text)
{
    gt_buffer *own = piece;
    gt_buffer_add(text, own->bytes, own->len);
}

static bool take_own_text(void *piece)
{
    gt_buffer *own = piece;
    gt_buffer_free(own);
    gt_free(own);
    return true;
}

void gt_text_file_write(gt_text_file *file, gt_str text)
{
    static const gt_text_file_job own_text = {add_own_text, take_own_text};
    gt_buffer *own = gt_alloc_zero(1, sizeof *own);
    gt_buffer_add(own, text.bytes, text.len);
    gt_text_file_add(file, &own_text, own);
}

static void end_gzip(gt_text_file *file)
{
    gt_buffer end = {0};
    deflate_text(&file->deflater, (gt_str){"", 0}, Z_FINISH, &end);
    gt_file_write(&file->file, end.bytes, end.len);
    gt_buffer_free(&end);
    uint32_t trailer[] = {file->crc, (uint32_t)file->len};
    for (size_t i = 0; i < 8; i++) gt_file_put(&file->file, (char)(trailer[i / 4] >> 8 * (i % 4)));
}

bool gt_text_file_close(gt_text_file *file, gt_error *error)
{
    write_pieces(file, 0);
    pthread_mutex_lock(&file->lock);
    file->closing = true;
    pthread_cond_broadcast(&file->added);
    pthread_mutex_unlock(&file->lock);
    for (unsigned i = 0; i < file->thread_count; i++) pthread_join(file->threads[i], NULL);
    if (file->gzip && !file->is_part) end_gzip(file);
    bool closed = gt_file_close(&file->file, error);
    if (closed && file->error.text[0]) {
        *error = file->error;
        closed = false;
    }
    deflateEnd(&file->deflater);
    for (size_t i = 0; i < file->slot_count; i++) {
        gt_buffer_free(&file->slots[i].text);
        gt_buffer_free(&file->slots[i].packed);
    }
    gt_free(file->slots);
    pthread_mutex_destroy(&file->lock);
    pthread_cond_destroy(&file->added);
    pthread_cond_destroy(&file->made);
    gt_free(file);
    return closed;
}

/* ---- parts ---- */

bool gt_text_part_close(gt_text_file *file, gt_text_part *part, gt_error *error)
{
    write_pieces(file, 0);
    *part = (gt_text_part){file->bytes, file->len, file->crc, file->bytes_crc};
    return gt_text_file_close(file, error);
}

static bool copy_part(gt_text_file *file, int descriptor, const gt_text_part *part)
{
    enum { STEP = 1 << 20 };
    char *bytes = gt_alloc(STEP);
    uint64_t copied = 0;
    uint32_t crc = 0;
    ssize_t n;
    while ((n = read(descriptor, bytes, STEP)) > 0 || (n < 0 && errno == EINTR)) {
        if (n < 0) continue;
        gt_file_write(&file->file, bytes, (size_t)n);
        crc = libdeflate_crc32(crc, bytes, (size_t)n);
        copied += (uint64_t)n;
    }
    gt_free(bytes);
    return n == 0 && copied == part->bytes && crc == part->bytes_crc;
}

void gt_text_file_append(gt_text_file *file, const char *path, const gt_text_part *part)
{
    write_pieces(file, 0);
    if (file->error.text[0]) return;
    int descriptor = gt_open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        gt_fail(&file->error, "cannot read %s: %s", path, strerror(errno));
    else if (!copy_part(file, descriptor, part))
        gt_fail(&file->error, "%s: damaged partial; remove it and start again", path);
    if (descriptor >= 0) close(descriptor);
    if (file->gzip) file->crc = (uint32_t)crc32_combine(file->crc, part->text_crc, (z_off_t)part->text_len);
    file->len += part->text_len;
}
