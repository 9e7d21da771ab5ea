/* The file layer: plain, gzip and zstd input give the same bytes, complete or in pieces, wherever it is
 * truncated and however much of a block is kept. Compressed data is written by zlib and libzstd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "stream/inflate.h"
#include "stream/stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

typedef struct bytes {
    uint8_t *at;
    size_t len;
} bytes;

/* ---- Making input ---- */

static bytes make_text(size_t len)
{
    bytes text = {malloc(len + 64), len};
    uint32_t r = 12345;
    for (size_t i = 0; i < len;) {
        r = r * 1664525 + 1013904223;
        i +=
            (size_t)snprintf((char *)text.at + i, 64, "{\"ts\": %u, \"name\": \"kernel_%u\"},\n", r, r >> 28);
    }
    return text;
}

static void append(bytes *to, const void *more, size_t len)
{
    to->at = realloc(to->at, to->len + len + 1);
    if (len) memcpy(to->at + to->len, more, len);
    to->len += len;
}

static bytes gzip_with(bytes text, gz_header *header)
{
    bytes out = {malloc(text.len + 1000), 0};
    z_stream z = {.next_in = text.at, .avail_in = (uInt)text.len, .next_out = out.at};
    z.avail_out = (uInt)(text.len + 1000);
    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (header) assert_int_equal(deflateSetHeader(&z, header), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    out.len = z.total_out;
    deflateEnd(&z);
    return out;
}

static bytes gzip(bytes text)
{
    return gzip_with(text, NULL);
}

static bytes zstd(bytes text)
{
    size_t room = ZSTD_compressBound(text.len);
    bytes out = {malloc(room), 0};
    ZSTD_CCtx *context = ZSTD_createCCtx();
    ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    out.len = ZSTD_compress2(context, out.at, room, text.at, text.len);
    assert_false(ZSTD_isError(out.len));
    ZSTD_freeCCtx(context);
    return out;
}

static char folder[] = "/tmp/gputally-test-stream-XXXXXX";

static const char *write_file(bytes data)
{
    static char path[sizeof folder + 16];
    snprintf(path, sizeof path, "%s/input", folder);
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(data.at, 1, data.len, file), data.len);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* ---- Reading it all ---- */

typedef struct reading {
    bytes text;
    bool failed;
    char damage[100]; /* "" for none */
    gt_error error;
} reading;

/* How many bytes of each block are kept: the n-th asks for keep(n, len). */
typedef size_t keep_rule(unsigned n, size_t len);

static size_t keep_nothing(unsigned n, size_t len)
{
    return (void)n, (void)len, 0;
}
static size_t keep_all(unsigned n, size_t len)
{
    return (void)n, len;
}
static size_t keep_some(unsigned n, size_t len)
{
    return n % 5 == 0 ? 0 : n * 37 % (len + 1);
}
static size_t keep_huge_then_little(unsigned n, size_t len)
{
    return n % 6 < 4 ? len : len < 10 ? len : 10;
}

static void check_pad(const uint8_t *end)
{
    assert_int_equal(end[0], '"');
    assert_int_equal(end[1], '"');
    for (int i = 2; i < GT_STREAM_PAD; i++) assert_int_equal(end[i], 0);
}

/* The data is assembled from what each block adds to the kept bytes, which are compared again. */
static reading read_all(gt_stream *stream, keep_rule *rule)
{
    reading r = {0};
    const uint8_t *text = NULL;
    size_t len = 0, keep = 0;
    uint8_t *kept = NULL;
    for (unsigned n = 0;; n++) {
        keep = rule(n, len);
        kept = realloc(kept, keep + 1);
        if (keep) memcpy(kept, text + len - keep, keep);
        if (!gt_stream_next(stream, text ? text + len - keep : NULL, keep, &text, &len, &r.error)) {
            r.failed = true;
            break;
        }
        assert_true(len >= keep);
        if (keep) assert_memory_equal(text, kept, keep);
        check_pad(text + len);
        if (len == keep) break;
        append(&r.text, text + keep, len - keep);
    }
    if (!r.failed) { /* reading past the end gives the end again */
        assert_true(gt_stream_next(stream, text, len, &text, &len, &r.error));
        assert_int_equal(len, keep);
        check_pad(text + len);
    }
    const char *damage = gt_stream_damage(stream);
    snprintf(r.damage, sizeof r.damage, "%s", damage && !r.failed ? damage : "");
    free(kept);
    return r;
}

static reading read_memory(bytes data, size_t block, keep_rule *rule)
{
    gt_error error;
    gt_stream *stream = gt_stream_memory(data.at, data.len, block, &error);
    assert_non_null(stream);
    reading r = read_all(stream, rule);
    gt_stream_close(stream);
    return r;
}

static void assert_text(reading *r, bytes text, const char *damage)
{
    if (r->failed) fail_msg("%s", r->error.text);
    assert_int_equal(r->text.len, text.len);
    if (text.len) assert_memory_equal(r->text.at, text.at, text.len);
    assert_string_equal(r->damage, damage);
    free(r->text.at);
}

static void check_memory(bytes data, size_t block, keep_rule *rule, bytes text, const char *damage)
{
    reading r = read_memory(data, block, rule);
    assert_text(&r, text, damage);
}

static void assert_fails(bytes data, const char *message)
{
    reading r = read_memory(data, 0, keep_nothing);
    assert_true(r.failed);
    assert_string_equal(r.error.text, message);
    free(r.text.at);
}

/* ---- Tests ---- */

static const size_t blocks[] = {1, 2, 7, 100, 4096, 40000, 0};
enum { BLOCKS = sizeof blocks / sizeof *blocks };
static keep_rule *const rules[] = {keep_nothing, keep_all, keep_some, keep_huge_then_little};

static void any_block_size_any_tail(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 5, 300, 5000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        bytes text = make_text(sizes[s]), packed[3] = {text, gzip(text), zstd(text)};
        for (int kind = 0; kind < 3; kind++)
            for (int b = 0; b < BLOCKS; b++)
                for (int rule = 0; rule < 4; rule++)
                    check_memory(packed[kind], blocks[b], rules[rule], text, "");
        for (int kind = 0; kind < 3; kind++) free(packed[kind].at);
    }
}

