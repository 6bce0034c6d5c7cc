"""What leaves the program without a screen: snapshots as JSON, CSV and text."""
