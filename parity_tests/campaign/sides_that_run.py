"""The sides of a campaign that run under its JAX; the engine refuses a JAX it does not know."""

from __future__ import annotations

from parity_tests.campaign.estimates import Announce
from parity_tests.campaign.options import CampaignOptions
from parity_tests.processes.own_sides import is_own, refusal_of


class OwnSidesError(ValueError):
    """Our own sides were asked for, and the engine refuses the JAX of the campaign."""


def with_sides_that_run(
    options: CampaignOptions, jax_version: str, announce: Announce
) -> CampaignOptions:
    """Return the options with the sides that run under a version of JAX.

    Our own sides are left out with `options.own_sides_may_miss`, which is announced. Raises
    `OwnSidesError` without it.
    """
    own = [side for side in options.sides if is_own(side)]
    reason = refusal_of(jax_version) if own else None
    if reason is None:
        return options
    stock = tuple(side for side in options.sides if not is_own(side))
    if not (options.own_sides_may_miss and stock):
        raise OwnSidesError(f"cannot run {' and '.join(own)}: {reason}")
    announce(f"{' and '.join(own)} are left out: {reason}")
    return options.model_copy(update={"sides": stock})
