"""What schedtop costs, measured side by side with the tools it replaces. Nothing here asserts a time."""
