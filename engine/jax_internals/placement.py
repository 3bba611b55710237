"""The devices that a program runs on, and the error where they are incompatible."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.experimental.layout
from jax._src import dispatch, pjit, stages
from jax._src.interpreters import partial_eval as _partial_eval
from jax._src.interpreters import pxla
from jax._src.lib import _jax as _jaxlib
from jax._src.sharding_impls import UNSPECIFIED

from engine.jax_internals.bodies import open_part

PlacementError = stages.DeviceAssignmentMismatchError


@contextlib.contextmanager
def placement_errors(
    types: Sequence[Any], names: Sequence[str], params: dict[str, Any]
) -> Iterator[None]:
    """Raise the ValueError of `jax.jit`, which names arguments, where devices are incompatible."""
    try:
        yield
    except PlacementError as error:
        raise with_arguments(error, params["name"], types, names, params) from None


def with_arguments(
    error: PlacementError,
    function: str,
    types: Sequence[Any],
    names: Sequence[str],
    params: dict[str, Any],
) -> ValueError:
    """Return the ValueError that `jax.jit` makes of an error of lowering: it names arguments.

    `params` are those of the jit equation.
    """
    [fails] = error.args
    shardings = [*(t.sharding for t in types), *params["in_shardings"]]
    of_arguments = [s._device_assignment for s in shardings if _has_devices(s)]
    for fail in fails:
        if fail.m_type is stages.MismatchType.ARG_SHARDING and fail.da not in of_arguments:
            fail.m_type = stages.MismatchType.CONST_SHARDING  # JAX took it for an argument
    named = [(t, name) for t, name in zip(types, names, strict=False) if name]  # derived: not all
    types, names = [t for t, _ in named], [name for _, name in named]
    return ValueError(
        stages._device_assignment_mismatch_error(function, fails, types, "jit", names)
    )


def _has_devices(sharding: Any) -> bool:
    if sharding is None or sharding is UNSPECIFIED:
        return False
    return not isinstance(getattr(sharding, "mesh", None), jax.sharding.AbstractMesh)


def platforms_of_context(params: dict[str, Any]) -> tuple[str, ...] | None:
    """Return the platform that an abstract mesh, in context at tracing, names; None without one."""
    mesh = params["ctx_mesh"]
    if not isinstance(mesh, jax.sharding.AbstractMesh) or mesh.abstract_device is None:
        return None
    return (mesh.abstract_device.platform,)


def computing_device(types: Sequence[Any], params: dict[str, Any]) -> jax.Device | None:
    """Return this process's first device that a program with arguments of these types runs on.

    None where there is none: with an abstract mesh, or with devices that exist only as a target for
    compiling. Raises the error of lowering for incompatible devices.
    """
    devices, _ = devices_of(types, params)
    of_process = (
        device
        for device in devices or ()
        if not isinstance(device.client, _jaxlib.CompileOnlyPyClient)
        and device.process_index == device.client.process_index()
    )
    return next(of_process, None)


def devices_of(
    types: Sequence[Any], params: dict[str, Any], num_const_args: int = 0
) -> tuple[tuple[jax.Device, ...] | None, bool]:
    """Return the devices of a program, const args aside, and whether anything decides them.

    The devices are in order; None for an abstract mesh, the default where nothing decides. `params`
    include the shardings of `num_const_args` const args, which come first; `types` do not.
    """
    jaxpr, resolved = open_part(params["jaxpr"]), params["in_shardings"][num_const_args:]
    read = [True] * len(jaxpr.invars)
    if not params["keep_unused"]:  # unused arguments may be on any device
        _, read = _partial_eval.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    resolved = pjit._resolve_in_shardings(types, resolved)
    shardings = [
        *((s, stages.MismatchType.ARG_SHARDING, None)
          for s in itertools.compress(resolved, read[num_const_args:])),
        *((s, stages.MismatchType.OUT_SHARDING, None) for s in params["out_shardings"]),
        *((s, stages.MismatchType.SHARDING_INSIDE_COMPUTATION, source_info)
          for s, source_info in dispatch.get_intermediate_shardings(jaxpr)),
    ]  # fmt: skip
    mesh = pxla._get_context_mesh(params["ctx_mesh"])
    _, devices, _ = pxla._get_and_check_device_assignment(shardings, mesh)
    is_decided = not mesh.empty or any(sharding is not UNSPECIFIED for sharding, _, _ in shardings)
    return devices, is_decided
