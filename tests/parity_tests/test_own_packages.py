"""Packages of ours and of the user's that have one name: both places are named."""

import builtins
import os
import shutil
import subprocess
import sys
from types import ModuleType

import pytest

import reports
from parity_tests import own_packages, targets
from parity_tests.cli import app
from parity_tests.own_packages import ENGINE, TESTER, CollisionError
from parity_tests.targets import TargetError

CAPTURES = """
import jax.numpy as jnp
from parity_tests import program

captured = jnp.arange(3.0)


@program(args=(jnp.ones(3),))
def step(x):
    {}
    return x * captured
"""


@pytest.fixture
def users(tmp_path, monkeypatch):
    """Write files into the user's folder, which is the first on the path."""
    names = [*TESTER, *ENGINE]
    finder = own_packages.OurPackages(own_packages.FOLDER, names)
    last = own_packages.MissingBelowOurs()
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path, last])
    monkeypatch.setattr(own_packages, "_opened", names)
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def write(**files):
        for name, text in files.items():
            file = tmp_path / f"{name.replace('__', '/')}.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        return tmp_path

    return write


def run_as_users(code):
    exec(code, {"__name__": "users_module"})


def test_a_collision_names_both_places(users):
    folder = users(reports__init="")
    (folder / "reports" / "init.py").rename(folder / "reports" / "__init__.py")
    assert own_packages.collision_of("reports") == (
        f"constparity has a package 'reports' ({own_packages.FOLDER}/reports/__init__.py), and so "
        f"have you ({folder}/reports/__init__.py); a process can import one of them: rename yours, "
        "or compare stock JAX alone, which runs without ours: pytest --constparity=jax-both"
    )


def test_all_names_that_are_taken_twice_are_told_at_once(users, monkeypatch):
    folder = users(reports="", engine="")
    both = f"rename yours, and likewise 'reports' ({folder}/reports.py)"
    assert both in own_packages.collision_of("engine")
    other = f"rename yours, and likewise 'engine' ({folder}/engine.py)"
    assert other in own_packages.collision_of("reports")
    theirs = ModuleType("reports")
    theirs.__file__ = f"{folder}/reports.py"
    monkeypatch.setitem(sys.modules, "reports", theirs)
    monkeypatch.setattr(own_packages, "_opened", [])
    with pytest.raises(CollisionError) as raised:
        own_packages.open_to_process((*TESTER, *ENGINE))
    assert other in str(raised.value)


def test_a_module_is_a_collision_and_a_folder_of_reports_is_none(users):
    folder = users(engine="", reports__of_march="")
    assert f"({folder}/engine.py)" in own_packages.collision_of("engine")
    assert "--sides jax-legacy,jax-simplified" in own_packages.collision_of("engine")
    assert own_packages.collision_of("reports") is None
    assert own_packages.collision_of("json") is None


def test_another_constparity_is_no_collision(users):
    """As one that the interpreter of `--python` has: in its place ours is imported."""
    folder = users(parity_tests__own_packages="", engine__x="")
    for package in ("parity_tests", "engine"):
        (folder / package / "__init__.py").touch()
    assert own_packages.in_the_way(str(folder)) is None
    own_packages.guard_imports()
    run_as_users("import engine; assert engine.jit")


def test_the_users_import_raises_and_ours_does_not(users):
    users(engine="")
    own_packages.guard_imports()
    for code in ("import engine", "from engine import jit", "import engine.api"):
        with pytest.raises(CollisionError, match="'engine'"):
            run_as_users(code)
    exec("from engine import jit", {"__name__": "parity_tests.observe"})
    run_as_users("import reports, json, os.path")


def test_ours_is_still_imported_from_parity_tests(users):
    users(parity_tests="")
    own_packages.guard_imports()
    run_as_users("from parity_tests import program; import parity_tests.program")
    for code in ("from parity_tests import mine", "import parity_tests.mine"):
        with pytest.raises(CollisionError, match="'parity_tests'"):
            run_as_users(code)


