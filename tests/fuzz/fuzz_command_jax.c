/* Fuzzes the commands that read profiles and dumps of JAX. */
static const char *const commands[] = {"jax", "jax-analysis", "jax-collective", "jax-llama-compare", 0};
#include "command.h"