static void every_tail_length(void **state)
{
    (void)state;
    bytes text = make_text(3000), packed[2] = {text, gzip(text)};
    for (int kind = 0; kind < 2; kind++)
        for (size_t keep = 0; keep <= 1000; keep++) {
            gt_error error;
            const uint8_t *at;
            size_t len;
            gt_stream *stream = gt_stream_memory(packed[kind].at, packed[kind].len, 1000, &error);
            assert_true(gt_stream_next(stream, NULL, 0, &at, &len, &error));
            assert_int_equal(len, 1000);
            assert_true(gt_stream_next(stream, at + len - keep, keep, &at, &len, &error));
            assert_int_equal(len, keep + 1000);
            assert_memory_equal(at, text.at + 1000 - keep, len);
            check_pad(at + len);
            gt_stream_close(stream);
        }
    free(text.at);
    free(packed[1].at);
}

/* Larger than several blocks, with a tail that grows to all of the data and shrinks again. */
static void large_input_in_files(void **state)
{
    (void)state;
    bytes text = make_text(5 * 1000 * 1000), packed[3] = {text, gzip(text), zstd(text)};
    static const gt_compression compressions[3] = {GT_PLAIN, GT_GZIP, GT_ZSTD};
    for (int kind = 0; kind < 3; kind++) {
        const char *path = write_file(packed[kind]);
        for (int rule = 0; rule < 4; rule++) {
            gt_error error;
            gt_stream *stream = gt_stream_open(path, &error);
            assert_non_null(stream);
            assert_string_equal(gt_stream_path(stream), path);
            assert_int_equal(gt_stream_compression(stream), compressions[kind]);
            assert_int_equal(gt_stream_seekable(stream), kind == 0);
            assert_int_equal(gt_stream_size(stream), packed[kind].len);
            assert_int_equal(gt_stream_consumed(stream), 0);
            reading r = read_all(stream, rules[rule]);
            assert_int_equal(gt_stream_consumed(stream), packed[kind].len);
            gt_stream_close(stream);
            assert_text(&r, text, "");
        }
    }
    for (int kind = 0; kind < 3; kind++) free(packed[kind].at);
}

