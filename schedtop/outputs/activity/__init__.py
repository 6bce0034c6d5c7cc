"""Activity as text, JSON and CSV."""
