"""Extras of the package, and which of their packages are missing."""

import importlib.metadata

import pytest

from parity_tests.diagnosis.diagnose import extras


def test_extras_of_this_installation_name_what_is_missing(monkeypatch):
    required = [
        "jax>=0.10.2",
        'planted-package>=2; extra == "corpus"',
        "numpy; extra == 'corpus'",
        'numpy; extra == "fuzz"',
        'other-planted-package; extra == "dev"',
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: required)
    found = {each.name: each.missing for each in extras()}
    extras_of_users = "cluster", "environments", "fuzz", "init", "lint", "tables"
    assert found.pop("corpus") == ("planted-package",)
    assert found == dict.fromkeys(extras_of_users, ())


def test_each_extra_says_what_it_is_for(monkeypatch):
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: [])
    assert all(each.purpose for each in extras())


def test_the_names_of_the_extras_are_those_of_the_package():
    try:
        metadata = importlib.metadata.metadata("constparity")
    except importlib.metadata.PackageNotFoundError:
        assert extras() == ()
        pytest.skip("constparity runs from an unpacked tree, and has no metadata")
    assert {each.name for each in extras()} <= set(metadata.get_all("Provides-Extra"))
