"""The path across tasks: what kept a task from running, back from its wakeup to what woke it."""
