"""A private name of JAX that is gone is an error that names it: no comparison ends in silence."""

import copy

import jax
import pytest
from jax.interpreters import mlir

from parity_tests import jax_internals, own_jit
from parity_tests.jax_internals import PrivateNameError
from parity_tests.observe import effects
from parity_tests.observe.reads import recording


def error_of(read):
    with pytest.raises(PrivateNameError) as raised:
        read()
    return str(raised.value)


def tells(name):
    return (
        f"jax {jax.__version__} has no {name}, a private name that constparity reads: compare "
        "another release of jax"
    )


@pytest.mark.parametrize(
    ("owner", "name", "read", "told"),
    [
        (mlir, "_lowerings", effects.install, "jax.interpreters.mlir._lowerings"),
        (
            *(mlir, "_platform_specific_lowerings", effects.install),
            "jax.interpreters.mlir._platform_specific_lowerings",
        ),
        (type(jax.config), "_read", recording.recording().__enter__, "Config._read"),
    ],
)
def test_a_name_that_is_gone(monkeypatch, owner, name, read, told):
    monkeypatch.delattr(owner, name)
    assert error_of(read) == tells(told)


def install_without(monkeypatch, primitive):
    tables = [
        (platform, {each: rule for each, rule in rules.items() if each.name != primitive})
        for platform, rules in jax_internals.lowering_rules()
    ]
    monkeypatch.setattr(effects, "lowering_rules", lambda: tables)
    effects.install()


@pytest.mark.parametrize("primitive", ["pure_callback", "debug_callback", "debug_print"])
def test_a_callback_that_jax_calls_otherwise(monkeypatch, primitive):
    told = error_of(lambda: install_without(monkeypatch, primitive))
    assert told == tells(f"lowering rule of {primitive}")


def test_prints_were_callbacks_like_others_once(monkeypatch):
    monkeypatch.setattr(jax, "__version_info__", (0, 7, 1))
    install_without(monkeypatch, "debug_print")


def test_options_that_jax_holds_otherwise(monkeypatch):
    jitted = jax.jit(lambda x: x, donate_argnums=0)
    monkeypatch.setattr(own_jit, "_PLAIN", ("donated",))
    assert error_of(lambda: own_jit.options_of(jitted)) == tells("PjitInfo.donated")
    monkeypatch.setattr(jax.numpy, "sin", len)  # a jitted function of a JAX without the attribute
    assert error_of(lambda: own_jit.options_of(jitted)) == tells("len._jit_info")


def test_a_copied_jit_has_no_options():
    """`copy` leaves them behind: JAX calls such a function, and cannot trace it."""
    copied = copy.copy(jax.jit(lambda x: x, donate_argnums=0))
    assert own_jit.options_of(copied) == {}
