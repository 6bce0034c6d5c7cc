/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The activity of all tasks of the host: system calls, files, memory, network, added up by thread. Attached only while
 * it is wanted; nothing goes to user space by itself.
 *
 * A thread's place is a slot, as the scheduler's (scheduler/tasks.h), found by the low bits of its tid. Only the thread
 * itself writes there, so nothing is atomic; what happens to its connections in interrupts is in `flows`. Nothing is
 * ever cleared but a slot for its next owner, which user space has then read; differences are user space's.
 *
 * The size of `calls` is user space's: CALLS_OF_CPU for each CPU, first those of all, then those of the process that is
 * selected.
 */
#ifndef SCHEDTOP_ACTIVITY_ACTIVITY_H
#define SCHEDTOP_ACTIVITY_ACTIVITY_H

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "../socket.h"
#include "../syscalls.h"
#include "../tcp_change.h"

/* A test makes them small, to see them full. */
#ifndef ACTIVITY_SLOTS
#define ACTIVITY_SLOTS 32768 /* a power of two */
#define ACTIVITY_OVERFLOW 8192
#define MOST_OWNERS 32768
#define MOST_FLOWS 32768
#define MOST_DEVICES 8192
#endif
#define MOST_CLAIMS 64
#define CONNECTION_STATES 16
#define CHANGES 64 /* the latest of each CPU; a power of two */
#define CALLS_OF_CPU (2 * MOST_CALLS)

/* activity_config.parts */
#define PART_SYSCALLS 1
#define PART_FILES 2

/* activity_config.traits, by the number of a call. The first two are arguments, from 1: what it reads from, writes to. */
#define TRAIT_READS 3
#define TRAIT_WRITES 12
#define TRAIT_WRITES_SHIFT 2
#define TRAIT_OPENS 16
#define TRAIT_SYNCS 32
#define TRAIT_ACCEPTS 64
#define TRAITS_OF_FILES (TRAIT_READS | TRAIT_WRITES | TRAIT_OPENS | TRAIT_SYNCS)

/* activity_task.flags */
#define TASK_SELECTED 1
#define TASK_IN_CGROUP 32 /* as in scheduler/maps.h */

/* Written by user space through its mapping. */
struct activity_config {
	u32 epoch; /* goes up by one each interval, from 1; 0: nothing is counted yet */
	u32 parts;
	u32 selected_tgid; /* whose calls are counted by themselves as well; 0: of none */
	u64 begin_ns;
	u8 traits[MOST_CALLS];
};

/* Who it is: what is counted by thread begins with tid, tgid, start_ns, cgroup_id, comm, process. */
#define ID_BYTES (3 * sizeof(u64) + 2 * COMM_BYTES)

/* What each system call touches comes first: of 64 bytes a line, this is the second and half of the third. */
struct activity_task {
	u32 tid;
	u32 tgid;
	u64 start_ns; /* where it cannot be told: when it was first seen */
	u64 cgroup_id;
	char comm[COMM_BYTES];
	char process[COMM_BYTES];
	u32 exit_epoch; /* 0: it lives */
	u32 epoch; /* of its last event */
	u32 flags;
	s32 call; /* under way */
	u64 call_enter_ns;
	u32 read_kind; /* of the call under way, plus one; 0: it is none that reads */
	u32 write_kind;
	u32 max_epoch[2]; /* the longest call of an epoch, by its parity */
	u64 max_ns[2];
	/* Counters, but for what is named in between: user space subtracts them. */
	u64 syscalls;
	u64 syscall_errors;
	u64 syscall_ns;
	u32 read_device; /* where the file of the call under way lies; 0: it is none */
	u32 write_device;
	u64 fault_enter_ns;
	u64 reclaim_enter_ns;
	u64 minor_base; /* the kernel's counts before we looked */
	u64 major_base;
	u64 opens;
	u64 fsyncs;
	u64 fsync_ns;
	u64 io_count[2 * IO_KINDS]; /* reads, then writes */
	u64 io_bytes[2 * IO_KINDS];
	u64 io_kind_ns[2 * IO_KINDS];
	u64 minor_faults;
	u64 major_faults;
	u64 kernel_faults; /* of both, those that came while the kernel ran */
	u64 fault_ns;
	u64 page_cache_adds;
	u64 reclaims;
	u64 reclaim_ns;
	u64 tcp_rx_bytes;
	u64 tcp_tx_bytes;
	u64 tcp_rx_messages;
	u64 tcp_tx_messages;
	u64 tcp_connects;
	u64 tcp_accepts;
	u64 tcp_rtt_ns; /* a sum, of so many samples */
	u64 tcp_rtt_samples;
	u64 udp_rx_packets;
	u64 udp_tx_packets;
	u64 udp_rx_bytes;
	u64 udp_tx_bytes;
	u64 unused[2]; /* so that it is whole lines */
};

