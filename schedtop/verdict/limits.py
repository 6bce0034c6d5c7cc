"""All thresholds of the verdict, each with its reason."""

from __future__ import annotations

from schedtop.base.units import NS_PER_MS, NS_PER_S

# Whether there is enough to judge
SHORTEST_NS = 100 * NS_PER_MS  # the usual period of a quota: shares of less are chance
LITTLE_NS = 9 * NS_PER_S // 10  # of less it is said; a window of a second is a little longer or shorter
OVER_NS = 5 * NS_PER_S  # without a slow wait: what a longer window tells is over
FIRST_VERDICT_NS = NS_PER_S  # for a screen that was just opened: its own start is in its first interval
FEW_WAITS = 20  # of fewer, one alone decides the percentiles
FEW_SLOW = 5  # fewer slow waits show no common cause,
LITTLE_LOAD = 0.1  # unless they are long: so many tasks were waiting on average
MISSING_SHARE = 0.5  # with more unseen than seen, what is seen need not be typical
CLOCK_NS = 20 * NS_PER_MS  # two steps of /proc/stat: no contradiction yet

# How much waiting there is
ALARM_LOAD = 0.5  # half a task that always waits: a CPU's worth of work is late half of the time
ONE_ALARM_LOAD = 0.4  # of one task alone: a service that is late for so much of the time is down
CHOSEN_ALARM_LOAD = 0.2  # of tasks that somebody asks about: one that is late for a fifth of the time
QUIET_NS = 100_000  # waits up to here are the price of a switch: of longer ones the kernel side keeps the blockers
STARVED_NS = NS_PER_S  # longer than any slice or period, and when real-time tasks must let others run
DELAYED_SHARE = 0.1  # a task that waits a tenth of the time notices
WAITS_SHARE = 0.02  # of one that waits less than this nobody speaks
LITTLE_LONGER = 4  # a few waits that are less than so many times the threshold are no news
CHOSEN_SHARE = 0.05  # of one that somebody asks about, if it waits as long as it runs
DELAY_LOAD = 0.2  # and so much waiting altogether is more than wakeups make
PRESSURE_SPAN_NS = 10 * NS_PER_S  # the kernel brings it up to date every 2 s: shorter spans jump
PRESSURE_NOTICE = 0.2  # wakeups alone make some; this is more

# Which cause, blocker or waker is the main one
MAIN_SHARE, MAIN_FACTOR = 0.6, 2.0  # it has most of the time, or twice that of the next: else it is mixed
COVERED_SHARE = 0.5  # of less than half of a wait, the blockers known need not be typical
KNOWN_RATIO = 0.95  # up to here, how much of a wait is known is said; beyond, the rest is rounding and clocks
RT_LIMIT_RATIO = 0.9  # of what real-time tasks may run: then the limit is what lets others run at all
VICTIM_SHARE = 0.1  # a task that waited for less of it is a bystander
MOVED_SHARE = 0.02  # and one with less is not worth a move: a service among hogs may be below the above
FEW_VICTIMS = 2  # so many have names in the headline
STORM_VICTIMS = 8  # a task that wakes fewer is an ordinary waker

# CPUs, the host and quotas
SLEEPER = 0.75  # a task that runs and waits for less of the time sleeps in between
BUSY = 0.9  # no room left, given the 10 ms steps of /proc/stat
IDLE = 0.1  # could have taken work
ROOM = 0.5  # a CPU that is idle so much takes half of what waits
MUCH_ROOM = 0.75  # one that is idle for less gets crowded by a task that never sleeps
SOME_ROOM = 0.3  # one that is idle for so much more than theirs has some of what pinned tasks miss
STEAL_NOTICE, STEAL_ALARM = 0.05, 0.10  # and the screen marks it so
STOLEN_SHARE = 0.25  # from here on more CPU time from the host shortens slow waits on busy CPUs
QUOTA_NOTICE = 0.1  # a group that runs out in fewer of its periods seldom notices
LOOKED_BACK = 10  # intervals: for a wait that tells where tasks meet
NOTABLE_SLICES = 2  # with less than so many times the length two time slices are about the same

# Short-lived tasks
SHORT_LIVED_SHARE = 0.4  # of all the work of the CPUs: what starts them has nearly as much again, to fork and to wait
NOTABLE_SHARE = 0.2  # worth a word beside another cause
LEAST_WORK = 0.1  # of the CPUs' time: less is little work, whatever does it
LEAST_RATE = 20.0  # a second: fewer are jobs
LONGEST_MEAN_NS = 50 * NS_PER_MS  # a command that runs longer is worth a process: a compiler
NEARLY_ALL = 0.95  # then one name says it
MOST_NAMES = 3  # of parents: more are counted
MOST_FAIL = 0.5  # then it is worth saying that they do not end well
