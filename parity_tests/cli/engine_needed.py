"""Refuses a command that needs the engine where the engine refuses the JAX that is installed."""

from __future__ import annotations

from parity_tests.cli.exit_codes import fail


def check_engine_runs(command: str) -> None:
    """Leave with `Exit.USAGE`, and say why, where the engine refuses the JAX of this process."""
    from parity_tests.processes.own_sides import refusal_here

    reason = refusal_here()
    if reason is not None:
        fail(f"{command} needs the engine: {reason}")
