"""The length of the run queues."""
