"""The parts of the task view: what one task or process did, from the History and from its own counts."""
