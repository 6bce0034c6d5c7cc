/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * What bcc adds to C, for tools that parse a file without it (compile_flags.txt): the maps with their methods, and the
 * kernel's functions. bcc itself does not see this file.
 */
#ifndef SCHEDTOP_BCC_H
#define SCHEDTOP_BCC_H

#include <linux/types.h>

#include "flags.h"

#define BPF_F_MMAPABLE (1 << 10)
#define BPF_RB_NO_WAKEUP 1

#define BPF_F_TABLE(type, key, value, name, entries, flags)                                                            \
	struct name##_table_t {                                                                                        \
		value *(*lookup)(key *);                                                                               \
		int (*insert)(key *, value *);                                                                         \
		int (*update)(key *, value *);                                                                         \
		int (*delete)(key *);                                                                                  \
		int (*get_stackid)(void *ctx, u64 flags_of_stack);                                                     \
		u32 size[(entries) > 0 ? 1 : -1];                                                                      \
		u32 flags_of_map[(flags) >= 0 ? 1 : -1];                                                               \
	};                                                                                                             \
	struct name##_table_t name

#define BPF_TABLE(type, key, value, name, entries) BPF_F_TABLE(type, key, value, name, entries, 0)

#define BPF_RINGBUF_OUTPUT(name, pages)                                                                                \
	struct name##_table_t {                                                                                        \
		int (*ringbuf_output)(void *, u64, u64);                                                               \
	} name

u64 bpf_ktime_get_ns(void);
u32 bpf_get_smp_processor_id(void);
u64 bpf_get_current_pid_tgid(void);
u64 bpf_get_current_task(void);
int bpf_get_current_comm(void *to, u32 size);
long bpf_get_stack(void *ctx, void *to, u32 size, u64 flags);
long bpf_get_task_stack(void *task, void *to, u32 size, u64 flags);
int bpf_probe_read_kernel(void *to, u32 size, const void *from);

#endif
