"""A View as data and as text: snapshots."""
