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


def test_what_a_function_will_import_counts(folder):
    """A file that any of them imports, in a function or beside itself; nothing is imported here."""
    texts = {
        "users_model.py": "def step():\n    import wave, users_helper, not_there\n",
        "users_helper.py": "def late():\n    from users_package.inner import deep, VALUE\n",
        "users_package/__init__.py": "",
        "users_package/inner/__init__.py": "from .. import beside\nVALUE = 1\n",
        "users_package/inner/no_python.py": "def (\n",
        "users_package/beside.py": "def late():\n    from .inner import no_python\n",
        "users_package/inner/deep.py": "import users_folder.one.two\nraise AssertionError\n",
        "users_folder/one/two/__init__.py": "from ..four.five import six\n",
        "users_folder/one/four/five/six.py": "",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    before = set(sys.modules)
    importlib.import_module("users_model")
    assert users_files(before) == sorted(str(folder / each) for each in texts)
    assert "users_helper" not in sys.modules
