/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The time of interrupts by typed raw tracepoints, see scheduler/btf.c. bcc wants each program written out: it gives
 * those of one macro one section.
 */

#include <linux/compiler.h>
#include <linux/types.h>

#include "../memory.h"
#include "current.h"
#include "interrupts.h"

int btf_softirq_raise(u64 *ctx)
{
	raise_softirq(ctx[0]);
	return 0;
}

int btf_softirq_entry(u64 *ctx)
{
	begin(LEVEL_SOFT, ctx[0] & (FIRST_VECTOR - 1));
	return 0;
}

int btf_softirq_exit(u64 *ctx)
{
	end(LEVEL_SOFT, true);
	return 0;
}

int btf_irq_handler_entry(u64 *ctx)
{
	begin_irq((u32)ctx[0]);
	return 0;
}

int btf_irq_handler_exit(u64 *ctx)
{
	end(LEVEL_HARD, !FIELD(u64, ctx[1], IRQACTION_NEXT_OFFSET));
	return 0;
}

#ifdef BIO_BDEV_OFFSET
/* Of drivers that take requests; a bio of one is not told again. */
int btf_block_rq_complete(u64 *ctx)
{
	u64 bio = FIELD(u64, ctx[0], REQUEST_BIO_OFFSET);
	u64 device = bio ? FIELD(u64, bio, BIO_BDEV_OFFSET) : FIELD(u64, ctx[0], REQUEST_PART_OFFSET);

	if (device)
		add_completion(FIELD(u32, device, BDEV_NUMBER_OFFSET));
	return 0;
}

int btf_block_bio_complete(u64 *ctx)
{
	u64 device = FIELD(u64, ctx[1], BIO_BDEV_OFFSET);

	if (device)
		add_completion(FIELD(u32, device, BDEV_NUMBER_OFFSET));
	return 0;
}
#endif

int btf_local_timer_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_LOCAL_TIMER);
	return 0;
}

int btf_local_timer_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_reschedule_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_RESCHEDULE);
	return 0;
}

int btf_reschedule_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_call_function_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_CALL_FUNCTION);
	return 0;
}

int btf_call_function_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_call_function_single_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_CALL_FUNCTION_SINGLE);
	return 0;
}

int btf_call_function_single_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_irq_work_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_IRQ_WORK);
	return 0;
}

int btf_irq_work_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_x86_platform_ipi_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_X86_PLATFORM_IPI);
	return 0;
}

int btf_x86_platform_ipi_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_thermal_apic_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_THERMAL_APIC);
	return 0;
}

int btf_thermal_apic_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_threshold_apic_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_THRESHOLD_APIC);
	return 0;
}

int btf_threshold_apic_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_deferred_error_apic_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_DEFERRED_ERROR_APIC);
	return 0;
}

int btf_deferred_error_apic_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_error_apic_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_ERROR_APIC);
	return 0;
}

int btf_error_apic_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}

int btf_spurious_apic_entry(u64 *ctx)
{
	begin(LEVEL_HARD, FIRST_VECTOR + VECTOR_SPURIOUS_APIC);
	return 0;
}

int btf_spurious_apic_exit(u64 *ctx)
{
	end(LEVEL_HARD, true);
	return 0;
}
