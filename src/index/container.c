/* The index file: layout, reading, checking and writing.
 *
 * Nothing of a file that has a name is mapped: whoever may write to it could truncate it, which ends a
 * program that looks at the mapping. The head and the tables of records are read when the file is opened, the
 * sections of a record when they are asked for, in the same pass over the bytes as their checksums. */
#include "index/container.h"
#include "base/guard.h"
#include "base/team.h"
#include "index/build.h"
#include "index/checksum.h"
#include "os/own.h"
#include "os/paths.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

/* ---- layout ---- */

enum { BYTE_ORDER_MARK = 0x01020304, ALIGNMENT = 64, RECORDS_START = 8192 };
#define RECORD_MAGIC "GTRECORD"
/* File systems store times in steps of up to two seconds. Fuzz targets, which do not wait, are built with a
 * negative value. */
#ifndef GT_INDEX_SETTLED_NS
#define GT_INDEX_SETTLED_NS INT64_C(2000000000)
#endif

typedef struct file_head {
    char magic[8];
    uint32_t byte_order, format;
    uint64_t version; /* of an index: the build of the program */
    uint32_t kind, settled;
    gt_trace_identity trace;
    char trace_path[GT_INDEX_PATH_MAX];
    uint64_t checksum; /* of all before it */
} file_head;
_Static_assert(sizeof(file_head) <= RECORDS_START, "the head must fit");

typedef struct record_head {
    char magic[8];
    uint64_t bytes;                    /* of the record with its padding: a multiple of ALIGNMENT */
    uint64_t checksum;                 /* of the rest of this head, the key and the sections */
    uint32_t section_count, key_bytes; /* the key is NUL-terminated and padded to 8 bytes */
} record_head;

typedef struct section {
    char name[GT_IMAGE_NAME_MAX];
    uint64_t start, bytes; /* from the begin of the record */
    uint64_t checksum;
} section;

enum { SECTIONS_MAX = 4096 };

typedef struct record_place {
    uint64_t offset;   /* in the file */
    record_head *head; /* with key and table of sections; owned */
    uint8_t *sections; /* what follows these, from offset head_space(head) on; NULL: not read yet; owned */
} record_place;

struct gt_index_file {
    char *path;
    int descriptor;
    uint64_t size;
    file_head head;
    record_place *records;
    size_t count, capacity;
    bool ends_clean;         /* the last record ends where the file does */
    _Atomic unsigned holds;  /* in addition to the one of who opened it */
    pthread_mutex_t keeping; /* of sections */
};

/* An index, unless the caller says otherwise. Images in it are tied to the build. */
static gt_index_form form_or_index(const gt_index_form *form)
{
    if (form) return *form;
    return (gt_index_form){GT_INDEX_MAGIC, GT_INDEX_FORMAT, gt_build_number(), "index"};
}

