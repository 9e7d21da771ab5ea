/* Images: a list of named arrays. */
#include "base/image.h"
#include "base/memory.h"

void gt_image_free(gt_image *image)
{
    for (size_t i = 0; i < image->count; i++) {
        gt_free_all(image->parts[i].pieces, image->parts[i].owned);
    }
    gt_free(image->parts);
    *image = (gt_image){0};
}

static gt_image_part *add_part(gt_image *image, const char *owner, const char *name)
{
    gt_image_part part = {.len = 0};
    snprintf(part.name, sizeof part.name, "%s/%s", owner, name);
    GT_PUSH(image->parts, image->count, image->capacity, part);
    return &image->parts[image->count - 1];
}

void gt_image_add(gt_image *image, const char *owner, const char *name, const void *bytes, size_t len)
{
    gt_image_part *part = add_part(image, owner, name);
    part->bytes = bytes;
    part->len = len;
}

void gt_image_give(gt_image *image, const char *owner, const char *name, void *bytes, size_t len)
{
    gt_image_add(image, owner, name, bytes, len);
    image->parts[image->count - 1].owned = bytes;
}

void gt_image_give_pieces(gt_image *image, const char *owner, const char *name, gt_str *pieces, size_t count)
{
    gt_image_part *part = add_part(image, owner, name);
    part->pieces = pieces;
    part->piece_count = count;
    for (size_t i = 0; i < count; i++) part->len += pieces[i].len;
}

void gt_image_add_numbers(gt_image *image, const char *owner, const char *name, const int64_t *numbers,
                          size_t count)
{
    int64_t *copy = gt_alloc(count * sizeof *copy);
    memcpy(copy, numbers, count * sizeof *copy);
    gt_image_give(image, owner, name, copy, count * sizeof *copy);
}

void gt_image_add_text(gt_image *image, const char *owner, const char *name, const char *text)
{
    if (text) gt_image_give(image, owner, name, gt_strdup(text), strlen(text));
}

const void *gt_image_get(const gt_image *image, const char *owner, const char *name, size_t item_size,
                         size_t *count)
{
    char wanted[GT_IMAGE_NAME_MAX];
    snprintf(wanted, sizeof wanted, "%s/%s", owner, name);
    for (size_t i = 0; i < image->count; i++) {
        const gt_image_part *part = &image->parts[i];
        if (strcmp(part->name, wanted) != 0 || part->piece_count) continue;
        *count = part->len / item_size;
        if (part->len % item_size) return NULL;
        return part->len ? part->bytes : "";
    }
    return NULL;
}

const void *gt_image_get_all(const gt_image *image, const char *owner, const char *name, size_t item_size,
                             size_t count)
{
    size_t found;
    const void *bytes = gt_image_get(image, owner, name, item_size, &found);
    return bytes && found == count ? bytes : NULL;
}

bool gt_image_get_text(const gt_image *image, const char *owner, const char *name, char **text)
{
    size_t len = 0;
    const char *bytes = gt_image_get(image, owner, name, 1, &len);
    *text = NULL;
    if (!bytes) return true;
    if (memchr(bytes, 0, len)) return false;
    *text = gt_alloc(len + 1);
    memcpy(*text, bytes, len);
    (*text)[len] = 0;
    return true;
}

/* ---- strings ---- */

/* Strings as one text with a NUL after each, and their lengths. The padding lets loops read a few bytes after
 * the last one. */
enum { STRINGS_PADDING = 256 };

void gt_strings_save(const gt_interner *strings, gt_image *image)
{
    static const char padding[STRINGS_PADDING];
    uint32_t count = gt_interner_count(strings);
    uint32_t *lengths = gt_alloc(count * sizeof *lengths);
    gt_str *pieces = gt_alloc((count + 1) * sizeof *pieces);
    for (uint32_t id = 0; id < count; id++) {
        gt_str text = gt_interner_get(strings, id);
        lengths[id] = (uint32_t)text.len;
        pieces[id] = (gt_str){text.bytes, text.len + 1};
    }
    pieces[count] = (gt_str){padding, sizeof padding};
    gt_image_give(image, "strings", "lengths", lengths, count * sizeof *lengths);
    gt_image_give_pieces(image, "strings", "texts", pieces, count + 1);
}

gt_interner *gt_strings_load(const gt_image *image)
{
    size_t count = 0, bytes = 0, at = 0;
    const uint32_t *lengths = gt_image_get(image, "strings", "lengths", sizeof *lengths, &count);
    const char *texts = gt_image_get(image, "strings", "texts", 1, &bytes);
    if (!lengths || !texts || count < GT_STR_EMPTY + 1 || count > UINT32_MAX || bytes < STRINGS_PADDING)
        return NULL;
    gt_interner *strings = gt_interner_new(); /* has the first two */
    bytes -= STRINGS_PADDING;
    bool sound = true;
    for (uint32_t id = 0; sound && id < count; id++) {
        sound = lengths[id] < bytes - at && texts[at + lengths[id]] == 0;
        if (!sound) break;
        if (id <= GT_STR_EMPTY)
            sound = lengths[id] == 0;
        else
            sound = gt_interner_add_borrowed(strings, texts + at, lengths[id]) == id;
        at += (size_t)lengths[id] + 1;
    }
    if (sound && at == bytes) return strings;
    gt_interner_free(strings);
    return NULL;
}
