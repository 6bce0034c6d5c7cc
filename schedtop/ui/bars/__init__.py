"""Lines in which one types, and the line of keys."""
