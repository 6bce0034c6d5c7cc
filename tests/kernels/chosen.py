"""Which tests run inside the guests: the contract, and our numbers against the kernel's own.

Left out is what needs a tool that the guests do not have (bpftrace, perf, systemd), what asks for a speed
or for short waits (an emulated processor has neither), and what concerns the screen and files: those are the same on
all kernels.
"""

FRONT_ENDS = ("btf", "tracepoint")

_QUICK = {
    "test_live_contract": ("test_the_live_source_is_a_source",),
    "test_ground_truth": ("test_switches_match_ctxt", "test_pinned_hogs_over_their_whole_life"),
    "test_waits": ("test_run_delay_over_a_whole_life_is_schedstats",),
    "test_queue": ("test_four_busy_tasks_make_a_queue_of_three_exact_in_a_slow_wait",),
    "test_task": (
        "test_a_timer_is_an_interrupt_whomever_it_interrupts",
        "test_what_follows_the_return_of_a_quota_is_runnable",
    ),
    "test_offcpu": ("test_task_asleep_all_the_time_is_measured_to_the_nanosecond",),
    "test_capture": ("test_a_timers_wakeup_names_no_waker",),
    "test_path": (
        "test_a_ping_pong_has_its_system_calls_and_its_wakers",
        "test_a_holder_that_sleeps_is_blocked_by_its_timer",
    ),
    "test_interrupts": ("test_a_timer_is_named_as_waker",),
    "test_activity": ("test_reads_and_writes_are_those_of_proc_io", "test_traffic_connections_and_failures"),
}
"""Each program of bpf/ is compiled, loaded and attached by one of these, on both front ends where it has two."""

