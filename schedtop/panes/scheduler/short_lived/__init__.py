"""Short-lived tasks."""
