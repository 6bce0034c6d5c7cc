/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The task view: what one thread, or all threads of one process, do. Events of other tasks end at the first comparison.
 *
 * Times are added up at each change of a thread's state, so user space may look as often as it likes: what has passed
 * since the last change is the present state's. Nothing is ever cleared; differences are user space's.
 *
 * The sizes of `cpus`, `slow_calls` and `changes` are user space's: one compilation serves all hosts and all tasks.
 */
#ifndef SCHEDTOP_TASK_TASK_H
#define SCHEDTOP_TASK_TASK_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../histogram.h"
#include "../memory.h"
#include "../socket.h"
#include "../syscalls.h"
#include "../tcp_change.h"
#include "../throttling.h"
#include "../woken_by.h"

#define MOST_THREADS 4096
#define MOST_PEERS 4096
#define MOST_SOCKETS 4096
#define SLOW_CALLS 256 /* of each CPU, a power of two */
#define CHANGES 256 /* the same */

enum thread_state {
	THREAD_RUNNING,
	THREAD_RUNNABLE,
	THREAD_SLEEPING,
	THREAD_UNINTERRUPTIBLE,
	THREAD_STOPPED,
	THREAD_THROTTLED,
	THREAD_STATES,
	THREAD_ENDED = THREAD_STATES,
};

enum peer_kind {
	PEER_WAKER,
	PEER_WAKEE,
	PEER_PREEMPTOR
};

/* Written by user space through its mapping. */
struct task_config {
	u32 tgid; /* 0: nothing is looked at yet */
	u32 tid; /* 0: all threads of the process */
	u64 start_ns;
	u64 epoch; /* goes up by one each interval */
	u64 slow_ns; /* calls from this long on are kept one by one */
};

struct task_thread {
	u64 state_ns[THREAD_STATES];
	u64 since_ns; /* of `state` */
	u64 waking_ns; /* a wakeup that came before its switch out was seen */
	u64 exec_ns; /* its run time by the kernel's own count, at its last switch; 0: not known */
	u64 call_enter_ns; /* 0: before the start */
	u64 call_blocked_ns;
	u64 fault_enter_ns;
	u64 fault_ns;
	u64 min_flt; /* the kernel's own, as of the last switch out */
	u64 maj_flt;
	u64 voluntary;
	u64 involuntary;
	u64 migrations;
	u64 preemptor_comm[2];
	u32 preemptor_tid;
	u32 tid;
	u32 state;
	s32 call;
	u32 cpu_and_one;
	u32 exit_code;
	u32 exiting;
	u8 read_kind_and_one; /* of the call, if it is one that reads */
	u8 write_kind_and_one;
	u16 reserved;
	char comm[COMM_BYTES];
#ifdef QUOTA_SUM_OFFSET
	/* Of the wait that began at `noted_ns` (held.h). */
	struct quota_reading before; /* of the queue that it waits in */
	u64 noted_ns;
	u64 here_ns; /* when it came to that queue */
	u64 held_ns; /* by the quotas of the queues before */
#endif
};

/* Of a wait under way, what its quota has taken of it (held.h). */
struct task_held {
	u64 since_ns; /* when it began: else this is about another wait */
	u64 at_ns; /* when this was found out */
	u64 held_ns; /* of the time between the two */
	u32 tid;
	u32 held; /* the quota holds the thread back now */
};

struct task_totals {
	u64 waits[LATENCY_BUCKETS];
	u64 wait_ns;
	u64 longest_epoch[2]; /* the longest of each interval, in two places in turn */
	u64 longest_ns[2];
	u64 threads_untracked;
	u64 peers_untracked;
	u64 errors_untracked;
	u64 negative_times;
	u64 switches_unseen; /* the kernel does not report each switch: another task may leave than came */
	u64 threads_started; /* of the process, also if one of its threads alone is looked at */
};

/* Written by its CPU alone, but for run_ns and timeslices. */
struct task_cpu {
	u64 run_ns;
	u64 timeslices;
	u64 slow_calls; /* written so far */
	u64 changes;
};

