/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * Activity on kernels with BTF: typed raw tracepoints, see scheduler/btf.c, and functions where there is no tracepoint.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../cgroup.h"
#include "../descriptor.h"
#include "../memory.h"
#include "../pid_namespace.h"
#include "activity.h"

static __always_inline struct subject this_task(void)
{
#ifdef COPIED_FIELDS
	u64 task = bpf_get_current_task();
#else
	u64 (*get_current_task_btf)(void) = (void *)GET_CURRENT_TASK_BTF;
	u64 task = get_current_task_btf();
#endif
	struct subject who = { .task = task, .tid = FIELD(u32, task, TASK_TID_OFFSET) };

	return who;
}

static __always_inline u64 start_of(struct subject *who)
{
	return FIELD(u64, who->task, TASK_START_OFFSET);
}

static __always_inline void copy_comm(char *to, u64 task)
{
	*(u64 *)to = FIELD(u64, task, TASK_COMM_OFFSET);
	*(u64 *)(to + 8) = FIELD(u64, task, TASK_COMM_OFFSET + 8);
}

/* For a slot, or an owner. */
#ifdef SELECTED_CGROUP
#define NOTE_SELECTED_CGROUP(to, group)                                                                                \
	((to)->flags = is_in_selected(group, (to)->cgroup_id) ? (to)->flags | TASK_IN_CGROUP                           \
							      : (to)->flags & ~TASK_IN_CGROUP)
#else
#define NOTE_SELECTED_CGROUP(to, group) ((void)0)
#endif
#define DESCRIBE(task, to)                                                                                             \
	do {                                                                                                           \
		u64 leader = TASK_POINTER(task, TASK_LEADER_OFFSET);                                                   \
		u64 group = group_of(TASK_POINTER(task, TASK_CGROUPS_OFFSET));                                         \
                                                                                                                       \
		(to)->tgid = FIELD(u32, task, TASK_TGID_OFFSET);                                                       \
		copy_comm((to)->comm, task);                                                                           \
		if (leader)                                                                                            \
			copy_comm((to)->process, leader);                                                              \
		(to)->cgroup_id = group_id(group);                                                                     \
		NOTE_SELECTED_CGROUP(to, group);                                                                       \
	} while (0)

static __always_inline void describe(struct subject *who, struct activity_task *slot)
{
	u64 task = who->task;

	DESCRIBE(task, slot);
}

static __always_inline void note_beginning(struct subject *who, struct activity_task *slot)
{
	slot->minor_base = FIELD(u64, who->task, TASK_MIN_FLT_OFFSET);
	slot->major_base = FIELD(u64, who->task, TASK_MAJ_FLT_OFFSET);
}

/* The task itself and who looks through all of them may be at it at the same time: counts never go back. */
static __always_inline void note_faults(struct subject *who, struct activity_task *slot)
{
	u64 minor = FIELD(u64, who->task, TASK_MIN_FLT_OFFSET) - slot->minor_base;
	u64 major = FIELD(u64, who->task, TASK_MAJ_FLT_OFFSET) - slot->major_base;

	if ((s64)(minor - slot->minor_faults) > 0)
		slot->minor_faults = minor;
	if ((s64)(major - slot->major_faults) > 0)
		slot->major_faults = major;
}

static __always_inline bool segments_of(u64 sock, u32 *in, u32 *out)
{
#ifdef TCP_SEGMENTS_IN_OFFSET
	/* Of a larger structure than what the verifier knows it to be. */
	*in = pointer_at(sock + TCP_SEGMENTS_IN_OFFSET);
	*out = pointer_at(sock + TCP_SEGMENTS_OUT_OFFSET);
	return true;
#else
	return false;
#endif
}

static __always_inline bool is_closed(u64 sock)
{
#ifdef SOCK_STATE_OFFSET
	return (u8)pointer_at(sock + SOCK_STATE_OFFSET) == TCP_CLOSE;
#else
	return false;
#endif
}

