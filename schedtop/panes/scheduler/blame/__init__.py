"""Pairs of victim and preemptor or blocker."""