/* Of one CPU, written by sys_exit alone. */
struct activity_call {
	u64 count;
	u64 errors;
	u64 total_ns;
	u32 max_epoch[2];
	u64 max_ns[2];
};

struct activity_loss {
	u64 untracked; /* events of tasks that found no place */
	u64 evicted; /* tasks whose tid went to another one before user space had read their last counts */
	u64 errors_untracked;
	u64 connections_untracked; /* that found no room, so that what becomes of them is nobody's */
	u64 flows_untracked; /* what happened to connections and found no room */
	u64 devices_untracked; /* reads and writes whose device found no room */
	u64 negative_times;
};

/* The thread that opened a connection, or that sent to it last. */
struct activity_owner {
	u32 tid;
	u32 tgid;
	u64 start_ns;
	u64 cgroup_id;
	char comm[COMM_BYTES];
	char process[COMM_BYTES];
	u32 listens;
	u32 flags;
	u32 segments_in; /* the kernel's counts when it became the owner */
	u32 segments_out;
	u64 tcp_rx_packets; /* since then, as of the last look */
	u64 tcp_tx_packets;
};

struct activity_flow_key {
	u32 tid;
	u32 tgid;
	u64 start_ns;
};

/* What happened to the connections of a thread while it may have done something else. */
struct activity_flow {
	u32 tid;
	u32 tgid;
	u64 start_ns;
	u64 cgroup_id;
	char comm[COMM_BYTES];
	char process[COMM_BYTES];
	u64 tcp_retransmits; /* segments */
	u64 tcp_failures;
	u64 tcp_resets; /* of established connections, as EstabResets of /proc/net/snmp */
	u64 tcp_rx_packets; /* of connections that it has no more */
	u64 tcp_tx_packets;
};

/* Reads and writes of a process by system calls, of files on one device. */
struct activity_device {
	u32 tgid;
	u32 device;
	u64 count[2]; /* reads, writes */
	u64 bytes[2];
	u64 ns[2];
};

BPF_F_TABLE("array", u32, struct activity_config, config, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct activity_task, tasks, ACTIVITY_SLOTS, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, u64, touched, ACTIVITY_SLOTS, BPF_F_MMAPABLE); /* each slot's epoch, side by side */
BPF_F_TABLE("array", u32, struct activity_call, calls, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct activity_loss, loss, 1, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, u64, transitions, CONNECTION_STATES *CONNECTION_STATES, BPF_F_MMAPABLE);
BPF_F_TABLE("array", u32, struct tcp_change, changes, CHANGES, BPF_F_MMAPABLE); /* so many for each CPU */
BPF_F_TABLE("array", u32, u64, change_counts, 1, BPF_F_MMAPABLE); /* one for each CPU */
BPF_TABLE("hash", u32, struct activity_task, overflow, ACTIVITY_OVERFLOW);
BPF_TABLE("hash", u32, u32, claims, MOST_CLAIMS);
BPF_TABLE("hash", u64, struct activity_owner, owners, MOST_OWNERS);
BPF_TABLE("hash", struct activity_flow_key, struct activity_flow, flows, MOST_FLOWS);
BPF_TABLE("hash", u64, struct activity_device, devices, MOST_DEVICES);
BPF_TABLE("array", u32, struct activity_task, no_task, 1);
BPF_TABLE("array", u32, struct activity_owner, found_owner, 1); /* of iter_task_file, which one task runs at a time */

/* A task, as a front end knows it; `task` is its own. */
struct subject {
	u64 task;
	u32 tid;
};

