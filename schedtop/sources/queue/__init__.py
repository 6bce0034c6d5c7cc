"""Samples of the run queues alone."""
