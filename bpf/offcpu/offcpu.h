/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Off-CPU: each time that a thread is without a CPU, from its switch out to its switch in, added up by thread, state
 * and the stacks with which it left. Up to its wakeup that time is spent in the state in which it left, then it is
 * runnable.
 *
 * The map sizes are user space's: it makes the maps larger than they are here, so one compilation serves all hosts.
 * Flags: STACK_DEPTH; FILTERED and SELECTED(s), as in scheduler/blame.h, with
 * SELECTED_PID_NAMESPACE if it asks for that.
 */
#ifndef SCHEDTOP_OFFCPU_OFFCPU_H
#define SCHEDTOP_OFFCPU_OFFCPU_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../branchless.h"
#include "../memory.h"

#define WANTED_IDS 8
#define KERNEL_STACK 0
#define USER_STACK 256 /* BPF_F_USER_STACK */

/* Stack ids that are none; bpf_get_stackid() has other negative numbers. */
#define STACK_NONE -1 /* there is no such side */
#define STACK_NOT_SEEN -2 /* it was off the CPU already when we came */
#define STACK_NEW_TASK -3
#define STACK_NOT_TAKEN -5 /* a task woke */
#define STACK_INTERRUPT -6 /* an interrupt woke */
#define STACK_FAULT -14
#define STACK_TAKEN -17

#define MORE_STACKS (1 << 24) /* the ids of the second table begin here */

enum off_state {
	OFF_RUNNABLE,
	OFF_SLEEPING,
	OFF_UNINTERRUPTIBLE,
	OFF_IDLE,
	OFF_STOPPED,
	OFF_TRACED,
	OFF_PARKED,
	OFF_GONE, /* it never comes back */
};

/* off_config.wakers: what is kept of the waker. Whether it was an interrupt, if that is cheap to know, always is. */
#define WAKER_NAMES 1
#define WAKER_STACKS 2

enum interrupted {
	NOT_INTERRUPTED,
	BY_INTERRUPT,
	MAYBE_INTERRUPTED, /* after an interrupt, or in what the task does itself: only the stack tells */
};

/* off_task.flags */
#define TASK_WOKEN_EARLY 1 /* woken while it had the CPU: on its way out, if no other wakeup comes */
#define TASK_IN_CGROUP 32 /* as in scheduler/maps.h */

/* One thread. Written by the CPU that it leaves or comes to, and by its waker in between. */
struct off_task {
	u32 tid;
	u32 tgid;
	u64 out_ns; /* 0: it has a CPU */
	u64 woken_ns; /* 0: not yet */
	u32 state;
	u32 flags;
	s32 user_stack;
	s32 kernel_stack;
	u32 waker_tid;
	s32 waker_user_stack;
	s32 waker_kernel_stack;
	u32 waker_tgid;
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	u64 css_set;
	u32 pid_namespace;
	u32 reserved;
};

struct off_key {
	u32 tid;
	u32 state;
	s32 user_stack;
	s32 kernel_stack;
	u32 waker_tid;
	s32 waker_user_stack;
	s32 waker_kernel_stack;
	u32 tgid;
	u32 waker_tgid;
	u32 reserved;
};

/* The waits of one key: written by the CPU that the thread comes to. */
struct off_row {
	u32 tid;
	u32 state;
	s32 user_stack;
	s32 kernel_stack;
	u32 waker_tid;
	s32 waker_user_stack;
	s32 waker_kernel_stack;
	u32 tgid;
	u32 waker_tgid;
	u32 reserved;
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	u64 blocked_count;
	u64 blocked_ns;
	u64 blocked_min_ns;
	u64 blocked_max_ns;
	u64 runnable_count;
	u64 runnable_ns;
	u64 runnable_min_ns;
	u64 runnable_max_ns;
};

