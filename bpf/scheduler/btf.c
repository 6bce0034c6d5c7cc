/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Front end for kernels with BTF: typed raw tracepoints. The verifier lets them load from task_struct directly, at
 * the offsets that user space found in the running kernel's BTF (the *_OFFSET flags).
 *
 * Addresses are integers here, so that bcc does not rewrite each load into a bpf_probe_read.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../branchless.h"
#include "../cgroup.h"
#include "../memory.h"
#include "../pid_namespace.h"
#include "../registers.h"
#include "../task_struct.h"
#include "classes.h"
#include "core.h"
#include "maps.h"
#include "quota.h"
#include "tasks.h"
#include "timeline.h"

static __always_inline u32 task_tgid(struct task_id *id)
{
	return FIELD(u32, id->task, TASK_TGID_OFFSET);
}

static __always_inline void task_name(struct task_id *id, char *comm)
{
	*(u64 *)comm = FIELD(u64, id->task, TASK_COMM_OFFSET);
	*(u64 *)(comm + 8) = FIELD(u64, id->task, TASK_COMM_OFFSET + 8);
}

/* A task changes its cgroup by changing its css_set, so the id is looked up only when that is another one. */
static __always_inline void task_cgroup(struct task_id *id, struct task_slot *slot)
{
	u64 css_set = TASK_POINTER(id->task, TASK_CGROUPS_OFFSET);
	u64 group;

	if (slot->css_set == css_set)
		return;
	slot->css_set = css_set;
	group = group_of(css_set);
	slot->cgroup_id = group_id(group);
#ifdef SELECTED_CGROUP
	slot->flags &= ~TASK_IN_CGROUP;
	if (is_in_selected(group, slot->cgroup_id))
		slot->flags |= TASK_IN_CGROUP;
#endif
}

static __always_inline u32 task_pid_namespace(struct task_id *id)
{
	return pid_namespace_of(id->task);
}

/* rq->stop of its CPU: such a task passes for one of SCHED_FIFO (sched_set_stop_task() in kernel/sched/core.c). */
static __always_inline bool is_stopper(struct task_id *id)
{
#ifdef RQ_STOP_OFFSET
	u64 queue = FIELD(u64, TASK_POINTER(id->task, TASK_CFS_RQ_OFFSET), CFS_RQ_RQ_OFFSET);

	return pointer_at(queue + RQ_STOP_OFFSET) == opaque(id->task);
#else
	return false;
#endif
}

/* sched_setscheduler() is rare, so this is called where its loads do not count. */
static __always_inline void task_class(struct task_id *id, struct task_slot *slot)
{
	s32 prio = FIELD(u32, id->task, TASK_PRIO_OFFSET);

	note_priority(slot, prio);
	slot->policy = FIELD(u32, id->task, TASK_POLICY_OFFSET) + 1;
	slot->nice = (s32)FIELD(u32, id->task, TASK_STATIC_PRIO_OFFSET) - NICE_0_PRIO;
	if (!prio && is_stopper(id))
		slot->sched_class = CLASS_STOP;
#ifdef EXT_STATE_MASK
	/* Whether it is queued or sleeps. */
	if (prio >= FIRST_FAIR_PRIO && (FIELD(u32, id->task, TASK_EXT_FLAGS_OFFSET) & EXT_STATE_MASK) == EXT_ENABLED)
		slot->sched_class = CLASS_EXT;
#endif
}

static __always_inline void describe_deadline(struct slow_wait *event, struct task_id *id, struct cpu_state *cpu)
{
#ifdef DL_RUNTIME_OFFSET
	u64 deadline = FIELD(u64, id->task, DL_DEADLINE_OFFSET);

	event->dl_runtime_ns = FIELD(u64, id->task, DL_RUNTIME_OFFSET);
	event->dl_period_ns = FIELD(u64, id->task, DL_PERIOD_OFFSET);
#ifdef RQ_CLOCK_OFFSET
	/* By rq->clock. A task that was throttled has its next deadline by now (replenish_dl_entity()). */
	deadline += cpu->clock_offset;
	if ((s64)(event->end_ns - deadline) > 0)
		event->dl_missed_ns = event->end_ns - deadline;
#endif
#endif
}

