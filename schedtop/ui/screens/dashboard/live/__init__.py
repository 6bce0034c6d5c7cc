"""What a screen that goes on tells beside its verdict: what is over, what a command has changed, how to undo it."""
