"""Triggers: conditions as text (`grammar`), what they ask about (`metrics`), and when they fire (`watch`)."""
