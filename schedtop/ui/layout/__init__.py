"""Which panes are seen, and where."""
