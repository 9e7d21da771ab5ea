/* Shared by the tests that write files: a scratch folder, and reading a file as text. */
#ifndef GT_TEST_OUTPUT_HELP_H
#define GT_TEST_OUTPUT_HELP_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

static char scratch[64];

static inline int make_scratch(void **state)
{
    (void)state;
    strcpy(scratch, "/tmp/gputally-test-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    return system(command);
}

/* A path in the scratch folder; valid until the eighth call after it. */
static inline const char *in_scratch(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

static inline size_t entries(const char *folder)
{
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) count++;
    closedir(dir);
    return count;
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

/* The file's text; the caller frees it. */
static inline char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    char *text = NULL;
    size_t len = 0, room = 0;
    FILE *memory = open_memstream(&text, &room);
    char chunk[4096];
    while ((len = fread(chunk, 1, sizeof chunk, file)) > 0) fwrite(chunk, 1, len, memory);
    fclose(memory);
    fclose(file);
    return text;
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static inline void expect_file(const char *path, const char *expected)
{
    char *text = slurp(path);
    assert_string_equal(text, expected);
    free(text);
}

#endif