static uint64_t aligned(uint64_t size)
{
    return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* ---- opening ---- */

static gt_index_state check_head(const gt_index_form *form, const file_head *head, uint64_t size)
{
    if (size < sizeof head->magic || memcmp(head->magic, form->magic, sizeof head->magic) != 0)
        return GT_INDEX_NO_INDEX;
    if (size < offsetof(file_head, kind)) return GT_INDEX_DAMAGED;
    if (head->byte_order != BYTE_ORDER_MARK || head->format != form->format ||
        head->version != form->version || !form->version)
        return GT_INDEX_FOREIGN;
    if (size < RECORDS_START || head->checksum != gt_checksum(head, offsetof(file_head, checksum)) ||
        !memchr(head->trace_path, 0, sizeof head->trace_path))
        return GT_INDEX_DAMAGED;
    return GT_INDEX_SOUND;
}

static const section *sections_of(const record_head *record)
{
    return (const section *)(const void *)((const uint8_t *)record + sizeof *record + record->key_bytes);
}

/* Where the table of sections ends, and the first section's data may begin. */
static uint64_t tables_end(const record_head *record)
{
    return sizeof *record + record->key_bytes + (uint64_t)record->section_count * sizeof(section);
}

static uint64_t head_sum(const record_head *record)
{
    size_t from = offsetof(record_head, section_count);
    return gt_checksum((const uint8_t *)record + from, (size_t)tables_end(record) - from) ^ record->bytes;
}

/* Whether this can be the head of a record, with `left` bytes to the end of the file. */
static bool is_head(const record_head *record, uint64_t left)
{
    return memcmp(record->magic, RECORD_MAGIC, sizeof record->magic) == 0 && record->bytes <= left &&
           record->bytes % ALIGNMENT == 0 && record->key_bytes % 8 == 0 && record->key_bytes &&
           record->key_bytes <= GT_INDEX_KEY_MAX + 8 && record->section_count <= SECTIONS_MAX &&
           tables_end(record) <= record->bytes;
}

/* Whether what follows the head, key and sections, is sound. */
static bool has_sound_tables(const record_head *record)
{
    const char *key = (const char *)(record + 1);
    if (record->checksum != head_sum(record) || key[record->key_bytes - 1]) return false;
    const section *sections = sections_of(record);
    for (size_t i = 0; i < record->section_count; i++)
        if (sections[i].start % ALIGNMENT || sections[i].start < tables_end(record) ||
            sections[i].start > record->bytes || sections[i].bytes > record->bytes - sections[i].start ||
            sections[i].name[GT_IMAGE_NAME_MAX - 1])
            return false;
    return true;
}

/* The head of the record at this place with its key and table of sections; NULL if none is there. */
static record_head *read_record(const gt_index_file *file, uint64_t at)
{
    record_head head;
    if (file->size - at < sizeof head || !gt_read_fully(file->descriptor, &head, sizeof head, at) ||
        !is_head(&head, file->size - at))
        return NULL;
    record_head *record = gt_alloc((size_t)tables_end(&head));
    *record = head;
    size_t rest = (size_t)tables_end(&head) - sizeof head;
    if (gt_read_fully(file->descriptor, record + 1, rest, at + sizeof head) && has_sound_tables(record))
        return record;
    gt_free(record);
    return NULL;
}

static void find_records(gt_index_file *file)
{
    uint64_t at = RECORDS_START;
    while (at < file->size) {
        record_place record = {.offset = at, .head = read_record(file, at)};
        if (!record.head) break;
        GT_PUSH(file->records, file->count, file->capacity, record);
        at += record.head->bytes;
    }
    file->ends_clean = at == file->size;
}

void gt_index_file_close(void *object)
{
    gt_index_file *file = object;
    if (!file || file->holds-- > 0) return;
    gt_guard_remove(file);
    if (file->descriptor >= 0) close(file->descriptor);
    for (size_t i = 0; i < file->count; i++) {
        gt_free(file->records[i].head);
        gt_free(file->records[i].sections);
    }
    pthread_mutex_destroy(&file->keeping);
    gt_free(file->path);
    gt_free(file->records);
    gt_free(file);
}

gt_index_file *gt_index_file_hold(gt_index_file *file)
{
    file->holds++;
    return file;
}

/* What gt_guard_add needs: the memory of the call is freed as a whole. */
static void release(void *object)
{
    gt_index_file *file = object;
    if (file->descriptor >= 0) close(file->descriptor);
}

static gt_index_state read_head(gt_index_file *file, const gt_index_form *form)
{
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) return GT_INDEX_MISSING;
    if (!S_ISREG(status.st_mode) || status.st_size <= 0) return GT_INDEX_NO_INDEX;
    file->size = (uint64_t)status.st_size;
    size_t len = file->size < sizeof file->head ? (size_t)file->size : sizeof file->head;
    if (!gt_read_fully(file->descriptor, &file->head, len, 0)) return GT_INDEX_DAMAGED;
    return check_head(form, &file->head, file->size);
}

static gt_index_file *open_file(const gt_index_form *wanted, const char *path, int descriptor,
                                gt_index_state *state)
{
    *state = errno == EPERM || errno == ELOOP ? GT_INDEX_NOT_OURS
             : errno == EINVAL                ? GT_INDEX_NO_INDEX
                                              : GT_INDEX_MISSING;
    if (descriptor < 0) return NULL;
    gt_index_form form = form_or_index(wanted);
    gt_index_file *file = gt_alloc_zero(1, sizeof *file);
    file->descriptor = descriptor;
    pthread_mutex_init(&file->keeping, NULL);
    gt_guard_add(release, file);
    file->path = gt_strdup(path);
    *state = read_head(file, &form);
    if (*state == GT_INDEX_SOUND) {
        find_records(file);
        if (!file->count) *state = GT_INDEX_DAMAGED;
    }
    if (*state == GT_INDEX_SOUND) return file;
    gt_index_file_close(file);
    return NULL;
}

gt_index_file *gt_index_file_open(const gt_index_form *form, const char *path, gt_index_state *state)
{
    return open_file(form, path, gt_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), state);
}

gt_index_file *gt_index_file_open_own(const gt_index_form *form, const char *path, const char *trace,
                                      gt_index_state *state)
{
    return open_file(form, path, gt_own_open(path, O_RDONLY, trace), state);
}

