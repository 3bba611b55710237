"""Hazard: a captured array that stock simplified passes more than once.

It passes one const arg for each Literal in a jaxpr. Look-alike: an array with several uses in the
bodies of one equation, which stock JAX passes once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from parity_tests.advice import advice
from parity_tests.jaxpr.captured import identity
from parity_tests.jaxpr.stock_const_args import stock_const_args
from parity_tests.observe.hazards.traced_program import TracedProgram, hazard_of
from reports.rows import Hazard
from reports.views.texts import counted


def find(traced: TracedProgram) -> Iterator[Hazard]:
    """Find the captured arrays that are several const args."""
    passed = stock_const_args(traced.closed.jaxpr, embed_threshold=traced.embed_threshold)
    times = Counter(map(identity, passed))
    for use in traced.uses:
        if (count := times[use.array.identity]) > 1:
            yield hazard_of(
                "hoisted more than once",
                use,
                f"stock simplified passes the array as {counted(count, 'const arg')}, one for each "
                f"Literal that holds it in one jaxpr: each call hands over {count} arguments, and "
                "XLA takes them to be different",
                advice("pass once"),
            )