static __always_inline u64 tcp_socket_of(u64 descriptor)
{
#if defined(FILES_FDT_OFFSET) && defined(FILE_PRIVATE_OFFSET) && defined(SOCK_FAMILY_OFFSET)
	u64 file = file_of(descriptor), sock;
	u16 family, protocol;

	if (!file || kind_of_file(file) != IO_SOCKET)
		return 0;
	sock = pointer_at(pointer_at(file + FILE_PRIVATE_OFFSET) + SOCKET_SOCK_OFFSET);
	if (!sock)
		return 0;
	family = pointer_at(sock + SOCK_FAMILY_OFFSET);
	protocol = pointer_at(sock + SOCK_PROTOCOL_OFFSET);
	return (family == AF_INET || family == AF_INET6) && protocol == IPPROTO_TCP ? sock : 0;
#else
	return 0;
#endif
}

#ifdef HAVE_ITER_TASK
static __always_inline bool has_new_faults(struct subject *who, struct activity_task *slot)
{
	u64 minor = FIELD(u64, who->task, TASK_MIN_FLT_OFFSET) - slot->minor_base;
	u64 major = FIELD(u64, who->task, TASK_MAJ_FLT_OFFSET) - slot->major_base;

	return minor != slot->minor_faults || major != slot->major_faults;
}

/* An iterator over all tasks (kernel/bpf/task_iter.c): what the kernel has counted of each. Run once an interval. */
int iter_task(u64 *ctx)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot;
	struct subject who = {};
	u64 task = ctx[1];
	u32 at;

	if (!task || !settings)
		return 0;
	who.task = task;
	who.tid = FIELD(u32, task, TASK_TID_OFFSET);
	at = who.tid & (ACTIVITY_SLOTS - 1);
	slot = tasks.lookup(&at);
	/* Of one without news user space need not hear. */
	if (slot && slot->tid == who.tid && !slot->exit_epoch && !has_new_faults(&who, slot))
		return 0;
	slot = slot_of(settings, &who);
	if (slot)
		note_faults(&who, slot);
	return 0;
}
#endif

int btf_sched_process_exit(u64 *ctx)
{
	exits();
	return 0;
}

int btf_sched_process_exec(u64 *ctx)
{
	execs(ctx[1], FIELD(u32, ctx[0], TASK_TID_OFFSET));
	return 0;
}

#ifdef REGS_ARGUMENT_0_OFFSET
static __always_inline void look_at(u64 descriptor, u32 *kind, u32 *device)
{
#ifdef FILES_FDT_OFFSET
	u64 file = file_of(descriptor);

	*kind = (file ? kind_of_file(file) : IO_UNKNOWN) + 1;
	if (file && (*kind == IO_FILE + 1 || *kind == IO_DEVICE + 1))
		*device = device_of_file(file);
#else
	*kind = IO_UNKNOWN + 1;
#endif
}
#endif

/* As is_of_other_table(), of a task that the verifier knows. */
static __always_inline bool is_of_another_table(u64 task, u64 number)
{
#ifdef TASK_STATUS_OFFSET
	if (FIELD(u32, task, TASK_STATUS_OFFSET) & COMPAT_STATUS)
		return true;
#endif
	return number >= OTHER_TABLE;
}

int btf_sys_enter(u64 *ctx)
{
	struct activity_config *settings = configuration();
	struct descriptors used = {};
	struct activity_task *slot;
	struct subject who;
	u32 number, traits;

	if (!settings)
		return 0;
	who = this_task();
	slot = slot_of(settings, &who);
	if (!slot)
		return 0;
	number = is_of_another_table(who.task, ctx[1]) ? OTHER_TABLE : ctx[1];
	traits = traits_of(settings, number);
#ifdef REGS_ARGUMENT_0_OFFSET
	if (traits & TRAIT_READS)
		look_at(argument(ctx[0], traits & TRAIT_READS), &used.read_kind, &used.read_device);
	if (traits & TRAIT_WRITES)
		look_at(argument(ctx[0], (traits & TRAIT_WRITES) >> TRAIT_WRITES_SHIFT), &used.write_kind,
			&used.write_device);
#endif
	call_begins(settings, slot, number, traits, &used);
	return 0;
}

