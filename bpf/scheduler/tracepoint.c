/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Front end for kernels without BTF: perf tracepoints. The *_FIELD flags are offsets in the record, found by name in
 * the tracefs format files. A record names tasks by tid and comm only: no cgroup, no start time, no yield.
 *
 * All programs return 1: after a 0 the kernel hands the event to no other program, and a perf that records meanwhile
 * would miss it (perf_trace_run_bpf_submit()).
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../record.h"
#include "classes.h"
#include "core.h"
#include "maps.h"
#include "tasks.h"

/*
 * As COPY_NAME, of the names that are aligned to eight bytes. The verifier wants loads from the record at constant
 * offsets, so they are copied to the stack first.
 */
#define COPY_ALIGNED_NAME(to, ctx, offset)                                                                             \
	do {                                                                                                           \
		*(u64 *)(to) = (offset) ? FIELD(u64, ctx, offset) : 0;                                                 \
		*(u64 *)((to) + 8) = (offset) ? FIELD(u64, ctx, (offset) + 8) : 0;                                     \
	} while (0)

static __always_inline u32 task_tgid(struct task_id *id)
{
	u64 current = bpf_get_current_pid_tgid();

	return (u32)current == id->tid ? current >> 32 : 0;
}

static __always_inline void task_name(struct task_id *id, char *comm)
{
	if (id->comm)
		__builtin_memcpy(comm, id->comm, COMM_BYTES);
}

static __always_inline void task_cgroup(struct task_id *id, struct task_slot *slot)
{
}

/* A record does not tell it: 0, not known. */
static __always_inline u32 task_pid_namespace(struct task_id *id)
{
	return 0;
}

/* A record tells the priority alone: of a fair or real-time task it does not say which policy it has. */
static __always_inline void task_class(struct task_id *id, struct task_slot *slot)
{
	if (id->has_prio)
		note_priority(slot, id->prio);
}

static __always_inline void describe_deadline(struct slow_wait *event, struct task_id *id, struct cpu_state *cpu)
{
}

/* At sched_wakeup_new its starter is still the current task. */
static __always_inline void task_parent(struct task_id *id, struct task_slot *slot)
{
	if (!id->newborn)
		return;
	slot->parent_tgid = bpf_get_current_pid_tgid() >> 32;
	bpf_get_current_comm(slot->parent_comm, COMM_BYTES);
}

static __always_inline u32 task_exit_code(struct task_id *id)
{
	return EXIT_UNKNOWN;
}

static __always_inline u32 wakeup_cpu(struct task_id *id, struct task_slot *slot)
{
	return id->cpu_and_one ? id->cpu_and_one - 1 : slot->last_cpu;
}

static __always_inline u32 allowed_cpus(struct task_id *id)
{
	return 0;
}

/* A record does not tell the class. */
static __always_inline bool is_in_sched_ext(struct task_id *id, struct config *settings)
{
	return settings->sched_ext;
}

static __always_inline u64 steal_of_cpu(struct task_id *id)
{
	return 1;
}

static __always_inline u32 new_timeslices(struct task_id *id, struct task_slot *slot, u32 now_one)
{
	return 1;
}

static __always_inline u64 new_run_time(struct task_id *id, struct task_slot *slot)
{
	return 0;
}

/* No record names a task by more than its tid: the leader has gone to its end, and what came is a thread of its process. */
static __always_inline enum tid_change tid_change(struct task_id *prev, struct cpu_state *cpu)
{
	u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct task_slot *leader = known_slot(tgid), *thread;

	if (!leader || !(leader->flags & (TASK_EXITING | TASK_EXITED)))
		return TID_KEPT;
	if (tgid == cpu->current_tid)
		return TID_OF_THREAD;
	thread = tgid == prev->tid ? known_slot(cpu->current_tid) : NULL;
	return thread && thread->tgid == tgid ? TID_OF_LEADER : TID_KEPT;
}

static __always_inline bool is_queued(struct task_id *id, struct task_slot *slot)
{
	return slot->flags & TASK_RUNNING_NOW;
}

/* The first move soon after a wakeup, most likely. One that has waited for longer is moved by the balancer. */
static __always_inline bool is_being_woken(struct task_id *id, struct task_slot *slot)
{
	return slot->wait_kind == WAIT_WAKEUP && slot->queue_cpu == slot->last_cpu &&
	       bpf_ktime_get_ns() - slot->wait_start_ns < LOOK_NS;
}

