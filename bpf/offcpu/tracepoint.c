/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Off-CPU on kernels without BTF: perf tracepoints, see scheduler/tracepoint.c. A record names tasks by tid and comm:
 * the process is known of the one that leaves, which is the current one. All programs return 1, as there.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../record.h"
#include "offcpu.h"

/* Of one that comes, or is woken, it is known when it has an entry. */
static __always_inline bool may_be_wanted(struct off_config *settings, struct task_id *id)
{
	return true;
}

/* Names need the stack here. */
static __always_inline enum interrupted interrupted(void)
{
	return MAYBE_INTERRUPTED;
}

static __always_inline void describe(struct task_id *id, struct off_task *task)
{
	if (id->tgid)
		task->tgid = id->tgid;
	*(u64 *)task->comm = *(u64 *)id->comm;
	*(u64 *)(task->comm + 8) = *(u64 *)(id->comm + 8);
}

static __always_inline u32 off_state(u32 state)
{
	if (!(state & REPORTED_RUNNING))
		return OFF_RUNNABLE;
	if (state & REPORTED_DEAD)
		return OFF_GONE;
	if (state & REPORTED_INTERRUPTIBLE)
		return OFF_SLEEPING;
	if (state & REPORTED_IDLE)
		return OFF_IDLE;
	if (state & REPORTED_STOPPED)
		return OFF_STOPPED;
	if (state & REPORTED_TRACED)
		return OFF_TRACED;
	if (state & REPORTED_PARKED)
		return OFF_PARKED;
	return OFF_UNINTERRUPTIBLE;
}

int tracepoint_sched_switch(void *ctx)
{
	struct task_id prev = {}, next = {};
	u64 comm[2];

	COPY_NAME(comm, ctx, SWITCH_PREV_COMM_FIELD);
	prev.tid = FIELD(u32, ctx, SWITCH_PREV_PID_FIELD);
	prev.tgid = bpf_get_current_pid_tgid() >> 32;
	prev.has_user_side = true; /* a kernel thread's cannot be read */
	prev.comm = (char *)comm;
	next.tid = FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD);
	on_switch(ctx, &prev, &next, off_state(FIELD(u32, ctx, SWITCH_PREV_STATE_FIELD)));
	return 1;
}

#ifdef HAVE_SCHED_WAKING
int tracepoint_sched_waking(void *ctx)
{
	struct task_id id = { .tid = FIELD(u32, ctx, WAKING_PID_FIELD) };

	on_waking(ctx, &id);
	return 1;
}
#endif

#ifdef HAVE_SCHED_WAKEUP_NEW
/* Made by the current task: a thread of its process, or a process of its own, and that cannot be told. */
int tracepoint_sched_wakeup_new(void *ctx)
{
	struct task_id id = { .tid = FIELD(u32, ctx, WAKEUP_NEW_PID_FIELD) };
	u64 comm[2];

	COPY_NAME(comm, ctx, WAKEUP_NEW_COMM_FIELD);
	id.comm = (char *)comm;
	on_wakeup_new(&id);
	return 1;
}
#endif
