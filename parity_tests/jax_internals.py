"""The private names of JAX that the tester reads; no other file of it reads any.

Stock JAX has to run as if the engine did not exist, and an import of `engine.jax_internals` imports
the engine, which puts hooks into JAX. So the tester has a file of its own. JAX has each name from
0.7.0 to 0.12.0.1. One that is gone is an error: with a default, a comparison would end, and nobody
would hear of it.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any


class PrivateNameError(RuntimeError):
    """JAX has a private name no more; the message has the name and the version of JAX."""

    def __init__(self, name: str) -> None:
        import jax  # here, because a command that measures nothing starts without it

        super().__init__(
            f"jax {jax.__version__} has no {name}, a private name that constparity reads: compare "
            "another release of jax"
        )


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute of an object that JAX keeps private.

    Raises `PrivateNameError` where there is none.
    """
    try:
        return getattr(owner, name)
    except AttributeError:
        of = getattr(owner, "__name__", type(owner).__name__)
        raise PrivateNameError(f"{of}.{name}") from None


def jit_info(jitted: Any) -> Any:
    """Return JAX's record of the options of a jitted function; None for one made by `copy.copy`.

    Such a copy has lost it, and JAX itself can only call it.
    """
    import jax

    attribute(jax.numpy.sin, "_jit_info")  # a jitted function of JAX's own
    return getattr(jitted, "_jit_info", None)


def has_executable(jitted: Any) -> bool:
    """Say whether JAX has an executable of a jitted function: it has been called."""
    return bool(attribute(jitted, "_cache_size")() > 0)


def lowering_rules() -> Iterator[tuple[str | None, Mapping[Any, Any]]]:
    """Yield JAX's tables of lowering rules by primitive: that of all platforms, then one for each.

    A rule is an entry with the attributes `rule` and `inline`.
    """
    from jax.interpreters import mlir

    yield None, attribute(mlir, "_lowerings")
    yield from list(attribute(mlir, "_platform_specific_lowerings").items())


def setting_readers(setting: str) -> tuple[Any, tuple[type, str]]:
    """Return how private code reads a setting of `jax.config`: its holder, and a method by name.

    The holder has the setting as its `value`; the method is given as its class and its name.
    """
    import jax

    method = type(jax.config), "_read"
    attribute(*method)
    return attribute(jax.config, "_value_holders")[setting], method


def client_class() -> type:
    """Return the class of backends: what `jax.devices` and its like ask."""
    lib = attribute(importlib.import_module("jax._src.lib"), "xla_client")
    client: type = attribute(lib, "Client")
    return client


def bridge() -> ModuleType:
    """Return the module whose `backends` gives all backends, by platform."""
    module = importlib.import_module("jax._src.xla_bridge")
    attribute(module, "backends")
    return module


def const_args(lowered: Any) -> tuple[Any, ...]:
    """Return the captured arrays that stock JAX passes to a lowered function, in order.

    A function lowered by `engine.jit` has them as `lowered.const_args`.
    """
    return tuple(attribute(attribute(lowered, "_lowering"), "const_args"))


def callbacks_of(lowered: Any) -> tuple[Any, ...]:
    """Return the functions that a lowered function of stock JAX calls, in the order of its module.

    JAX wraps each of the user's in one of its own. Last comes what else its executable keeps alive.
    """
    kept = attribute(attribute(lowered, "_lowering"), "compile_args")
    return (*kept["host_callbacks"], *kept["keepalive"])


def devices_of(lowered: Any) -> tuple[Any, ...]:
    """Return the devices that a lowered function runs on, in order; empty for an abstract mesh."""
    return tuple(attribute(attribute(lowered, "_lowering"), "_device_list") or ())


def devices_in_order(sharding: Any) -> tuple[Any, ...]:
    """Return the devices of a sharding in order, by which JAX tells whether two are compatible."""
    return tuple(attribute(sharding, "_device_assignment"))


def is_reference(value: Any) -> bool:
    """Say whether a value is a mutable reference, whose type has a public name from 0.7.2 on."""
    import jax

    public = getattr(jax, "Ref", None)
    kind = public or attribute(importlib.import_module("jax._src.core"), "MutableArray")
    return isinstance(value, kind)


def context_mesh(info: Any = None) -> Any:
    """Return the mesh that `jax.set_mesh` has set, else an empty one; in jax 0.7.0 else None.

    `info` is JAX's record of a jit: a `pjit` follows `with mesh:` instead.
    """
    meshes = importlib.import_module("jax._src.mesh")
    if info is not None and attribute(info, "use_resource_env"):
        env = attribute(attribute(meshes, "thread_resources"), "env")
        return attribute(env, "physical_mesh")
    return attribute(meshes, "get_concrete_mesh")()


def key_generator(keys: Any) -> Any:
    """Return the generator that a dtype of keys stands for: its functions and its name."""
    return attribute(keys, "_impl")


def kept_arguments(lowered: Any) -> list[int]:
    """Return the positions of the arguments, as leaves, that a module takes.

    JAX leaves out what its jaxpr does not read. Captured arrays come before the arguments.
    """
    how = attribute(attribute(lowered, "_lowering"), "compile_args")
    first = len(attribute(how["all_args_info"], "in_avals")) - lowered.in_tree.num_leaves
    return [n - first for n in sorted(how["kept_var_idx"]) if n >= first]


def without_references(closed: Any) -> Any:
    """Return a closed jaxpr as JAX lowers it: reads and writes of references are values.

    A value that is written over before it is read is gone.
    """
    lowering = importlib.import_module("jax._src.interpreters.pxla")
    discharged, *_ = attribute(lowering, "_discharge_refs")(closed)
    return discharged
