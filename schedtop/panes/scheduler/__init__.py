"""The panes of the dashboard, a folder each."""
