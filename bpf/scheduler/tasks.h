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
	bool has_prio; /* the event tells its priority: */
	s32 prio;
};

struct switch_event {
	struct task_id prev;
	struct task_id next;
};

static __always_inline u32 task_tgid(struct task_id *id);
static __always_inline void task_name(struct task_id *id, char *comm);
static __always_inline void task_cgroup(struct task_id *id, struct task_slot *slot);
/* Its inode number, 0 where it cannot be told. */
static __always_inline u32 task_pid_namespace(struct task_id *id);
/* What started it, as far as that can be told. */
static __always_inline void task_parent(struct task_id *id, struct task_slot *slot);
/* Its class, policy, priority and nice, as far as they can be told. */
static __always_inline void task_class(struct task_id *id, struct task_slot *slot);
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

/* How long it has run since this was last asked, or noted, by the kernel's accounting; 0 where that cannot be told. */
static __always_inline u64 new_run_time(struct task_id *id, struct task_slot *slot);

/* Another tid leaves than came: is it another task, or one of those that an exec gives other tids? */
static __always_inline enum tid_change tid_change(struct task_id *prev, struct cpu_state *cpu);

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
	new_run_time(id, slot);
	note_account(id, slot);
	/* With it other CPUs take the slot for complete. */
	barrier();
	slot->tid = id->tid;
	slot->flags = selected_flags(slot, slot->flags);
}

static __always_inline u64 current_epoch(void)
{
	u32 zero = 0;
	struct config *settings = config.lookup(&zero);

	return settings ? settings->epoch : 0;
}

/* Whether it runs on a CPU: a last switch that was not reported does not keep its slot for ever. */
static __always_inline bool is_running(struct task_slot *slot)
{
	u32 cpu_id = slot->last_cpu;
	struct cpu_state *cpu = slot->flags & TASK_RUNNING_NOW ? cpus.lookup(&cpu_id) : NULL;

	return cpu && cpu->current_tid == slot->tid;
}

/*
 * The slot's owner will not write to it any more. A tid may be given again before the last switch of its former task. One
 * that exits may run, wait and block for long (since 6.16 its memory goes after sched_process_exit), but an exec can rob
 * an exiting thread of its last switch.
 */
static __always_inline bool is_reclaimable(struct task_slot *slot, struct task_id *id, u64 epoch)
{
	if (!slot->tid || slot->flags & TASK_EXITED)
		return true;
	if (slot->tid == id->tid)
		return slot->start_ns <= id->start_ns;
	return slot->flags & TASK_EXITING && slot->exit_epoch + 2 <= epoch && !slot->wait_start_ns && !is_running(slot);
}

/* Gives a slot to another task. */
static __always_inline void renew_slot(struct task_slot *slot, struct task_id *id, struct cpu_state *cpu, u64 epoch)
{
	/* Did it die so late that no reading can have seen its last counts? */
	if (slot->tid && slot->exit_epoch + 1 >= epoch)
		cpu->evicted++;
	init_slot(slot, id);
}

/* An entry is initialised by the CPU that has inserted it; until then it has no tid, and other CPUs get NULL. */
static __always_inline struct task_slot *overflow_slot(struct task_id *id, struct cpu_state *cpu, u64 epoch)
{
	u32 zero = 0;
	struct task_slot *empty = no_task.lookup(&zero);
	struct task_slot *slot;
	bool is_ours;

	if (!empty)
		return NULL;
	is_ours = !overflow.insert(&id->tid, empty);
	slot = overflow.lookup(&id->tid);
	if (!slot || same_task(slot, id))
		return slot;
	if (is_ours)
		cpu->overflowed++;
	else if (!slot->tid || slot->start_ns > id->start_ns)
		return NULL;
	renew_slot(slot, id, cpu, epoch);
	return slot;
}

/*
 * The place of a task that was not seen before. The array slot goes to one CPU at a time: inserting into a hash is the
 * lock, and what has changed before is looked at under it. NULL if there is no room, or while another CPU makes the place
 * of this task: one that is woken while it is switched out has events on two.
 */
static __always_inline struct task_slot *new_slot(struct task_slot *slot, u32 index, struct task_id *id,
						  struct cpu_state *cpu)
{
	u64 epoch = current_epoch();
	struct claim own = { .tid = id->tid, .epoch = epoch }, *other;
	bool is_found, is_being_made = false;

	if (!is_reclaimable(slot, id, epoch))
		goto no_room;
	if (!claims.insert(&index, &own)) {
		is_found = same_task(slot, id);
		if (!is_found && is_reclaimable(slot, id, epoch)) {
			renew_slot(slot, id, cpu, epoch);
			is_found = true;
		}
		/* Since 6.15 this can fail: the lock of a bucket is given up after a while (rqspinlock). */
		claims.delete(&index);
	} else {
		other = claims.lookup(&index);
		/* Signed: an interval may have begun since `epoch` was read. */
		if (other && (s32)(own.epoch - other->epoch) >= CLAIM_EPOCHS)
			claims.delete(&index);
		else
			is_being_made = other && other->tid == id->tid;
		is_found = same_task(slot, id);
	}
	if (is_found)
		return slot;
	if (is_being_made)
		return NULL;
no_room:
	return overflow_slot(id, cpu, epoch);
}

/*
 * The slot of a task, NULL if there is none for it. The overflow hash is asked before a free slot is taken, so that a task
 * which lives there keeps its one place.
 */
static __always_inline struct task_slot *task_slot(struct task_id *id, struct cpu_state *cpu)
{
	u32 index = id->tid & (TASK_SLOTS - 1);
	struct task_slot *slot = tasks.lookup(&index);
	struct task_slot *other;

	if (!slot || same_task(slot, id))
		return slot;
	other = overflow.lookup(&id->tid);
	if (other && same_task(other, id))
		return other;
	slot = other && !other->tid ? NULL : new_slot(slot, index, id, cpu);
	if (!slot)
		cpu->untracked++;
	return slot;
}

/* The place of a task that is known by its tid only. */
static __always_inline struct task_slot *known_slot(u32 tid)
{
	u32 index = tid & (TASK_SLOTS - 1);
	struct task_slot *slot = tasks.lookup(&index);

	return slot && slot->tid != tid ? overflow.lookup(&tid) : slot;
}

/* Its name, for the rare slow wait. */
static __always_inline void name_of(u32 tid, char *comm)
{
	struct task_slot *slot = known_slot(tid);

	if (tid && slot)
		__builtin_memcpy(comm, slot->comm, COMM_BYTES);
}

#endif
