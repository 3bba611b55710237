"""The checks that come last: they trace the other form, which may fail where the side works.

A program may raise, hang or end its process only while its other form is traced. So they are made
when the observation is there already, and what they raise is no failure of the side.
"""

from __future__ import annotations

import jax

from parity_tests.observe import failures
from parity_tests.observe.checks import flag_flips
from parity_tests.observe.flips import Flips
from parity_tests.observe.stages import Built, StageClock
from reports.rows import Check, Observation
from reports.rows.check_names import AGREE, FLIPS


def are_due(built: Built, observation: Observation, flips: Flips) -> bool:
    """Say whether checks come last on a side, after its observation; on most sides none do.

    With flips of the "first" program of a process, this program is another, and has none either.
    """
    if observation.failure is not None:
        return False
    captured = observation.jaxpr.captured_arrays if observation.jaxpr else 0
    # Without captured arrays the two sides are one.
    return built.side == "legacy" and captured > 0 and flips != "first"


@jax.disable_jit(False)  # as the measurement
def take(
    built: Built, observation: Observation, clock: StageClock, flips: Flips = "called"
) -> tuple[Check, ...]:
    """Take the checks that come last on a side, where `are_due` says that there are any."""
    stateful = any(each.name == AGREE and not each.holds for each in observation.checks)
    with clock(FLIPS):
        return failures.attempt(
            FLIPS,
            lambda: flag_flips.check(
                built.fun, built.args, built.kwargs, stateful=stateful, flips=flips
            ),
        )
