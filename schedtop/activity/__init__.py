"""What the tasks of the host do: system calls, files, memory, network. Data alone, no I/O."""

PARTS = ("syscalls", "files", "memory", "network")
"""What can be measured, each alone."""
