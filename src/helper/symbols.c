/* The functions of the C library that gputally-helper calls, as libraries that it can be linked with
 * (start.c). Compiled once per library: GT_LIBC, GT_LIBDL or GT_LIBM. In glibc before 2.34, dlopen is not in
 * libc.so.6. */
#define GT_SYMBOL(name) __asm__(".globl " #name "\n.type " #name ", %function\n" #name ":\n")

#if defined GT_LIBC
GT_SYMBOL(__errno_location);
GT_SYMBOL(__libc_start_main);
GT_SYMBOL(_exit);
GT_SYMBOL(alarm);
GT_SYMBOL(clock_gettime);
GT_SYMBOL(free);
GT_SYMBOL(getenv);
GT_SYMBOL(malloc);
GT_SYMBOL(memcpy);
GT_SYMBOL(memset);
GT_SYMBOL(ppoll);
GT_SYMBOL(prctl);
GT_SYMBOL(read);
GT_SYMBOL(setenv);
GT_SYMBOL(signal);
GT_SYMBOL(snprintf);
GT_SYMBOL(strcmp);
GT_SYMBOL(strlen);
GT_SYMBOL(strstr);
GT_SYMBOL(tolower);
GT_SYMBOL(write);
#elif defined GT_LIBDL
GT_SYMBOL(dlopen);
GT_SYMBOL(dlsym);
#elif defined GT_LIBM
GT_SYMBOL(round);
#endif
