/* The work on many files when results are kept in partial files (shared_files.c), for gt_files_work. */
#pragma once

#include "input/files.h"

/* Whether to use gt_parts_work: only commands of the command line that can share their work do
 * (gt_parts_allow), and only for work with a key. */
bool gt_parts_are_used(const gt_file_work *files);
/* Like gt_files_work, without its progress line. */
size_t gt_parts_work(const gt_file_work *files, const gt_file_sizes *sizes);
