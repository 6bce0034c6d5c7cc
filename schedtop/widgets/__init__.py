"""Generic pieces of the text UI that know nothing of scheduling."""
