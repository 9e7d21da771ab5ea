/* The library behind the real rocprofv3-avail, without a GPU: agents and counters of the file in
 * STANDIN_AVAIL, which stand_ins/rocprofv3-avail describes. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS = 8, COUNTERS = 512, LIMITS = 64, BASE = 1000 };

static struct {
    char name[64];
    struct {
        char name[64], block[32];
    } counters[COUNTERS];
    unsigned count;
} gpus[GPUS];
static unsigned gpu_count;
static struct {
    char block[32];
    unsigned number;
} limits[LIMITS];
static unsigned limit_count;

__attribute__((constructor)) static void read_file(void)
{
    const char *path = getenv("STANDIN_AVAIL");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[256], a[64], b[64];
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "gpu %63s", a) == 1 && gpu_count < GPUS) {
            strcpy(gpus[gpu_count++].name, a);
        } else if (sscanf(line, "limit %31s %63s", a, b) == 2 && limit_count < LIMITS) {
            strcpy(limits[limit_count].block, a);
            limits[limit_count++].number = (unsigned)atoi(b);
        } else if (sscanf(line, "counter %63s %31s", a, b) == 2 && gpu_count &&
                   gpus[gpu_count - 1].count < COUNTERS) {
            unsigned at = gpus[gpu_count - 1].count++;
            strcpy(gpus[gpu_count - 1].counters[at].name, a);
            strcpy(gpus[gpu_count - 1].counters[at].block, b);
        }
    }
    if (file) fclose(file);
}

unsigned long get_number_of_agents(void)
{
    return gpu_count;
}

void agent_handles(unsigned long *handles, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) handles[i] = i + 1;
}

void agent_info(unsigned long agent, const char **json)
{
    static char text[GPUS][256];
    snprintf(text[agent - 1], sizeof text[0],
             "{\"type\": 2, \"name\": \"%s\", \"logical_node_type_id\": %lu, \"id\": {\"handle\": %lu}}",
             gpus[agent - 1].name, agent - 1, agent);
    *json = text[agent - 1];
}

int get_number_of_agent_counters(unsigned long agent)
{
    return (int)gpus[agent - 1].count;
}

void agent_counter_handles(unsigned long *handles, unsigned long agent, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) handles[i] = agent * BASE + i;
}

void counter_info(unsigned long counter, const char **name, const char **description, unsigned *is_derived,
                  unsigned *is_constant)
{
    *name = gpus[counter / BASE - 1].counters[counter % BASE].name;
    *description = "a counter";
    *is_derived = *is_constant = 0;
}

void counter_block(unsigned long counter, const char **block)
{
    *block = gpus[counter / BASE - 1].counters[counter % BASE].block;
}

unsigned long get_number_of_dimensions(unsigned long counter)
{
    (void)counter;
    return 0;
}

void counter_dimension_ids(void) {}
void counter_dimension(void) {}

bool is_counter_set(const unsigned long *counters, unsigned long agent, unsigned long count)
{
    (void)agent;
    for (unsigned long i = 0; i < count; i++) {
        const char *block, *other;
        unsigned used = 0, most = 4;
        counter_block(counters[i], &block);
        for (unsigned long j = 0; j < count; j++) {
            counter_block(counters[j], &other);
            used += strcmp(block, other) == 0;
        }
        for (unsigned l = 0; l < limit_count; l++)
            if (strcmp(limits[l].block, block) == 0) most = limits[l].number;
        if (used > most) return false;
    }
    return true;
}