static __always_inline struct subject this_task(void);
/* 0 where it cannot be told. */
static __always_inline u64 start_of(struct subject *who);
/* Process, names and cgroup. */
static __always_inline void describe(struct subject *who, struct activity_task *slot);
/* What the kernel has counted itself of a task that lived before we looked: that is not ours. */
static __always_inline void note_beginning(struct subject *who, struct activity_task *slot);
/* What the kernel has counted itself. */
static __always_inline void note_faults(struct subject *who, struct activity_task *slot);
/* How many segments a TCP connection has received and sent so far; false: it cannot be told. */
static __always_inline bool segments_of(u64 sock, u32 *in, u32 *out);
/* Has a TCP connection ended? */
static __always_inline bool is_closed(u64 sock);
/* The TCP socket behind a descriptor of the current task, 0: it is none, or it cannot be told. */
static __always_inline u64 tcp_socket_of(u64 descriptor);

#ifdef FILTERED
#define IS_SELECTED(slot) ((slot)->flags & TASK_SELECTED)
#else
#define IS_SELECTED(slot) true
#endif

static __always_inline struct activity_config *configuration(void)
{
	u32 zero = 0;
	struct activity_config *settings = config.lookup(&zero);

	return settings && settings->epoch ? settings : NULL;
}

static __always_inline struct activity_loss *lost(void)
{
	u32 zero = 0;

	return loss.lookup(&zero);
}

#define COUNT_LOSS(name)                                                                                               \
	do {                                                                                                           \
		struct activity_loss *counts = lost();                                                                 \
		if (counts)                                                                                            \
			__sync_fetch_and_add(&counts->name, 1);                                                        \
	} while (0)

/* So that user space need not look at each slot. That of a task in the overflow hash does no harm. */
static __always_inline void touch(u32 tid, u32 epoch)
{
	u32 at = tid & (ACTIVITY_SLOTS - 1);
	u64 *place = touched.lookup(&at);

	if (place)
		*place = epoch;
}

/* Names and cgroups change: they are looked at once an interval. */
static __always_inline void refresh(struct activity_config *settings, struct subject *who, struct activity_task *slot)
{
	describe(who, slot);
#ifdef FILTERED
	slot->flags = SELECTED(slot) ? slot->flags | TASK_SELECTED : slot->flags & ~TASK_SELECTED;
#endif
	slot->epoch = settings->epoch;
	touch(who->tid, settings->epoch);
}

static __always_inline void init_slot(struct activity_config *settings, struct subject *who, struct activity_task *slot,
				      u64 start_ns)
{
	__builtin_memset(slot, 0, sizeof(*slot));
	slot->start_ns = start_ns ? start_ns : bpf_ktime_get_ns();
	slot->call = NO_CALL;
	if (slot->start_ns < settings->begin_ns)
		note_beginning(who, slot);
	refresh(settings, who, slot);
	/* With it user space takes the slot for complete. */
	barrier();
	slot->tid = who->tid;
}

/* User space reads at the end of each interval: what has ended before the one that is over by now was read. */
static __always_inline bool was_read(struct activity_config *settings, struct activity_task *slot)
{
	return slot->exit_epoch && slot->exit_epoch + 2 <= settings->epoch;
}

/* `start_ns`: 0 where it cannot be told. */
static __always_inline bool is_same(struct activity_task *slot, u32 tid, u64 start_ns)
{
	return slot->tid == tid && (!start_ns || slot->start_ns == start_ns);
}

/* A place in the overflow hash; NULL: there is no room. */
static __always_inline struct activity_task *overflow_slot(struct activity_config *settings, struct subject *who,
							   u64 start_ns)
{
	u32 zero = 0, tid = who->tid;
	struct activity_task *slot, *empty = no_task.lookup(&zero);

	if (!empty)
		return NULL;
	overflow.insert(&tid, empty);
	slot = overflow.lookup(&tid);
	if (!slot || is_same(slot, tid, start_ns))
		return slot;
	if (slot->tid && !was_read(settings, slot))
		COUNT_LOSS(evicted);
	init_slot(settings, who, slot, start_ns);
	return slot;
}

/*
 * The place of a task that does not have its slot. A slot goes to one task at a time: inserting into a hash is the lock,
 * and what has changed before is looked at under it. Nearly all events of a task are in its own context, so that its
 * place is hardly ever made twice; then both are read, and added.
 */
