"""What follows when a trigger fires: exports, recordings, commands."""
