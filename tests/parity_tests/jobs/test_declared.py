"""What a project's files declare, and how its tests are installed."""

import pytest

from parity_tests.jobs import ProjectError
from parity_tests.jobs.declared import declared, pytest_arguments

PROJECT = '[project]\nname = "p"\nversion = "1"\n'

CIRCLE = """\
[dependency-groups]
test = ["pytest", {include-group = "a"}]
a = [{include-group = "test"}]
"""


def install(folder):
    found = declared(folder)
    return " ".join(found.project), list(found.packages)


def test_bounds_of_jax_are_those_of_all_requirements(plant):
    folder = plant(
        {
            "pyproject.toml": PROJECT
            + 'requires-python = ">=3.12"\n'
            + 'classifiers = ["Programming Language :: Python :: 3.12"]\n'
            + 'dependencies = ["jax>=0.10", "jaxtyping==0.1", "no requirement at all !"]\n'
            + '[project.optional-dependencies]\ncuda = ["jax[cuda12]<0.12"]\n'
        }
    )
    found = declared(folder)
    assert str(found.requires_python) == ">=3.12"
    assert {str(each) for each in found.requires_jax} == {">=0.10", "<0.12"}
    assert found.classified == (12,)


@pytest.mark.parametrize(
    ("files", "arguments", "packages"),
    [
        (
            {"pyproject.toml": PROJECT + "[project.optional-dependencies]\ndev = []\ntest = []\n"},
            "-e .[test]",
            [".[test]"],
        ),
        (
            {
                "pyproject.toml": PROJECT
                + '[dependency-groups]\ntest = ["pytest", {include-group = "numbers"}]\n'
                + 'numbers = ["numpy>2"]\n'
            },
            "-e . --group test",
            [".", "pytest", "numpy>2"],
        ),
        (
            {
                "setup.py": "raise SystemExit('nobody runs this')\n",
                "requirements-dev.txt": "# tools\n-r other.txt\npytest  # runs tests\n",
            },
            "-e . -r requirements-dev.txt",
            [".", "pytest"],
        ),
        ({"requirements.txt": "flax\n"}, "-r requirements.txt pytest", ["flax", "pytest"]),
        ({"pyproject.toml": PROJECT}, "-e . pytest", [".", "pytest"]),
        (
            {"setup.cfg": "[metadata]\nname = p\n[options.extras_require]\ntesting =\n  pytest\n"},
            "-e .[testing]",
            [".[testing]"],
        ),
    ],
)
def test_the_tests_are_installed_as_the_project_names_it(plant, files, arguments, packages):
    assert install(plant(files)) == (arguments, packages)


@pytest.mark.parametrize("files", [{"uv.lock": ""}, {"pyproject.toml": "[tool.uv]\n"}])
def test_uv_installs_where_the_project_uses_it(plant, files):
    assert declared(plant({**files})).installer == "uv"


def test_setup_cfg_is_read(plant):
    text = "[options]\npython_requires = >=3.11,<3.13\ninstall_requires =\n  jax<0.11\n"
    found = declared(plant({"setup.cfg": text}))
    assert found.requires_python.contains("3.12")
    assert not found.requires_python.contains("3.13")
    assert str(found.requires_jax) == "<0.11"
    assert found.installer == "pip"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyproject.toml": "[project\n"}, r"pyproject.toml cannot be read"),
        ({"setup.cfg": "no section\n"}, r"setup.cfg cannot be read"),
        ({"pyproject.toml": 'project = "x"\n'}, "project is a str and no dict"),
        ({"pyproject.toml": "[project]\nrequires-python = 3.11\n"}, "is a float and no str"),
        ({"pyproject.toml": "[project]\noptional-dependencies = ['a']\n"}, "a list and no dict"),
        ({"pyproject.toml": '[project]\nrequires-python = "three"\n'}, "requires-python"),
        ({"pyproject.toml": CIRCLE}, "the dependency group 'test' cannot be read: Cyclic"),
        ({"pyproject.toml": CIRCLE.replace("a =", "b =")}, "Dependency group 'a' not found"),
    ],
)
def test_what_cannot_be_read_is_named(plant, files, said):
    with pytest.raises(ProjectError, match=said):
        declared(plant(files))


def test_a_bound_for_an_older_python_is_none(plant):
    needs = ["jax>=0.10; python_version>='3.11'", "jax<0.5; python_version<'3.10'"]
    found = declared(plant({"pyproject.toml": f"[project]\ndependencies = {needs}\n"}))
    assert str(found.requires_jax) == ">=0.10"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("Makefile", "test:\n\tpytest # é\n".encode("latin-1")),
        ("tox.ini", b"[testenv]\ncommands = pytest\ncommands = pytest\n"),
        ("pytest.ini", b"testpaths = tests\n"),
        ("pyproject.toml", b"[tool]\npytest = 1\n"),
    ],
)
def test_what_names_the_tests_and_cannot_be_read_is_an_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ProjectError, match=f"{name} cannot be read"):
        pytest_arguments(tmp_path)


def test_requirements_that_are_no_utf_8_are_named(tmp_path):
    (tmp_path / "requirements.txt").write_text("jax\n", "utf-16")
    with pytest.raises(ProjectError, match=r"requirements\.txt cannot be read"):
        declared(tmp_path)


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
        ({"Makefile": "all:\n\t@echo run pytest checks\n", **ONE}, ("tests",)),
        ({"Makefile": "test:\n\tpytest checks || true\n"}, ("checks",)),
        ({"Makefile": "test:\n\tpytest checks; pytest more\n"}, ("checks",)),
        ({"Makefile": "test:\n\tpytest checks 2>&1 | tee log\n"}, ("checks",)),
        ({"Makefile": "test:\n\tpytest checks>log && cat log\n"}, ("checks",)),
        ({"Makefile": "test:\n\tcd lib && pytest checks\n", **ONE}, ("tests",)),
        ({"Makefile": "test:\n\tpytest -n $(JOBS) checks -k a\n"}, ("checks", "-k", "a")),
        (
            {"Makefile": "test: ## Run pytest with care\n\tpytest -x --maxfail=1 checks\n"},
            ("checks",),
        ),
        ({"Makefile": "list:\n\tpytest --collect-only a\ntest:\n\tpytest b\n"}, ("b",)),
        ({"Makefile": "slow:\n\tpytest a\n\ntest: all\n\techo\n\n\tpytest b\nc:\n\tls\n"}, ("b",)),
        ({"Makefile": "test = pytest a\nslow:\n\tpytest b\ntest:\n\techo\n"}, ("b",)),
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