const char *gt_index_file_path(const gt_index_file *file)
{
    return file->path;
}

const char *gt_index_file_trace(const gt_index_file *file)
{
    return file->head.trace_path;
}

const gt_trace_identity *gt_index_file_identity(const gt_index_file *file)
{
    return &file->head.trace;
}

bool gt_index_file_is_settled(const gt_index_file *file)
{
    return file->head.settled == 1;
}

uint32_t gt_index_file_kind(const gt_index_file *file)
{
    return file->head.kind;
}

size_t gt_index_file_records(const gt_index_file *file)
{
    return file->count;
}

/* ---- finding ---- */

static const record_head *record_at(const gt_index_file *file, size_t number)
{
    return file->records[number].head;
}

static const char *key_of(const record_head *record)
{
    return (const char *)(record + 1);
}

const char *gt_index_file_key(const gt_index_file *file, size_t record)
{
    return key_of(record_at(file, record));
}

typedef struct section_reading {
    const gt_index_file *file;
    const record_place *record;
    uint8_t *to;
    _Atomic bool damaged;
} section_reading;

/* Where the sections begin, in the record and in record_place.sections. */
static uint64_t sections_start(const record_head *record)
{
    return aligned(tables_end(record));
}

static void read_section(void *context, size_t index)
{
    section_reading *r = context;
    const section *s = &sections_of(r->record->head)[index];
    uint64_t sum, at = s->start - sections_start(r->record->head);
    if (!gt_checksum_read(r->file->descriptor, r->record->offset + s->start, r->to + at, (size_t)s->bytes,
                          &sum) ||
        sum != s->checksum)
        r->damaged = true;
}

/* The sections of a record, which are read the first time; NULL if they are damaged. Two threads may read
 * them at the same time: what one of them has read stays. */
static const uint8_t *sections_in_memory(gt_index_file *file, record_place *record)
{
    gt_lock(&file->keeping);
    uint8_t *sections = record->sections;
    gt_unlock(&file->keeping);
    if (sections) return sections;
    uint64_t bytes = record->head->bytes - sections_start(record->head);
    section_reading reading = {.file = file, .record = record, .to = gt_alloc((size_t)bytes + 1)};
    gt_parallel_each(record->head->section_count, read_section, &reading);
    gt_lock(&file->keeping);
    if (!reading.damaged && !record->sections) {
        record->sections = reading.to;
        reading.to = NULL;
    }
    sections = reading.damaged ? NULL : record->sections;
    gt_unlock(&file->keeping);
    gt_free(reading.to);
    return sections;
}

bool gt_index_file_find(gt_index_file *file, const char *key, gt_image *image, bool *damaged)
{
    *damaged = false;
    size_t number = file->count;
    while (number > 0 && strcmp(key_of(record_at(file, number - 1)), key) != 0) number--;
    if (!number) return false;
    record_place *record = &file->records[number - 1];
    const uint8_t *sections = sections_in_memory(file, record);
    *damaged = !sections;
    if (*damaged) return false;
    for (size_t i = 0; i < record->head->section_count; i++) {
        const section *s = &sections_of(record->head)[i];
        gt_image_part part = {.bytes = sections + (s->start - sections_start(record->head)),
                              .len = (size_t)s->bytes};
        memcpy(part.name, s->name, sizeof part.name);
        GT_PUSH(image->parts, image->count, image->capacity, part);
    }
    return true;
}

/* ---- writing a record ---- */

static size_t key_space(const char *key)
{
    return (strlen(key) / 8 + 1) * 8;
}

static uint64_t tables_space(const char *key, const gt_image *image)
{
    return aligned(sizeof(record_head) + key_space(key) + image->count * sizeof(section));
}

static uint64_t record_space(const char *key, const gt_image *image)
{
    uint64_t bytes = tables_space(key, image);
    for (size_t i = 0; i < image->count; i++) bytes += aligned(image->parts[i].len);
    return bytes;
}

typedef struct filling {
    uint8_t *record;
    section *sections;
    const gt_image *image;
} filling;

static void fill_section(void *context, size_t index)
{
    filling *f = context;
    const gt_image_part *part = &f->image->parts[index];
    section *s = &f->sections[index];
    uint8_t *out = f->record + s->start, *at = out;
    for (size_t i = 0; i < part->piece_count; i++) {
        if (part->pieces[i].len) memcpy(at, part->pieces[i].bytes, part->pieces[i].len);
        at += part->pieces[i].len;
    }
    if (!part->piece_count && part->len) memcpy(out, part->bytes, part->len);
    s->checksum = gt_checksum(out, part->len);
}

