"""Whether pytest finds the plugin, and what the doctor says where it does not."""

import importlib.metadata

import pytest

from parity_tests.cli import doctor
from parity_tests.diagnosis.diagnose import Diagnosis, Extra, PytestPlugin, pytest_plugin

VALUE = "parity_tests.suites.plugin"


@pytest.fixture
def registered(monkeypatch):
    """Register entry points of pytest, and no others."""

    def register(*names):
        points = [importlib.metadata.EntryPoint(each, VALUE, "pytest11") for each in names]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)

    return register


def test_a_plugin_that_is_registered_is_loaded(registered):
    registered("other", "constparity")
    assert pytest_plugin({}).is_loaded


def test_one_that_is_not_registered_is_named(registered):
    registered("other")
    assert "install constparity with pip" in pytest_plugin({}).to_do


def test_a_variable_that_forbids_plugins_is_named(registered):
    registered("constparity")
    found = pytest_plugin({"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert found.to_do.endswith(f"is set: pytest -p {VALUE}")


def test_a_missing_pytest_is_named(monkeypatch):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", nothing)
    assert pytest_plugin({}) == PytestPlugin(
        is_loaded=False, to_do="without pytest: pip install pytest"
    )


def test_the_doctor_prints_what_is_missing_and_what_it_is_for(capsys, faults):
    from parity_tests.cli import terminal

    found = Diagnosis(
        environment=faults.environment,
        extras=(Extra(name="lint", missing=("libcst",), purpose="constparity lint"),),
        pytest_plugin=PytestPlugin(is_loaded=False, to_do="not registered: do this"),
    )
    doctor.print_diagnosis(terminal.console(), found)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "extra lint without libcst, for constparity lint: install constparity[lint]" in lines
    assert "pytest not registered: do this" in lines
    assert lines[-1] == "all is well"
