/* How does gputally-helper run with any glibc since 2.17, though it is built with a newer one?
 *
 * A program that is linked with glibc 2.36 needs at least 2.34, because its start code and functions such as
 * dlopen got new versions then. So it is linked neither with glibc's start code nor with its libraries, but
 * with this _start and with libraries that define only the names of the functions that it calls (symbols.c).
 * Names without version find the oldest version of a function at run time, which every glibc still has. */
#include "helper/helper.h"

int main(int argc, char **argv)
{
    return argc > 2 ? gt_helper_run(argv + 2) : 2;
}

/* __libc_start_main(main, argc, argv, init, fini, rtld_fini, stack_end): there is nothing to initialise. */
#if defined __x86_64__
__asm__(".globl _start\n"
        ".type _start, @function\n"
        "_start:\n"
        "    endbr64\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rdx, %r9\n"
        "    popq %rsi\n"
        "    movq %rsp, %rdx\n"
        "    andq $-16, %rsp\n"
        "    pushq %rax\n"
        "    pushq %rsp\n"
        "    xorl %r8d, %r8d\n"
        "    xorl %ecx, %ecx\n"
        "    leaq main(%rip), %rdi\n"
        "    call *__libc_start_main@GOTPCREL(%rip)\n"
        "    hlt\n");
#elif defined __aarch64__
__asm__(".globl _start\n"
        ".type _start, %function\n"
        "_start:\n"
        "    bti c\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x5, x0\n"
        "    ldr x1, [sp]\n"
        "    add x2, sp, #8\n"
        "    mov x6, sp\n"
        "    adrp x0, main\n"
        "    add x0, x0, :lo12:main\n"
        "    mov x3, #0\n"
        "    mov x4, #0\n"
        "    bl __libc_start_main\n"
        "    brk #0\n");
#endif