static __always_inline struct activity_task *other_slot(struct activity_config *settings, struct subject *who,
							struct activity_task *slot)
{
	u64 start_ns = start_of(who);
	u32 tid = who->tid, at = tid & (ACTIVITY_SLOTS - 1), epoch = settings->epoch, *claimed;
	struct activity_task *other;
	bool is_ours = false;

	/* Files and memory go after sched_process_exit. */
	if (is_same(slot, tid, start_ns) && !(start_ns == 0 && was_read(settings, slot)))
		return slot;
	other = overflow.lookup(&tid);
	if (other && is_same(other, tid, start_ns))
		return other;
	if (!slot->tid || slot->tid == tid || was_read(settings, slot)) {
		if (!claims.insert(&at, &epoch)) {
			if (start_ns && is_same(slot, tid, start_ns)) {
				is_ours = true;
			} else if (!slot->tid || slot->tid == tid || was_read(settings, slot)) {
				if (slot->tid && !was_read(settings, slot))
					COUNT_LOSS(evicted);
				init_slot(settings, who, slot, start_ns);
				is_ours = true;
			}
			/* Since 6.15 this can fail: the lock of a bucket is given up after a while (rqspinlock). */
			claims.delete(&at);
		} else {
			claimed = claims.lookup(&at);
			if (claimed && *claimed + 2 <= epoch)
				claims.delete(&at);
		}
	}
	if (!is_ours)
		slot = overflow_slot(settings, who, start_ns);
	if (!slot)
		COUNT_LOSS(untracked);
	return slot;
}

/* The place of a task; NULL: it has none, or it is not of those that are asked for. */
static __always_inline struct activity_task *slot_of(struct activity_config *settings, struct subject *who)
{
	u32 at = who->tid & (ACTIVITY_SLOTS - 1);
	struct activity_task *slot = tasks.lookup(&at);

	if (!slot || !who->tid)
		return NULL;
	if (slot->tid != who->tid || slot->exit_epoch) {
		slot = other_slot(settings, who, slot);
		if (!slot)
			return NULL;
	}
	if (slot->epoch != settings->epoch)
		refresh(settings, who, slot);
	return IS_SELECTED(slot) ? slot : NULL;
}

/* That of the current task. */
static __always_inline struct activity_task *slot_here(struct activity_config *settings)
{
	struct subject who = this_task();

	return slot_of(settings, &who);
}

/* The place of a task that has one. */
static __always_inline struct activity_task *known_slot(u32 tid)
{
	u32 at = tid & (ACTIVITY_SLOTS - 1);
	struct activity_task *slot = tasks.lookup(&at);

	return slot && slot->tid == tid ? slot : overflow.lookup(&tid);
}

/* The current task ends. */
static __always_inline void exits(void)
{
	struct activity_config *settings = configuration();
	struct subject who = this_task();
	struct activity_task *slot = settings ? slot_of(settings, &who) : NULL;

	if (slot)
		note_faults(&who, slot);
	/* Of tasks that are not asked for, too: their slots are given on. */
	slot = known_slot(who.tid);
	if (!slot || !settings)
		return;
	slot->call = NO_CALL; /* exit and exit_group do not return */
	slot->exit_epoch = settings->epoch;
}

/*
 * The current task has another program, and so perhaps another name. A thread that is not the leader has the leader's tid
 * from now on, and goes on in its place: the leader has ended.
 */
static __always_inline void execs(u32 old_tid, u32 tid)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = known_slot(tid), *old;

	if (slot) {
		slot->epoch = 0;
		slot->exit_epoch = 0;
	}
	if (old_tid == tid || !settings)
		return;
	old = known_slot(old_tid);
	if (!old)
		return;
	if (slot) {
		slot->call = old->call;
		slot->call_enter_ns = old->call_enter_ns;
		/* The kernel's own counts come with the thread. */
		slot->minor_base = old->minor_base + old->minor_faults - slot->minor_faults;
		slot->major_base = old->major_base + old->major_faults - slot->major_faults;
	}
	old->call = NO_CALL;
	old->exit_epoch = settings->epoch;
}

