"""Differences that a project knows of: lists with reasons, and baselines of accepted states."""
