"""Generated programs that stock JAX rejects, too."""

from __future__ import annotations

from reports.rows import ProgramRow


def is_refused(row: ProgramRow) -> bool:
    """Say whether every failure is an exception that stock JAX raises in the same mode, too.

    A side of ours that fails is not excused where its partner of stock JAX did not run, nor where
    it crashes or runs out of time instead of raising.
    """
    failures = {each.side: each.failure for each in row.observations}
    failed = [each for each in failures.values() if each]
    raised: dict[str, tuple[str, str]] = {
        side: (each.stage, each.type) for side, each in failures.items() if each
    }
    return (
        row.verdict == "could not compare"
        and bool(failed)
        and all(each.kind == "exception" for each in failed)
        and all(
            raised.get(ours) == raised.get(stock)
            for ours, stock in (("legacy", "jax-legacy"), ("simplified", "jax-simplified"))
            if ours in failures
        )
    )
