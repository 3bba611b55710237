"""The choices of a program: which policy, preamble and deduplication it was traced with.

A program keeps its choices, and programs that JAX derives from it inherit them. So a derivative
treats the constants as its function does, even if a setting has changed meanwhile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from engine.configuration.parsing import (
    ConstantPolicy,
    Precompute,
    parse_deduplicate,
    parse_policy,
    parse_precompute,
)
from engine.configuration.settings import (
    constant_policy,
    deduplicate_constants,
    precompute_constants,
)

# Both records are keys of tables that first calls look into. They are tuples and not dataclasses,
# because a tuple is hashed in C.


class Choices(NamedTuple):
    """The settings that decide about the constants of a program, beside side and threshold."""

    policy: ConstantPolicy | None
    precompute: Precompute
    deduplicate: int = 0  # captured arrays up to this many bytes are compared by value


NO_CHOICES = Choices(None, "off")


class JitKeywords(NamedTuple):
    """The choices given to one `engine.jit` as keywords; None leaves a choice to its setting."""

    policy: ConstantPolicy | None
    precompute: Precompute | None
    deduplicate: int | None


def parse_jit_keywords(
    constant_policy: Any, precompute_constants: Any, deduplicate_constants: Any
) -> JitKeywords:
    """Check the keywords of `engine.jit` that are choices.

    Raises ValueError that names the keyword and lists its legal values.
    """
    policy = parse_policy(constant_policy, "constant_policy")
    precompute, deduplicate = None, None
    if precompute_constants is not None:
        precompute = parse_precompute(precompute_constants, "precompute_constants")
    if deduplicate_constants is not None:
        deduplicate = parse_deduplicate(deduplicate_constants, "deduplicate_constants")
    return JitKeywords(policy, precompute, deduplicate)


def choices_now(keywords: JitKeywords) -> Choices:
    """Return the choices of a function that is traced now: its keywords, else the settings."""
    policy, precompute, deduplicate = keywords
    return Choices(
        policy if policy is not None else constant_policy.value,
        precompute if precompute is not None else precompute_constants.value,
        deduplicate if deduplicate is not None else deduplicate_constants.value,
    )
