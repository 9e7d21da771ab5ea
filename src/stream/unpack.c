/* The feed of a decompressor: unused bytes move to the front of the buffer, and the rest of it is refilled.
 */
#include "stream/unpack.h"

void gt_feed_begin(gt_feed *feed, gt_raw_input *stored)
{
    *feed = (gt_feed){.stored = stored, .buffer = gt_alloc(GT_FEED_BYTES)};
    feed->next = feed->end = feed->buffer;
}

void gt_feed_end(gt_feed *feed)
{
    gt_free(feed->buffer);
}

size_t gt_feed_len(const gt_feed *feed)
{
    return (size_t)(feed->end - feed->next);
}

uint64_t gt_feed_offset(const gt_feed *feed)
{
    return feed->end_offset - gt_feed_len(feed);
}

bool gt_feed_more(gt_feed *feed, gt_error *error)
{
    size_t left = gt_feed_len(feed), room = GT_FEED_BYTES - left, got;
    memmove(feed->buffer, feed->next, left);
    feed->next = feed->buffer;
    feed->end = feed->buffer + left;
    if (!gt_raw_input_read(feed->stored, feed->buffer + left, room, &got, error)) return false;
    feed->end += got;
    feed->end_offset += got;
    feed->last = got < room;
    return true;
}

bool gt_feed_ensure(gt_feed *feed, size_t need, gt_error *error)
{
    return feed->last || gt_feed_len(feed) >= need || gt_feed_more(feed, error);
}

bool gt_feed_skip_zeros(gt_feed *feed, gt_error *error)
{
    for (;;) {
        while (feed->next < feed->end && *feed->next == 0) feed->next++;
        if (feed->next < feed->end || feed->last) return true;
        if (!gt_feed_more(feed, error)) return false;
    }
}
