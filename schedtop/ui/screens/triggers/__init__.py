"""The dashboard that watches for conditions."""
