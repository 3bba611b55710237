"""Checks that a side is held to by itself."""
