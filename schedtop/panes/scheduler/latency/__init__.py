"""Runqueue latency as a histogram and over time."""