struct task_call {
	u64 count;
	u64 total_ns;
	u64 blocked_ns;
	u64 failed;
	u64 longest_epoch[2];
	u64 longest_ns[2];
	/* User space's: which argument is the descriptor that it reads from, or writes to, plus one. */
	u32 read_argument;
	u32 write_argument;
};

struct task_peer_key {
	u32 tid;
	u16 kind;
	u16 woken_by; /* of a waker, and of a task that was woken */
	u64 comm[2];
};

struct task_peer {
	u32 tid;
	u16 kind;
	u16 woken_by;
	char comm[COMM_BYTES];
	u64 count;
	u64 wait_ns;
};

struct task_io {
	u64 count;
	u64 bytes;
	u64 time_ns;
	u64 errors;
};

struct task_traffic {
	u64 sent_bytes;
	u64 sent_messages;
	u64 received_bytes;
	u64 received_messages;
};

struct task_slow_call {
	u64 position; /* plus one: which of its CPU's it is */
	u64 end_ns;
	u64 duration_ns;
	u64 blocked_ns;
	s64 result;
	u32 tid;
	s32 call;
};

BPF_F_TABLE("array", u32, struct task_config, config, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_totals, totals, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_cpu, cpus, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_call, calls, MOST_CALLS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_io, io, 2 * IO_KINDS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_traffic, traffic, 4, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct task_slow_call, slow_calls, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct tcp_change, changes, 1, BPF_F_MMAPABLE);
BPF_TABLE("hash", u32, struct task_thread, threads, MOST_THREADS);
BPF_TABLE("hash", struct task_peer_key, struct task_peer, peers, MOST_PEERS);
/* Sockets that the task is known to use, by address; others by the inode of their descriptor, or by local port. */
BPF_TABLE("lru_hash", u64, u32, sockets, MOST_SOCKETS);
BPF_TABLE("hash", u64, u32, inodes, MOST_SOCKETS);
BPF_TABLE("hash", u32, u32, listening, 256);
BPF_TABLE("array", u32, struct task_thread, no_thread, 1);
/* Only tells user space the layout. */
BPF_TABLE("array", u32, struct task_held, held, 1);

static __always_inline struct task_config *configuration(void)
{
	u32 zero = 0;

	return config.lookup(&zero);
}

static __always_inline bool is_aimed_at(struct task_config *settings, u32 tid, u32 tgid)
{
	if (settings->tgid != tgid)
		return false;
	return !settings->tid || settings->tid == tid;
}

static __always_inline struct task_config *settings_for(u32 tid, u32 tgid)
{
	struct task_config *settings = configuration();

	if (!settings || !tid || !is_aimed_at(settings, tid, tgid))
		return NULL;
	return settings;
}

/* The settings if the current task is the one that is looked at, else NULL. */
static __always_inline struct task_config *settings_for_current(void)
{
	u64 id = bpf_get_current_pid_tgid();

	return settings_for(id, id >> 32);
}

static __always_inline struct task_totals *all(void)
{
	u32 zero = 0;

	return totals.lookup(&zero);
}

/*
 * The record of a thread; a new one is in `state` since the task view was opened (or, if all that lived then are known,
 * since now). There is none if there is no room: then nothing at all is counted for it, and from when there is room
 * again it is not known since when a thread without a record is what it is: since now.
 */
static __always_inline struct task_thread *thread_of(struct task_config *settings, u32 tid, u32 state)
{
	struct task_thread *thread = threads.lookup(&tid);
	struct task_totals *totals = all();
	u32 zero = 0;

	if (thread || !totals)
		return thread;
	thread = no_thread.lookup(&zero);
	if (!thread)
		return NULL;
	threads.insert(&tid, thread);
	thread = threads.lookup(&tid);
	if (!thread) {
		__sync_fetch_and_add(&totals->threads_untracked, 1);
		return NULL;
	}
	thread->tid = tid;
	thread->call = NO_CALL;
	thread->state = state;
#ifdef NEW_THREADS_ARE_YOUNG
	thread->since_ns = bpf_ktime_get_ns();
#else
	thread->since_ns = totals->threads_untracked ? bpf_ktime_get_ns() : settings->start_ns;
#endif
	return thread;
}

