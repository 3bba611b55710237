"""The arbiter of shadow mode: a program's results in double precision, from its jaxpr."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.runtime.watching import Execution
from parity_tests.drift.arbiter import true_results

# Loops are evaluated in Python, a turn at a time, while the test waits.
MOST_EQUATIONS = 20_000


def true_values(execution: Execution) -> Mapping[int, Any]:
    """Return the results of a program in double precision, by number; empty where it has none.

    Without an arbiter a mismatch stays a mismatch: nothing passes because of it.
    """
    operands, donated = execution.operands, execution.donated
    if any(donated):
        return {}  # the run has consumed them
    try:
        results = true_results(execution.closed_jaxpr, operands, most_equations=MOST_EQUATIONS)
    # An equation may refuse to be evaluated in double precision in any way.
    except Exception:  # noqa: BLE001
        return {}
    return dict(enumerate(results))
