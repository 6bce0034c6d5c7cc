"""The rules of the verdict by topic; their order and ids are in verdict/engine.py."""
