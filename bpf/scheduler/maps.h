/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the kernel side shares with user space: limits, structs and maps. User space learns the layouts from the
 * compiled module, so each is written once, here.
 *
 * Given as flags (schedtop/sources/scheduler/programs.py): CPUS (possible CPUs), TASK_SLOTS (a power of two),
 * OVERFLOW_TASKS, PAIRS, LATENCY_GROUPS, MOVED_WAITS, SHORT_LIVED, SLOW_WAITS_PER_WINDOW, EVENT_PAGES, CHANGED_SLOTS,
 * CHANGED_PAIRS; FILTERED and what belongs to it (tasks.h). include/flags.h names all flags.
 */
#ifndef SCHEDTOP_SCHEDULER_MAPS_H
#define SCHEDTOP_SCHEDULER_MAPS_H

#include <linux/types.h>

#include "../histogram.h"
#include "../interrupts/current.h"
#include "../memory.h"

#define CLAIM_LOCKS 4096

/* A claim that is left over: so many intervals old. */
#define CLAIM_EPOCHS 100

/* Slow waits are limited per CPU and window of 2^27 ns (134 ms), so that a flood is spread over the second. */
#define SLOW_WINDOW_SHIFT 27

/* The blockers are looked for when a wait is slow or at least this long, so often per CPU and such window at most. */
#define LOOK_NS 100000
#define LOOKS_PER_WINDOW 512
#define SLICES_A_LOOK_SHIFT 4 /* a long walk counts as several */

/* How far back a CPU's timeline reaches (powers of two), and how short an idle time or a pause is left out of it. */
#define SLICES 256
#define IDLE_PERIODS 1024
#define IDLE_PERIOD_NS 1000000
#define STEAL_MARKS 64
#define STEAL_MARK_NS 1000000

/* How many blockers are told apart in one wait (a power of two). */
#define BLOCKERS_SEEN 8

/* Why a task waits. The first three are the rows of the latency histogram. */
enum wait_kind {
	WAIT_WAKEUP,
	WAIT_PREEMPTION,
	WAIT_FORK, /* new: from its creation until it first runs */
	WAIT_THROTTLED,
};

#define LATENCY_KINDS 3

/* Which scheduling class has a task, by its effective priority (kernel/sched/sched.h). */
enum sched_class {
	CLASS_UNKNOWN,
	CLASS_FAIR,
	CLASS_EXT,
	CLASS_RT,
	CLASS_DEADLINE,
	CLASS_STOP,
};

/* SCHED_* of include/uapi/linux/sched.h, and one: what its policy is, whatever class it has for the moment. */
enum policy {
	POLICY_UNKNOWN,
	POLICY_OTHER,
	POLICY_FIFO,
	POLICY_RR,
	POLICY_BATCH,
	POLICY_ISO,
	POLICY_IDLE,
	POLICY_DEADLINE,
	POLICY_EXT,
};

/*
 * Tids are below PID_MAX_LIMIT, 2^22: in waker_or_preemptor_tid the woken_by lies above, and between them the source of
 * the interrupt that woke the task, with one added (interrupts/current.h); 0: it is not known, or too high.
 */
#define WAKER_SOURCE_SHIFT SOURCE_SHIFT
#define WOKEN_BY_SHIFT 30

/* Above the source of a softirq: instead of the tid is what raised it, a task's tid or an interrupt's source. */
#define RAISED_BY_TASK 0x40
#define RAISED_BY_INTERRUPT 0x80

/* What but its affinity mask may have kept a task on its CPU while it waited (bound.h). */
#define BOUND_UNKNOWN 1 /* the kernel does not tell */
#define BOUND_TO_CPU 2 /* migrate_disable() */
#define BOUND_BY_CORE 4 /* core scheduling is on: the other threads of a core may be forced to idle */

/* task_slot.flags */
#define TASK_RUNNING_NOW 1 /* between its switch in and its switch out */
#define TASK_EXITING 2 /* sched_process_exit was seen; it may still run */
#define TASK_EXITED 4 /* switched out for the last time: the slot can be had */
#define TASK_YIELDED 8 /* left with sched_yield: no task took the CPU; with no wait: pauses until its next period */
#define TASK_SELECTED 16 /* passes the filter: only such waits count */
#define TASK_IN_CGROUP 32 /* is below the cgroup of the filter */
#define TASK_MOVED 64 /* has moved to another CPU since its wait began */
#define TASK_OVER_RUNTIME 128 /* a deadline task that left because its runtime was used up */

/*
 * One task. Written by the CPU that runs it, and by its waker while it sleeps. The first cache line is what a switch
 * touches. Counters are cumulative; start_ns tells two users of a tid apart (0: born before we looked, without BTF).
 */
