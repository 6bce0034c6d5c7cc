/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* How the scheduler is told to treat a task: class, policy, priority and nice. Each front end has task_class(). */
#ifndef SCHEDTOP_SCHEDULER_CLASSES_H
#define SCHEDTOP_SCHEDULER_CLASSES_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../throttling.h"
#include "maps.h"

/* DEFAULT_PRIO of include/linux/sched/prio.h. Deadline tasks are below 0, real-time ones below FIRST_FAIR_PRIO. */
#define NICE_0_PRIO 120

/* By its effective priority, which a lock with priority inheritance may have raised. */
static __always_inline void note_priority(struct task_slot *slot, s32 prio)
{
	slot->sched_class = prio < 0 ? CLASS_DEADLINE : prio < FIRST_FAIR_PRIO ? CLASS_RT : CLASS_FAIR;
	slot->priority = prio >= 0 && prio < FIRST_FAIR_PRIO ? FIRST_FAIR_PRIO - 1 - prio : 0;
	if (prio >= FIRST_FAIR_PRIO)
		slot->nice = prio - NICE_0_PRIO;
}

#endif