static void ranges_and_moves(void **state)
{
    (void)state;
    bytes text = make_text(2000000);
    gt_error error;
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        gt_stream *whole = in_memory ? gt_stream_memory(text.at, text.len, 0, &error)
                                     : gt_stream_open(write_file(text), &error);
        assert_true(gt_stream_seekable(whole));
        static const size_t begins[] = {0, 1, 4095, 524288, 1999999, 2000000, 3000000};
        gt_stream *moved = gt_stream_range(whole, 77, &error);
        for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
            size_t begin = begins[i] < text.len ? begins[i] : text.len;
            bytes rest = {text.at + begin, text.len - begin};
            gt_stream *range = gt_stream_range(whole, begins[i], &error);
            reading r = read_all(range, keep_some);
            assert_text(&r, rest, "");
            gt_stream_close(range);
            gt_stream_move(moved, begins[i]);
            r = read_all(moved, keep_some);
            assert_text(&r, rest, "");
        }
        gt_stream_close(moved);
        reading r = read_all(whole, keep_some); /* the ranges did not move it */
        assert_text(&r, text, "");
        gt_stream_close(whole);
    }
    bytes packed = gzip(text);
    gt_stream *stream = gt_stream_memory(packed.at, packed.len, 0, &error);
    assert_null(gt_stream_range(stream, 0, &error));
    gt_stream_close(stream);
    free(packed.at);
    free(text.at);
}

