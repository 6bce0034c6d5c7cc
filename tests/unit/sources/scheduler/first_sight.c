/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Events of two CPUs at the first sight of a task, one in the middle of the other: before each operation on a map and each
 * step of an initialisation in turn. bpf/scheduler/tasks.h is the real one, the maps are these. Prints what is wrong.
 */
#undef TASK_SLOTS
#define TASK_SLOTS 4
#include "scheduler/tasks.h"

extern int printf(const char *format, ...);

#define ENTRIES 8
#define EPOCH 500
#define MOST_STEPS 60

static struct config settings = { .epoch = EPOCH };
static struct cpu_state cpu_states[CPUS];
static struct task_slot array[TASK_SLOTS], fresh;
static struct {
	u32 key;
	bool used;
	struct task_slot slot;
} hash[ENTRIES];
static struct {
	u32 key;
	bool used;
	struct claim claim;
} locks[ENTRIES];

static bool tells_start, deletions_fail;
static int steps, interrupted_at;
static struct task_id *intruder;
static const char *scene;
static int failures;

static void event(struct task_id *id, u32 cpu)
{
	struct task_slot *slot = task_slot(id, &cpu_states[cpu]);

	if (slot)
		slot->run_ns++;
}

/* Here the other CPU may come in between, once. */
static void step(void)
{
	struct task_id *now = intruder;

	if (!now || steps++ != interrupted_at)
		return;
	intruder = NULL;
	event(now, 1);
}

static struct task_slot *find_slot(u32 *index)
{
	step();
	return &array[*index];
}

static struct task_slot *find_entry(u32 *tid)
{
	step();
	for (int at = 0; at < ENTRIES; at++)
		if (hash[at].used && hash[at].key == *tid)
			return &hash[at].slot;
	return NULL;
}

static int insert_entry(u32 *tid, struct task_slot *slot)
{
	if (find_entry(tid))
		return -1;
	for (int at = 0; at < ENTRIES; at++)
		if (!hash[at].used) {
			hash[at].used = true;
			hash[at].key = *tid;
			hash[at].slot = *slot;
			return 0;
		}
	return -1;
}

static struct claim *find_claim(u32 *index)
{
	step();
	for (int at = 0; at < ENTRIES; at++)
		if (locks[at].used && locks[at].key == *index)
			return &locks[at].claim;
	return NULL;
}

static int insert_claim(u32 *index, struct claim *claim)
{
	if (find_claim(index))
		return -1;
	for (int at = 0; at < ENTRIES; at++)
		if (!locks[at].used) {
			locks[at].used = true;
			locks[at].key = *index;
			locks[at].claim = *claim;
			return 0;
		}
	return -1;
}

static int delete_claim(u32 *index)
{
	step();
	for (int at = 0; at < ENTRIES; at++)
		if (!deletions_fail && locks[at].used && locks[at].key == *index)
			locks[at].used = false;
	return deletions_fail ? -1 : 0;
}

static struct config *find_config(u32 *zero)
{
	return &settings;
}

static struct cpu_state *find_cpu(u32 *cpu)
{
	return &cpu_states[*cpu];
}

static struct task_slot *find_fresh(u32 *zero)
{
	return &fresh;
}

static u32 task_tgid(struct task_id *id)
{
	step();
	return id->tid;
}

static void task_name(struct task_id *id, char *comm)
{
	step();
}

static void task_cgroup(struct task_id *id, struct task_slot *slot)
{
}

static u32 task_pid_namespace(struct task_id *id)
{
	step();
	return 1;
}

static void task_class(struct task_id *id, struct task_slot *slot)
{
}

static void task_parent(struct task_id *id, struct task_slot *slot)
{
}

static u32 new_timeslices(struct task_id *id, struct task_slot *slot, u32 now_one)
{
	return 1;
}

static u64 new_run_time(struct task_id *id, struct task_slot *slot)
{
	return 0;
}

static void note_account(struct task_id *id, struct task_slot *slot)
{
	step();
}

static bool is_place_of(struct task_slot *slot, struct task_id *id)
{
	return slot->tid == id->tid && (!tells_start || slot->start_ns == id->start_ns);
}