struct task_slot {
	u32 tid;
	u32 tgid;
	u64 start_ns;
	u64 wait_start_ns; /* 0: does not wait. By account a woken task's is exact to a tick (waits.h) */
	u64 run_ns;
	u64 run_delay_ns;
	u32 voluntary;
	u32 involuntary;
	u32 timeslices;
	u32 migrations;
	u16 last_cpu;
	u16 enqueue_cpu; /* where the wait began */
	u16 queue_cpu; /* where it waits now */
	u8 wait_kind;
	u8 flags;

	char comm[COMM_BYTES];
	u64 css_set; /* task_struct.cgroups that cgroup_id was read from */
	u64 account_ns; /* run delay by the kernel's accounting, up to its last switch in (waits.h) */
	u64 longest_ns[2]; /* longest wait of an epoch, by its parity */
	u16 longest_epoch[2];
	u32 noted_epoch; /* the last one in which it was noted as changed (changes.h) */
	u32 waker_or_preemptor_tid; /* by wait_kind; of a waker, or what started it, with its woken_by and source */
	u32 pcount; /* how often the kernel had let it run (sched_info) when we last looked */

	u64 exec_ns; /* run time by the kernel's accounting, up to its last switch out */
	u64 left_ns; /* when it left enqueue_cpu, and came to queue_cpu, if that was after wait_start_ns */
	u64 moved_ns;
	u64 cgroup_id;
	u32 cache_migrations;
	u32 numa_migrations;
	u32 pid_namespace;
	u32 parent_tgid; /* what started it: of a thread its own process */
	char parent_comm[COMM_BYTES];
	u32 exit_code; /* once TASK_EXITING is set */
	u32 exit_epoch;
	u8 sched_class; /* these four as of its last long slice, or the first event of an epoch (classes.h) */
	u8 policy;
	u16 priority; /* real-time, 1 to 99; 0: it has none */
	s16 nice;
	u16 reserved_class;
};

/* One CPU has the slot of this index in hand, for the task of this tid. */
struct claim {
	u32 tid;
	u32 epoch;
};

/* What an exec by a thread has done to the task that leaves, since it came: its leader is dead, and they swap tids. */
enum tid_change {
	TID_KEPT,
	TID_OF_LEADER, /* it has the tid of the leader from now on */
	TID_OF_THREAD, /* it is the former leader, and has the thread's */
};

/*
 * What is known of a switch (yes: 1), of prev unless it says else. In a map: what lies on the stack the verifier knows by
 * the way that it came, and follows all that comes after it for each of these ways (200,000 instructions).
 */
struct switch_facts {
	u8 involuntary; /* it could have gone on */
	u8 dead; /* it will never run again */
	u8 yielded; /* it asked for the switch with sched_yield */
	u8 throttled; /* its cgroup has used up its quota */
	u8 pauses; /* a deadline task that has ended its period: it waits for no CPU until the next one */
	u8 over_runtime; /* it has used up its runtime */
	u8 seen; /* so was its arrival on this CPU */
	u8 tid_change;
};

/* One CPU. Written by that CPU alone, except for the migrations. A switch touches the first line, and the last. */
struct cpu_state {
	u64 slice_start_ns; /* 0: no switch seen yet */
	u64 switches;
	u64 voluntary;
	u64 involuntary;
	u64 idle_ns;
	u64 current_tid;
	u64 slice_count; /* of its timeline, whose newest slice ends at slice_start_ns */
	u64 clock_offset; /* what takes rq->clock to CLOCK_MONOTONIC (waits.h) */

	u64 slow_window;
	u64 slow_in_window;
	u64 slow_suppressed;
	u64 ring_dropped;
	u64 negative_waits;
	u64 untracked;
	u64 evicted;
	u64 switches_unseen; /* counted, but not reported by the kernel's tracepoint */

	u64 migrations_in; /* added to by any CPU */
	u64 migrations_out;
	u64 cache_migrations; /* of those in: from another cache, from another NUMA node */
	u64 numa_migrations;
	u64 short_lived; /* those that ended here, and of them those that found no room in short_lived */
	u64 short_lived_dropped;
	u64 waits_unseen; /* that ended, or whose task ran, without both being seen: in no histogram */
	u64 overflowed; /* tasks that this CPU put into the overflow map */

	u64 look_window; /* what became of waits when their blockers were looked for */
	u64 looks_in_window;
	u64 looked_at_ns;
	u64 over_budget_ns;
	u64 uncovered_ns;
	u64 blocked_idle_ns;
	u64 others_ns;
	u64 unpaired_ns;

