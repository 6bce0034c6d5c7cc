/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What wakes a task: the current one, or an interrupt in its time. */
#ifndef SCHEDTOP_WOKEN_BY_H
#define SCHEDTOP_WOKEN_BY_H

#include <linux/types.h>

#include "memory.h"
#include "task_struct.h"

/* Of a softirq the current task is the source only if it is ksoftirqd; else it was interrupted. */
enum woken_by {
	BY_TASK,
	BY_INTERRUPT,
	BY_SOFTIRQ,
};

static __always_inline u32 woken_by(u32 preempt_count)
{
	if (preempt_count & INTERRUPT_MASK)
		return BY_INTERRUPT;
	return preempt_count & IN_SOFTIRQ ? BY_SOFTIRQ : BY_TASK;
}

/* The task that wakes, 0: none is known. */
static __always_inline u32 waker_tid(u32 by)
{
	u64 comm[COMM_BYTES / 8] = {}, ksoftirqd;

	if (by == BY_INTERRUPT)
		return 0;
	if (by == BY_SOFTIRQ) {
		__builtin_memcpy(&ksoftirqd, "ksoftirqd/", sizeof(ksoftirqd));
		bpf_get_current_comm(comm, sizeof(comm));
		if (comm[0] != ksoftirqd)
			return 0;
	}
	return bpf_get_current_pid_tgid();
}

#endif
