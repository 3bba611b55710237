"""Each difference between JAX versions is decided by what the installed JAX has."""

import dataclasses
import subprocess
import sys
import types

import jax
import pytest
from program_files import script_file

from engine.jax_internals import differences, supported_versions


@pytest.mark.parametrize("version", [(0, 10, 1), (0, 13, 0), (1, 0, 0)])
def test_an_untried_jax_is_refused_by_name(monkeypatch, version):
    monkeypatch.setattr(jax, "__version_info__", version)
    monkeypatch.setattr(jax, "__version__", ".".join(map(str, version)))
    with pytest.raises(ImportError, match=rf"found jax {jax.__version__}.*pip install"):
        supported_versions.require_supported_version()


def test_an_untried_jax_is_refused_before_a_private_name_is_missed():
    done = subprocess.run(
        [sys.executable, str(script_file("import_under_untried_jax"))],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert "found jax 0.13.0" in done.stderr.splitlines()[-1]


def test_the_installed_jax_is_supported():
    supported_versions.require_supported_version()


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
