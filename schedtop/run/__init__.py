"""One run of the program: its signals, its threads, its source, and its errors."""