	u64 wait_ends; /* odd while the end of a wait is being counted */
	u64 cut_epoch; /* what this row was when that epoch began is in cuts */
	u64 wait_sum_ns[LATENCY_KINDS];
	u64 longest_epoch[2];
	u64 longest_ns[2 * LATENCY_KINDS]; /* by parity of the epoch, then by kind */
	u64 regs_in_stack; /* how far into a task's kernel stack its registers are, 0: not looked for yet */
	u64 tick_offset; /* what takes jiffies to CLOCK_MONOTONIC, 0: not known */
	u64 reserved_longest[(8 - (3 * LATENCY_KINDS + 6) % 8) % 8];

	u64 latency[LATENCY_KINDS * LATENCY_BUCKETS];
	u64 reserved_tail[(8 - LATENCY_KINDS * LATENCY_BUCKETS % 8) % 8];

	u64 clock_window; /* where the newer of two windows begins, and the least difference of the clocks in each */
	u64 clock_least;
	u64 clock_former;
	u64 steal_due_ns; /* when the next steal_mark is made */
	u64 wakeups;
	u64 current_task; /* what current_tid was when it came: an exec changes tids. 0: the front end cannot tell */
	struct switch_facts facts; /* of the switch under way */
	u64 queue_at; /* the address of its run queue, 0: not looked for yet */
};

/*
 * One CPU's recent past. Written by that CPU alone; the counts tell where the next entry of each ring goes, that of the
 * slices is in cpu_state.
 */
struct timeline {
	u64 slices[SLICES]; /* SLICE_UNKNOWN, nanoseconds, tid */

	u64 steal_mark_count;
	struct steal_mark {
		u64 time_ns;
		u64 steal_ns;
	} steal_marks[STEAL_MARKS];

	u64 idle_count;
	u64 idle_start_ns[IDLE_PERIODS];
	u64 idle_end_ns[IDLE_PERIODS];
};

/* tid below PID_MAX_LIMIT (include/linux/threads.h), so that 41 bits are left for the time: 36 minutes. */
#define SLICE_TID_BITS 22
#define SLICE_UNKNOWN (1ULL << 63)

/* Which CPUs share a last-level cache and a NUMA node. Written by user space once. */
struct domain {
	u32 cache;
	u32 node;
};

/* What the waits of a group of tasks have in common, see task_slot. The values are those of config.grouping. */
enum grouping {
	GROUP_NONE,
	GROUP_TID,
	GROUP_TGID,
	GROUP_CGROUP,
	GROUP_PID_NAMESPACE,
};

/* Kinds have entries of their own: most groups have one or two, and a histogram takes a kilobyte. */
struct group_key {
	u64 id;
	u32 grouping;
	u32 kind; /* enum wait_kind */
};

/* Added to by any CPU. */
struct group_latency {
	u64 id;
	u32 grouping;
	u32 kind;
	u64 wait_sum_ns;
	u32 latency[LATENCY_BUCKETS];
};

struct pair_key {
	u32 victim_tid;
	u32 other_tid;
};

/* What one task cost another in an interval, by parity of the epoch. Written by the CPU that the victim came to. */
struct pair {
	u32 victim_tid;
	u32 other_tid;
	u32 epoch[2];
	u32 preemptions[2];
	u32 waits[2];
	u64 preempted_ns[2];
	u64 blocked_ns[2];
	u64 longest_ns[2]; /* the largest share in one wait */
};

/*
 * The tasks that ended in one interval and had lived no longer than one, added up: single ones may be too many to be
 * read. Added to by any CPU.
 */
struct short_lived_key {
	char comm[COMM_BYTES]; /* the last one */
	char parent_comm[COMM_BYTES];
	u64 cgroup_id;
	u32 exit_code; /* as wait() has it, or one of EXIT_* */
	u32 pid_namespace;
	u32 epoch;
	u32 is_thread;
};

/* Begins with its key. */
struct short_lived {
	char comm[COMM_BYTES];
	char parent_comm[COMM_BYTES];
	u64 cgroup_id;
	u32 exit_code;
	u32 pid_namespace;
	u32 epoch;
	u32 is_thread;
	u32 parent_tgid; /* the last one that was seen */
	u32 several_parents;
	u64 count;
	u64 run_ns;
	u64 run_delay_ns;
	u64 max_wait_ns;
	u64 lived_ns;
	u64 switches;
};

#define EXIT_UNKNOWN 0xffffffff
#define EXIT_REPLACED 0xfffffffe /* by an exec of another thread: the process lives on */

/* Which tasks: all of a CPU, and those of the fair class alone. */
enum queue_kind {
	QUEUE_ALL,
	QUEUE_FAIR,
};

