"""What is found out about a project, and what a user has to say."""

import pytest
from packaging.specifiers import SpecifierSet

from parity_tests.jobs import ProjectError
from parity_tests.jobs.facts import suiting

TESTED = {"tests/test_model.py": "", ".github/dependabot.yml": ""}
MARKED = "import parity_tests\n\n\n@parity_tests.program(args=())\ndef f():\n    pass\n"


def test_marked_programs_and_tests_are_found(plant, facts_of):
    found = facts_of(plant({**TESTED, "src/p/a.py": MARKED, "src/p/b.py": MARKED, "c.py": MARKED}))
    assert found.programs == ("c.py", "src")
    assert found.tests == ("tests",)
    assert found.runs == ("programs", "jax-both", "both")
    assert found.systems == ("github",)


def test_a_file_that_imports_from_its_package_by_dots_is_named_as_a_module(plant, facts_of):
    by_dots = f"from .other import x\n{MARKED}"
    files = {"src/p/a.py": by_dots, "src/p/q/b.py": by_dots, "src/p/c.py": MARKED, "d/e.py": MARKED}
    packages = {"src/p/__init__.py": "", "src/p/q/__init__.py": by_dots}
    found = facts_of(plant({**TESTED, **files, **packages}))
    assert found.programs == ("d", "p.a", "src/p/c.py", "p.q", "p.q.b")


@pytest.mark.parametrize(
    ("file", "package", "target"),
    [
        ("src/p/q/a.py", "src/p", "p.q.a"),
        ("lib/p/q/r/a.py", "lib/p", "p.q.r.a"),
        ("src/p/q/a.py", None, "p.q.a"),
        ("p/q/a.py", None, "p.q.a"),
        ("p/q/a.py", "p/q", "q.a"),
    ],
)
def test_a_module_is_named_in_a_package_folder_without_a_file_of_its_own(
    plant, facts_of, file, package, target
):
    packages = {} if package is None else {f"{package}/__init__.py": ""}
    found = facts_of(plant({**TESTED, file: f"from .other import x\n{MARKED}", **packages}))
    assert found.programs == (target,)


def test_each_finding_says_where_it_comes_from(plant, facts_of):
    found = facts_of(plant(TESTED))
    assert {each.what for each in found.findings} == {
        "CI", "branch", "Python", "JAX", "constparity", "install", "tests"
    }  # fmt: skip
    assert all(each.value and each.source for each in found.findings)


def test_on_a_jax_without_engine_only_programs_are_compared(plant, facts_of):
    found = facts_of(plant({**TESTED, "requirements.txt": "jax<0.10\n", "a.py": MARKED}))
    assert found.runs == ("programs",)
    assert "tests" not in {each.what for each in found.findings}


def test_on_a_jax_without_engine_a_project_of_tests_is_told_so(plant, facts_of):
    with pytest.raises(ProjectError, match=r"allows JAX 0.8.3, 0.9.2, and .* mark programs"):
        facts_of(plant({**TESTED, "requirements.txt": "jax<0.10\n"}))


@pytest.mark.parametrize(
    ("files", "systems"),
    [
        ({".gitlab-ci.yml": ""}, ("gitlab",)),
        ({".gitlab-ci.yml": "", ".github/x": ""}, ("github", "gitlab")),
    ],
)
def test_the_ci_system_is_that_of_the_files(plant, files, systems, facts_of):
    assert facts_of(plant({"test_a.py": "", **files})).systems == systems


def test_without_files_git_says_the_system_and_the_branch(plant, git, facts_of):
    folder = plant({"test_a.py": ""})
    git(folder, "init", "--quiet", "--initial-branch=master")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    git(folder, "remote", "add", "origin", "git@gitlab.example.org:a/b.git")
    found = facts_of(folder)
    assert (found.systems, found.branch) == (("gitlab",), "master")


@pytest.mark.parametrize("branch", ["master", "develop"])
def test_without_a_remote_the_branch_is_the_one_that_is_checked_out(
    plant, git, facts_of, branch, monkeypatch
):
    folder = plant({"test_a.py": "", ".github/x": ""})
    git(folder, "init", "--quiet", f"--initial-branch={branch}")
    monkeypatch.setenv("GIT_DIR", str(folder / "of another hook"))
    assert facts_of(folder).branch == branch  # which has no commit yet


def test_another_branch_than_main_is_checked_out(plant, git, facts_of):
    folder = plant({"test_a.py": "", ".github/x": ""})
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "--allow-empty", "-m", "x")
    git(folder, "checkout", "--quiet", "-b", "feature")
    assert facts_of(folder).branch == "main"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"test_a.py": ""}, "say --ci github or --ci gitlab"),
        ({".github/x": ""}, "has neither tests nor a function"),
    ],
)
def test_what_nobody_can_find_out_is_asked_for(plant, files, said, facts_of):
    with pytest.raises(ProjectError, match=said):
        facts_of(plant(files))


def test_below_the_top_of_a_repository_no_job_would_run(plant, git, facts_of):
    folder = plant({"packages/model/test_a.py": "", "packages/model/.github/x": ""})
    git(folder, "init", "--quiet")
    with pytest.raises(ProjectError, match="is packages/model/ of a git repository"):
        facts_of(folder / "packages" / "model")


def test_a_folder_that_is_none_is_an_error(tmp_path, facts_of):
    with pytest.raises(ProjectError, match="is no folder"):
        facts_of(tmp_path / "gone")


@pytest.mark.parametrize(
    ("python", "jax", "chosen"),
    [
        ("", "", ("3.13", "0.10.2 0.11.2 0.12.0.1")),
        (">=3.11.4", ">=0.11", ("3.13", "0.11.2 0.12.0.1")),
        ("<3.13", "~=0.10.0", ("3.12", "0.10.2")),
        # 0.11 and later have no wheels for Python 3.11.
        ("==3.11.*", "", ("3.11", "0.10.2")),
        ("", "==0.11.0", ("3.13", "0.11.0")),
        ("", "==0.10.*", ("3.13", "0.10.2")),
    ],
)
def test_versions_within_the_bounds_of_the_project_are_chosen(python, jax, chosen):
    found = suiting(SpecifierSet(python), SpecifierSet(jax))
    assert (found.python, " ".join(found.jax)) == chosen
    assert found.has_engine


def test_a_project_on_a_jax_that_the_engine_does_not_know_compares_stock_jax():
    found = suiting(SpecifierSet(), SpecifierSet("<0.10"))
    assert found.jax == ("0.8.3", "0.9.2")
    assert not found.has_engine


@pytest.mark.parametrize("jax", [">=0.13", "==0.6.0", "<0.8"])
def test_a_project_on_a_jax_that_nobody_tried_is_told_so(jax):
    with pytest.raises(ProjectError, match=f"bounds are jax{jax} and Python any, and constp"):
        suiting(SpecifierSet(), SpecifierSet(jax))


def test_the_python_is_one_that_the_classifiers_name():
    assert suiting(SpecifierSet(), SpecifierSet(), [11, 12]).python == "3.12"
    assert suiting(SpecifierSet(), SpecifierSet(), [8]).python == "3.13"


def test_a_project_on_a_python_that_is_too_old_is_refused():
    with pytest.raises(ProjectError, match=r"'<3.11', and constparity needs Python 3.11"):
        suiting(SpecifierSet("<3.11"), SpecifierSet())
