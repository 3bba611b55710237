"""Prove that two forms of a program are one computation: docs/trust/proof.md."""
