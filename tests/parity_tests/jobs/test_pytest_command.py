"""Which arguments pytest takes in a project."""

import pytest

from parity_tests.jobs.pytest_command import pytest_arguments

ONE = {"tests/test_a.py": ""}
TOX = "[testenv]\ndeps =\n  pytest\ncommands =\n  pytest -n 2 checks {posargs}\n"
MAKE = "test: $(VENV)\n\tpip install pytest\n\t$(PYTHON) -m pytest \\\n\t  -k 'a and b' $(ARGS)\n"
COVERED = "test:\n\tpytest -vq --cov pkg --cov-report=xml checks # all\n"


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ({"pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["checks"]\n'}, ()),
        ({"pytest.ini": "[pytest]\ntestpaths = checks\n"}, ()),
        ({"setup.cfg": "[tool:pytest]\ntestpaths = checks\n"}, ()),
        ({"tox.ini": TOX}, ("-n", "2", "checks")),
        ({"Makefile": MAKE}, ("-k", "a and b")),
        (
            {"Makefile": "test:\n\tpytest -vq --cov pkg --cov-report=xml checks # all\n"},
            ("checks",),
        ),
        ({"Makefile": "all:\n\techo no tests\n", **ONE}, ("tests",)),
        ({"test/deep/a_test.py": ""}, ("test",)),
        ({"test_a.py": ""}, ()),
        ({"pkg/deep/a_test.py": "", "lib/b_test.py": "", ".venv/c_test.py": ""}, ("lib", "pkg")),
        ({"test_a.py": "", "pkg/a_test.py": ""}, ()),
    ],
)
def test_they_are_those_that_the_project_uses(plant, files, arguments):
    found, source = pytest_arguments(plant(files))
    assert found == arguments
    assert source


def test_a_project_without_tests_has_none(plant):
    files = {"tests/data.py": "", "tox.ini": "[testenv]\ndeps = pytest\n"}
    assert pytest_arguments(plant(files)) == (None, "")