/* Written by its CPU alone. */
struct off_cpu {
	u64 below_count;
	u64 below_ns;
	u64 tasks_lost;
	u64 rows_lost;
	u64 user_stacks_lost;
	u64 kernel_stacks_lost;
	u64 waker_stacks_lost;
	u64 wakeups_unseen;
	u64 negative;
};

/* Written by user space through its mapping. Ids fill their arrays, if need be with the same one again. */
struct off_config {
	u64 start_ns; /* 0: nothing is counted yet */
	u64 end_ns;
	u64 min_ns;
	u32 by_tgid;
	u32 by_tid;
	u32 wakers;
	u32 reserved;
	u32 tgids[WANTED_IDS];
	u32 tids[WANTED_IDS];
};

struct off_stack {
	u64 address[STACK_DEPTH];
};

BPF_TABLE("hash", u32, struct off_task, tasks, 1);
BPF_TABLE("hash", struct off_key, struct off_row, rows, 1);
BPF_TABLE("stacktrace", int, struct off_stack, stacks, 1);
BPF_TABLE("stacktrace", int, struct off_stack, more_stacks, 1);
BPF_F_TABLE("array", u32, struct off_cpu, cpus, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct off_config, config, 1, BPF_F_MMAPABLE);

#ifndef SELECTED
#define SELECTED(s) true
#endif

/* What a front end knows of a task; `task` and `comm` are each front end's own. */
struct task_id {
	u64 task;
	u32 tid;
	u32 tgid;
	bool has_user_side;
	char *comm;
};

static __always_inline void describe(struct task_id *id, struct off_task *task);
static __always_inline bool may_be_wanted(struct off_config *settings, struct task_id *id);
static __always_inline enum interrupted interrupted(void);

static __always_inline bool is_among(u32 *ids, u32 id)
{
	u64 found = 0;
	int i;

#pragma unroll
	for (i = 0; i < WANTED_IDS; i++)
		found |= is_equal(ids[i], id);
	return found;
}

static __always_inline bool is_wanted(struct off_config *settings, u32 tid, u32 tgid)
{
	if (settings->by_tgid && !is_among(settings->tgids, tgid))
		return false;
	return !settings->by_tid || is_among(settings->tids, tid);
}

static __always_inline struct off_config *settings_of_now(void)
{
	u32 zero = 0;

	return config.lookup(&zero);
}

static __always_inline struct off_cpu *this_cpu(void)
{
	u32 cpu = bpf_get_smp_processor_id();

	return cpus.lookup(&cpu);
}

/* The task's entry, made if there is none yet; NULL if there is no room. */
static __always_inline struct off_task *task_entry(struct task_id *id, struct off_cpu *cpu)
{
	struct off_task fresh = {};
	struct off_task *task = tasks.lookup(&id->tid);

	if (task)
		return task;
	fresh.tid = id->tid;
	tasks.update(&id->tid, &fresh);
	task = tasks.lookup(&id->tid);
	if (!task)
		cpu->tasks_lost++;
	return task;
}

/* A stack that finds its place in the first table taken goes to the second one, where few meet. */
static __always_inline s32 take_stack(void *ctx, u64 side)
{
	s32 stack = stacks.get_stackid(ctx, side);

	if (stack != STACK_TAKEN)
		return stack;
	stack = more_stacks.get_stackid(ctx, side);
	return stack < 0 ? stack : stack + MORE_STACKS;
}

static __always_inline void take_stacks(void *ctx, struct off_cpu *cpu, struct task_id *id, struct off_task *task)
{
	task->kernel_stack = take_stack(ctx, KERNEL_STACK);
	if (task->kernel_stack < 0)
		cpu->kernel_stacks_lost++;
	task->user_stack = STACK_NONE;
	if (!id->has_user_side)
		return;
	task->user_stack = take_stack(ctx, USER_STACK);
	if (task->user_stack < 0 && task->user_stack != STACK_FAULT)
		cpu->user_stacks_lost++;
}