/* dl_throttled: it must not run before its next period. */
static __always_inline bool is_over_runtime(u64 task)
{
#ifdef DL_THROTTLED_BYTE
	return FIELD(u8, task, DL_THROTTLED_BYTE) & DL_THROTTLED_BIT;
#else
	return false;
#endif
}

/* The process that forked it (or adopted it before we looked); of a thread its own. Both names are of the leader. */
static __always_inline void task_parent(struct task_id *id, struct task_slot *slot)
{
#ifdef TASK_PARENT_OFFSET
	u64 parent = id->task;

	if (slot->tgid == id->tid)
		parent = TASK_POINTER(parent, TASK_PARENT_OFFSET);
	if (!parent)
		return;
	slot->parent_tgid = FIELD(u32, parent, TASK_TGID_OFFSET);
	parent = TASK_POINTER(parent, TASK_LEADER_OFFSET);
	if (!parent)
		return;
	*(u64 *)slot->parent_comm = FIELD(u64, parent, TASK_COMM_OFFSET);
	*(u64 *)(slot->parent_comm + 8) = FIELD(u64, parent, TASK_COMM_OFFSET + 8);
#endif
}

/* SIGNAL_GROUP_EXIT in include/linux/sched/signal.h: the process ends as a whole, with a code for all. */
#define GROUP_EXIT 4

/* What wait_task_zombie() (kernel/exit.c) will find. do_exit() has stored it before sched_process_exit. */
static __always_inline u32 task_exit_code(struct task_id *id)
{
#ifdef TASK_SIGNAL_OFFSET
	u64 signal = TASK_POINTER(id->task, TASK_SIGNAL_OFFSET);

	if (!signal)
		return FIELD(u32, id->task, TASK_EXIT_CODE_OFFSET);
#ifdef SIGNAL_EXEC_OFFSET
	/* de_thread() (fs/exec.c) ends all the others. */
	if (FIELD(u64, signal, SIGNAL_EXEC_OFFSET))
		return EXIT_REPLACED;
#endif
	if (FIELD(u32, signal, SIGNAL_FLAGS_OFFSET) & GROUP_EXIT)
		return FIELD(u32, signal, SIGNAL_CODE_OFFSET);
	return FIELD(u32, id->task, TASK_EXIT_CODE_OFFSET);
#else
	return EXIT_UNKNOWN;
#endif
}

/* task_cpu(): the last one, or what wake_up_new_task() has chosen. */
static __always_inline u32 wakeup_cpu(struct task_id *id, struct task_slot *slot)
{
	return FIELD(u32, id->task, TASK_CPU_OFFSET);
}

static __always_inline u32 allowed_cpus(struct task_id *id)
{
	return FIELD(u32, id->task, TASK_ALLOWED_OFFSET);
}

/* prev_steal_time_rq: what update_rq_clock_task() (kernel/sched/core.c) took off the time of tasks so far. */
static __always_inline u64 steal_of_cpu(struct task_id *id)
{
#ifdef RQ_STEAL_OFFSET
	u64 queue = TASK_POINTER(id->task, TASK_CFS_RQ_OFFSET);

	queue = FIELD(u64, queue, CFS_RQ_RQ_OFFSET);
	return FIELD(u64, queue, RQ_STEAL_OFFSET);
#else
	return 0;
#endif
}

static __always_inline bool is_in_sched_ext(struct task_id *id, struct config *settings)
{
#ifdef TASK_EXT_FLAGS_OFFSET
	return FIELD(u32, id->task, TASK_EXT_FLAGS_OFFSET) & EXT_QUEUED;
#else
	return false;
#endif
}

static __always_inline void identify(struct task_id *id, u64 task)
{
	id->task = task;
	id->tid = FIELD(u32, task, TASK_TID_OFFSET);
	id->start_ns = FIELD(u64, task, TASK_START_OFFSET);
}

static __always_inline u32 new_timeslices(struct task_id *id, struct task_slot *slot, u32 now_one)
{
#ifdef TASK_PCOUNT_OFFSET
	/* The tracepoint comes before the kernel counts the arrival of the next task. */
	u32 total = (u32)FIELD(u64, id->task, TASK_PCOUNT_OFFSET) + now_one;
	u32 fresh = total - slot->pcount;

	slot->pcount = total;
	/* After an exec by a thread, another task stands behind the slot: this tells nothing about the time before. */
	return (s32)fresh < 0 ? now_one : fresh;
#else
	return 1;
#endif
}