int btf_sys_exit(u64 *ctx)
{
	struct activity_config *settings = configuration();

	if (!settings)
		return 0;
#ifdef ONLY_ACCEPTS
	/* Nothing was noted when it began. */
	u64 number = FIELD(u32, ctx[0], REGS_NUMBER_OFFSET);
	struct activity_task *slot;

	if ((s64)ctx[1] < 0 || is_of_other_table(number) || !(traits_of(settings, number) & TRAIT_ACCEPTS))
		return 0;
	slot = slot_here(settings);
	if (slot)
		count_accept(slot, tcp_socket_of(ctx[1]));
#else
	call_ends(settings, ctx[1]);
#endif
	return 0;
}

int fentry_handle_mm_fault(u64 *ctx)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (slot)
		slot->fault_enter_ns = bpf_ktime_get_ns();
	return 0;
}

int fexit_handle_mm_fault(u64 *ctx)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (!slot)
		return 0;
	slot->fault_ns += passed(slot->fault_enter_ns);
	slot->fault_enter_ns = 0;
	return 0;
}

int btf_page_fault_kernel(u64 *ctx)
{
	struct activity_config *settings = configuration();
	struct activity_task *slot = settings ? slot_here(settings) : NULL;

	if (slot)
		slot->kernel_faults++;
	return 0;
}

int btf_mm_vmscan_direct_reclaim_begin(u64 *ctx)
{
	reclaim_begins();
	return 0;
}

int btf_mm_vmscan_direct_reclaim_end(u64 *ctx)
{
	reclaim_ends();
	return 0;
}

int btf_mm_vmscan_memcg_reclaim_begin(u64 *ctx)
{
	reclaim_begins();
	return 0;
}

int btf_mm_vmscan_memcg_reclaim_end(u64 *ctx)
{
	reclaim_ends();
	return 0;
}

int btf_mm_filemap_add_to_page_cache(u64 *ctx)
{
	count_page_cache();
	return 0;
}

#ifdef SOCK_FAMILY_OFFSET

static __always_inline bool is_inet(u64 sock)
{
	u16 family = FIELD(u16, sock, SOCK_FAMILY_OFFSET);

	return family == AF_INET || family == AF_INET6;
}

/* srtt_us counts eighths of a microsecond. */
static __always_inline u64 smoothed_rtt_ns(u64 sock)
{
#ifdef TCP_SRTT_OFFSET
	/* Of a larger structure than what the verifier knows it to be. */
	return (u32)pointer_at(sock + TCP_SRTT_OFFSET) * 125ULL;
#else
	return 0;
#endif
}

static __always_inline void sent(u64 sock, s32 bytes)
{
	u32 protocol = FIELD(u16, sock, SOCK_PROTOCOL_OFFSET);
	struct activity_config *settings = configuration();
	struct activity_task *slot;

	if (!settings || (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) || !is_inet(sock))
		return;
	slot = slot_here(settings);
	if (!slot)
		return;
	if (protocol == IPPROTO_UDP)
		count_udp(slot, bytes, false);
	else
		count_tcp_sent(slot, sock, bytes, smoothed_rtt_ns(sock));
}

static __always_inline void received(u64 sock, s32 bytes, u32 flags)
{
	u32 protocol = FIELD(u16, sock, SOCK_PROTOCOL_OFFSET);
	struct activity_config *settings = configuration();
	struct activity_task *slot;

	if (!settings || flags & MSG_PEEK || !is_inet(sock))
		return;
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return;
	slot = slot_here(settings);
	if (!slot)
		return;
	if (protocol == IPPROTO_UDP)
		count_udp(slot, bytes, true);
	else
		count_tcp_received(slot, bytes);
}

int btf_sock_send_length(u64 *ctx)
{
	sent(ctx[0], ctx[1]);
	return 0;
}

int btf_sock_recv_length(u64 *ctx)
{
	received(ctx[0], ctx[1], ctx[2]);
	return 0;
}

/* Kernels before 6.3 have no such tracepoints: functions with (struct socket *, struct msghdr *, size[, flags]). */
#define SOCK_OF(socket) FIELD(u64, socket, SOCKET_SOCK_OFFSET)

