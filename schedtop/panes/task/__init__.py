"""The parts of the task lens: what one task or process did, from the History and from its own counts."""
