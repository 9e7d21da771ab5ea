/* Steps of servers on many ranks: what is kept of a rank's steps, and the sheet serving_rank_steps. */
#pragma once

#include "findings/ranks/ranks.h"

/* Fills `served` and `served_comms` of the facts. */
void gt_rank_served_find(gt_rank_facts *facts, const gt_step_list *list, const gt_interner *strings);
/* Whether these are such as that makes. */
bool gt_rank_served_is_sound(const gt_rank_facts *facts);
