"""Names of JAX's classes that the engine's signatures use."""

from __future__ import annotations

import jaxlib
from jax._src import pjit
from jax._src import traceback_util as _traceback_util
from jax._src.interpreters import mlir, pxla
from jax._src.sharding_impls import UNSPECIFIED

JAXLIB_VERSION: str = jaxlib.__version__

Executable = pxla.MeshExecutable
PjitParams = pjit.PjitParams
JitInfo = pjit.PjitInfo
LoweringParameters = mlir.LoweringParameters
api_boundary = _traceback_util.api_boundary

__all__ = [
    "JAXLIB_VERSION",
    "UNSPECIFIED",
    "Executable",
    "JitInfo",
    "LoweringParameters",
    "PjitParams",
    "api_boundary",
]
