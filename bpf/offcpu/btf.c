/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Off-CPU on kernels with BTF: typed raw tracepoints, see scheduler/btf.c. */

/* The state of a task, include/linux/sched.h. */
#define STATE_INTERRUPTIBLE 0x01
#define STATE_UNINTERRUPTIBLE 0x02
#define STATE_STOPPED 0x04
#define STATE_TRACED 0x08
#define STATE_PARKED 0x40
#define STATE_DEAD 0x80
#define STATE_IDLE 0x402

/* The bits of hard interrupts and NMIs, and the one of what is done right after them, include/linux/preempt.h. */
#define INTERRUPT_MASK 0x00ff0000
#define SOFTIRQ_BIT 0x00000100

static __always_inline u64 pointer_at(u64 address)
{
	u64 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), (void *)address);
	return value;
}

/* By the current CPU's preempt_count. */
static __always_inline enum interrupted interrupted(void)
{
#if defined(TASK_PREEMPT_COUNT_OFFSET)
	u32 count = pointer_at(bpf_get_current_task() + TASK_PREEMPT_COUNT_OFFSET);
#elif defined(RQ_TO_PREEMPT_COUNT)
	u64 queue = pointer_at(pointer_at(bpf_get_current_task() + TASK_CFS_RQ_OFFSET) + CFS_RQ_RQ_OFFSET);
	u32 count = pointer_at(queue + RQ_TO_PREEMPT_COUNT);
#else
	u32 count = SOFTIRQ_BIT;
#endif

	if (count & INTERRUPT_MASK)
		return BY_INTERRUPT;
	return count & SOFTIRQ_BIT ? MAYBE_INTERRUPTED : NOT_INTERRUPTED;
}

static __always_inline bool may_be_wanted(struct off_config *settings, struct who *who)
{
	return is_wanted(settings, who->tid, who->tgid);
}

static __always_inline void describe(struct who *who, struct off_task *task)
{
	task->tgid = who->tgid;
	*(u64 *)task->comm = FIELD(u64, who->task, TASK_COMM_OFFSET);
	*(u64 *)(task->comm + 8) = FIELD(u64, who->task, TASK_COMM_OFFSET + 8);
#ifdef SELECTED_CGROUP
	u64 css_set = FIELD(u64, who->task, TASK_CGROUPS_OFFSET);
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

static __always_inline void identify(struct who *who, u64 task)
{
	who->task = task;
	who->tid = FIELD(u32, task, TASK_TID_OFFSET);
	who->tgid = FIELD(u32, task, TASK_TGID_OFFSET);
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
	struct who prev = {}, next = {};
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
	struct who who = {};

	identify(&who, ctx[0]);
	on_waking(ctx, &who);
	return 0;
}

int btf_sched_wakeup_new(u64 *ctx)
{
	struct who who = {};

	identify(&who, ctx[0]);
	on_wakeup_new(&who);
	return 0;
}