static void several_members_and_padding(void **state)
{
    (void)state;
    static const char *const strange[] = {"bytes that are not gzip follow the gzip data",
                                          "bytes that are not zstd follow the zstd data"};
    static const uint8_t zeros[70000], skippable[] = {0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'};
    bytes part[3] = {make_text(1000), make_text(50000), {(uint8_t *)"", 0}};
    for (int kind = 0; kind < 2; kind++) {
        bytes data = {0}, text = {0};
        for (int i = 0; i < 9; i++) {
            bytes packed = kind ? zstd(part[i % 3]) : gzip(part[i % 3]);
            append(&data, packed.at, packed.len);
            append(&text, part[i % 3].at, part[i % 3].len);
            if (i % 2) append(&data, zeros, i * 10);
            if (kind) append(&data, skippable, sizeof skippable);
            free(packed.at);
        }
        for (int b = 3; b < BLOCKS; b++) check_memory(data, blocks[b], keep_some, text, "");
        append(&data, zeros, sizeof zeros);
        check_memory(data, 0, keep_nothing, text, "");
        append(&data, "x", 1);
        check_memory(data, 0, keep_nothing, text, strange[kind]);
        append(&data, "yz and more", 11);
        check_memory(data, 0, keep_nothing, text, strange[kind]);
        free(data.at);
        free(text.at);
    }
    bytes first = zstd(part[0]), data = {0}; /* a file that begins with a frame to be skipped */
    append(&data, skippable, sizeof skippable);
    append(&data, first.at, first.len);
    check_memory(data, 0, keep_nothing, part[0], "");
    free(first.at);
    free(data.at);
    free(part[0].at);
    free(part[1].at);
}

static void gzip_header_fields(void **state)
{
    (void)state;
    bytes text = make_text(500);
    gz_header header = {.extra = (Bytef *)"some extra bytes", .extra_len = 16, .name = (Bytef *)"trace.json"};
    header.comment = (Bytef *)"a comment";
    header.hcrc = 1;
    bytes data = gzip_with(text, &header);
    check_memory(data, 0, keep_nothing, text, "");
    data.at[15] ^= 1; /* in the extra field: the header is 10 + 2 + 16 + 11 + 10 + 2 bytes */
    assert_fails(data, "memory: the gzip data is invalid at byte 51: its header's checksum does not match");
    data.at[3] |= 0x80;
    assert_fails(data, "memory: the gzip data is invalid at byte 10: its header has unknown flags");
    data.at[2] = 7;
    assert_fails(data, "memory: the gzip data is invalid at byte 10: its compression method is not deflate");
    free(data.at);
    free(text.at);
}

/* Truncated input gives the beginning of the data, and more of it the later it is truncated. */
static void truncated_anywhere(void **state)
{
    (void)state;
    bytes text = make_text(2000), head = make_text(300);
    for (int kind = 0; kind < 2; kind++) {
        bytes one = kind ? zstd(head) : gzip(head), two = kind ? zstd(text) : gzip(text), data = {0};
        append(&data, one.at, one.len);
        append(&data, two.at, two.len);
        size_t before = 0;
        for (size_t cut = 4; cut < data.len; cut++) {
            reading r = read_memory((bytes){data.at, cut}, cut % 3 ? 64 : 0, keep_some);
            assert_false(r.failed);
            const char *damage = cut == one.len ? ""
                                 : kind         ? "the zstd data ends early"
                                                : "the gzip data ends early";
            assert_string_equal(r.damage, damage);
            assert_true(r.text.len >= before && r.text.len <= head.len + text.len);
            size_t in_head = r.text.len < head.len ? r.text.len : head.len;
            if (in_head) assert_memory_equal(r.text.at, head.at, in_head);
            if (r.text.len > head.len)
                assert_memory_equal(r.text.at + head.len, text.at, r.text.len - head.len);
            if (cut >= one.len) assert_true(r.text.len >= head.len);
            before = r.text.len;
            free(r.text.at);
        }
        if (kind == 0) assert_int_equal(before, head.len + text.len); /* only the check was missing */
        free(one.at);
        free(two.at);
        free(data.at);
    }
    free(text.at);
    free(head.at);
}

static void invalid_data_is_an_error(void **state)
{
    (void)state;
    char message[200];
    bytes text = make_text(2000000), data = gzip(text);
    data.at[data.len - 8] ^= 1;
    snprintf(message, sizeof message,
             "memory: the gzip data is invalid at byte %zu: the checksum does not match", data.len - 8);
    assert_fails(data, message);
    data.at[data.len - 8] ^= 1;
    data.at[data.len - 4] ^= 1;
    snprintf(message, sizeof message,
             "memory: the gzip data is invalid at byte %zu: the length does not match", data.len - 8);
    assert_fails(data, message);
    data.at[10] |= 6; /* an undefined block type; ISA-L has read 8 bytes then */
    assert_fails(data, gt_inflater_best() == &gt_inflater_own
                           ? "memory: the gzip data is invalid at byte 11: there is no such kind of block"
                           : "memory: the gzip data is invalid at byte 18: a block has an invalid header");
    free(data.at);

    data = zstd(text);
    data.at[data.len - 1] ^= 1; /* the frame's checksum */
    reading r = read_memory(data, 0, keep_some);
    assert_true(r.failed);
    assert_non_null(strstr(r.error.text, "memory: the zstd data is invalid near byte "));
    assert_memory_equal(r.text.at, text.at, r.text.len); /* the data before it was correct */
    free(r.text.at);
    free(data.at);
    free(text.at);
}

static void the_first_bytes_decide_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *data;
        size_t len;
        gt_compression compression;
    } cases[] = {
        {"", 0, GT_PLAIN},
        {"\x1f", 1, GT_PLAIN},
        {"\x1f\x8b", 2, GT_GZIP},
        {"\x28\xb5\x2f", 3, GT_PLAIN},
        {"\x28\xb5\x2f\xfd", 4, GT_ZSTD},
        {"{\"a\": 1}", 8, GT_PLAIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gt_error error;
        gt_stream *stream = gt_stream_memory(cases[i].data, cases[i].len, 0, &error);
        assert_int_equal(gt_stream_compression(stream), cases[i].compression);
        reading r = read_all(stream, keep_nothing);
        bytes text = {(uint8_t *)cases[i].data, cases[i].compression == GT_PLAIN ? cases[i].len : 0};
        static const char *const damage[] = {"", "the gzip data ends early", "the zstd data ends early"};
        assert_text(&r, text, damage[cases[i].compression]);
        gt_stream_close(stream);
    }
}