/* Nanoseconds since a time; none where that is later, or not known. */
static __always_inline u64 passed(u64 since_ns)
{
	s64 ns = bpf_ktime_get_ns() - since_ns;

	if (!since_ns)
		return 0;
	if (ns < 0) {
		COUNT_LOSS(negative_times);
		return 0;
	}
	return ns;
}

static __always_inline void note_longest(u32 *epochs, u64 *longest, u64 ns, u32 epoch)
{
	u32 parity = epoch & 1;

	if (epochs[parity] != epoch || longest[parity] < ns) {
		longest[parity] = ns;
		epochs[parity] = epoch;
	}
}

/* By process, so that each number of it may be added to on several CPUs at once. */
static __always_inline void count_device(struct activity_task *slot, u32 number, u32 direction, s64 result, u64 ns)
{
	struct activity_device fresh = { .tgid = slot->tgid, .device = number }, *device;
	u64 key = (u64)number << 32 | slot->tgid;

	device = devices.lookup(&key);
	if (!device) {
		devices.insert(&key, &fresh);
		device = devices.lookup(&key);
	}
	if (!device) {
		COUNT_LOSS(devices_untracked);
		return;
	}
	__sync_fetch_and_add(&device->count[direction], 1);
	__sync_fetch_and_add(&device->ns[direction], ns);
	if (result > 0)
		__sync_fetch_and_add(&device->bytes[direction], result);
}

static __always_inline void count_io(struct activity_task *slot, u32 kind_and_one, u32 direction, s64 result, u64 ns)
{
	u64 index = (u64)direction * IO_KINDS + kind_and_one - 1;

	/* The verifier is to see the very comparison that bounds the index. */
	asm volatile("" : "+r"(index));
	if (index >= 2 * IO_KINDS)
		return;
	slot->io_count[index]++;
	slot->io_kind_ns[index] += ns;
	if (result > 0)
		slot->io_bytes[index] += result;
}

static __always_inline void count_files(struct activity_task *slot, u32 traits, s64 result, u64 ns)
{
	if (slot->read_kind)
		count_io(slot, slot->read_kind, 0, result, ns);
	if (slot->read_device)
		count_device(slot, slot->read_device, 0, result, ns);
	if (slot->write_kind)
		count_io(slot, slot->write_kind, 1, result, ns);
	if (slot->write_device)
		count_device(slot, slot->write_device, 1, result, ns);
	if (traits & TRAIT_OPENS && result >= 0)
		slot->opens++;
	if (traits & TRAIT_SYNCS) {
		slot->fsyncs++;
		slot->fsync_ns += ns;
	}
}

/* By its number: of all below MOST_CALLS, of the selected process from there on, also among the errors. */
static __always_inline void count_by_number(u32 number, s64 result, u64 ns, u32 epoch)
{
	u32 at = bpf_get_smp_processor_id() * CALLS_OF_CPU + number;
	struct activity_call *call = calls.lookup(&at);

	if (!call)
		return;
	call->count++;
	call->total_ns += ns;
	note_longest(call->max_epoch, call->max_ns, ns, epoch);
	if (is_error(result)) {
		call->errors++;
		if (!count_error(number, result))
			COUNT_LOSS(errors_untracked);
	}
}

static __always_inline void count_call(struct activity_config *settings, struct activity_task *slot, u32 number,
				       s64 result, u64 ns)
{
	u32 epoch = settings->epoch;

	slot->syscalls++;
	slot->syscall_ns += ns;
	note_longest(slot->max_epoch, slot->max_ns, ns, epoch);
	if (is_error(result))
		slot->syscall_errors++;
	count_by_number(number, result, ns, epoch);
	if (settings->selected_tgid && settings->selected_tgid == slot->tgid)
		count_by_number(MOST_CALLS + number, result, ns, epoch);
}

static __always_inline u32 traits_of(struct activity_config *settings, u32 number)
{
	return settings->traits[number & (MOST_CALLS - 1)];
}

/* The flow of an owner, or that of tid 0; NULL: there is no room. */
static __always_inline struct activity_flow *flow_of_owner(struct activity_owner *owner)
{
	struct activity_flow fresh = {}, *flow;
	struct activity_flow_key key = {};

	if (owner) {
		__builtin_memcpy(&fresh, owner, ID_BYTES);
		key.tid = fresh.tid;
		key.tgid = fresh.tgid;
		key.start_ns = fresh.start_ns;
	}
	flow = flows.lookup(&key);
	if (flow)
		return flow;
	flows.insert(&key, &fresh);
	flow = flows.lookup(&key);
	if (!flow)
		COUNT_LOSS(flows_untracked);
	return flow;
}

