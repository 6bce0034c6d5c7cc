"""One pane a file: each shows one part of a View."""
