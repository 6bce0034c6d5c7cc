"""The reports of several recordings together: gathered one at a time (`together`), and written in four formats."""
