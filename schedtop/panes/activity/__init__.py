"""The panes of the activity screen."""