static __always_inline void note_longest(u64 *epochs, u64 *longest, u64 ns, u64 epoch)
{
	u32 parity = epoch & 1;

	if (epochs[parity] != epoch || longest[parity] < ns) {
		longest[parity] = ns;
		epochs[parity] = epoch;
	}
}

static __always_inline struct task_call *call_of(s32 number)
{
	u32 index = number;

	return calls.lookup(&index);
}

/*
 * What has passed since the thread's last change, as time in `state`. If switches were not seen, the change was before
 * the call: the call has no part in what was blocked until it began.
 */
static __always_inline u64 account(struct task_thread *thread, u32 state, u64 now)
{
	u64 passed = now - thread->since_ns, place = state;
	u64 in_call = thread->since_ns < thread->call_enter_ns ? now - thread->call_enter_ns : passed;
	struct task_totals *totals = all();
	struct task_call *call;

	thread->since_ns = now;
	/* The verifier is to see the very comparison that bounds the index. */
	asm volatile("" : "+r"(place));
	if (!totals || place >= THREAD_STATES)
		return 0;
	if ((s64)passed < 0) {
		__sync_fetch_and_add(&totals->negative_times, 1);
		return 0;
	}
	thread->state_ns[place] += passed;
	if ((state == THREAD_SLEEPING || state == THREAD_UNINTERRUPTIBLE) && thread->call != NO_CALL &&
	    (s64)in_call > 0) {
		thread->call_blocked_ns += in_call;
		call = call_of(thread->call);
		if (call)
			__sync_fetch_and_add(&call->blocked_ns, in_call);
	}
	return passed;
}

/*
 * Adds atomically, and nothing where that is known to be 0: of a 0 the compiler makes an atomic "or", which LLVM 11 has
 * no instruction for, and kernels before 5.12 neither.
 */
static __always_inline void add_to(u64 *sum, u64 amount)
{
	if (amount)
		__sync_fetch_and_add(sum, amount);
}

static __always_inline void count_peer(u32 kind, u32 by, u32 tid, u64 *comm, u64 times, u64 wait_ns)
{
	struct task_peer_key key = { .tid = tid, .kind = kind, .woken_by = by, .comm = { comm[0], comm[1] } };
	struct task_peer *peer = peers.lookup(&key);
	struct task_peer fresh = { .tid = tid, .kind = kind, .woken_by = by };
	struct task_totals *totals = all();

	if (!peer) {
		__builtin_memcpy(fresh.comm, comm, COMM_BYTES);
		peers.insert(&key, &fresh);
		peer = peers.lookup(&key);
	}
	if (peer) {
		add_to(&peer->count, times);
		add_to(&peer->wait_ns, wait_ns);
	} else if (totals) {
		add_to(&totals->peers_untracked, times);
	}
}

static __always_inline void end_wait(struct task_config *settings, struct task_thread *thread, u64 now)
{
	u64 wait = account(thread, THREAD_RUNNABLE, now);
	struct task_totals *totals = all();
	u32 bucket = latency_bucket(wait);

	if (!totals || bucket >= LATENCY_BUCKETS)
		return;
	__sync_fetch_and_add(&totals->waits[bucket], 1);
	__sync_fetch_and_add(&totals->wait_ns, wait);
	note_longest(totals->longest_epoch, totals->longest_ns, wait, settings->epoch);
	if (thread->preemptor_tid)
		count_peer(PEER_PREEMPTOR, 0, thread->preemptor_tid, thread->preemptor_comm, 0, wait);
}

static __always_inline void count_unseen(void)
{
	struct task_totals *totals = all();

	if (totals)
		__sync_fetch_and_add(&totals->switches_unseen, 1);
}

static __always_inline void count_run(u32 cpu, u64 slice, u64 timeslices)
{
	struct task_cpu *place = cpus.lookup(&cpu);

	if (!place)
		return;
	add_to(&place->run_ns, slice);
	add_to(&place->timeslices, timeslices);
}

