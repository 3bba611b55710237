"""Which files are the user's: those that a module imported, and those that stopped its import."""

import importlib
import sys

import pytest

from parity_tests.observe.users_files import users_files
from parity_tests.targets import TargetError, load_one


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("users_model", "users_helper"):
        sys.modules.pop(name, None)


def test_they_are_not_those_of_libraries_nor_ours(folder):
    (folder / "users_model.py").write_text("import wave, users_helper, parity_tests.corpus\n")
    (folder / "users_helper.py").write_text("")
    before = set(sys.modules) - {"wave", "pytest", "parity_tests.targets"}
    importlib.import_module("users_model")
    names = ["users_helper.py", "users_model.py"]
    assert users_files(before) == [str(folder / each) for each in names]


def test_an_import_that_fails_names_its_files(folder):
    (folder / "users_model.py").write_text("import users_helper\n")
    (folder / "users_helper.py").write_text("def (\n")
    before = set(sys.modules)
    with pytest.raises(TargetError) as raised:
        load_one("users_model:step")
    names = {"users_helper.py", "users_model.py"}
    found = set(users_files(before, raised.value)) - {__file__}  # it is on the way, too
    assert found == {str(folder / each) for each in names}
