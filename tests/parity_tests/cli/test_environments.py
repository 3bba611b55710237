"""The commands `constparity environments ...`, on a store that a test has filled."""

from datetime import UTC, datetime

import pytest

from parity_tests.cli import app
from parity_tests.environments import making, store
from parity_tests.environments.store import FolderLock


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(store.FOLDER_VARIABLE, str(tmp_path / "store"))
    return tmp_path / "store"


def keep(path, jax, requested, with_):
    environment = store.Environment(
        path=path, requested=requested, jax=jax, jaxlib=jax, python_version="3.13.0", with_=with_,
        packages=(), made=datetime(2026, 11, 22, 12, tzinfo=UTC),
    )  # fmt: skip
    store.finish(environment)


@pytest.fixture
def filled(folder):
    """A store with two environments, and a folder whose maker was killed."""
    for jax, with_ in (("0.10.2", ()), ("0.12.0.1", ("-e /home/me/[a]", "flax"))):
        path = folder / f"jax-{jax}"
        (path / "bin").mkdir(parents=True)
        (path / "bin" / "python").write_bytes(bytes(3_000_000))
        keep(path, jax, "", with_)
    (folder / "left" / "bin").mkdir(parents=True)
    return folder


def test_the_list_says_what_each_holds_and_takes(filled, capsys):
    assert app.main(["environments"]) == 0
    first, *table = capsys.readouterr().out.splitlines()
    assert first == f"6 MB in {filled}"
    (line,) = [each for each in table if "0.12.0.1" in each]
    cells = [cell.strip(" │") for cell in line.split("│")[1:-1]]
    assert cells[:5] == ["jax-0.12.0.1", "0.12.0.1", "3.13.0", "-e /home/me/[a], flax", "3 MB"]
    assert cells[5].startswith("2026-11-2")
    (line,) = [each for each in table if "left" in each]
    assert "not finished" in line
    with FolderLock(filled / "left") as lock:
        lock.exclude()
        app.main(["environments"])
    assert "being made" in capsys.readouterr().out


def test_an_empty_list_names_the_folder(folder, capsys):
    assert app.main(["environments"]) == 0
    assert capsys.readouterr().out == f"no environments in {folder}\n"


def test_one_is_removed_by_its_name(filled, capsys):
    assert app.main(["environments", "remove", "jax-0.10.2", "jax-0.10.2"]) == 0
    assert capsys.readouterr().out == "removed jax-0.10.2: 3 MB\n"
    assert [each.name for each in store.kept(filled)] == ["jax-0.12.0.1", "left"]


def test_all_are_removed_but_those_in_use(filled, capsys):
    with FolderLock(filled / "jax-0.10.2") as lock:
        lock.share()
        assert app.main(["environments", "remove", "--all"]) == 4
        assert "jax-0.10.2 stays: a process uses it" in capsys.readouterr().err
        assert [each.name for each in store.kept(filled)] == ["jax-0.10.2"]
    assert app.main(["environments", "remove", "--all"]) == 0
    assert store.kept(filled) == []
    assert app.main(["environments", "remove", "--all"]) == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name the environments to remove, or --all"),
        (["jax-0.10.2", "--all"], "name the environments to remove, or --all"),
        (["jax-0.10.2", "jax-0.10.3"], "no environment 'jax-0.10.3'; did you mean jax-0.10.2 or "),
        (["../store/left"], "no environment '../store/left'"),
    ],
)
def test_a_name_that_is_wrong_removes_nothing(filled, capsys, arguments, said):
    assert app.main(["environments", "remove", *arguments]) == 4
    assert said in capsys.readouterr().err
    assert len(store.kept(filled)) == 3


def test_an_environment_that_is_there_is_not_made_again(folder, capsys):
    plan = making.planned("0.10.2", ["flax"])
    (plan.path / "bin").mkdir(parents=True)
    (plan.path / "bin" / "python").touch()
    keep(plan.path, "0.10.2", plan.requested, ("flax",))
    assert app.main(["environments", "make", "0.10.2", "--with", "flax"]) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{plan.path}/bin/python\n"
    assert captured.err == ""


def test_an_environment_that_nobody_can_make_is_named(folder, capsys):
    assert app.main(["environments", "make", "0.6"]) == 4
    assert "JAX 0.6 has no flag" in " ".join(capsys.readouterr().err.split())