/* How long it has run since its last switch that was seen, by the kernel's count; never more than the time since. */
static __always_inline u64 ran_unseen(struct task_thread *thread, u64 exec_ns, u64 now)
{
	u64 ran = exec_ns - thread->exec_ns, passed = now - thread->since_ns;

	if (!exec_ns || !thread->exec_ns || (s64)passed < 0)
		return 0;
	return ran < passed ? ran : passed;
}

/* The time up to a switch in, in the states that it was in. */
static __always_inline void arrive(struct task_config *settings, struct task_thread *thread, u64 exec_ns, u64 now)
{
	u32 state = thread->state;

	/* At the start /proc called it running, but it was queued. */
	if (state == THREAD_RUNNING && !thread->cpu_and_one)
		state = THREAD_RUNNABLE;
	if (state == THREAD_RUNNING) {
		count_unseen();
		count_run(thread->cpu_and_one - 1,
			  account(thread, THREAD_RUNNING, thread->since_ns + ran_unseen(thread, exec_ns, now)), 0);
		state = thread->waking_ns ? THREAD_SLEEPING : THREAD_RUNNABLE;
	}
	/* A wakeup that came while it was on its way out. By the two clocks it may have come before that was over. */
	if ((state == THREAD_SLEEPING || state == THREAD_UNINTERRUPTIBLE) && thread->waking_ns) {
		if (thread->waking_ns > thread->since_ns)
			account(thread, state, thread->waking_ns);
		state = THREAD_RUNNABLE;
	}
	if (state == THREAD_RUNNABLE)
		end_wait(settings, thread, now);
	else
		account(thread, state, now);
}

/* `exec_ns`: its run time by the kernel's own count, 0 where that is not known. */
static __always_inline void switch_in(struct task_config *settings, u32 tid, u64 exec_ns, u64 now)
{
	struct task_thread *thread = thread_of(settings, tid, THREAD_RUNNABLE);
	u32 cpu = bpf_get_smp_processor_id();

	if (!thread)
		return;
	arrive(settings, thread, exec_ns, now);
	thread->preemptor_tid = 0;
	thread->waking_ns = 0;
	thread->exec_ns = exec_ns;
	thread->state = THREAD_RUNNING;
	thread->cpu_and_one = cpu + 1;
	count_run(cpu, 0, 1);
}

static __always_inline struct task_thread *switch_out(struct task_config *settings, u32 tid, u32 state,
						      bool involuntary, u64 exec_ns, u64 now)
{
	struct task_thread *thread = thread_of(settings, tid, THREAD_RUNNING);
	u32 cpu = bpf_get_smp_processor_id();
	u64 arrived;

	if (!thread)
		return NULL;
	if (thread->state != THREAD_RUNNING) {
		count_unseen();
		count_run(cpu, 0, 1);
		arrived = now - ran_unseen(thread, exec_ns, now);
		if (thread->state < THREAD_STATES)
			arrive(settings, thread, exec_ns, arrived);
		thread->waking_ns = 0;
	}
	count_run(cpu, account(thread, THREAD_RUNNING, now), 0);
	thread->exec_ns = exec_ns;
	if (involuntary)
		thread->involuntary++;
	else
		thread->voluntary++;
	if (thread->waking_ns && (state == THREAD_SLEEPING || state == THREAD_UNINTERRUPTIBLE))
		state = THREAD_RUNNABLE;
	thread->state = state;
	thread->cpu_and_one = cpu + 1;
	return thread;
}

/* A wakeup of a thread that is not queued, and blocked in `state`. */
static __always_inline void woken(struct task_config *settings, u32 tid, u32 state, u64 now)
{
	struct task_thread *thread = thread_of(settings, tid, state);
	u32 by = woken_by(preempt_count(0)), waker = waker_tid(by);
	u64 comm[2] = {};

	if (!thread)
		return;
	if (waker)
		bpf_get_current_comm(comm, sizeof(comm));
	count_peer(PEER_WAKER, by, waker, comm, 1, 0);
	if (thread->state == THREAD_RUNNING) {
		thread->waking_ns = now;
	} else if (thread->state != THREAD_RUNNABLE) {
		account(thread, thread->state, now);
		thread->state = THREAD_RUNNABLE;
	}
}