/* Names are cheap, stacks are not: without them only that is walked which tells a task from an interrupt. */
static __always_inline void keep_waker(void *ctx, struct off_config *settings, struct off_cpu *cpu,
				       struct off_task *task)
{
	enum interrupted how = interrupted();
	u64 current = bpf_get_current_pid_tgid();

	if (settings->wakers < WAKER_STACKS && how == BY_INTERRUPT) {
		task->waker_kernel_stack = STACK_INTERRUPT;
		return;
	}
	if (settings->wakers < WAKER_NAMES)
		return;
	task->waker_tid = current;
	task->waker_tgid = current >> 32;
	bpf_get_current_comm(task->waker_comm, COMM_BYTES);
	task->waker_kernel_stack = STACK_NOT_TAKEN;
	if (settings->wakers == WAKER_NAMES && how == NOT_INTERRUPTED)
		return;
	task->waker_kernel_stack = take_stack(ctx, KERNEL_STACK);
	if (task->waker_kernel_stack < 0)
		cpu->waker_stacks_lost++;
	if (settings->wakers < WAKER_STACKS || !task->waker_tid)
		return;
	task->waker_user_stack = take_stack(ctx, USER_STACK);
	if (task->waker_user_stack < 0 && task->waker_user_stack != STACK_FAULT)
		cpu->waker_stacks_lost++;
}

static __always_inline struct off_row *row_of(struct off_task *task, struct off_cpu *cpu)
{
	struct off_row fresh = {};
	struct off_row *row;
	struct off_key key = {
		.tid = task->tid,
		.state = task->state,
		.user_stack = task->user_stack,
		.kernel_stack = task->kernel_stack,
		.waker_tid = task->waker_tid,
		.waker_user_stack = task->waker_user_stack,
		.waker_kernel_stack = task->waker_kernel_stack,
		.tgid = task->tgid,
		.waker_tgid = task->waker_tgid,
	};

	row = rows.lookup(&key);
	if (!row) {
		__builtin_memcpy(&fresh, &key, sizeof(key));
		fresh.blocked_min_ns = fresh.runnable_min_ns = ~0ULL;
		__builtin_memcpy(fresh.waker_comm, task->waker_comm, COMM_BYTES);
		rows.update(&key, &fresh);
		row = rows.lookup(&key);
		if (!row) {
			cpu->rows_lost++;
			return NULL;
		}
	}
	__builtin_memcpy(row->comm, task->comm, COMM_BYTES);
	return row;
}

/* When the thread became runnable, within the part of its wait from `start` to `end` that counts. */
static __always_inline u64 runnable_since(struct off_task *task, struct off_cpu *cpu, u64 start, u64 end)
{
	if (task->state == OFF_RUNNABLE)
		return start;
	if (!task->woken_ns) {
		if (task->flags & TASK_WOKEN_EARLY)
			return start;
		cpu->wakeups_unseen++;
		return end;
	}
	if (task->woken_ns > end)
		return end;
	return task->woken_ns > start ? task->woken_ns : start;
}

/* A wait ends now. Only what lies between the start and the end of the measurement counts. */
static __always_inline void account(struct off_config *settings, struct off_cpu *cpu, struct off_task *task, u64 now)
{
	u64 start = task->out_ns, end = now, woken, blocked, runnable;
	struct off_row *row;

	if (start < settings->start_ns)
		start = settings->start_ns;
	if (end > settings->end_ns)
		end = settings->end_ns;
	if (!settings->start_ns || end <= settings->start_ns || start >= settings->end_ns)
		return;
	/* Two CPUs' clocks. */
	if (now < task->out_ns || now < task->woken_ns)
		cpu->negative++;
	if (end < start)
		return;
	if (end - start < settings->min_ns) {
		cpu->below_count++;
		cpu->below_ns += end - start;
		return;
	}
	woken = runnable_since(task, cpu, start, end);
	row = row_of(task, cpu);
	if (!row)
		return;
	blocked = woken - start;
	if (blocked) {
		row->blocked_count++;
		row->blocked_ns += blocked;
		if (blocked < row->blocked_min_ns)
			row->blocked_min_ns = blocked;
		if (blocked > row->blocked_max_ns)
			row->blocked_max_ns = blocked;
	}
	runnable = end - woken;
	if (runnable) {
		row->runnable_count++;
		row->runnable_ns += runnable;
		if (runnable < row->runnable_min_ns)
			row->runnable_min_ns = runnable;
		if (runnable > row->runnable_max_ns)
			row->runnable_max_ns = runnable;
	}
}

