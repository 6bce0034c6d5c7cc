/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The task table: an array indexed by the low bits of the tid, because that costs a third of a hash. A second live
 * task of the same index goes to the overflow hash and stays exact; what finds no room anywhere is counted.
 */
#ifndef SCHEDTOP_SCHEDULER_TASKS_H
#define SCHEDTOP_SCHEDULER_TASKS_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "maps.h"

/* A task as an event names it. A front end fills it and defines the functions below. */
struct task_id {
	u32 tid;
	u64 start_ns; /* 0: the front end cannot tell */
	u64 task; /* struct task_struct, 0: the front end has none */
	const void *comm; /* where the event holds the name, if it does */
	u32 cpu_and_one; /* the CPU that the event names, plus one; 0 if it names none */
	bool newborn; /* the current task has just started it */
};

struct switch_event {
	struct task_id prev;
	struct task_id next;
	bool involuntary; /* prev could have gone on */
	bool dead; /* prev will never run again */
	bool yielded; /* prev asked for it with sched_yield */
	bool throttled; /* prev's cgroup has used up its quota */
	bool pauses; /* prev, a deadline task, has ended its period: it waits for no CPU until the next one */
};

static __always_inline u32 task_tgid(struct task_id *id);
static __always_inline void task_name(struct task_id *id, char *comm);
static __always_inline void task_cgroup(struct task_id *id, struct task_slot *slot);
static __always_inline u32 task_pid_namespace(struct task_id *id);
/* What started it, as far as that can be told. */
static __always_inline void task_parent(struct task_id *id, struct task_slot *slot);
/* At its exit: what wait() will say of it, or one of EXIT_*. */
static __always_inline u32 task_exit_code(struct task_id *id);
/* On which CPU's queue a task is put that is being woken, unless sched_migrate_task says otherwise. */
static __always_inline u32 wakeup_cpu(struct task_id *id, struct task_slot *slot);
/* How many CPUs its affinity mask allows, 0 where it cannot be told. */
static __always_inline u32 allowed_cpus(struct task_id *id);
/* What the hypervisor has taken from the task's CPU so far, in nanoseconds. */
static __always_inline u64 steal_of_cpu(struct task_id *id);
/* Is the task on a run queue already, so that a wakeup changes nothing? */
static __always_inline bool is_queued(struct task_id *id, struct task_slot *slot);

/* At a migration: is the task on its way to its first run queue, and not from one to another? */
static __always_inline bool is_being_woken(struct task_id *id, struct task_slot *slot);

/* How often the task has got a CPU since this was last asked, `now_one` more included; 1 where it cannot be told. */
static __always_inline u32 new_timeslices(struct task_id *id, struct task_slot *slot, u32 now_one);

/* waits.h */
static __always_inline void note_account(struct task_id *id, struct task_slot *slot);

static __always_inline bool same_task(struct task_slot *slot, struct task_id *id)
{
	return slot->tid == id->tid && (!id->start_ns || slot->start_ns == id->start_ns);
}

/*
 * A filter given at the start is compiled in: SELECTED is an expression of the slot `s`. It asks about the task that
 * waits, at its switch out, when its names are fresh.
 */
static __always_inline u8 selected_flags(struct task_slot *slot, u8 flags)
{
#ifdef FILTERED
	return SELECTED(slot) ? flags | TASK_SELECTED : flags & ~TASK_SELECTED;
#else
	return flags;
#endif
}

static __always_inline bool is_selected(struct task_slot *slot)
{
#ifdef FILTERED
	return slot->flags & TASK_SELECTED;
#else
	return true;
#endif
}

static __always_inline void init_slot(struct task_slot *slot, struct task_id *id)
{
	__builtin_memset(slot, 0, sizeof(*slot));
	slot->start_ns = id->start_ns;
	slot->tgid = task_tgid(id);
	task_name(id, slot->comm);
	task_cgroup(id, slot);
	slot->pid_namespace = task_pid_namespace(id);
	task_parent(id, slot);
	slot->exit_code = EXIT_UNKNOWN;
	new_timeslices(id, slot, 0);
	note_account(id, slot);
	slot->tid = id->tid;
	slot->flags = selected_flags(slot, slot->flags);
}

static __always_inline u64 current_epoch(void)
{
	u32 zero = 0;
	struct config *settings = config.lookup(&zero);

	return settings ? settings->epoch : 0;
}

/* The slot's owner will not write to it any more (an exec can rob an exiting thread of its last switch). */
static __always_inline bool is_reclaimable(struct task_slot *slot, struct task_id *id, u64 epoch)
{
	if (!slot->tid || slot->tid == id->tid || slot->flags & TASK_EXITED)
		return true;
	return slot->flags & TASK_EXITING && slot->exit_epoch + 2 <= epoch;
}

/* Takes the array slot for a new task, if it can be had. One CPU at a time: inserting into a hash is the lock. */
static __always_inline bool claim_slot(struct task_slot *slot, u32 index, struct task_id *id, struct cpu_state *cpu)
{
	u64 epoch = current_epoch();
	u32 one = 1;
	bool claimed;

	if (!is_reclaimable(slot, id, epoch) || claims.insert(&index, &one))
		return false;
	claimed = is_reclaimable(slot, id, epoch);
	if (claimed) {
		/* Did it die so late that no reading can have seen its last counts? */
		if (slot->tid && slot->exit_epoch + 1 >= epoch)
			cpu->evicted++;
		init_slot(slot, id);
	}
	claims.delete(&index);
	return claimed;
}

static __always_inline struct task_slot *overflow_slot(struct task_id *id)
{
	u32 zero = 0;
	struct task_slot *empty = no_task.lookup(&zero);
	struct task_slot *slot;

	if (!empty)
		return NULL;
	overflow.insert(&id->tid, empty);
	slot = overflow.lookup(&id->tid);
	if (slot)
		init_slot(slot, id);
	return slot;
}

/*
 * The slot of a task, NULL if there is no room for it. The overflow hash is asked before a free slot is taken, so that
 * a task which lives there keeps its one place.
 */
static __always_inline struct task_slot *task_slot(struct task_id *id, struct cpu_state *cpu)
{
	u32 index = id->tid & (TASK_SLOTS - 1);
	struct task_slot *slot = tasks.lookup(&index);
	struct task_slot *other;

	if (!slot || same_task(slot, id))
		return slot;
	other = overflow.lookup(&id->tid);
	if (other) {
		if (!same_task(other, id))
			init_slot(other, id);
		return other;
	}
	if (claim_slot(slot, index, id, cpu))
		return slot;
	other = overflow_slot(id);
	if (other)
		cpu->overflowed++;
	else
		cpu->untracked++;
	return other;
}

/* The name of a task that is known by its tid only, for the rare slow wait. */
static __always_inline void name_of(u32 tid, char *comm)
{
	u32 index = tid & (TASK_SLOTS - 1);
	struct task_slot *slot = tasks.lookup(&index);

	if (slot && slot->tid != tid)
		slot = overflow.lookup(&tid);
	if (tid && slot)
		__builtin_memcpy(comm, slot->comm, COMM_BYTES);
}

#endif
