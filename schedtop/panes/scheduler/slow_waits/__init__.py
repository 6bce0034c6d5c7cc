"""Slow waits, one by one."""
