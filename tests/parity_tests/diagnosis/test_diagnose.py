"""`constparity doctor` on this installation, and on ones with a planted fault."""

import json
import os

import jax
import pytest

from parity_tests.cli import app

GONE = "jax._src.lib._jax.get_topology_for_devices"
PLANTED_GONE = "from jax._src.lib import _jax\ndel _jax.get_topology_for_devices"
SIDES = ("legacy", "simplified", "jax-legacy", "jax-simplified")


@pytest.fixture
def doctor(capsys):
    """Run the doctor; return its exit status, its JSON, and what it printed."""

    def run():
        status = app.main(["doctor", "--report", "json:-"])
        captured = capsys.readouterr()
        return status, json.loads(captured.out), captured.err

    return run


@pytest.fixture
def plant(monkeypatch, tmp_path):
    """Have a file on the path of all processes, first of all."""

    def planted(name, text):
        (tmp_path / name).write_text(text)
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        monkeypatch.setenv("PYTHONPATH", path)

    return planted


def test_all_is_well_here(doctor, monkeypatch):
    monkeypatch.setenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", "1")
    status, found, printed = doctor()
    assert status == 0, printed
    assert found["problems"] == []
    assert found["environment"]["jax"] == jax.__version__
    jax_flag, engine_flag = found["flags"]
    assert (jax_flag["value"], jax_flag["variable"]) == (True, "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS")
    # Unless it is set, the engine's flag has the value of JAX's.
    assert (engine_flag["value"], engine_flag["variable"]) == (True, None)
    assert [side["side"] for side in found["sides"]] == list(SIDES)
    assert all(side["holds"] for side in found["sides"])
    shown = {side["side"]: side["shown"] for side in found["sides"]}
    assert "512 bytes inlined" in shown["legacy"]
    assert shown["simplified"] == "1 const arg for 1 captured array, none inlined"
    assert printed.splitlines()[-1] == "all is well"


def test_a_jax_that_the_engine_refuses_beside_a_module_of_the_users(
    doctor, plant, tmp_path, monkeypatch
):
    (tmp_path / "reports.py").touch()
    monkeypatch.chdir(tmp_path)
    plant("sitecustomize.py", "import jax\njax.__version__, jax.__version_info__ = '0.99', (0, 99)")
    status, found, printed = doctor()
    assert status == 1
    assert [side["side"] for side in found["sides"]] == ["jax-legacy", "jax-simplified"]
    assert all(side["holds"] for side in found["sides"])
    assert found["names_looked_at"] > 150
    problem, collision = found["problems"]
    assert problem["what"].endswith("this is jax 0.99")
    assert f"and so have you ({tmp_path}/reports.py)" in collision["what"]
    assert collision["to_do"].startswith("rename yours")
    assert f"wrong: {problem['what']}" in printed


def test_an_interpreter_that_has_constparity_installed(doctor, plant, tmp_path):
    """Another one than this, as where both Pythons were made as the README says."""
    (tmp_path / "parity_tests").mkdir()
    for name in ("__init__.py", "own_packages.py"):
        plant(f"parity_tests/{name}", "")
    status, _, printed = doctor()
    assert (status, printed.splitlines()[-1]) == (0, "all is well")


def test_a_private_name_that_is_gone(doctor, plant):
    """Only serialized executables need the name, so each side still runs."""
    plant("sitecustomize.py", PLANTED_GONE)
    status, found, printed = doctor()
    assert status == 1
    assert [(each["name"], each["what"]) for each in found["names"]] == [(GONE, "gone")]
    assert f"    gone: {GONE}: JAX has no such name" in printed.splitlines()
    assert "wrong: 1 private name of JAX" in printed
    assert all(side["holds"] for side in found["sides"])


def test_a_jax_that_does_not_start(doctor, plant):
    plant("jax.py", "raise ImportError('planted')")
    status, found, printed = doctor()
    assert status == 1
    assert found["environment"] is None
    [problem] = found["problems"]
    assert problem["what"] == "JAX does not start: ImportError: planted"
    assert "-> make `import jax; jax.devices()` work" in printed


def test_a_platform_without_a_backend(doctor, monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "planted")
    status, found, _ = doctor()
    assert status == 1
    [problem] = found["problems"]
    assert problem["what"].startswith("JAX does not start: RuntimeError: ")
    assert "planted" in problem["what"]
