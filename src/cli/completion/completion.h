/* Completion of command lines in bash, zsh and fish.
 *
 * The scripts of the shells (scripts.c) know nothing about commands: for each TAB they run
 *
 *     gputally __complete NUMBER WORD...
 *
 * with all words of the line and the number of the one to complete, from 0, and get what may stand there from
 * the tables of commands and options (complete.c). So they never differ from the program that is called. */
#pragma once

#include "cli/command.h"

/* Prints which files may stand there in the first line ("none", "folders", "files", or "files json csv":
 * those with these endings), and then one line per word: the word, a tab, what it means. `words` are `count`
 * words of the line, of which the one with number `at` is completed; it may be `count`, for a new word. */
void gt_complete(FILE *out, size_t at, char **words, size_t count);

/* The script of a shell; false if there is none. */
bool gt_completion_script(FILE *out, const char *shell);