_MORE = {
    "test_live_contract": ("test_the_live_source_stops_when_asked",),
    "test_ground_truth": (
        "test_idle_is_no_task_and_no_victim",
        "test_a_yield_has_no_preemptor",
        "test_a_wait_under_way_is_seen_before_it_ends",
        "test_an_exec_by_a_thread_makes_no_switches_up",
    ),
    "test_blame": ("test_a_timers_wakeup_names_no_waker_and_a_tasks_does",),
    "test_task": (
        "test_states_are_those_of_the_program",
        "test_what_a_softirq_wakes_is_marked",
        "test_a_quota_throttles",
    ),
    "test_activity": (
        "test_calls_have_errors_times_and_the_longest",
        "test_page_faults_are_the_kernels",
        "test_connections_from_before_are_known",
        "test_rows_by_thread_add_up_to_their_process",
        "test_sums_are_exact_in_a_storm_of_processes",
    ),
    "test_capture": (
        "test_a_softirqs_wakeup_is_marked_in_a_capture",
        "test_a_cpu_that_comes_up_later_is_in_the_capture",
    ),
    "test_path": (
        "test_a_mutex_holder_behind_hogs_has_a_third_of_its_cpu",
        "test_a_chain_over_pipes_leads_to_what_computes",
        "test_a_timer_ends_the_walk",
    ),
    "test_path_interrupts": ("test_what_packets_take_from_the_holder_of_a_lock_is_a_segment_of_its_own",),
    "test_limits": (
        "test_two_live_tasks_in_one_slot_stay_exact",
        "test_a_full_overflow_map_is_counted",
        "test_a_full_ring_is_counted",
        "test_a_negative_wait_is_dropped_and_counted",
        "test_cpus_that_are_not_there_take_no_room_for_pairs_and_groups",
        "test_events_that_the_kernel_skips_are_counted",
    ),
    "test_short_lives": (
        "test_thousands_of_short_processes_are_all_counted",
        "test_exec_by_a_thread_takes_the_leaders_tid",
        "test_an_exited_task_is_not_shown_as_waiting",
    ),
    "test_waits": (
        "test_forked_children_wait_from_their_fork_on",
        "test_waits_that_were_not_seen_are_in_run_delay_all_the_same",
        "test_slices_that_were_not_seen_are_in_run_time_all_the_same",
    ),
    "test_sched_ext": (
        "test_a_queue_of_sched_ext_is_no_cpus",
        "test_what_is_known_without_sched_ext_is_known_again_after_it",
        "test_beside_a_partial_scheduler_ordinary_tasks_have_their_blockers",
        "test_a_path_says_not_what_had_a_cpu_that_its_task_did_not_wait_for",
    ),
    "test_slices": ("test_a_slow_wait_tells_the_slices_of_victim_and_blocker",),
    "test_check_kernel": ("test_a_mix_has_the_kernels_numbers",),
    "test_quota": (
        "test_a_wakeup_into_a_throttled_group_is_throttled",
        "test_what_follows_the_return_of_the_quota_is_queueing",
        "test_a_kernel_that_does_not_split_waits_says_so",
    ),
    "test_new_tasks": (
        "test_new_tasks_wait_from_their_fork_on",
        "test_a_first_wait_whose_end_is_hidden_is_counted",
        "test_a_wait_that_no_wakeup_began_is_known_at_its_end",
        "test_a_wait_that_begins_on_the_way_out_is_seen",
    ),
    "test_first_sight": (
        "test_a_claim_that_fails_leaves_no_eternal_waiter",
        "test_an_exiting_task_keeps_its_slot",
    ),
    "test_hotplug": ("test_an_offline_cpu_is_absent_until_it_returns",),
    "test_idle_cpus": (
        "test_a_task_with_migration_disabled_is_no_failure_of_the_balancer",
        "test_tasks_that_a_mask_binds_are_bound_by_nothing_else",
        "test_an_isolated_cpu_is_no_idle_cpu",
        "test_a_cpu_that_the_command_line_isolates_is_no_idle_cpu",
    ),
    "test_interrupts": (
        "test_a_loopback_flood_is_counted_as_the_kernel_does",
        "test_a_timer_storm_is_counted_as_the_kernel_does",
        "test_time_in_interrupts_is_what_the_kernel_accounts",
        "test_time_taken_is_charged_to_the_task_that_was_interrupted",
        "test_interrupts_are_blockers_of_slow_waits_and_name_wakers",
        "test_a_flood_of_loopback_is_told_to_be_of_its_own_making",
        "test_a_packets_wakeup_names_who_sent_it",
        "test_idle_time_is_no_tasks",
        "test_a_source_times_interrupts_only_while_it_is_asked",
    ),
    "test_precedence": (
        "test_real_time_loop_is_named_with_what_it_leaves",
        "test_throttled_real_time_loop_is_named",
        "test_deadline_task_without_runtime_is_named",
        "test_nice_task_waits_because_of_its_weight",
        "test_task_of_a_cgroup_with_less_weight_waits_because_of_it",
        "test_task_of_the_root_cgroup_is_raised_beside_a_group",
        "test_nice_is_no_help_in_a_session_with_less_weight",
        "test_classes_of_tasks_are_those_of_the_kernel",
        "test_policy_and_priority_are_those_of_the_kernels_own_file",
        "test_fair_server_keeps_its_share_without_the_runtime_limit",
        "test_kernel_threads_of_the_stop_class",
    ),
    "test_entitlement": (
        "test_two_nice_values_on_one_cpu",
        "test_two_groups_of_one_and_four_times_the_weight",
        "test_two_groups_are_entitled_by_their_weights",
        "test_a_nice_value_acts_only_inside_of_its_autogroup",
        "test_weight_policy_and_priority_are_the_kernels",
    ),
}

_EXACT = (
    "return_of_a_quota", "a_quota_throttles", "a_timer_is_an_interrupt", "test_quota", "test_path.py", "test_waits",
    "no_wakeup_began", "on_the_way_out", "first_wait_whose_end", "test_first_sight", "test_check_kernel", "softirq",
    "timers_wakeup", "an_exec_by_a_thread", "test_idle_cpus", "test_hotplug", "test_new_tasks",
    "events_that_the_kernel_skips", "test_ground_truth", "test_live_contract", "test_sched_ext",
)  # fmt: skip
"""Words of the tests that compare waits, run time, wakers and quotas with the kernel, in the order to run them."""


def chosen(quick: bool, words: str, exact: bool = False) -> list[str]:
    """What pytest is told to run; only those with one of the `words` (between commas) in their names."""
    modules = [*_QUICK.items(), *([] if quick else _MORE.items())]
    every = [f"tests/root/{module}.py::{name}" for module, names in modules for name in names]
    if exact:
        every = list(dict.fromkeys(test for word in _EXACT for test in every if word in test))
    return [test for test in every if any(word in test for word in words.split(","))]


def front_end_of(test: str) -> str:
    """Which front end a test looks at; one that names none takes what is best."""
    return next((name for name in FRONT_ENDS if f"[{name}" in test), FRONT_ENDS[0])
