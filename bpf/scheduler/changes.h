/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What changed in an interval, so that user space reads that alone. Each CPU lists the task slots and the pairs that it
 * is the first to touch in an epoch. Two lists in turn: a CPU empties one when it first notes something in a later
 * epoch of that parity, so user space reads the last one in peace, and may look again for what came late.
 *
 * Call these with interrupts off only (sched_switch, and the wakeup of a task that is on no CPU): a program that
 * interrupts another one here would take the same entry.
 *
 * CHANGED_SLOTS and CHANGED_PAIRS are flags: how long the lists are. What finds no room is counted, and user space then
 * looks at everything.
 */
#ifndef SCHEDTOP_SCHEDULER_CHANGES_H
#define SCHEDTOP_SCHEDULER_CHANGES_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "maps.h"
#include "tasks.h"

/* Written by one CPU alone. All by parity of the epoch; a count above the length of its list means a full one. */
struct changes {
	u32 epoch[2];
	u32 slot_count[2];
	u32 pair_count[2];
	u32 reserved_line[10];
};

BPF_F_TABLE("array", u32, struct changes, changes, CPUS, BPF_F_MMAPABLE);
/* The lists, by CPU and parity. Elements of a map: within a struct, bcc takes a second for them. */
BPF_F_TABLE("array", u32, u64, changed_slots, CPUS * 2 * CHANGED_SLOTS, BPF_F_MMAPABLE);
/* The victim's tid, and the other one above it. */
BPF_F_TABLE("array", u32, u64, changed_pairs, CPUS * 2 * CHANGED_PAIRS, BPF_F_MMAPABLE);

/* This CPU's lists, the one of this epoch ready to be added to. */
static __always_inline struct changes *changes_of(u64 epoch)
{
	u32 cpu = bpf_get_smp_processor_id(), parity = epoch & 1;
	struct changes *noted = changes.lookup(&cpu);

	if (noted && noted->epoch[parity] != (u32)epoch) {
		noted->slot_count[parity] = 0;
		noted->pair_count[parity] = 0;
		asm volatile("" ::: "memory");
		noted->epoch[parity] = epoch;
	}
	return noted;
}

/*
 * The first change of a slot in this epoch is noted; whether this is it. A row of the overflow map notes its place in the
 * array: no harm.
 */
static __always_inline bool note_change(struct task_slot *slot)
{
	u64 epoch = current_epoch();
	u32 parity = epoch & 1, place, at;
	struct changes *noted;
	u64 *entry;

	if (slot->noted_epoch == (u32)epoch)
		return false;
	noted = changes_of(epoch);
	if (!noted)
		return false;
	slot->noted_epoch = epoch;
	place = noted->slot_count[parity];
	at = (2 * bpf_get_smp_processor_id() + parity) * CHANGED_SLOTS + place;
	entry = place < CHANGED_SLOTS ? changed_slots.lookup(&at) : NULL;
	if (entry)
		*entry = slot->tid & (TASK_SLOTS - 1);
	/* The entry before the count that tells of it. */
	asm volatile("" ::: "memory");
	noted->slot_count[parity] = place + 1;
	return true;
}

/* The same for a pair, when it begins to count in this epoch. */
static __always_inline void note_pair(struct pair_key *key, u64 epoch)
{
	struct changes *noted = changes_of(epoch);
	u32 parity = epoch & 1, place, at;
	u64 *entry;

	if (!noted)
		return;
	place = noted->pair_count[parity];
	at = (2 * bpf_get_smp_processor_id() + parity) * CHANGED_PAIRS + place;
	entry = place < CHANGED_PAIRS ? changed_pairs.lookup(&at) : NULL;
	if (entry)
		*entry = (u64)key->other_tid << 32 | key->victim_tid;
	asm volatile("" ::: "memory");
	noted->pair_count[parity] = place + 1;
}

#endif
