"""The JAX versions that the engine was run against; checked before a private name is imported.

The tester reads this file without importing the engine, to say why the engine refuses a JAX.
"""

from __future__ import annotations

FIRST, LIMIT = "0.10.2", "0.13"


def require_supported_version() -> None:
    """Raise ImportError, with a way out, for a JAX that the engine was not run against.

    The upper bound is an error and not a warning. When JAX 0.11 merged ClosedJaxpr into Jaxpr, the
    comparison of programs took different programs for equal: the results were wrong, in silence.
    """
    import jax

    reason = refusal(jax.__version__)
    if reason is not None:
        raise ImportError(reason)


def refusal(version: str) -> str | None:
    """Say why the engine refuses a version of JAX, and what works there; None where it runs.

    Example::

        refusal("0.10.2") is None
    """
    if _parse(FIRST) <= _parse(version) < _parse(LIMIT):
        return None
    return (
        f"constparity's engine reads private parts of {FIRST} <= jax < {LIMIT}, and this is jax "
        f"{version}. Its tester runs here without the engine: constparity run --sides "
        "jax-legacy,jax-simplified. `constparity doctor` lists what this JAX changed. Or install a "
        f"JAX that the engine knows: pip install 'jax>={FIRST},<{LIMIT}'"
    )


def _parse(version: str) -> tuple[int, ...]:
    """Return the numbers of a version as `jax.__version_info__` has them: no "dev" and no "rc1"."""
    return tuple(int(part) for part in version.split(".") if part.isdigit())
