/* Hidden files that a program killed while it wrote a report has left: ".NAME.tmp-PID-MACHINE-RANDOM", both
 * hexadecimal; earlier versions had only ".NAME.tmp-PID". They are removed when a file called NAME is written
 * to the same folder again.
 *
 * A file is removed only if its name is exactly of this form, it is an ordinary file of the same user, and no
 * process PID runs. A process that has ended may still be listed, as a zombie, until its parent asks how it
 * ended; if a launcher was killed with it, the parent is process 1, which in containers may never ask.
 * MACHINE stands for this start of the system and the namespace of process numbers: of another machine or
 * container it is unknown which processes run, so their files stay for a day. So do files without MACHINE on
 * a file system that several machines may share. */
#include "output/leftovers.h"
#include "base/guard.h"
#include "index/checksum.h"
#include "os/own.h"
#include "os/paths.h"

#include <signal.h>
#include <sys/vfs.h>
#include <time.h>

enum { DAY_S = 24 * 60 * 60, LEFTOVERS_MAX = 10000 };
static const char MARK[] = ".tmp-";

/* A number without leading zeros; moves after it. 0 if there is none. */
static long take_number(const char **text)
{
    if (**text < '1' || **text > '9') return 0;
    char *end;
    errno = 0;
    long number = strtol(*text, &end, 10);
    *text = end;
    return errno || number > INT_MAX ? 0 : number;
}

/* Of this start of the system and namespace of process numbers; never 0. */
static uint32_t machine_number(void)
{
    static _Atomic uint32_t known;
    if (known) return known;
    gt_buffer text = {0};
    gt_error ignored;
    char space[64] = "";
    ssize_t len = readlink("/proc/self/ns/pid", space, sizeof space);
    gt_read_small_file("/proc/sys/kernel/random/boot_id", 256, &text, &ignored);
    if (len > 0) gt_buffer_add(&text, space, (size_t)len);
    gt_str all = gt_buffer_str(&text);
    known = (uint32_t)gt_checksum(all.bytes, all.len) | 1;
    gt_buffer_free(&text);
    return known;
}

char *gt_leftovers_name(const char *folder, const char *name, size_t name_max)
{
    char random[GT_OWN_NAME];
    gt_own_random_name(random);
    return gt_format("%s/.%.*s%s%d-%08" PRIx32 "-%s", folder, (int)name_max, name, MARK, (int)getpid(),
                     machine_number(), random);
}

/* "-", hexadecimal digits; moves after them. 0 if there are none. */
static uint64_t take_hex(const char **text)
{
    size_t digits = **text == '-' ? strspn(*text + 1, "0123456789abcdef") : 0;
    uint64_t number = digits ? strtoull(*text + 1, NULL, 16) : 0;
    if (digits) *text += 1 + digits;
    return number;
}

/* The process in the name of a hidden file; 0 if it is not one of ours. *len is the length of NAME, *machine
 * 0 if it is unknown. */
static pid_t process_of(const char *hidden, size_t *len, uint32_t *machine)
{
    if (hidden[0] != '.') return 0;
    const char *mark = NULL;
    for (const char *at = hidden + 1; (at = strstr(at, MARK)); at++) mark = at;
    if (!mark || mark == hidden + 1) return 0;
    *len = (size_t)(mark - hidden) - 1;
    const char *at = mark + strlen(MARK);
    long process = take_number(&at);
    uint64_t first = take_hex(&at);
    *machine = take_hex(&at) ? (uint32_t)first : 0;
    return *at ? 0 : (pid_t)process;
}

static bool is_shared(const char *folder)
{
    static const uint32_t kinds[] = {
        0x00006969, 0x0000517B, 0xFF534D42, 0xFE534D42, /* NFS, SMB */
        0x0BD00BD0, 0x47504653, 0x00C36400, 0x5346414F, /* Lustre, GPFS, Ceph, AFS */
        0x19830326, 0x65735546, 0x01021997, 0xAAD7AAEA, /* BeeGFS, FUSE, 9P, PanFS */
    };
    struct statfs about;
    if (statfs(folder, &about) != 0) return true;
    for (size_t i = 0; i < GT_LENGTH(kinds); i++)
        if ((uint32_t)about.f_type == kinds[i]) return true;
    return false;
}

/* /proc/PID/stat is "PID (NAME) STATE ..."; a name may have parentheses, too. */
static bool is_zombie(pid_t process)
{
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    gt_buffer text = {0};
    gt_error ignored;
    bool is_read = gt_read_small_file(path, 4096, &text, &ignored);
    const char *state = is_read ? strrchr(gt_buffer_str(&text).bytes, ')') : NULL;
    bool is = state && (strncmp(state, ") Z", 3) == 0 || strncmp(state, ") X", 3) == 0);
    gt_buffer_free(&text);
    return is;
}

static bool has_ended(pid_t process)
{
    return kill(process, 0) == 0 ? is_zombie(process) : errno == ESRCH;
}

static bool may_remove(const char *path, pid_t process, bool is_known)
{
    struct stat status;
    if ((is_known && !has_ended(process)) || lstat(path, &status) != 0) return false;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || status.st_nlink != 1) return false;
    return is_known || status.st_mtim.tv_sec + DAY_S < time(NULL);
}

static void close_folder(void *dir)
{
    closedir(dir);
}

static void list(gt_leftovers *leftovers, const char *folder)
{
    gt_leftovers_free(leftovers);
    leftovers->folder = gt_strdup(folder);
    DIR *dir = gt_opendir(folder);
    if (!dir) return;
    gt_guard_add(close_folder, dir);
    for (struct dirent *entry; leftovers->count < LEFTOVERS_MAX && (entry = readdir(dir));) {
        size_t len;
        uint32_t machine;
        if (process_of(entry->d_name, &len, &machine))
            GT_PUSH(leftovers->names, leftovers->count, leftovers->capacity, gt_strdup(entry->d_name));
    }
    gt_guard_remove(dir);
    closedir(dir);
    leftovers->is_shared = leftovers->count && is_shared(folder);
}

void gt_leftovers_remove(gt_leftovers *leftovers, const char *folder, const char *name, size_t name_max)
{
    if (!leftovers->folder || strcmp(leftovers->folder, folder) != 0) list(leftovers, folder);
    size_t name_len = strnlen(name, name_max);
    for (size_t i = 0; i < leftovers->count; i++) {
        size_t len;
        uint32_t machine;
        pid_t process = process_of(leftovers->names[i], &len, &machine);
        if (len != name_len || memcmp(leftovers->names[i] + 1, name, len) != 0) continue;
        char *path = gt_format("%s/%s", folder, leftovers->names[i]);
        bool is_known = machine ? machine == machine_number() : !leftovers->is_shared;
        if (may_remove(path, process, is_known)) unlink(path);
        gt_free(path);
    }
}

void gt_leftovers_free(gt_leftovers *leftovers)
{
    for (size_t i = 0; i < leftovers->count; i++) gt_free(leftovers->names[i]);
    gt_free_all(leftovers->names, leftovers->folder);
    *leftovers = (gt_leftovers){0};
}
