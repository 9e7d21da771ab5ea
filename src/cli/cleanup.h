/* Removes unfinished output files when the program ends early: by a signal, or by exit(). */
#ifndef GT_CLI_CLEANUP_H
#define GT_CLI_CLEANUP_H

/* To be called once, at the beginning of main. Handlers are installed when the first output is created, for
 * SIGINT, SIGTERM and SIGHUP, unless the program that started us ignores them or a handler is installed
 * already. SIGXFSZ is ignored from then on: past a file-size limit, writes fail with EFBIG. */
void gt_cleanup_install(void);

#endif