#define QUEUE_KINDS 2

/* Lengths from 0; the last slot holds all that are longer. */
#define QUEUE_SLOTS 512

/* What the samples of one CPU's run queue add up to. Written by that CPU alone, and only while it is sampled. */
struct queue_samples {
	u64 samples;
	u64 idle; /* of the samples: nothing ran */
	u64 failed; /* the run queue was not found */
	u64 sum[QUEUE_KINDS];
	u64 longest_epoch[2];
	u64 longest[2 * QUEUE_KINDS]; /* by parity of the epoch, then by kind */
	u64 reserved_line[5];
	u32 counts[QUEUE_KINDS * QUEUE_SLOTS];
};

/* Written by user space through its mapping, read here. */
struct config {
	u64 threshold_ns;
	u64 epoch; /* number of the current interval */
	u64 grouping;
	u64 interval_ns; /* a task that lived no longer was short-lived */
	u64 quotas; /* whether some cgroup may have a CPU quota (quota.h) */
	u64 sched_ext; /* whether a sched_ext scheduler is loaded */
};

struct slow_wait {
	u64 end_ns;
	u64 wait_ns;
	u32 tid;
	u32 tgid;
	u32 preemptor_tid;
	u32 previous_tid;
	u32 waker_tid;
	u32 kind;
	u16 cpu;
	u16 enqueue_cpu;
	u16 yielded;
	u16 bonds; /* BOUND_* */
	u32 pid_namespace;
	u32 allowed_cpus; /* 0: unknown */
	u64 cgroup_id;
	u64 stolen_ns; /* at least */
	u64 throttled_ns; /* of the wait; the rest is queueing */
	u64 covered_ns; /* what follows is about this much of the wait */
	u64 cpu_idle_ns;
	u64 others_ns;
	u64 blocker_ns[BLOCKERS_SEEN];
	u32 blocker_tid[BLOCKERS_SEEN];
	u32 switches;
	u32 reported;
	u32 queue_known; /* 0: what follows is not */
	u32 queue_length[QUEUE_KINDS]; /* how many still wait on `cpu` when this wait ends */
	u32 woken_by;
	u64 enqueued_ns; /* since when it waited on `cpu` */
	char comm[COMM_BYTES];
	char preemptor_comm[COMM_BYTES];
	char previous_comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	u32 sched_ext; /* a sched_ext scheduler may have had it in a queue of its own, for no CPU in particular */
	u32 epoch; /* in which it ended, as its pairs have it */
	u32 waker_source;
	u32 waker_raiser; /* of a softirq, as in struct interrupting */
	u8 sched_class; /* as in struct task_slot, when the wait ends */
	u8 policy;
	u16 priority;
	s16 nice;
	u16 over_runtime; /* a deadline task whose runtime was used up when the wait began */
	u64 dl_runtime_ns; /* of a deadline task: what it may run in each period, */
	u64 dl_period_ns;
	u64 dl_missed_ns; /* and by how much it was past its deadline when the wait ended */
};

UNPRINTED(cpus);
UNPRINTED(cuts);
UNPRINTED(timelines);
UNPRINTED(queues);
UNPRINTED(groups);
UNPRINTED(no_latency);
BPF_F_TABLE("array", u32, struct task_slot, tasks, TASK_SLOTS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct cpu_state, cpus, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct cpu_state, cuts, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct timeline, timelines, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct queue_samples, queues, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct domain, domains, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct config, config, 1, BPF_F_MMAPABLE);
BPF_TABLE("hash", u32, struct task_slot, overflow, OVERFLOW_TASKS);
BPF_TABLE("hash", u32, struct claim, claims, CLAIM_LOCKS);
BPF_TABLE("hash", struct short_lived_key, struct short_lived, short_lived, SHORT_LIVED);
BPF_TABLE("lru_hash", struct pair_key, struct pair, pairs, PAIRS);
BPF_TABLE("lru_hash", struct group_key, struct group_latency, groups, LATENCY_GROUPS);
/* Too large for the stack: where each CPU puts an event together, and what is new. */
BPF_TABLE("lru_hash", u32, struct slow_wait, moved_waits, MOVED_WAITS);
BPF_TABLE("array", u32, struct slow_wait, no_wait, 1);
BPF_TABLE("array", u32, struct slow_wait, scratch, CPUS);
BPF_TABLE("array", u32, struct task_slot, no_task, 1);
BPF_TABLE("array", u32, struct short_lived, no_short_lived, 1);
BPF_TABLE("array", u32, struct group_latency, no_latency, 1);
BPF_RINGBUF_OUTPUT(slow_waits, EVENT_PAGES);

#endif
