"""What is switched off, one set after the other, to attribute a difference to the compiler."""

from __future__ import annotations

from typing import NamedTuple

from parity_tests.processes.protocol import XlaOptions
from reports.rows import DriftCause


class PassesOff(NamedTuple):
    """Options with which both sides are compiled again, and the cause if they agree then."""

    cause: DriftCause
    what: str
    xla: XlaOptions
    barriers: bool = False  # captured arrays behind optimization barriers
    as_arguments: bool = False  # captured arrays passed as arguments

    @property
    def said(self) -> str:
        """What is off, with the flags for a user who tries them."""
        return f"{self.what} (XLA_FLAGS={self.flags})" if self.flags else self.what

    @property
    def flags(self) -> str:
        """The options as XLA_FLAGS has them."""
        return " ".join(f"--{name}={_spelled(value)}" for name, value in self.xla.items())


def _spelled(value: bool | int | str) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# The passes of jaxlib 0.10.2, with options that jaxlib 0.8.0 to 0.12.0.1 have. An unknown option
# makes a compilation fail. An unknown pass is ignored, so passes of the GPU stand among them.
_UNFUSED = (
    "constant_folding,algsimp,fusion,priority-fusion,multi_output_fusion,fusion_merger,"
    "horizontal_loop_fusion,simplify-fp-conversions"
)
UNFOLDED: XlaOptions = {"xla_disable_hlo_passes": "constant_folding,algsimp"}
_OPTIMISES_LESS: XlaOptions = {
    "xla_backend_optimization_level": 0,
    "xla_allow_excess_precision": False,
}
AS_IT_WAS = PassesOff("not attributed", "as it was", {})
FOLDING_OFF = PassesOff(
    "constant folding",
    "constant folding off",
    {"xla_disable_hlo_passes": "constant_folding"},
)
# What one side alone may be compiled without, to have the bits of a side with fewer constants.
ON_ONE_SIDE = (
    FOLDING_OFF,
    # `algsimp` knows the values of constants: it multiplies by the reciprocal and joins factors.
    PassesOff(
        "constant folding",
        "constant folding and the algebraic simplification with constants that are known off",
        UNFOLDED,
    ),
)
PASSES_OFF = (
    *ON_ONE_SIDE,
    PassesOff(
        "layout or fusion",
        "constant folding, algebraic simplification, fusion and the backend's optimisation off",
        {**_OPTIMISES_LESS, "xla_disable_hlo_passes": _UNFUSED},
    ),
    # After the others, since XLA asserts layouts later on: some programs do not compile without.
    PassesOff(
        "layout or fusion",
        "the assignment of layouts off, too",
        {**_OPTIMISES_LESS, "xla_disable_hlo_passes": f"{_UNFUSED},layout-assignment"},
    ),
    # Some elementwise equations are folded before the first pass (the dump "before_optimizations"
    # has none of them), and no flag prevents that. Barriers come last because they hide constants
    # from the assignment of layouts too.
    PassesOff(
        "constant folding",
        "constant folding off and captured arrays behind optimization barriers, for they are "
        "folded before XLA's passes as well",
        {"xla_disable_hlo_passes": "constant_folding"},
        barriers=True,
    ),
    # LLVM folds as well, of constants that XLA has left: 0 / 0 is a NaN of the other sign then, and
    # a subnormal number is not flushed to zero. Only an argument hides a value from all compilers.
    PassesOff(
        "constant folding",
        "the captured arrays as arguments, whose values no compiler knows",
        {},
        as_arguments=True,
    ),
)
