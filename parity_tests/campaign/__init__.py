"""Planned campaigns: many programs, cut into tasks, run anywhere, each written to a store once."""
