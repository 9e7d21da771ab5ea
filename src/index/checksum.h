/* Checksums of large arrays and files, computed on all threads.
 *
 * The checksum finds accidents: a truncated, overwritten or otherwise changed file. It is not cryptographic,
 * so it says nothing about a file that somebody made to deceive. It is the same on every machine and for any
 * number of threads, because the bytes are cut into chunks of a fixed size. */
#pragma once

#include "base/base.h"

uint64_t gt_checksum(const void *bytes, size_t len);
/* The checksum of the first `len` bytes of an open file, which is the one of the same bytes in memory. False
 * if it cannot be read or is shorter. */
bool gt_checksum_file(int descriptor, uint64_t len, uint64_t *sum);
/* The same for what is read into memory at the same time, from an offset of the file. */
bool gt_checksum_read(int descriptor, uint64_t offset, void *out, size_t len, uint64_t *sum);
/* Reads all of these bytes; false if it cannot, also because the file is shorter. */
bool gt_read_fully(int descriptor, void *out, size_t len, uint64_t offset);
