"""Select the captured arrays that become const args: by a constant policy, then by size.

A policy is asked once for each array, before the program is rewritten, and its answers are stored
by the identity of the arrays. If it were asked again for each body of a program, it could
contradict itself.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.configuration.parsing import ConstantPolicy
from engine.configuration.policy_table import CHOICES, Choice
from engine.ir.captured_constants import CapturedConstant, captured_constants
from engine.ir.jaxprs import ClosedJaxpr, constant_key, is_hoistable


@dataclass(frozen=True, eq=False)
class Selection:
    """The captured arrays of one program that are hoisted.

    `embed_threshold` is in bytes. `chosen` maps the `constant_key` of an array to the policy's
    choice; arrays that the policy left to the threshold are not in it.
    """

    embed_threshold: int
    chosen: Mapping[Hashable, Choice] = field(default_factory=dict)

    @property
    def embeds_by_policy(self) -> bool:
        """Whether the policy leaves an array embedded, as a Literal."""
        return "embed" in self.chosen.values()

    def is_hoisted(self, value: Any) -> bool:
        """Say whether a captured value becomes a const arg."""
        # The fast path: nearly all programs have no policy, and each constant is asked about.
        choice = self._choice(value) if self.chosen else None
        return is_hoistable(value, self.embed_threshold) if choice is None else choice == "hoist"

    def is_inlined_by_policy(self, value: Any) -> bool:
        """Say whether the policy wants a captured value inlined, once per function."""
        return self._choice(value) == "inline"

    def is_left_to_xla(self, value: Any) -> bool:
        """Say whether the policy wants a captured value in the module, for XLA to compute with."""
        return self._choice(value) in ("inline", "embed")

    def _choice(self, value: Any) -> Choice | None:
        if not self.chosen or not is_hoistable(value, -1):
            return None
        return self.chosen.get(constant_key(value))

    def refuse_what_jax_cannot_follow(self, primitives: Collection[str]) -> None:
        """Raise NotImplementedError if the policy chose for any array.

        `primitives` have bodies with captured arrays, and this project has no rule for them. JAX
        hoists from such bodies by the threshold alone, even arrays that the policy inlines. A
        policy that holds in one body but not in another would be worse than none.
        """
        if self.chosen:
            raise NotImplementedError(
                "a constant policy cannot be followed into the bodies of "
                f"{', '.join(sorted(primitives))}: JAX itself hoists from those, by the embed "
                "threshold alone; use engine.embedded_constants_max_bytes for this program, or a "
                "policy that hoists nothing"
            )


def select(closed_jaxpr: ClosedJaxpr, embed_threshold: int, policy: ConstantPolicy) -> Selection:
    """Ask a policy about each array that a program captured.

    `embed_threshold` is in bytes. Raises ValueError, naming the array, for an answer other than one
    of `CHOICES` or None.

    Example::

        select(closed_jaxpr, 32, lambda constant: "inline").is_hoisted(table)
    """
    chosen: dict[Hashable, Choice] = {}
    for constant in captured_constants(closed_jaxpr):
        if is_hoistable(constant.value, -1):  # mutable references are state, not constants
            answer = policy(constant)
            if answer is not None:
                chosen[constant_key(constant.value)] = _checked(answer, constant)
    return Selection(embed_threshold, chosen)


def _checked(answer: Any, constant: CapturedConstant) -> Choice:
    if isinstance(answer, str) and answer in CHOICES:
        return answer
    place = constant.captured_at()
    where = f" captured at {place[0]}:{place[1]} ({place[2]})" if place else ""
    raise ValueError(
        f"a constant policy must return {', '.join(map(repr, CHOICES))} or None, got {answer!r} "
        f"for {constant.describe()}{where}"
    )