def test_without_a_collision_imports_stay_as_they_are(users):
    users(model="")
    before = builtins.__import__
    own_packages.guard_imports()
    assert builtins.__import__ is before


def test_a_package_that_was_imported_before_is_an_error(users, monkeypatch):
    theirs = ModuleType("reports")
    theirs.__file__ = "/home/u/reports/__init__.py"
    monkeypatch.setitem(sys.modules, "reports", theirs)
    monkeypatch.setattr(own_packages, "_opened", [])
    with pytest.raises(CollisionError, match="/home/u/reports/__init__"):
        own_packages.open_to_process(TESTER)
    assert own_packages.imported("reports") is None


def test_in_the_users_turn_the_name_is_the_users(users, monkeypatch):
    users(engine="whose = 'the users'")
    own_packages.guard_imports()
    monkeypatch.setattr(own_packages, "USERS_TURN", own_packages.UsersTurn())
    ours = sys.modules["engine"]
    for _ in range(2):
        with own_packages.USERS_TURN:
            run_as_users("import engine; assert engine.whose == 'the users'")
        assert sys.modules["engine"] is ours
    with pytest.raises(CollisionError, match="'engine'"):
        run_as_users("import engine")


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A folder of installed packages that has constparity; return what installs another one."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.setattr(own_packages, "FOLDER", str(site))
    monkeypatch.syspath_prepend(site)

    def install(distribution, *names, text=""):
        for name in names:
            file = site / name / "__init__.py"
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        info = site / f"{distribution}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Name: {distribution}\nVersion: 1.0\n")
        hashed = own_packages._hash_of(site / names[0] / "__init__.py")
        record = [f"{name}/__init__.py,{hashed},{len(text)}" for name in names]
        (info / "RECORD").write_text("\n".join([*record, f"{info.name}/RECORD,,"]))
        return site

    install("constparity", *TESTER, *ENGINE)
    return install


def test_a_distribution_that_has_written_over_ours_is_named(installed):
    own_packages.check_installed()
    site = installed("steam", "engine", text="steam = 1")
    with pytest.raises(CollisionError) as raised:
        own_packages.check_installed()
    assert str(raised.value) == (
        f"steam 1.0 has written over {site}/engine/__init__.py, of constparity: uninstall steam "
        "1.0, and install constparity again, as with pip install --force-reinstall --no-deps"
    )


def test_a_package_of_ours_that_another_one_took_along_is_named(installed):
    site = installed("other", "another")
    (site / "reports" / "__init__.py").unlink()
    assert own_packages.replaced().what == (
        f"{site}/reports/__init__.py, of constparity, is not as it was installed"
    )


def test_a_distribution_beside_ours_is_named(installed, monkeypatch):
    site = installed("steam", "engine")
    ours = os.path.dirname(os.path.dirname(own_packages.__file__))
    monkeypatch.setattr(own_packages, "FOLDER", ours)
    for name in {*TESTER, *ENGINE} - {"engine"}:
        shutil.rmtree(site / name)
    said = own_packages.in_the_way(str(site.parent)).text
    assert f"and so has steam 1.0 ({site}/engine/__init__.py)" in said
    assert ": install one of both in an environment of its own, or compare stock JAX" in said


def test_nothing_is_known_of_another_constparity_that_is_installed(installed, monkeypatch):
    site = installed("steam", "engine", text="steam = 1")
    (site.parent / "checkout").mkdir()
    monkeypatch.setattr(own_packages, "FOLDER", str(site.parent / "checkout"))
    own_packages.check_installed()


@pytest.mark.parametrize("command", [["parity_tests.cli", "-V"], ["pytest", "--constparity=both"]])
def test_a_command_names_what_has_written_over_ours(installed, command):
    site = installed("steam", "engine", text="steam = 1")
    shutil.rmtree(site / "parity_tests")
    (site / "parity_tests").symlink_to(os.path.dirname(own_packages.__file__))
    record = site / "constparity-1.0.dist-info" / "RECORD"
    record.write_text(record.read_text().partition("\n")[2])  # it was of an empty file
    folder = site.parent / "users"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, "Traceback" in done.stderr) == (4, False)
    assert f"steam 1.0 has written over {site}/engine/__init__.py" in done.stderr