/* The task has one place at most, where all its events are that were not counted as untracked. */
static void check(struct task_id *id, u64 events)
{
	u64 found = cpu_states[0].untracked + cpu_states[1].untracked;
	int places = 0;

	for (int at = 0; at < ENTRIES + TASK_SLOTS; at++) {
		struct task_slot *slot = at < TASK_SLOTS ? &array[at] : &hash[at - TASK_SLOTS].slot;

		if ((at < TASK_SLOTS || hash[at - TASK_SLOTS].used) && is_place_of(slot, id)) {
			places++;
			found += slot->run_ns;
		}
	}
	if (places == 1 && found == events)
		return;
	failures++;
	printf("%s, interrupted at step %d: %d places, %llu of %llu events\n", scene, interrupted_at, places, found,
	       events);
}

static void reset(const char *name, int at)
{
	__builtin_memset(array, 0, sizeof(array));
	__builtin_memset(hash, 0, sizeof(hash));
	__builtin_memset(locks, 0, sizeof(locks));
	__builtin_memset(cpu_states, 0, sizeof(cpu_states));
	scene = name;
	interrupted_at = at;
	steps = 0;
	intruder = NULL;
	settings.epoch = EPOCH;
	deletions_fail = false;
}

static void own(struct task_id *id, u8 flags)
{
	array[id->tid % TASK_SLOTS] = (struct task_slot){ .tid = id->tid, .start_ns = id->start_ns, .flags = flags };
}

/* How many events came of it: two, or one, if there are fewer steps. */
static u64 two_cpus(struct task_id *one, struct task_id *other)
{
	u64 events;

	intruder = other;
	event(one, 0);
	events = intruder ? 1 : 2;
	intruder = NULL;
	return events;
}

int main(int count, char **arguments)
{
	u64 events;
	struct task_id task = { .tid = 5 }, neighbour = { .tid = 9 }, owner = { .tid = 13 }, former = { .tid = 5 };

	tells_start = count > 1;
	if (tells_start) {
		former.start_ns = 100;
		neighbour.start_ns = 200;
		owner.start_ns = 300;
		task.start_ns = 400;
	}
	tasks.lookup = find_slot;
	overflow.lookup = find_entry;
	overflow.insert = insert_entry;
	claims.lookup = find_claim;
	claims.insert = insert_claim;
	claims.delete = delete_claim;
	config.lookup = find_config;
	cpus.lookup = find_cpu;
	no_task.lookup = find_fresh;

	for (int at = 0; at < MOST_STEPS; at++) {
		reset("one task, a free slot", at);
		events = two_cpus(&task, &task);
		event(&task, 0);
		check(&task, events + 1);

		reset("one task, a slot whose task has exited", at);
		own(&owner, TASK_EXITED);
		events = two_cpus(&task, &task);
		event(&task, 0);
		check(&task, events + 1);

		reset("one task, a slot that another one has", at);
		own(&owner, 0);
		events = two_cpus(&task, &task);
		event(&task, 0);
		check(&task, events + 1);

		reset("two tasks, a free slot", at);
		events = two_cpus(&task, &neighbour);
		event(&task, 0);
		event(&neighbour, 0);
		check(&task, 2);
		check(&neighbour, events);
		if (!tells_start)
			continue;

		reset("one task, a slot of the former user of its tid", at);
		own(&former, 0);
		events = two_cpus(&task, &task);
		event(&task, 0);
		check(&task, events + 1);

		reset("the former user of a tid goes after the new one has come", at);
		own(&task, 0);
		events = two_cpus(&former, &task);
		event(&task, 0);
		check(&former, 1);
		check(&task, events);
	}

	reset("a claim is left over", -1);
	deletions_fail = true;
	event(&task, 0);
	check(&task, 1);
	own(&task, TASK_EXITED);
	deletions_fail = false;
	event(&neighbour, 0);
	check(&neighbour, 1);
	settings.epoch += CLAIM_EPOCHS;
	event(&owner, 0);
	check(&owner, 1);
	event(&(struct task_id){ .tid = 1, .start_ns = owner.start_ns }, 0);
	if (array[1].tid != 1) {
		failures++;
		printf("%s: the slot is never given to another task\n", scene);
	}
	return !!failures;
}
