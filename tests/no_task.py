"""A number that no task can have."""

NO_TASK = 4_194_304
"""PID_MAX_LIMIT (include/linux/threads.h): the largest number of a task is one less, and hosts do hand that one out."""