/* ---- Standard input ---- */

typedef struct pipe_writer {
    bytes data;
    int fd;
    size_t step; /* bytes per write */
} pipe_writer;

static void *write_pipe(void *context)
{
    pipe_writer *w = context;
    for (size_t at = 0; at < w->data.len;) {
        size_t len = w->data.len - at < w->step ? w->data.len - at : w->step;
        ssize_t n = write(w->fd, w->data.at + at, len);
        if (n <= 0) break;
        at += (size_t)n;
    }
    close(w->fd);
    return NULL;
}

static int put_on_stdin(int fd)
{
    int before = dup(STDIN_FILENO);
    dup2(fd, STDIN_FILENO);
    close(fd);
    return before;
}

static void put_back_stdin(int before)
{
    dup2(before, STDIN_FILENO);
    close(before);
}

static void standard_input_pipe(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 3, 5000, 1500000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        bytes text = make_text(sizes[s]), packed[3] = {text, gzip(text), zstd(text)};
        for (int kind = 0; kind < 3; kind++) {
            int ends[2];
            gt_error error;
            assert_int_equal(pipe(ends), 0);
            pipe_writer writer = {packed[kind], ends[1], packed[kind].len < 10000 ? 1 : 30011};
            pthread_t thread;
            assert_int_equal(pthread_create(&thread, NULL, write_pipe, &writer), 0);
            int before = put_on_stdin(ends[0]);
            gt_stream *stream = gt_stream_open("-", &error);
            assert_non_null(stream);
            assert_string_equal(gt_stream_path(stream), "standard input");
            assert_false(gt_stream_seekable(stream));
            assert_int_equal(gt_stream_size(stream), 0);
            reading r = read_all(stream, keep_some);
            assert_int_equal(gt_stream_consumed(stream), packed[kind].len);
            gt_stream_close(stream);
            put_back_stdin(before);
            pthread_join(thread, NULL);
            assert_text(&r, text, "");
        }
        for (int kind = 0; kind < 3; kind++) free(packed[kind].at);
    }
}

/* A file that was already read in part, as a shell leaves it after a first reader. */
static void standard_input_file(void **state)
{
    (void)state;
    bytes text = make_text(3000), rest = {text.at + 100, text.len - 100};
    int fd = open(write_file(text), O_RDONLY);
    lseek(fd, 100, SEEK_SET);
    int before = put_on_stdin(fd);
    gt_error error;
    gt_stream *stream = gt_stream_open("-", &error);
    assert_true(gt_stream_seekable(stream));
    assert_int_equal(gt_stream_size(stream), rest.len);
    gt_stream *range = gt_stream_range(stream, 50, &error);
    reading r = read_all(range, keep_nothing);
    assert_text(&r, (bytes){rest.at + 50, rest.len - 50}, "");
    gt_stream_close(range);
    r = read_all(stream, keep_nothing);
    assert_text(&r, rest, "");
    gt_stream_close(stream);
    put_back_stdin(before);
    free(text.at);
}

/* ---- Looking at the first block ---- */

static nlink_t count_threads(void)
{
    struct stat status;
    assert_int_equal(stat("/proc/self/task", &status), 0);
    return status.st_nlink; /* one per thread, and two */
}

