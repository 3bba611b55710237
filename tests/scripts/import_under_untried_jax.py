"""Import the engine under a JAX of a later version, which lacks some of its private modules."""

import sys

import jax

jax.__version_info__, jax.__version__ = (0, 13, 0), "0.13.0"
for name in ("mesh", "config", "pjit", "core"):  # to import them is now an ImportError
    sys.modules[f"jax._src.{name}"] = None
    delattr(jax._src, name)  # noqa: TID251

import engine  # noqa: E402, F401
