"""The choices of a program: what it was staged with, and keeps."""

from __future__ import annotations

from typing import NamedTuple

from engine.configuration.parsing import ConstantPolicy, Precompute
from engine.configuration.settings import (
    constant_policy,
    deduplicate_constants,
    precompute_constants,
)


# A tuple, since first calls look for it in tables: the hash of a dataclass is not made in C.
class Choices(NamedTuple):
    """What a program was staged with, and keeps: so does what transformations derive from it."""

    policy: ConstantPolicy | None
    precompute: Precompute
    deduplicate: int = 0  # captured arrays up to this many bytes are compared by value


NO_CHOICES = Choices(None, "off")


def choices_now(
    policy: ConstantPolicy | None = None,
    precompute: Precompute | None = None,
    deduplicate: int | None = None,
) -> Choices:
    """The choices of a function staged now: its own, else those of the settings."""
    return Choices(
        policy if policy is not None else constant_policy.value,
        precompute if precompute is not None else precompute_constants.value,
        deduplicate if deduplicate is not None else deduplicate_constants.value,
    )
