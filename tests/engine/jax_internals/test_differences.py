"""Each difference between JAX versions is decided by what the installed JAX has."""

import dataclasses
import types

import jax
import pytest

from engine.jax_internals import differences


@pytest.mark.parametrize("home", ["config", "mesh"])
def test_a_context_is_found_where_this_jax_has_it(monkeypatch, home):
    for name in ("config", "mesh"):
        module = types.SimpleNamespace(**({"device_context": "found"} if name == home else {}))
        monkeypatch.setattr(differences, name, module)
    assert differences.holder_of("device_context") == "found"


def test_only_an_aval_that_says_so_is_the_type_of_state():
    assert differences.is_reference_type(types.SimpleNamespace(has_qdd=True))
    assert not differences.is_reference_type(types.SimpleNamespace(has_qdd=False))
    assert not differences.is_reference_type(types.SimpleNamespace())


@pytest.mark.parametrize(("fields", "expected"), [(("_has_named_shardings",), True), ((), False)])
def test_an_export_gets_the_fields_that_it_has_in_this_jax(monkeypatch, fields, expected):
    exported = dataclasses.make_dataclass("Exported", fields)
    of_this_jax = exported.__dataclass_fields__
    monkeypatch.setattr(jax.export.Exported, "__dataclass_fields__", of_this_jax)
    assert ("_has_named_shardings" in differences.exported_fields()) is expected


def test_the_oldest_jax_does_not_expand_a_program_before_a_call():
    """Once no supported version binds hijax programs, the probe can go."""
    assert differences.EXPANDS_BEFORE_A_CALL is (jax.__version_info__ >= (0, 12))
