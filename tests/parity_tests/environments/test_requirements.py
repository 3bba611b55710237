"""Packages of `--with` are read as pip takes them."""

import pytest

from parity_tests.environments.requirements import RequirementError, constraints, parsed


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "pyproject.toml").write_text("[project]\nname = 'mine'\n")
    return folder


@pytest.mark.parametrize(
    "text", ["flax", "flax>=0.12", "jax[k8s]", "git+https://example.org/a.git", "a @ file:///b"]
)
def test_what_pip_finds_elsewhere_goes_to_pip_as_it_is(text):
    (found,) = parsed([f" {text} "])
    assert found.arguments == (text,)


@pytest.mark.parametrize("text", ["./mine", "-e ./mine", "-e./mine", "--editable=./mine"])
def test_a_folder_is_installed_so_that_its_code_is_read_where_it_lies(project, text):
    (found,) = parsed([text])
    assert found.arguments == ("-e", str(project))


def test_a_folder_has_its_extras(project):
    (found,) = parsed(["./mine[extra,more]"])
    assert found.arguments == ("-e", f"{project}[extra,more]")


def test_a_name_is_no_folder_that_happens_to_lie_here(project):
    (found,) = parsed(["mine"])
    assert found.arguments == ("mine",)


def test_other_needs_of_a_project_are_another_requirement(project):
    before = parsed(["./mine"])
    (project / "code.py").write_text("x = 1\n")
    assert parsed(["./mine"]) == before
    (project / "pyproject.toml").write_text("[project]\nname = 'mine'\ndependencies = ['flax']\n")
    assert parsed(["./mine"]) != before


def test_another_content_of_a_file_is_another_requirement(project):
    wheel = project / "mine-1-py3-none-any.whl"
    wheel.write_bytes(b"one")
    before = parsed(["mine/mine-1-py3-none-any.whl"])
    assert before[0].arguments == (str(wheel),)
    wheel.write_bytes(b"two")
    assert parsed(["mine/mine-1-py3-none-any.whl"]) != before


@pytest.mark.parametrize("text", ["-c pins.txt", "-cpins.txt", "--constraint=pins.txt"])
def test_a_constraints_file_is_its_lines_wherever_it_lies(project, text):
    (project.parent / "pins.txt").write_text("numpy==1\n")
    assert parsed([text]) == (constraints("pins.txt", "numpy==1\n"),)
    assert constraints("pins.txt", "numpy==2\n").content != parsed([text])[0].content
    assert parsed([text])[0].arguments == ()


def test_the_order_and_repetitions_do_not_matter():
    assert parsed(["b", "a", "b"]) == parsed(["a", "b"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no requirement"),
        ("-r requirements.txt", "is no requirement"),
        ("-c gone.txt", r"--with -c gone\.txt: the constraints file .*gone\.txt does not exist"),
        ("-c nested.txt", r"nested\.txt names another file, in '-r more\.txt'"),
        ("-c binary.txt", r"binary\.txt cannot be read"),
        ("--index-url=https://example.org", "is no requirement"),
        ("./gone", "does not exist"),
        ("gone-1-py3-none-any.whl", "does not exist"),
        ("./mine/empty", "neither pyproject.toml nor setup.py"),
    ],
)
def test_what_cannot_be_installed_is_said_before_anything_is_made(project, text, said):
    (project / "empty").mkdir()
    (project.parent / "nested.txt").write_text("-r more.txt\n")
    (project.parent / "binary.txt").write_bytes(b"\xff")
    with pytest.raises(RequirementError, match=said):
        parsed([text])
