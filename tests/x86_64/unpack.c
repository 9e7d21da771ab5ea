/* Decompresses a file through the file layer to standard output, for tests/x86_64/run, which compares the
 * result with gzip's. */
#include "stream/stream.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    gt_error error = {""};
    gt_stream *stream = argc == 2 ? gt_stream_open(argv[1], &error) : NULL;
    const uint8_t *text;
    size_t len = 0;
    while (stream && gt_stream_next(stream, NULL, 0, &text, &len, &error) && len)
        fwrite(text, 1, len, stdout);
    bool whole = stream && !error.text[0] && !gt_stream_damage(stream);
    if (!whole) fprintf(stderr, "unpack: %s\n", error.text);
    if (stream) gt_stream_close(stream);
    return whole ? 0 : 1;
}