/* Who only wants to know what a file is pays for one block; after that, all bytes come all the same. */
static void peeking_unpacks_nothing_ahead(void **state)
{
    (void)state;
    bytes text = make_text(4000000), packed[2] = {gzip(text), zstd(text)};
    for (int kind = 0; kind < 2; kind++) {
        gt_error error;
        const uint8_t *at;
        size_t len;
        nlink_t before = count_threads();
        gt_stream *stream = gt_stream_memory(packed[kind].at, packed[kind].len, 4096, &error);
        assert_true(gt_stream_peek(stream, &at, &len, &error));
        assert_int_equal(len, 4096);
        assert_int_equal(count_threads(), before);
        reading r = read_all(stream, keep_nothing);
        assert_text(&r, text, "");
        gt_stream_close(stream);
        free(packed[kind].at);
    }
    free(text.at);
}

/* ---- Closing early, and unreadable input ---- */

static void closing_early(void **state)
{
    (void)state;
    bytes text = make_text(4000000), packed[3] = {text, gzip(text), zstd(text)};
    for (int kind = 0; kind < 3; kind++) {
        const char *path = write_file(packed[kind]);
        for (int reads = 0; reads < 4; reads++)
            for (int i = 0; i < 5; i++) {
                gt_error error;
                gt_stream *stream = gt_stream_open(path, &error);
                const uint8_t *at;
                size_t len;
                for (int n = 0; n < reads; n++)
                    assert_true(gt_stream_next(stream, NULL, 0, &at, &len, &error));
                gt_stream_close(stream);
            }
    }
    /* An open pipe without further data. */
    int ends[2];
    gt_error error;
    const uint8_t *at;
    size_t len, half = packed[1].len / 2;
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    assert_int_equal(write(ends[1], packed[1].at, half), half);
    int before = put_on_stdin(ends[0]);
    alarm(60);
    gt_stream *stream = gt_stream_open("-", &error);
    assert_true(gt_stream_next(stream, NULL, 0, &at, &len, &error));
    gt_stream_close(stream);
    alarm(0);
    put_back_stdin(before);
    close(ends[1]);
    for (int kind = 0; kind < 3; kind++) free(packed[kind].at);
    gt_stream_close(NULL);
}

static void cannot_be_opened(void **state)
{
    (void)state;
    char path[200], message[300];
    gt_error error;
    snprintf(path, sizeof path, "%s/missing", folder);
    assert_null(gt_stream_open(path, &error));
    snprintf(message, sizeof message, "cannot open %s: No such file or directory", path);
    assert_string_equal(error.text, message);

    assert_null(gt_stream_open(folder, &error));
    snprintf(message, sizeof message, "%s is a folder, not a file", folder);
    assert_string_equal(error.text, message);

    /* It can be opened, but its first page cannot be read. */
    assert_null(gt_stream_open("/proc/self/mem", &error));
    assert_string_equal(error.text, "cannot read /proc/self/mem: Input/output error");

    if (geteuid() == 0) return; /* root reads everything */
    bytes text = make_text(10);
    const char *unreadable = write_file(text);
    chmod(unreadable, 0);
    assert_null(gt_stream_open(unreadable, &error));
    snprintf(message, sizeof message, "cannot open %s: Permission denied", unreadable);
    assert_string_equal(error.text, message);
    unlink(unreadable);
    free(text.at);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[sizeof folder + 16];
    snprintf(path, sizeof path, "%s/input", folder);
    unlink(path);
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_block_size_any_tail),
        cmocka_unit_test(every_tail_length),
        cmocka_unit_test(large_input_in_files),
        cmocka_unit_test(ranges_and_moves),
        cmocka_unit_test(several_members_and_padding),
        cmocka_unit_test(gzip_header_fields),
        cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(invalid_data_is_an_error),
        cmocka_unit_test(the_first_bytes_decide_the_format),
        cmocka_unit_test(standard_input_pipe),
        cmocka_unit_test(standard_input_file),
        cmocka_unit_test(peeking_unpacks_nothing_ahead),
        cmocka_unit_test(closing_early),
        cmocka_unit_test(cannot_be_opened),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
