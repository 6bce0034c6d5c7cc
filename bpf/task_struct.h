/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* What a task_struct tells front ends that may load from it, beside its offsets. */
#ifndef SCHEDTOP_TASK_STRUCT_H
#define SCHEDTOP_TASK_STRUCT_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "memory.h"

/* Bits of its state, include/linux/sched.h. */
#define STATE_INTERRUPTIBLE 0x0001
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_STOPPED 0x0004
#define STATE_TRACED 0x0008
#define STATE_PARKED 0x0040
#define STATE_DEAD 0x0080
#define STATE_NOLOAD 0x0400
#define STATE_RTLOCK_WAIT 0x1000
#define STATE_FROZEN 0x8000

/* Bits of preempt_count: hard interrupts with NMIs, and what is done right after them. include/linux/preempt.h */
#ifdef INTERRUPTS_ARE_DISABLED_BY_COUNT
#define INTERRUPT_MASK 0x1f000000
#else
#define INTERRUPT_MASK 0x00ff0000
#endif
#define IN_SOFTIRQ 0x00000100

#ifdef CFS_RQ_RQ_OFFSET
/* The run queue of the current CPU: every task has a cfs_rq of its CPU, whatever its class, idle too. 0: none is read. */
static __always_inline u64 current_queue(void)
{
	return pointer_at(pointer_at(bpf_get_current_task() + TASK_CFS_RQ_OFFSET) + CFS_RQ_RQ_OFFSET);
}
#endif

#ifdef RQ_TO_PREEMPT_COUNT
/* The same, 0 if it is another CPU's. */
static __always_inline u64 queue_to_keep(void)
{
	u64 queue = current_queue();

#ifdef RQ_CPU_OFFSET
	if (queue && (u32)pointer_at(queue + RQ_CPU_OFFSET) != bpf_get_smp_processor_id())
		return 0;
#endif
	return queue;
}
#endif

/* The current CPU's preempt_count; `unknown` on a kernel where it cannot be found. */
static __always_inline u32 preempt_count(u32 unknown)
{
#if defined(TASK_PREEMPT_COUNT_OFFSET)
	return pointer_at(bpf_get_current_task() + TASK_PREEMPT_COUNT_OFFSET);
#elif defined(RQ_TO_PREEMPT_COUNT)
	u64 queue = current_queue();

	return queue ? pointer_at(queue + RQ_TO_PREEMPT_COUNT) : 0;
#else
	return unknown;
#endif
}

/* The same in one read, where it is a variable of the CPU: `queue` keeps the address of this CPU's run queue. */
static __always_inline u32 preempt_count_by(u64 *queue)
{
#ifdef RQ_TO_PREEMPT_COUNT
	if (!*queue)
		*queue = queue_to_keep();
	return *queue ? pointer_at(*queue + RQ_TO_PREEMPT_COUNT) : 0;
#else
	return preempt_count(0);
#endif
}

/* rq->curr, where it is two loads: a call of the kernel costs more. `queue`: this CPU's run queue, 0: not known. */
static __always_inline u32 current_tid(u64 queue)
{
#if defined(RQ_CURRENT_OFFSET) && defined(U64_TYPE)
	if (queue)
		return pointer_at(pointer_at(queue + RQ_CURRENT_OFFSET) + TASK_TID_OFFSET);
#endif
	return bpf_get_current_pid_tgid();
}

#endif
