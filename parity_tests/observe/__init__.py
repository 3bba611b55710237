"""Observations: one program on one side, and what each stage showed."""
