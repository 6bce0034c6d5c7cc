/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What but its affinity mask kept a waiting task on its CPU. *_OFFSET are flags from the kernel's BTF
 * (schedtop/sources/kernel/bonds.py).
 */
#ifndef SCHEDTOP_SCHEDULER_BOUND_H
#define SCHEDTOP_SCHEDULER_BOUND_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../task_struct.h"
#include "maps.h"

/*
 * Of the task that is switched in: __schedule() (kernel/sched/core.c) makes it rq->curr before the tracepoint. It has not
 * run since its wait began, so what it has disabled then still is.
 */
static __always_inline u32 bonds_of(u32 tid)
{
#ifdef RQ_CURRENT_OFFSET
	u64 queue = current_queue();
	u64 task = queue ? pointer_at(queue + RQ_CURRENT_OFFSET) : 0;
	u32 bonds = 0;

	if (!task || (u32)pointer_at(task + TASK_TID_OFFSET) != tid)
		return BOUND_UNKNOWN;
#ifdef TASK_MIGRATION_DISABLED_OFFSET
	if ((u16)pointer_at(task + TASK_MIGRATION_DISABLED_OFFSET))
		bonds |= BOUND_TO_CPU;
#endif
#ifdef RQ_CORE_ENABLED_OFFSET
	if ((u32)pointer_at(queue + RQ_CORE_ENABLED_OFFSET))
		bonds |= BOUND_BY_CORE;
#endif
	return bonds;
#else
	return BOUND_UNKNOWN;
#endif
}

#endif
