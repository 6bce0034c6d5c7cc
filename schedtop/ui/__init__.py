"""The textual app: screens, keys, and the thread that feeds them."""
