/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* Which interrupt each CPU handles: written by the programs of interrupts.h, read by those of the scheduler. */
#ifndef SCHEDTOP_INTERRUPTS_CURRENT_H
#define SCHEDTOP_INTERRUPTS_CURRENT_H

#include <linux/types.h>

/*
 * Sources of interrupts by number: the softirqs as the kernel numbers them, the vectors as below, then device interrupts
 * by theirs.
 */
#define FIRST_VECTOR 16
#define OTHER_IRQS 31 /* device interrupts whose number is too high */
#define FIRST_IRQ 32

/* Sources a CPU has at most (a power of two). */
#define MOST_SOURCES 1024

/* include/linux/interrupt.h */
enum softirq {
	SOFTIRQ_HI,
	SOFTIRQ_TIMER,
	SOFTIRQ_NET_TX,
	SOFTIRQ_NET_RX,
	SOFTIRQ_BLOCK,
	SOFTIRQ_IRQ_POLL,
	SOFTIRQ_TASKLET,
	SOFTIRQ_SCHED,
	SOFTIRQ_HRTIMER,
	SOFTIRQ_RCU,
};

/* The tracepoints irq_vectors:*_entry of x86, in the order of their sources. */
enum vector {
	VECTOR_LOCAL_TIMER,
	VECTOR_RESCHEDULE,
	VECTOR_CALL_FUNCTION,
	VECTOR_CALL_FUNCTION_SINGLE,
	VECTOR_IRQ_WORK,
	VECTOR_X86_PLATFORM_IPI,
	VECTOR_THERMAL_APIC,
	VECTOR_THRESHOLD_APIC,
	VECTOR_DEFERRED_ERROR_APIC,
	VECTOR_ERROR_APIC,
	VECTOR_SPURIOUS_APIC,
};

/* Tids are below PID_MAX_LIMIT, 2^22 (include/linux/threads.h). Above one lies the number of a source. */
#define SOURCE_SHIFT 22

/*
 * `soft`, `hard`: sources under way, with one added; 0: none, or the programs are not attached. `raiser`: what raised
 * that softirq: a task by its tid, else an interrupt's source above SOURCE_SHIFT; 0: it is not known.
 */
struct interrupting {
	u32 soft;
	u32 hard;
	u32 raiser;
	u32 reserved;
	u64 queue_at; /* of the programs that time interrupts */
};

BPF_F_TABLE("array", u32, struct interrupting, interrupting, CPUS, BPF_F_MMAPABLE);

#endif