int fexit_inet_sendmsg(u64 *ctx)
{
	sent(SOCK_OF(ctx[0]), ctx[3]);
	return 0;
}

int fexit_inet6_sendmsg(u64 *ctx)
{
	sent(SOCK_OF(ctx[0]), ctx[3]);
	return 0;
}

int fexit_inet_recvmsg(u64 *ctx)
{
	received(SOCK_OF(ctx[0]), ctx[4], ctx[3]);
	return 0;
}

int fexit_inet6_recvmsg(u64 *ctx)
{
	received(SOCK_OF(ctx[0]), ctx[4], ctx[3]);
	return 0;
}

static __always_inline void note_change(u64 sock, u32 old_state, u32 new_state)
{
	struct tcp_change *change = begin_change(old_state, new_state);

	if (!change)
		return;
	change_of_socket(change, sock);
	end_change(change);
}

int btf_inet_sock_set_state(u64 *ctx)
{
	if (FIELD(u16, ctx[0], SOCK_PROTOCOL_OFFSET) != IPPROTO_TCP)
		return 0;
	note_change(ctx[0], ctx[1], ctx[2]);
	count_transition(ctx[0], ctx[1], ctx[2]);
	return 0;
}

#ifdef TCP_SEGMENTS_IN_OFFSET
/* An iterator over the connections that have an owner: what each has sent and received. Run once an interval. */
int iter_bpf_map_elem(u64 *ctx)
{
	u64 *key = (u64 *)ctx[2];
	struct activity_owner *owner = (struct activity_owner *)ctx[3];
	u32 in = 0, out = 0;

	if (!key || !owner || owner->listens)
		return 0;
	segments_of(*key, &in, &out);
	owner->tcp_rx_packets = (u32)(in - owner->segments_in);
	owner->tcp_tx_packets = (u32)(out - owner->segments_out);
	return 0;
}
#endif

int btf_tcp_retransmit_skb(u64 *ctx)
{
	u16 segments = 1;

#ifdef SKB_SEGMENTS_OFFSET
	bpf_probe_read_kernel(&segments, sizeof(segments), (void *)(ctx[1] + SKB_SEGMENTS_OFFSET));
#endif
	count_retransmits(ctx[0], segments);
	return 0;
}

int btf_tcp_retransmit_synack(u64 *ctx)
{
	count_retransmits(ctx[0], 1);
	return 0;
}

#ifdef FILE_PRIVATE_OFFSET
/* Which task has which connection since before our time: an iterator over all open files, run once. */
int iter_task_file(u64 *ctx)
{
	u64 task = ctx[1], file = ctx[3], inode, sock;
	struct activity_owner *owner;
	u16 family, protocol;
	u32 zero = 0;
	u8 state;

	if (!task || !file)
		return 0;
	inode = FIELD(u64, file, FILE_INODE_OFFSET);
	if (!inode || (u16)pointer_at(inode + INODE_MODE_OFFSET) >> 12 != 0140000 >> 12)
		return 0;
	sock = pointer_at(FIELD(u64, file, FILE_PRIVATE_OFFSET) + SOCKET_SOCK_OFFSET);
	if (!sock)
		return 0;
	family = pointer_at(sock + SOCK_FAMILY_OFFSET);
	protocol = pointer_at(sock + SOCK_PROTOCOL_OFFSET);
	state = pointer_at(sock + SOCK_STATE_OFFSET);
	if ((family != AF_INET && family != AF_INET6) || protocol != IPPROTO_TCP || state == TCP_CLOSE)
		return 0;
	owner = found_owner.lookup(&zero);
	if (!owner)
		return 0;
	owner->listens = state == TCP_LISTEN;
	segments_of(sock, &owner->segments_in, &owner->segments_out);
	owner->tid = FIELD(u32, task, TASK_TID_OFFSET);
	owner->start_ns = FIELD(u64, task, TASK_START_OFFSET);
	DESCRIBE(task, owner);
#ifdef FILTERED
	if (!SELECTED(owner))
		return 0;
#endif
	owners.insert(&sock, owner);
	return 0;
}
#endif

#endif
