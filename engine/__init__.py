"""The engine: two complete pipelines for closed-over constants, behind one flag.

`engine.jit` is a drop-in for `jax.jit`. When a function is traced, its `constants` argument or the
flag decides which pipeline it takes.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

from engine import api as _api
from engine import tracing as _tracing
from engine.api import jit as jit
from engine.api import make_jaxpr as make_jaxpr
from engine.configuration.parsing import SIDES as SIDES
from engine.configuration.settings import config as config
from engine.configuration.settings import constant_policy as constant_policy
from engine.configuration.settings import deduplicate_constants as deduplicate_constants
from engine.configuration.settings import (
    embedded_constants_max_bytes as embedded_constants_max_bytes,
)
from engine.configuration.settings import precompute_constants as precompute_constants
from engine.configuration.settings import strict_placement as strict_placement
from engine.configuration.settings import use_simplified_constants as use_simplified_constants
from engine.ir.captured_constants import CapturedConstant as CapturedConstant
from engine.ir.captured_constants import captured_constants as captured_constants
from engine.ir.jaxprs import ClosedJaxpr as ClosedJaxpr
from engine.ir.jaxprs import Jaxpr as Jaxpr
from engine.ir.jaxprs import Literal as Literal
from engine.ir.jaxprs import is_hoistable as is_hoistable
from engine.ir.jaxprs import is_literalable as is_literalable
from engine.ir.jaxprs import jaxpr_const_args as jaxpr_const_args
from engine.jax_internals import hooks as _hooks
from engine.stages import Compiled as Compiled
from engine.stages import Lowered as Lowered
from engine.stages import Traced as Traced

if _TYPE_CHECKING:
    from types import ModuleType as _ModuleType

    from engine import export as export
    from engine import serialize_executable as serialize_executable


def __getattr__(name: str) -> "_ModuleType":
    """Import what writes and reads files when it is first asked for: few programs need it."""
    if name in ("export", "serialize_executable"):
        return _import_module(f"engine.{name}")
    raise AttributeError(f"module 'engine' has no attribute {name!r}")


_hooks.install(
    capture=_tracing.capture_while_tracing,
    execute=_api.execute_derived,
    tracing_again=_api.tracing_again,
    traced_form=_tracing.traced_form,
    packages=("engine", "legacy_closedjaxpr", "simplified_consts"),
)
