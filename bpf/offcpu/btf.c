/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Off-CPU on kernels with BTF: typed raw tracepoints, see scheduler/btf.c. */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../cgroup.h"
#include "../memory.h"
#include "../pid_namespace.h"
#include "../task_struct.h"
#include "offcpu.h"

/* TASK_IDLE */
#define STATE_IDLE (STATE_UNINTERRUPTIBLE | STATE_NOLOAD)

static __always_inline enum interrupted interrupted(void)
{
	u32 count = preempt_count(IN_SOFTIRQ);

	if (count & INTERRUPT_MASK)
		return BY_INTERRUPT;
	return count & IN_SOFTIRQ ? MAYBE_INTERRUPTED : NOT_INTERRUPTED;
}

static __always_inline bool may_be_wanted(struct off_config *settings, struct task_id *id)
{
	return is_wanted(settings, id->tid, id->tgid);
}

static __always_inline void describe(struct task_id *id, struct off_task *task)
{
	task->tgid = id->tgid;
	*(u64 *)task->comm = FIELD(u64, id->task, TASK_COMM_OFFSET);
	*(u64 *)(task->comm + 8) = FIELD(u64, id->task, TASK_COMM_OFFSET + 8);
#ifdef SELECTED_PID_NAMESPACE
	/* A task on its way out has none any more: it keeps the one that it was seen in. */
	u32 space = pid_namespace_of(id->task);

	if (space)
		task->pid_namespace = space;
#endif
#ifdef SELECTED_CGROUP
	u64 css_set = TASK_POINTER(id->task, TASK_CGROUPS_OFFSET);
	u64 group;

	if (task->css_set == css_set)
		return;
	task->css_set = css_set;
	group = group_of(css_set);
	task->flags &= ~TASK_IN_CGROUP;
	if (is_in_selected(group, group_id(group)))
		task->flags |= TASK_IN_CGROUP;
#endif
}

static __always_inline void identify(struct task_id *id, u64 task)
{
	id->task = task;
	id->tid = FIELD(u32, task, TASK_TID_OFFSET);
	id->tgid = FIELD(u32, task, TASK_TGID_OFFSET);
}

static __always_inline u32 off_state(bool preempt, u32 state)
{
	if (preempt || !state)
		return OFF_RUNNABLE;
	if (state & STATE_DEAD)
		return OFF_GONE;
	if ((state & STATE_IDLE) == STATE_IDLE)
		return OFF_IDLE;
	if (state & STATE_INTERRUPTIBLE)
		return OFF_SLEEPING;
	if (state & STATE_STOPPED)
		return OFF_STOPPED;
	if (state & STATE_TRACED)
		return OFF_TRACED;
	if (state & STATE_PARKED)
		return OFF_PARKED;
	/* A lock of the real-time kernel, and the freezer, have bits of their own, and count as this. */
	return OFF_UNINTERRUPTIBLE;
}

int btf_sched_switch(u64 *ctx)
{
	struct task_id prev = {}, next = {};
	u32 state;

	identify(&prev, ctx[1]);
	identify(&next, ctx[2]);
	prev.has_user_side = FIELD(u64, prev.task, TASK_MM_OFFSET);
#ifdef SWITCH_HAS_STATE
	state = ctx[3];
#else
	state = FIELD(u32, prev.task, TASK_STATE_OFFSET);
#endif
	on_switch(ctx, &prev, &next, off_state(ctx[0], state));
	return 0;
}

int btf_sched_waking(u64 *ctx)
{
	struct task_id id = {};

	identify(&id, ctx[0]);
	on_waking(ctx, &id);
	return 0;
}

int btf_sched_wakeup_new(u64 *ctx)
{
	struct task_id id = {};

	identify(&id, ctx[0]);
	on_wakeup_new(&id);
	return 0;
}
