/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What the kernel side shares with user space: limits, structs and maps. User space learns the layouts from the
 * compiled module, so each is written once, here.
 *
 * Given as flags by schedtop/sources/bpf.py: CPUS (possible CPUs), TASK_SLOTS (a power of two), OVERFLOW_TASKS,
 * SLOW_WAITS_PER_WINDOW, EVENT_PAGES.
 */

#define COMM_BYTES 16
#define CLAIM_LOCKS 4096

/* Slow waits are limited per CPU and window of 2^27 ns (134 ms), so that a flood is spread over the second. */
#define SLOW_WINDOW_SHIFT 27

/* Why a task waits. The first two are the rows of the latency histogram. */
enum wait_kind {
	WAIT_WAKEUP,
	WAIT_PREEMPTION,
	WAIT_THROTTLED,
};

#define LATENCY_KINDS 2

/* task_slot.flags */
#define TASK_RUNNING_NOW 1 /* between its switch in and its switch out */
#define TASK_EXITING 2 /* sched_process_exit was seen; it may still run */
#define TASK_EXITED 4 /* switched out for the last time: the slot can be had */
#define TASK_YIELDED 8 /* the wait began with sched_yield: nobody took the CPU */

/*
 * One task. Written by the CPU that runs it, and by its waker while it sleeps. The first cache line is what a switch
 * touches. Counters are cumulative; start_ns tells two users of a tid apart (0: born before we looked, without BTF).
 */
struct task_slot {
	u32 tid;
	u32 tgid;
	u64 start_ns;
	u64 wait_start_ns; /* 0: does not wait */
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
	u64 cgroup_id;
	u64 longest_ns[2]; /* longest wait of an epoch, by its parity */
	u16 longest_epoch[2];
	u32 exit_epoch;
	u32 culprit_tid; /* who woke it or took its CPU, by wait_kind */
	u32 arrivals; /* how often the kernel had let it run when we last looked */
};

/* One CPU. Written by that CPU alone, except for the migrations. */
struct cpu_state {
	u64 slice_start_ns; /* 0: no switch seen yet */
	u64 switches;
	u64 voluntary;
	u64 involuntary;
	u64 wakeups;
	u64 idle_ns;
	u64 current_tid;
	u64 waits_unseen; /* switched in with no reliable start of its wait */

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
	u64 reserved_line[6];

	u64 wait_sum_ns[LATENCY_KINDS];
	u64 longest_epoch[2];
	u64 longest_ns[2 * LATENCY_KINDS]; /* by parity of the epoch, then by kind */

	u64 latency[LATENCY_KINDS * LATENCY_BUCKETS];
	u64 reserved_tail[(8 - LATENCY_KINDS * LATENCY_BUCKETS % 8) % 8];
};

/* Written by user space through its mapping, read here. */
struct config {
	u64 threshold_ns;
	u64 epoch; /* number of the current interval */
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
	u32 yielded;
	char comm[COMM_BYTES];
	char preemptor_comm[COMM_BYTES];
	char previous_comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
};

BPF_F_TABLE("array", u32, struct task_slot, tasks, TASK_SLOTS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct cpu_state, cpus, CPUS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct config, config, 1, BPF_F_MMAPABLE);
BPF_TABLE("hash", u32, struct task_slot, overflow, OVERFLOW_TASKS);
BPF_TABLE("hash", u32, u32, claims, CLAIM_LOCKS);
BPF_RINGBUF_OUTPUT(slow_waits, EVENT_PAGES);