/*
 * A wakeup while the task is the current one. What an interrupt wakes is not its doing; of a softirq, which it may have
 * brought about, that is not known.
 */
static __always_inline void wakes(u32 tid, u64 *comm)
{
	u32 by = woken_by(preempt_count(0));

	if (by != BY_INTERRUPT)
		count_peer(PEER_WAKEE, by, tid, comm, 1, 0);
}

static __always_inline void born(struct task_config *settings, u32 tid, u64 now)
{
	struct task_thread *thread = thread_of(settings, tid, THREAD_RUNNABLE);

	if (!thread)
		return;
	thread->since_ns = now;
	thread->state = THREAD_RUNNABLE;
	thread->exiting = 0;
	thread->call = NO_CALL;
}

/*
 * The current thread has replaced its process's program, and goes on under the number of the leader, which has ended:
 * what it is doing is the leader's record's from now on. `old_tid`: its own until then.
 */
static __always_inline void renamed(struct task_config *settings, u32 old_tid, u64 exec_ns, u64 now)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct task_thread *thread, *old;

	if (old_tid == tid)
		return;
	thread = thread_of(settings, tid, THREAD_RUNNING);
	if (!thread)
		return;
	old = threads.lookup(&old_tid);
	if (old) {
		/* If it has been switched since it has the new number, the leader's record has that time already. */
		if (thread->state >= THREAD_STATES)
			account(old, old->state, now);
		thread->call = old->call;
		thread->call_enter_ns = old->call_enter_ns;
		thread->call_blocked_ns = old->call_blocked_ns;
		old->state = THREAD_ENDED;
		old->call = NO_CALL;
	}
	if (thread->state >= THREAD_STATES) {
		thread->since_ns = now;
		thread->exec_ns = exec_ns;
		thread->state = THREAD_RUNNING;
		thread->cpu_and_one = bpf_get_smp_processor_id() + 1;
	}
	thread->exiting = 0;
	thread->exit_code = 0;
}

static __always_inline void call_begins(struct task_config *settings, u32 number, u32 read_kind, u32 write_kind,
					u64 now)
{
	struct task_thread *thread = thread_of(settings, bpf_get_current_pid_tgid(), THREAD_RUNNING);

	if (!thread)
		return;
	thread->call = number;
	thread->call_blocked_ns = 0;
	thread->call_enter_ns = now;
	thread->read_kind_and_one = read_kind;
	thread->write_kind_and_one = write_kind;
}

static __always_inline void count_io(u32 kind_and_one, u32 direction, s64 result, u64 ns)
{
	u32 index = direction * IO_KINDS + kind_and_one - 1;
	struct task_io *place;

	if (!kind_and_one)
		return;
	place = io.lookup(&index);
	if (!place)
		return;
	__sync_fetch_and_add(&place->count, 1);
	__sync_fetch_and_add(&place->time_ns, ns);
	if (result > 0)
		__sync_fetch_and_add(&place->bytes, result);
	if (result < 0)
		__sync_fetch_and_add(&place->errors, 1);
}

static __always_inline void keep_slow_call(struct task_thread *thread, u64 ns, s64 result, u64 now)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct task_cpu *place = cpus.lookup(&cpu);
	struct task_slow_call *kept;
	u32 index;

	if (!place)
		return;
	index = cpu * SLOW_CALLS + (place->slow_calls & (SLOW_CALLS - 1));
	kept = slow_calls.lookup(&index);
	if (!kept)
		return;
	kept->position = 0;
	barrier();
	kept->end_ns = now;
	kept->duration_ns = ns;
	kept->blocked_ns = thread->call_blocked_ns;
	kept->result = result;
	kept->tid = thread->tid;
	kept->call = thread->call;
	barrier();
	kept->position = ++place->slow_calls;
}

