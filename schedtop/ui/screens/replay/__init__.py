"""The dashboard on a recording."""
