/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* The pid namespace of a task_struct, for front ends that may load from it; its offsets are flags. */
#ifndef SCHEDTOP_PID_NAMESPACE_H
#define SCHEDTOP_PID_NAMESPACE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"

/* The namespace that its children are in: its own, unless it has just called unshare. 0: it has none (any more). */
static __always_inline u32 pid_namespace_of(u64 task)
{
#ifdef TASK_NSPROXY_OFFSET
	u64 proxy = TASK_POINTER(task, TASK_NSPROXY_OFFSET);
	u64 space;

	if (!proxy)
		return 0;
	space = FIELD(u64, proxy, NSPROXY_PID_OFFSET);
	return space ? FIELD(u32, space, PID_NAMESPACE_ID_OFFSET) : 0;
#else
	return 0;
#endif
}

#endif