int tracepoint_sched_switch(void *ctx)
{
	struct switch_event event = {};
	struct switch_facts facts = {};
	u32 state = FIELD(u32, ctx, SWITCH_PREV_STATE_FIELD);
	char prev_comm[COMM_BYTES] __attribute__((aligned(8)));
	char next_comm[COMM_BYTES] __attribute__((aligned(8)));

	COPY_ALIGNED_NAME(prev_comm, ctx, SWITCH_PREV_COMM_FIELD);
	COPY_ALIGNED_NAME(next_comm, ctx, SWITCH_NEXT_COMM_FIELD);
	event.prev.tid = FIELD(u32, ctx, SWITCH_PREV_PID_FIELD);
	event.prev.comm = prev_comm;
	event.next.tid = FIELD(u32, ctx, SWITCH_NEXT_PID_FIELD);
	event.next.comm = next_comm;
	event.prev.prio = FIELD(u32, ctx, SWITCH_PREV_PRIO_FIELD);
	event.next.prio = FIELD(u32, ctx, SWITCH_NEXT_PRIO_FIELD);
	event.prev.has_prio = event.next.has_prio = true;
	/* TASK_RUNNING is 0 on the way to user space, and TASK_REPORT_MAX (0x100) when preempted inside the kernel. */
	facts.involuntary = !(state & REPORTED_RUNNING);
	facts.dead = !!(state & REPORTED_DEAD);
	on_switch(&event, facts);
	return 1;
}

#ifdef HAVE_SCHED_WAKING
int tracepoint_sched_waking(void *ctx)
{
	char comm[COMM_BYTES] __attribute__((aligned(8)));
	struct task_id id = { .tid = FIELD(u32, ctx, WAKING_PID_FIELD), .comm = comm, .has_prio = true };

	COPY_ALIGNED_NAME(comm, ctx, WAKING_COMM_FIELD);
	id.prio = FIELD(u32, ctx, WAKING_PRIO_FIELD);
	on_waking(&id);
	return 1;
}
#endif

#ifdef HAVE_SCHED_WAKEUP
int tracepoint_sched_wakeup(void *ctx)
{
	char comm[COMM_BYTES] __attribute__((aligned(8)));
	struct task_id id = { .tid = FIELD(u32, ctx, WAKEUP_PID_FIELD), .comm = comm };

	COPY_ALIGNED_NAME(comm, ctx, WAKEUP_COMM_FIELD);
	on_wakeup(&id);
	return 1;
}
#endif

#ifdef HAVE_SCHED_WAKEUP_NEW
int tracepoint_sched_wakeup_new(void *ctx)
{
	char comm[COMM_BYTES] __attribute__((aligned(8)));
	struct task_id id = { .tid = FIELD(u32, ctx, WAKEUP_NEW_PID_FIELD), .comm = comm };

	COPY_ALIGNED_NAME(comm, ctx, WAKEUP_NEW_COMM_FIELD);

	id.cpu_and_one = FIELD(u32, ctx, WAKEUP_NEW_TARGET_CPU_FIELD) + 1;
	/* The only sign that a tid has a new user. */
	id.start_ns = bpf_ktime_get_ns();
	id.newborn = true;
	id.prio = FIELD(u32, ctx, WAKEUP_NEW_PRIO_FIELD);
	id.has_prio = true;
	on_waking_new(&id);
	return 1;
}
#endif

#ifdef HAVE_SCHED_MIGRATE_TASK
int tracepoint_sched_migrate_task(void *ctx)
{
	struct task_id id = { .tid = FIELD(u32, ctx, MIGRATE_PID_FIELD) };

	on_migrate(&id, FIELD(u32, ctx, MIGRATE_ORIG_CPU_FIELD), FIELD(u32, ctx, MIGRATE_DEST_CPU_FIELD));
	return 1;
}
#endif

#ifdef HAVE_SCHED_PROCESS_EXIT
int tracepoint_sched_process_exit(void *ctx)
{
	char comm[COMM_BYTES] __attribute__((aligned(8)));
	struct task_id id = { .tid = FIELD(u32, ctx, EXIT_PID_FIELD), .comm = comm };

	COPY_ALIGNED_NAME(comm, ctx, EXIT_COMM_FIELD);
	on_exit(&id);
	return 1;
}
#endif

#ifdef HAVE_SCHED_PROCESS_EXEC
int tracepoint_sched_process_exec(void *ctx)
{
	struct task_id id = { .tid = FIELD(u32, ctx, EXEC_PID_FIELD) };

	on_exec(&id, FIELD(u32, ctx, EXEC_OLD_PID_FIELD));
	return 1;
}
#endif