/* Writes a record to memory of record_space() zero bytes. */
static void fill_record(uint8_t *out, const char *key, const gt_image *image)
{
    record_head *record = (record_head *)(void *)out;
    memcpy(record->magic, RECORD_MAGIC, sizeof record->magic);
    record->bytes = record_space(key, image);
    record->section_count = (uint32_t)image->count;
    record->key_bytes = (uint32_t)key_space(key);
    memcpy(record + 1, key, strlen(key));
    filling f = {.record = out,
                 .sections = (section *)(void *)(out + sizeof *record + record->key_bytes),
                 .image = image};
    uint64_t start = tables_space(key, image);
    for (size_t i = 0; i < image->count; i++) {
        memcpy(f.sections[i].name, image->parts[i].name, GT_IMAGE_NAME_MAX);
        f.sections[i].start = start;
        f.sections[i].bytes = image->parts[i].len;
        start += aligned(image->parts[i].len);
    }
    gt_parallel_each(image->count, fill_section, &f);
    record->checksum = head_sum(record);
}

bool gt_index_file_append(const gt_index_file *file, const char *key, const gt_image *image)
{
    struct stat status;
    if (!file->ends_clean || strlen(key) > GT_INDEX_KEY_MAX || image->count > SECTIONS_MAX) return false;
    int descriptor = gt_open(file->path, O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return false;
    gt_guard_add(gt_close_descriptor, gt_descriptor(descriptor));
    size_t bytes = (size_t)record_space(key, image);
    uint8_t *record = gt_alloc_zero(1, bytes);
    fill_record(record, key, image);
    struct stat opened; /* another process may have replaced the file by that of a newer trace */
    bool same = fstat(descriptor, &status) == 0 && fstat(file->descriptor, &opened) == 0 &&
                status.st_dev == opened.st_dev && status.st_ino == opened.st_ino &&
                status.st_size % ALIGNMENT == 0;
    bool written = same && write(descriptor, record, bytes) == (ssize_t)bytes;
    gt_free(record);
    gt_guard_remove(gt_descriptor(descriptor));
    return close(descriptor) == 0 && written;
}

/* ---- writing a file ---- */

/* A file that has no name yet, where the system can make one; otherwise it has a temporary name, which is
 * removed if the file is not finished. */
typedef struct unnamed {
    int descriptor;
    char *path; /* the temporary name; NULL: none */
    uint8_t *bytes;
    size_t size;
    const char *what; /* "index" */
} unnamed;

static void abandon(void *object)
{
    unnamed *file = object;
    if (file->bytes) munmap(file->bytes, file->size);
    if (file->descriptor >= 0) close(file->descriptor);
    if (file->path) unlink(file->path);
}

static char *temporary_name(const char *path)
{
    char number[GT_OWN_NAME];
    gt_own_random_name(number);
    const char *name = gt_path_name(path);
    return gt_format("%.*s.%.200s.tmp-%ld-%s", (int)(name - path), path, name, (long)getpid(), number);
}

static bool create_unnamed(unnamed *file, const char *path, gt_error *error)
{
    char *folder = gt_path_folder(path);
#ifdef O_TMPFILE
    file->descriptor = gt_open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
#endif
    gt_free(folder);
    if (file->descriptor < 0) {
        file->path = temporary_name(path);
        file->descriptor = gt_open(file->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    }
    if (file->descriptor >= 0) return true;
    int reason = errno;
    gt_free(file->path);
    file->path = NULL;
    return gt_fail(error, "%s: cannot create the %s: %s", path, file->what, strerror(reason));
}

/* Reserves the space before it is mapped: a full disk is an error here, and not a signal later. */
static bool map_unnamed(unnamed *file, const char *path, uint64_t size, gt_error *error)
{
    int reason = size > (uint64_t)SIZE_MAX / 2 ? EFBIG : posix_fallocate(file->descriptor, 0, (off_t)size);
    if (!reason) {
        void *bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor, 0);
        if (bytes == MAP_FAILED) {
            reason = errno;
        } else {
            file->bytes = bytes;
            file->size = (size_t)size;
        }
    }
    return !reason || gt_fail(error, "%s: cannot write the %s: %s", path, file->what, strerror(reason));
}

/* Gives the finished file its name. A file cannot be linked over another one, so it gets a temporary name for
 * a moment. */
static bool name_file(unnamed *file, const char *path, gt_error *error)
{
    char link[64];
    munmap(file->bytes, file->size);
    file->bytes = NULL;
    if (!file->path) {
        char *name = temporary_name(path);
        snprintf(link, sizeof link, "/proc/self/fd/%d", file->descriptor);
        if (linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW) != 0) {
            int reason = errno;
            gt_free(name);
            return gt_fail(error, "%s: cannot name the %s: %s", path, file->what, strerror(reason));
        }
        file->path = name;
    }
    if (rename(file->path, path) != 0)
        return gt_fail(error, "%s: cannot rename the %s: %s", path, file->what, strerror(errno));
    gt_free(file->path);
    file->path = NULL;
    return true;
}

