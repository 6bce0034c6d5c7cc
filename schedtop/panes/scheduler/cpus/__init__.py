"""The CPUs, now and over time."""
