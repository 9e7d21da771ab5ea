/* Fuzzes what `gputally build` and `gputally discover` read: models.json, batch manifests, contexts,
 * Dockerfiles. There is neither python3 nor docker in PATH, so nothing is started. */
static const char *const commands[] = {"build", "discover", 0};
#include "command.h"
