"""`constparity doctor --python` on a second interpreter, and on ones with a planted fault."""

import json
import os

import jax
import pytest
from other_python import other_python

from parity_tests.cli import app
from parity_tests.diagnosis import diagnose
from parity_tests.processes.interpreters import NEEDED, run_file
from parity_tests.processes.side_environment import refusal_of

SIDES = ["legacy", "simplified", "jax-legacy", "jax-simplified"]


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    return other_python(tmp_path_factory.mktemp("other"))


@pytest.fixture
def doctor(capsys):
    """Run the doctor on interpreters; return its exit status, its JSON, and what it printed."""

    def run(*pythons):
        options = [f"--python={each}" for each in pythons]
        status = app.main(["doctor", *options, "--report", "json:-"])
        captured = capsys.readouterr()
        return status, json.loads(captured.out), captured.err

    return run


def planted(folder, packages, text):
    """An interpreter with these packages, which runs a text whenever it starts."""
    python = other_python(folder, packages)
    [site] = python.parent.parent.glob("lib/python*/site-packages")
    (site / "sitecustomize.py").write_text(text)
    return python


def test_all_is_well_there_and_what_may_be_missing_is_named(doctor, other):
    status, found, printed = doctor(other)
    assert status == 0, printed
    assert found["python"] == str(other)
    assert found["environment"]["jax"] == jax.__version__
    assert [(each["side"], each["holds"]) for each in found["sides"]] == [
        (side, True) for side in SIDES
    ]
    assert found["flags"][1]["value"] is False  # so the engine is found there
    assert found["names_looked_at"] > 150
    assert {each["name"]: each["missing"] for each in found["extras"]}["--reload"] == [
        "flatbuffers"
    ]
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    assert f"interpreter {other}" in lines
    assert f"for --reload without flatbuffers: {other} -m pip install flatbuffers" in lines
    assert lines[-1] == "all is well"


def test_several_stand_one_after_the_other_and_what_one_lacks_is_wrong(doctor, tmp_path):
    bare = other_python(tmp_path / "bare", packages=())
    status, found, printed = doctor(bare, tmp_path / "nothing")
    assert status == 1
    lacking, absent = found["interpreters"]
    [problem] = lacking["problems"]
    assert problem["what"] == f"'{bare}' lacks {', '.join(NEEDED)}"
    assert problem["to_do"].endswith(f"{bare} -m pip install {' '.join(NEEDED)}")
    assert not list(bare.parent.parent.glob("lib/python*/site-packages/*"))  # nothing was installed
    assert "does not exist" in absent["problems"][0]["what"]
    assert printed.count("1 problem") == 2


def test_a_jax_that_the_engine_refuses_is_no_fault_there(doctor, tmp_path):
    """What is gone of its private names is told, and stops no side of stock JAX."""
    text = """\
import jax
from jax._src.lib import _jax
jax.__version__, jax.__version_info__ = '0.99', (0, 99)
del _jax.get_topology_for_devices
"""
    status, found, printed = doctor(planted(tmp_path / "new", ("jax", "pydantic"), text))
    assert status == 0, printed
    assert [(each["side"], each["holds"]) for each in found["sides"]] == [
        (side, True) for side in SIDES[2:]
    ]
    assert found["engine_refuses"] == refusal_of("0.99")
    assert "    gone: jax._src.lib._jax.get_topology_for_devices" in printed
    assert "refuses this jax; the sides of stock JAX are compared" in printed


def test_a_private_name_that_is_gone_where_the_engine_runs(doctor, tmp_path, monkeypatch):
    monkeypatch.setattr(diagnose, "SIDES", ("simplified",))
    text = "from jax._src.lib import _jax\ndel _jax.get_topology_for_devices"
    status, found, _ = doctor(planted(tmp_path / "old", ("jax", "pydantic"), text))
    assert status == 1
    [problem] = found["problems"]
    assert problem["what"] == "1 private name of JAX that constparity rests on gone or changed"


def test_a_jax_that_does_not_start_there(doctor, tmp_path):
    text = "import sys\nsys.modules['jax._src.xla_bridge'] = None"
    status, found, printed = doctor(planted(tmp_path / "broken", ("jax", "pydantic"), text))
    assert status == 1
    assert found["environment"] is None
    [problem] = found["problems"]
    assert problem["what"].startswith("JAX does not start: ModuleNotFoundError: ")
    assert "-> make `import jax; jax.devices()` work in this Python" in printed


def test_a_jax_without_the_flag_has_nothing_to_flip(doctor, tmp_path):
    text = """\
import jax
config = type(jax.config)
looked_up = config.__getattribute__
def without(self, name):
    if name == 'jax_use_simplified_jaxpr_constants':
        raise AttributeError(name)
    return looked_up(self, name)
config.__getattribute__ = without
"""
    status, found, _ = doctor(planted(tmp_path / "older", ("jax", "pydantic"), text))
    assert status == 1
    [problem] = found["problems"]
    assert "has no flag to be flipped" in problem["what"]


def test_a_file_finds_our_packages_there_and_no_folder_of_them(tmp_path, other, monkeypatch):
    """Beside an installed constparity lies its own JAX, which no other interpreter may find."""
    monkeypatch.delenv("PYTHONPATH", raising=False)
    file = tmp_path / "told.py"
    file.write_text(
        "import json, sys, engine, reports, jax\n"
        "print(json.dumps([sys.executable, jax.__file__, engine.__file__, sys.path]))"
    )
    executable, of_jax, of_engine, path = run_file(file, other)
    assert executable == str(other)
    assert of_jax.startswith(str(other.parent.parent))
    assert os.path.dirname(os.path.dirname(of_engine)) not in path