static __always_inline void begin_wait(struct off_task *task, u32 state, u64 now)
{
	task->state = state;
	task->woken_ns = 0;
	task->waker_tid = task->waker_tgid = 0;
	task->waker_user_stack = STACK_NONE;
	task->waker_kernel_stack = STACK_NONE;
	/* Last: a waker that sees it takes this wait for begun. */
	barrier();
	task->out_ns = now;
}

static __always_inline void switch_out(void *ctx, struct off_cpu *cpu, struct task_id *id, u32 state, u64 now)
{
	struct off_task *task;

	if (state == OFF_GONE) {
		tasks.delete(&id->tid);
		return;
	}
	task = task_entry(id, cpu);
	if (!task)
		return;
	describe(id, task);
	if (!SELECTED(task)) {
		task->out_ns = 0;
		return;
	}
	take_stacks(ctx, cpu, id, task);
	begin_wait(task, state, now);
}

static __always_inline void switch_in(struct off_config *settings, struct off_cpu *cpu, struct task_id *id, u64 now)
{
	struct off_task *task = tasks.lookup(&id->tid);

	if (!task)
		return;
	if (task->out_ns)
		account(settings, cpu, task, now);
	task->out_ns = 0;
	task->flags &= ~TASK_WOKEN_EARLY;
}

static __always_inline void on_switch(void *ctx, struct task_id *prev, struct task_id *next, u32 state)
{
	struct off_config *settings = settings_of_now();
	struct off_cpu *cpu = this_cpu();
	bool out, in;
	u64 now;

	if (!settings || !cpu)
		return;
	out = prev->tid && is_wanted(settings, prev->tid, prev->tgid);
	in = next->tid && may_be_wanted(settings, next);
	if (!out && !in)
		return;
	now = bpf_ktime_get_ns();
	if (out)
		switch_out(ctx, cpu, prev, state, now);
	if (in)
		switch_in(settings, cpu, next, now);
}

/* Only the first wakeup of a wait counts; one of a thread that has the CPU does not, if another one comes. */
static __always_inline void on_waking(void *ctx, struct task_id *id)
{
	struct off_config *settings = settings_of_now();
	struct off_cpu *cpu = this_cpu();
	struct off_task *task;

	if (!settings || !cpu || !may_be_wanted(settings, id))
		return;
	task = tasks.lookup(&id->tid);
	if (!task)
		return;
	if (!task->out_ns) {
		task->flags |= TASK_WOKEN_EARLY;
		return;
	}
	if (task->woken_ns || task->state == OFF_RUNNABLE)
		return;
	task->woken_ns = bpf_ktime_get_ns();
	keep_waker(ctx, settings, cpu, task);
}

/* A new thread waits for its first CPU. */
static __always_inline void on_wakeup_new(struct task_id *id)
{
	struct off_config *settings = settings_of_now();
	struct off_cpu *cpu = this_cpu();
	struct off_task *task;

	if (!settings || !cpu || !is_wanted(settings, id->tid, id->tgid))
		return;
	task = task_entry(id, cpu);
	if (!task)
		return;
	describe(id, task);
	if (!SELECTED(task))
		return;
	task->flags &= ~TASK_WOKEN_EARLY;
	task->user_stack = STACK_NEW_TASK;
	task->kernel_stack = STACK_NEW_TASK;
	begin_wait(task, OFF_RUNNABLE, bpf_ktime_get_ns());
}

#endif
