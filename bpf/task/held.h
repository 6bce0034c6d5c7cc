/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * How much of a thread's wait the quota of its cgroup took (throttling.h): a wait notes what the clock of its queue says
 * when it begins, and is split at its end. Until then all of it is throttled, or runnable.
 *
 * Since 6.18 a quota holds back what leaves the CPU because of it, and nothing else that waits; before, all that is in a
 * throttled queue, and that may become so while it waits.
 */
#ifndef SCHEDTOP_TASK_HELD_H
#define SCHEDTOP_TASK_HELD_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../throttling.h"
#include "task.h"

#ifdef QUOTA_SUM_OFFSET

/* May a quota take a part of a wait that begins now? */
static __always_inline bool may_be_held(u64 task)
{
#ifdef TASK_THROTTLED_OFFSET
	return is_held(task);
#else
	return (s32)FIELD(u32, task, TASK_PRIO_OFFSET) >= FIRST_FAIR_PRIO;
#endif
}

/* A wait begins: `thread` has the state for it since `now`. */
static __always_inline void note_held(struct task_thread *thread, u64 task, u64 now)
{
	if (!may_be_held(task))
		return;
	read_quota(&thread->before, TASK_POINTER(task, TASK_CFS_RQ_OFFSET));
	thread->noted_ns = thread->here_ns = now;
	thread->held_ns = 0;
	if (is_held(task))
		thread->state = THREAD_THROTTLED;
}

static __always_inline bool is_noted(struct task_thread *thread)
{
	return thread->noted_ns == thread->since_ns &&
	       (thread->state == THREAD_RUNNABLE || thread->state == THREAD_THROTTLED);
}

static __always_inline u64 held_so_far(struct task_thread *thread, u64 task, u64 now)
{
	u64 cfs_rq = TASK_POINTER(task, TASK_CFS_RQ_OFFSET);

	/* Put into another cgroup meanwhile: of the former one's queue nothing is known any more. */
	if (cfs_rq != thread->before.cfs_rq)
		return thread->held_ns;
	return thread->held_ns + throttled_since(&thread->before, cfs_rq, now - thread->here_ns);
}

/* The wait goes on in the queue of another CPU. */
static __always_inline void move_held(struct task_thread *thread, u64 task, u32 cpu, u64 now)
{
	bool throttled;

	if (!is_noted(thread))
		return;
	thread->held_ns = held_so_far(thread, task, now);
	thread->here_ns = now;
	throttled = read_quota_there(&thread->before, task, cpu);
#ifdef TASK_THROTTLED_OFFSET
	/* It has its quota back. */
	if (!is_held(task)) {
		thread->before.cfs_rq = 0;
		throttled = false;
	}
#endif
	thread->state = throttled ? THREAD_THROTTLED : THREAD_RUNNABLE;
}

/* The wait ends: what its quota took of it is throttled, and it is runnable from then on. */
static __always_inline void split_wait(struct task_thread *thread, u64 task, u64 now)
{
	u64 held, wait = now - thread->since_ns;

	if (!is_noted(thread) || (s64)wait < 0)
		return;
	held = held_so_far(thread, task, now);
	if (held > wait)
		held = wait;
	if (held)
		account(thread, THREAD_THROTTLED, thread->since_ns + held);
	thread->state = held && held == wait ? THREAD_THROTTLED : THREAD_RUNNABLE;
}

#else

static __always_inline void note_held(struct task_thread *thread, u64 task, u64 now)
{
#ifdef TASK_THROTTLED_OFFSET
	if (FIELD(u8, task, TASK_THROTTLED_OFFSET))
		thread->state = THREAD_THROTTLED;
#endif
}

static __always_inline void move_held(struct task_thread *thread, u64 task, u32 cpu, u64 now)
{
}

static __always_inline void split_wait(struct task_thread *thread, u64 task, u64 now)
{
}

#endif

#endif
