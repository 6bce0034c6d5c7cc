"""Advice on quotas as data and text."""
