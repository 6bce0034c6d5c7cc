/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Two CPUs end a wait of the same new group, one in the middle of the other: before each operation on a map in turn.
 * count_in_group() of bpf/scheduler/blame.h is the real one, the maps are these. Prints what is wrong.
 */
#include "scheduler/blame.h"

extern int printf(const char *format, ...);

#define MOST_STEPS 8

static struct group_latency group, empty;
static struct task_slot slot = { .tid = 5 };
static bool used;
static int steps, interrupted_at;
static bool has_come;

/* Here the other CPU may come in between, once. */
static void step(void)
{
	if (has_come || steps++ != interrupted_at)
		return;
	has_come = true;
	count_in_group(&slot, GROUP_TID, WAIT_PREEMPTION, 3, 100);
}

static struct group_latency *find(struct group_key *key)
{
	step();
	return used ? &group : NULL;
}

static int put(struct group_latency *value)
{
	group = *value;
	used = true;
	return 0;
}

static int update(struct group_key *key, struct group_latency *value)
{
	step();
	return put(value);
}

static int insert(struct group_key *key, struct group_latency *value)
{
	step();
	return used ? -1 : put(value);
}

static struct group_latency *find_empty(u32 *zero)
{
	step();
	return &empty;
}

int main(void)
{
	int failures = 0;
	u64 waits;

	groups.lookup = find;
	groups.insert = insert;
	groups.update = update;
	no_latency.lookup = find_empty;
	for (interrupted_at = 0; interrupted_at < MOST_STEPS; interrupted_at++) {
		used = has_come = false;
		steps = 0;
		count_in_group(&slot, GROUP_TID, WAIT_PREEMPTION, 3, 10);
		waits = has_come ? 2 : 1;
		if (group.latency[3] == waits && group.wait_sum_ns == (has_come ? 110 : 10) && group.id == 5 &&
		    group.grouping == GROUP_TID && group.kind == WAIT_PREEMPTION)
			continue;
		failures++;
		printf("interrupted at step %d: %llu of %llu waits, %llu ns\n", interrupted_at, (u64)group.latency[3],
		       waits, group.wait_sum_ns);
	}
	return !!failures;
}
