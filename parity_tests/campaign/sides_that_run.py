"""The sides of a campaign that run under its JAX.

The engine refuses a JAX that it does not know, and a JAX without the flag has no second mode.
"""

from __future__ import annotations

from parity_tests.campaign.estimates import Announce
from parity_tests.campaign.options import CampaignOptions
from parity_tests.judge.sides import pairs_of
from parity_tests.processes.own_sides import is_own, refusal_of
from reports.rows import Side


class SidesError(ValueError):
    """A side cannot run under the JAX of the campaign; the message says which, and why."""


def with_sides_that_run(
    options: CampaignOptions, jax_version: str, announce: Announce, *, has_flag: bool = True
) -> CampaignOptions:
    """Return the options with the sides that run under a version of JAX.

    Sides that cannot run are left out with `options.sides_may_miss`, which is announced. Raises
    `SidesError` without it, and where no two sides are left that can be compared.
    """
    refused = {each: refusal_of(jax_version) for each in options.sides if is_own(each)}
    missing: dict[Side, str] = {side: why for side, why in refused.items() if why}
    if not has_flag and "jax-simplified" in options.sides:
        missing["jax-simplified"] = f"jax {jax_version} has no flag to be flipped"
    if not missing:
        return options
    left = tuple(side for side in options.sides if side not in missing)
    whys = "; ".join(dict.fromkeys(missing.values()))
    if not (options.sides_may_miss and pairs_of(left)):
        still = f"; {' and '.join(left)} can run" if left else ""
        raise SidesError(f"cannot run {' and '.join(missing)}: {whys}{still}")
    verb = "are" if len(missing) > 1 else "is"
    announce(f"{' and '.join(missing)} {verb} left out: {whys}")
    return options.model_copy(update={"sides": left})