static __always_inline u64 new_run_time(struct task_id *id, struct task_slot *slot)
{
#ifdef TASK_SUM_EXEC_OFFSET
	/* Each class brings it up to date before a switch (put_prev_task()). */
	u64 before = slot->exec_ns;

	slot->exec_ns = FIELD(u64, id->task, TASK_SUM_EXEC_OFFSET);
	return (s64)(slot->exec_ns - before) < 0 ? 0 : slot->exec_ns - before;
#else
	return 0;
#endif
}

static __always_inline enum tid_change tid_change(struct task_id *prev, struct cpu_state *cpu)
{
	/* The verifier lets load by the pointer from the event, and not by the equal number. */
	if (cpu->current_task != opaque(prev->task))
		return TID_KEPT;
	return task_tgid(prev) == prev->tid ? TID_OF_LEADER : TID_OF_THREAD;
}

static __always_inline bool is_yield(u64 task)
{
#ifdef REGS_SYSCALL_OFFSET
	struct cpu_state *cpu = this_cpu();

	/* A task that is preempted in user space is in no system call, and its number is -1. */
	return cpu && syscall_number(task, &cpu->regs_in_stack) == NR_SCHED_YIELD;
#else
	return false;
#endif
}

int btf_sched_switch(u64 *ctx)
{
	struct switch_event event;
	struct switch_facts facts = {};
	bool preempt = ctx[0];
	u64 prev = ctx[1];
	u32 state;

	identify(&event.prev, prev);
	identify(&event.next, ctx[2]);
#ifdef SWITCH_HAS_STATE
	state = ctx[3];
#else
	state = FIELD(u32, prev, TASK_STATE_OFFSET);
#endif
	/*
	 * Before 6.16 the argument has a state to sleep in even if the task stays queued because a signal is pending: the
	 * kernel has set the state of the task itself back by then (try_to_block_task()).
	 */
	facts.involuntary = preempt || !state || !FIELD(u32, prev, TASK_STATE_OFFSET);
	facts.dead = !!(state & STATE_DEAD);
	if (facts.involuntary && event.prev.tid) {
		facts.throttled = leaves_throttled(prev);
		facts.yielded = !preempt && !facts.throttled && is_yield(prev);
		/* MAX_DL_PRIO (include/linux/sched/deadline.h) is 0. */
		if ((s32)FIELD(u32, prev, TASK_PRIO_OFFSET) < 0) {
			facts.pauses = facts.yielded; /* yield_task_dl() */
			facts.over_runtime = is_over_runtime(prev);
		}
	}
	on_switch(&event, facts);
	return 0;
}

static __always_inline bool is_queued(struct task_id *id, struct task_slot *slot)
{
#ifdef TASK_DELAYED_OFFSET
	/* Since 6.12 a sleeper may stay on the queue until it is picked. */
	if (FIELD(u8, id->task, TASK_DELAYED_OFFSET))
		return false;
#endif
	return FIELD(TASK_ON_RQ_TYPE, id->task, TASK_ON_RQ_OFFSET);
}

/* On the way between two queues on_rq is TASK_ON_RQ_MIGRATING, and 0 in try_to_wake_up() and at fork. */
static __always_inline bool is_being_woken(struct task_id *id, struct task_slot *slot)
{
	return !FIELD(TASK_ON_RQ_TYPE, id->task, TASK_ON_RQ_OFFSET);
}

int btf_sched_waking(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_waking(&id);
	return 0;
}

#ifndef RQ_CLOCK_OFFSET
int btf_sched_wakeup(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_wakeup(&id);
	return 0;
}
#endif

int btf_sched_wakeup_new(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_waking_new(&id);
	return 0;
}

int btf_sched_migrate_task(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_migrate(&id, FIELD(u32, ctx[0], TASK_CPU_OFFSET), ctx[1]);
	return 0;
}

int btf_sched_process_exit(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_exit(&id);
	return 0;
}

int btf_sched_process_exec(u64 *ctx)
{
	struct task_id id;

	identify(&id, ctx[0]);
	on_exec(&id, ctx[1]);
	return 0;
}
