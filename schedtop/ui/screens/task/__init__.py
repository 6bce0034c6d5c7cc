"""The screen of one task."""