static void fill_head(uint8_t *out, const gt_index_new *new, int descriptor)
{
    struct stat status;
    gt_index_form form = form_or_index(new->form);
    file_head *head = (file_head *)(void *)out;
    memcpy(head->magic, form.magic, sizeof head->magic);
    head->byte_order = BYTE_ORDER_MARK;
    head->format = form.format;
    head->version = form.version;
    head->kind = new->kind;
    head->trace = new->identity;
    /* By the clock of the file system, which also dates the trace. */
    int64_t now = 0;
    if (fstat(descriptor, &status) == 0)
        now = (int64_t)status.st_ctim.tv_sec * 1000000000 + status.st_ctim.tv_nsec;
    head->settled = new->identity.changed_ns < now - GT_INDEX_SETTLED_NS;
    snprintf(head->trace_path, sizeof head->trace_path, "%s", new->trace_path);
    head->checksum = gt_checksum(head, offsetof(file_head, checksum));
}

void gt_index_file_refresh(const gt_index_file *file, const gt_trace_identity *identity)
{
    struct timespec now;
    file_head head = file->head;
    head.trace = *identity;
    clock_gettime(CLOCK_REALTIME, &now);
    head.settled = identity->changed_ns < (int64_t)now.tv_sec * 1000000000 - GT_INDEX_SETTLED_NS;
    if (!head.settled) return;
    head.checksum = gt_checksum(&head, offsetof(file_head, checksum));
    int descriptor = gt_open(file->path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat status, opened;
    /* Whoever reads half of it sees a wrong checksum. */
    if (fstat(descriptor, &status) == 0 && fstat(file->descriptor, &opened) == 0 &&
        status.st_dev == opened.st_dev && status.st_ino == opened.st_ino)
        (void)!pwrite(descriptor, &head, sizeof head, 0);
    close(descriptor);
}

/* What becomes of a record of the file before. */
typedef struct selection {
    const gt_index_file *old; /* NULL: there is none */
    const char *dropped, *key;
} selection;

static bool is_kept(const selection *from, size_t number)
{
    const char *key = key_of(record_at(from->old, number));
    return strcmp(key, from->key) != 0 &&
           (!from->dropped || strncmp(key, from->dropped, strlen(from->dropped)) != 0);
}

/* False if the old file cannot be read. */
static bool fill_file(const unnamed *file, const gt_index_new *head, const selection *from,
                      const gt_image *image)
{
    const gt_index_file *old = from->old;
    uint8_t *at = file->bytes + RECORDS_START;
    fill_head(file->bytes, head, file->descriptor);
    for (size_t i = 0; old && i < old->count; i++) {
        const record_place *record = &old->records[i];
        if (!is_kept(from, i)) continue;
        if (!gt_read_fully(old->descriptor, at, (size_t)record->head->bytes, record->offset)) return false;
        at += record->head->bytes;
    }
    fill_record(at, from->key, image);
    return true;
}

bool gt_index_file_create(const char *path, const gt_index_new *head, const gt_index_file *old,
                          const char *dropped, const char *key, const gt_image *image, gt_error *error)
{
    selection from = {old, dropped, key};
    gt_index_form form = form_or_index(head->form);
    if (!form.version) return gt_fail(error, "%s: this build of the program has no build id", path);
    if (strlen(head->trace_path) >= GT_INDEX_PATH_MAX || strlen(key) > GT_INDEX_KEY_MAX)
        return gt_fail(error, "%s: the name of the trace or of what is kept is too long", path);
    unnamed file = {.descriptor = -1, .what = form.what};
    uint64_t size = RECORDS_START + record_space(key, image);
    for (size_t i = 0; old && i < old->count; i++)
        if (is_kept(&from, i)) size += record_at(old, i)->bytes;
    gt_guard_add(abandon, &file);
    bool done = create_unnamed(&file, path, error) && map_unnamed(&file, path, size, error);
    if (done) {
        done = fill_file(&file, head, &from, image)
                   ? name_file(&file, path, error)
                   : gt_fail(error, "%s: changes while it is read", gt_index_file_path(old));
    }
    gt_guard_remove(&file);
    abandon(&file);
    gt_free(file.path);
    return done;
}