/* What is counted for the owner of a connection. Of a connection without one, for tid 0, unless there is a filter. */
static __always_inline struct activity_flow *flow_of(u64 sock)
{
	struct activity_owner *owner = owners.lookup(&sock);

#ifdef FILTERED
	if (!owner)
		return NULL;
#endif
	return flow_of_owner(owner);
}

/* What a connection has sent and received since it has this owner, who is to have it no more. */
static __always_inline void keep_segments(u64 sock, struct activity_owner *owner)
{
	struct activity_flow *flow;
	u32 in = 0, out = 0;

	if (owner->listens || !segments_of(sock, &in, &out))
		return;
	flow = flow_of_owner(owner);
	if (!flow)
		return;
	__sync_fetch_and_add(&flow->tcp_rx_packets, in - owner->segments_in);
	__sync_fetch_and_add(&flow->tcp_tx_packets, out - owner->segments_out);
}

/* `is_new`: all that a connection has sent and received is the owner's. */
static __always_inline void own(struct activity_task *slot, u64 sock, bool listens, bool is_new)
{
	struct activity_owner owner = { .listens = listens }, *known = owners.lookup(&sock);

	if (known && known->tid == slot->tid && known->start_ns == slot->start_ns)
		return;
	if (known) {
		owner.listens = known->listens;
		keep_segments(sock, known);
	}
	__builtin_memcpy(&owner, slot, ID_BYTES);
	if (known || !is_new)
		segments_of(sock, &owner.segments_in, &owner.segments_out);
	if (owners.update(&sock, &owner))
		COUNT_LOSS(connections_untracked);
}

static __always_inline void count_accept(struct activity_task *slot, u64 sock)
{
	if (!sock)
		return;
	slot->tcp_accepts++;
	/* Of one that has ended before it was accepted no end would come any more. */
	if (!is_closed(sock))
		own(slot, sock, false, true);
}

/* What the descriptors of a call stand for. */
struct descriptors {
	u32 read_kind;
	u32 write_kind;
	u32 read_device;
	u32 write_device;
};

static __always_inline void call_begins(struct activity_config *settings, struct activity_task *slot, u32 number,
					u32 traits, struct descriptors *used)
{
	slot->call = number;
	if (settings->parts & PART_FILES && traits & TRAITS_OF_FILES) {
		slot->read_kind = used->read_kind;
		slot->write_kind = used->write_kind;
		slot->read_device = used->read_device;
		slot->write_device = used->write_device;
	}
	if (settings->parts & PART_SYSCALLS || traits & TRAITS_OF_FILES)
		slot->call_enter_ns = bpf_ktime_get_ns();
}

static __always_inline void call_ends(struct activity_config *settings, s64 result)
{
	struct activity_task *slot = slot_here(settings);
	u32 number, traits;
	u64 ns;

	if (!slot || slot->call == NO_CALL)
		return;
	number = slot->call;
	number &= MOST_CALLS - 1;
	slot->call = NO_CALL;
	traits = traits_of(settings, number);
	if (!(settings->parts & PART_SYSCALLS) && !traits)
		return;
	ns = settings->parts & PART_SYSCALLS || traits & TRAITS_OF_FILES ? passed(slot->call_enter_ns) : 0;
	if (settings->parts & PART_SYSCALLS)
		count_call(settings, slot, number, result, ns);
	if (settings->parts & PART_FILES && traits & TRAITS_OF_FILES)
		count_files(slot, traits, result, ns);
	if (traits & TRAIT_ACCEPTS && result >= 0)
		count_accept(slot, tcp_socket_of(result));
}

static __always_inline void count_retransmits(u64 sock, u32 segments)
{
	struct activity_flow *flow = configuration() ? flow_of(sock) : NULL;

	if (flow)
		__sync_fetch_and_add(&flow->tcp_retransmits, segments);
}