RUN = ["--sides", "jax-legacy,jax-simplified", "--no-times", "--no-attribution", "-q"]


def test_stock_jax_is_compared_beside_an_engine_of_the_users(users, capsys):
    users(engine="x = 1", model=CAPTURES.format("import engine; assert engine.x == 1"))
    assert app.main(["run", "model.py", *RUN]) == 0, capsys.readouterr()


def test_a_collision_blames_no_pipeline(users, capsys):
    """The engine's sides are not there: nothing was compared, and stock JAX is not contradicted."""
    folder = users(engine="x = 1", model=CAPTURES.format("pass") + "\nimport engine\n")
    options = ["--no-times", "--no-attribution", "--report", f"json:{folder}/result.json"]
    assert app.main(["run", "model.py", *options]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "pipelines: constparity's own agree with stock JAX on 0 of 1 programs; 1 could not" in said
    )
    [row] = reports.load_result(folder / "result.json").programs
    assert {each.side: each.failure.kind for each in row.observations if each.failure} == {
        "legacy": "unavailable",
        "simplified": "unavailable",
    }
    assert row.verdict == "could not compare"


def test_a_target_in_a_package_of_our_name_is_refused(users):
    users(reports="")
    with pytest.raises(TargetError, match="constparity has a package 'reports'"):
        targets.load_one("reports.main:step")


def test_a_run_names_the_collision(users, capsys):
    folder = users(reports="", model=f"import reports\n{CAPTURES}")
    assert app.main(["run", "model.py", *RUN]) == 4
    said = capsys.readouterr().err
    assert f"{own_packages.FOLDER}/reports/__init__.py" in said
    assert f"{folder}/reports.py" in said


def test_a_command_starts_where_the_path_has_a_package_of_our_name(users):
    folder = users(reports="")
    script = "from parity_tests.cli.app import main; raise SystemExit(main(['schema', 'suite']))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")


def pytest_of_user(folder, *options):
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_pytest_names_the_collision_with_a_package_of_tests(users):
    """pytest imports its files by their names, as `reports.test_a`."""
    folder = users(reports__test_a="def test_a():\n    pass\n")
    (folder / "reports" / "__init__.py").touch()
    assert pytest_of_user(folder)[0] == 0
    code, said = pytest_of_user(folder, "--constparity=both")
    assert (code, "INTERNALERROR" in said) == (2, False)
    assert f"CollisionError: constparity has a package 'reports' ({own_packages.FOLDER}/" in said
    assert f"{folder}/reports/__init__.py" in said


def test_pytest_names_the_collision(users):
    folder = users(reports="", test_a="import reports\n\ndef test_a():\n    pass\n")
    assert pytest_of_user(folder)[0] == 0
    code, said = pytest_of_user(folder, "--constparity=both")
    assert (code, "INTERNALERROR" in said) == (2, False)
    assert f"{own_packages.FOLDER}/reports/__init__.py" in said
    assert f"{folder}/reports.py" in said


@pytest.mark.parametrize("name", ["reports", "reports__init"])
def test_jax_both_collects_beside_a_package_of_our_name(users, name):
    """The parent collects what is the user's, and the children import nothing of ours."""
    asks = "import reports\nfrom reports import x\n\ndef test_a():\n    assert reports.x == x\n"
    folder = users(**{name: "x = 7", "conftest": "import reports", "test_a": asks})
    tests = 1
    if name == "reports__init":
        tests = 2
        (folder / "reports" / "init.py").rename(folder / "reports" / "__init__.py")
        (folder / "reports" / "test_inside.py").write_text(asks)
    code, said = pytest_of_user(folder, "--constparity=jax-both")
    assert (code, f"\n{tests} alike" in said) == (0, True), said