static __always_inline void call_ends(struct task_config *settings, s64 result, u64 now)
{
	struct task_thread *thread = thread_of(settings, bpf_get_current_pid_tgid(), THREAD_RUNNING);
	struct task_totals *totals = all();
	struct task_call *call;
	u64 ns;

	if (!thread || thread->call == NO_CALL)
		return;
	call = call_of(thread->call);
	if (!call)
		return;
	ns = now - (thread->call_enter_ns ? thread->call_enter_ns : settings->start_ns);
	__sync_fetch_and_add(&call->count, 1);
	__sync_fetch_and_add(&call->total_ns, ns);
	note_longest(call->longest_epoch, call->longest_ns, ns, settings->epoch);
	count_io(thread->read_kind_and_one, 0, result, ns);
	count_io(thread->write_kind_and_one, 1, result, ns);
	if (is_error(result)) {
		__sync_fetch_and_add(&call->failed, 1);
		if (!count_error(thread->call, result) && totals)
			__sync_fetch_and_add(&totals->errors_untracked, 1);
	}
	if (ns >= settings->slow_ns)
		keep_slow_call(thread, ns, result, now);
	thread->call = NO_CALL;
}

static __always_inline void remember_socket(u64 sock)
{
	u32 one = 1;

	if (!sockets.lookup(&sock))
		sockets.update(&sock, &one);
}

static __always_inline void count_traffic(u64 sock, u32 protocol, u32 family, s32 result, bool received)
{
	u32 index = (protocol == IPPROTO_UDP ? 2 : 0) + (family == AF_INET6 ? 1 : 0);
	struct task_traffic *place;

	if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) || (family != AF_INET && family != AF_INET6))
		return;
	if (protocol == IPPROTO_TCP)
		remember_socket(sock);
	place = traffic.lookup(&index);
	/* An end of the connection is no message; an empty datagram is one. */
	if (!place || result < 0 || (!result && protocol == IPPROTO_TCP))
		return;
	if (received) {
		__sync_fetch_and_add(&place->received_messages, 1);
		__sync_fetch_and_add(&place->received_bytes, result);
	} else {
		__sync_fetch_and_add(&place->sent_messages, 1);
		__sync_fetch_and_add(&place->sent_bytes, result);
	}
}

/*
 * Is the connection one of the task? Packets are handled in whatever task they interrupt, so the current task says it
 * only where a state begins by a system call alone. Later changes are known by the socket, accepted ones by the port
 * they came to.
 */
static __always_inline bool is_mine(u64 sock, u32 old_state, u32 new_state, u32 port, bool known)
{
	u32 one = 1;

	if (known || sockets.lookup(&sock))
		return true;
	if (old_state == TCP_SYN_RECV && new_state == TCP_ESTABLISHED)
		return listening.lookup(&port);
	if (old_state != TCP_CLOSE || (new_state != TCP_SYN_SENT && new_state != TCP_LISTEN))
		return false;
	if (!settings_for_current())
		return false;
	if (new_state == TCP_LISTEN)
		listening.update(&port, &one);
	return true;
}

static __always_inline bool is_open(void)
{
	struct task_config *settings = configuration();

	return settings && settings->tgid;
}

/* A place for a connection's change, to be handed over with end_change(). */
static __always_inline struct tcp_change *begin_change(u32 old_state, u32 new_state)
{
	u32 cpu = bpf_get_smp_processor_id(), index;
	struct task_cpu *place = cpus.lookup(&cpu);
	struct tcp_change *change;

	if (!place)
		return NULL;
	index = cpu * CHANGES + (place->changes & (CHANGES - 1));
	change = changes.lookup(&index);
	if (change)
		open_change(change, old_state, new_state);
	return change;
}

static __always_inline void end_change(struct tcp_change *change, u64 sock)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct task_cpu *place = cpus.lookup(&cpu);

	if (!place)
		return;
	close_change(change, ++place->changes);
	if (change->new_state == TCP_CLOSE)
		sockets.delete(&sock);
	else
		remember_socket(sock);
}

#endif