/* A place for a change, to be filled in and handed over with end_change(). */
static __always_inline struct tcp_change *begin_change(u32 old_state, u32 new_state)
{
	u32 cpu = bpf_get_smp_processor_id(), at;
	u64 *count = change_counts.lookup(&cpu);
	struct tcp_change *change;

	if (!count || !configuration() || old_state == new_state)
		return NULL;
	at = cpu * CHANGES + (*count & (CHANGES - 1));
	change = changes.lookup(&at);
	if (change)
		open_change(change, old_state, new_state);
	return change;
}

static __always_inline void end_change(struct tcp_change *change)
{
	u32 cpu = bpf_get_smp_processor_id();
	u64 *count = change_counts.lookup(&cpu);

	if (count)
		close_change(change, ++*count);
}

static __always_inline void count_end(struct activity_flow *flow, bool was_reset)
{
	if (was_reset)
		__sync_fetch_and_add(&flow->tcp_resets, 1);
	else
		__sync_fetch_and_add(&flow->tcp_failures, 1);
}

static __always_inline void connection_ends(u64 sock, u32 old_state)
{
	struct activity_owner *owner = owners.lookup(&sock);
	bool was_reset = old_state == TCP_ESTABLISHED || old_state == TCP_CLOSE_WAIT;
	struct activity_flow *flow;

	if (old_state == TCP_SYN_SENT || was_reset) {
		flow = flow_of(sock);
		if (flow)
			count_end(flow, was_reset);
	}
	if (owner)
		keep_segments(sock, owner);
	owners.delete(&sock);
}

static __always_inline void count_transition(u64 sock, u32 old_state, u32 new_state)
{
	u32 at = (old_state & (CONNECTION_STATES - 1)) * CONNECTION_STATES + (new_state & (CONNECTION_STATES - 1));
	struct activity_config *settings = configuration();
	struct activity_task *slot;
	u64 *count;

	if (!settings || old_state == new_state)
		return;
	count = transitions.lookup(&at);
	if (count)
		__sync_fetch_and_add(count, 1);
	/* These two a system call alone brings about. Packets are handled in whatever task they interrupt. */
	if (old_state == TCP_CLOSE && (new_state == TCP_SYN_SENT || new_state == TCP_LISTEN)) {
		slot = slot_here(settings);
		if (!slot)
			return;
		slot->tcp_connects += new_state == TCP_SYN_SENT;
		own(slot, sock, new_state == TCP_LISTEN, true);
	}
	if (new_state == TCP_CLOSE)
		connection_ends(sock, old_state);
}

/* `rtt_ns`: smoothed, 0 where it is not known. */
static __always_inline void count_tcp_sent(struct activity_task *slot, u64 sock, s32 bytes, u64 rtt_ns)
{
	if (bytes > 0) {
		slot->tcp_tx_bytes += bytes;
		slot->tcp_tx_messages++;
	}
	if (rtt_ns) {
		slot->tcp_rtt_ns += rtt_ns;
		slot->tcp_rtt_samples++;
	}
	/* Asked each time: another thread may have sent to it since, or the address may be another connection's. */
	if (bytes > 0 && !is_closed(sock))
		own(slot, sock, false, false);
}

static __always_inline void count_tcp_received(struct activity_task *slot, s32 bytes)
{
	/* An end of the connection is no message. */
	if (bytes > 0) {
		slot->tcp_rx_bytes += bytes;
		slot->tcp_rx_messages++;
	}
}

static __always_inline void count_udp(struct activity_task *slot, s32 bytes, bool received)
{
	if (bytes < 0)
		return;
	/* An empty datagram is one, too. */
	if (received) {
		slot->udp_rx_packets++;
		slot->udp_rx_bytes += bytes;
	} else {
		slot->udp_tx_packets++;
		slot->udp_tx_bytes += bytes;
	}
}

static __always_inline void reclaim_begins(void)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (slot)
		slot->reclaim_enter_ns = bpf_ktime_get_ns();
}

static __always_inline void reclaim_ends(void)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (!slot || !slot->reclaim_enter_ns)
		return;
	slot->reclaims++;
	slot->reclaim_ns += passed(slot->reclaim_enter_ns);
	slot->reclaim_enter_ns = 0;
}

static __always_inline void count_page_cache(void)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (slot)
		slot->page_cache_adds++;
}

#endif
