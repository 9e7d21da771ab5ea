/* The build id, from the notes of the program or shared library that contains this code. */
#include "index/build.h"
#include "index/checksum.h"

#include <link.h>
#include <stdatomic.h>

typedef struct search {
    uintptr_t address; /* of this code */
    uint64_t number;
} search;

static uint64_t number_in_notes(const uint8_t *notes, size_t len)
{
    size_t at = 0;
    while (at + sizeof(ElfW(Nhdr)) <= len) {
        ElfW(Nhdr) note;
        memcpy(&note, notes + at, sizeof note);
        size_t name = at + sizeof note, text = name + (note.n_namesz + 3) / 4 * 4;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && text + note.n_descsz <= len &&
            memcmp(notes + name, "GNU", 4) == 0)
            return gt_checksum(notes + text, note.n_descsz) | 1;
        at = text + (note.n_descsz + 3) / 4 * 4;
    }
    return 0;
}

static bool contains(const struct dl_phdr_info *info, uintptr_t address)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && address >= begin && address - begin < part->p_memsz) return true;
    }
    return false;
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    search *s = context;
    if (!contains(info, s->address)) return 0;
    for (size_t i = 0; i < info->dlpi_phnum && !s->number; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_NOTE)
            s->number = number_in_notes((const uint8_t *)(info->dlpi_addr + part->p_vaddr), part->p_memsz);
    }
    return 1;
}

uint64_t gt_build_number(void)
{
    static _Atomic uint64_t known;
    if (!known) {
        search s = {.address = (uintptr_t)&gt_build_number};
        dl_iterate_phdr(look, &s);
        known = s.number;
    }
    return known;
}
