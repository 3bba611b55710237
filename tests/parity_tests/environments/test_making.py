"""An environment is made once, whole or not at all."""

import os
import signal
import subprocess
import sys
import threading
import tomllib
from pathlib import Path

import pytest
from waiting import alive, await_

from parity_tests.environments import installers, making, store
from parity_tests.environments.find_python import NoPythonError
from parity_tests.environments.making import MakingError, environment_for
from parity_tests.environments.requirements import RequirementError
from parity_tests.environments.store import MARKER, FolderLock
from parity_tests.processes.interpreters import NEEDED

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def _python(pythons):
    pythons("3.15.0")


@pytest.fixture(autouse=True)
def _nothing_stays_in_use(monkeypatch):
    locks = []
    monkeypatch.setattr(making, "_in_use", locks)
    yield
    for lock in locks:
        lock.close()


@pytest.fixture
def make(runner):
    def make(jax="0.12.0.1", with_=(), say=lambda sentence: None):
        return environment_for(jax, with_, say=say)

    return make


def test_an_environment_is_made_once(make, runner, store_folder):
    said = []
    made = make(say=said.append)
    assert made.path == store_folder / "jax-0.12.0.1-python3.15"
    assert made.python == made.path / "bin" / "python"
    assert made.packages == ("jax==0.12.0.1", "numpy==2.4.6")
    assert make(say=said.append) == made
    assert runner.made() == 1
    announced, done = said
    assert announced == (
        "making an environment of JAX 0.12.0.1 for Python 3.15.0, with uv: about 600 MB in "
        f"{made.path}, about a minute"
    )
    assert done.startswith("made jax-0.12.0.1-python3.15: ")


def test_the_size_and_the_time_are_said_before_it_starts(make, runner):
    said = []
    runner.on_install = lambda: said.append("installs")
    make(say=said.append)
    assert ["600 MB" in said[0], said[1]] == [True, "installs"]


def test_other_packages_are_another_environment(make, runner, store_folder):
    plain, flax = make(), make(with_=["flax"])
    both = make(with_=["optax", "flax"])
    assert len({plain.path, flax.path, both.path}) == 3
    assert make(with_=["flax", "optax"]) == both
    assert runner.made() == 3
    assert both.with_ == ("flax", "optax")
    install = [command for command in runner.commands if "install" in command][-1]
    assert install[-2:] == ["flax", "optax"]
    assert "jax==0.12.0.1" in install


def test_constraints_reach_the_installer_and_others_are_another_environment(
    make, runner, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    pins = tmp_path / "pins.txt"
    pins.write_text("numpy==1\n")
    seen = []

    def look():
        install = runner.commands[-1]
        seen.append(Path(install[install.index("-c") + 1]).read_text())

    runner.on_install = look
    first = make(with_=["flax", "-c pins.txt"])
    moved = pins.rename(tmp_path / "moved.txt")
    assert make(with_=["flax", "-c moved.txt"]) == first
    moved.write_text("numpy==2\n")
    other = make(with_=["flax", "-c moved.txt"])
    assert other.path != first.path
    assert seen == ["numpy==1\n", "numpy==2\n"]
    assert first.with_ == ("-c pins.txt", "flax")


def test_other_needs_of_constparity_are_another_environment(make, runner, monkeypatch):
    make()
    monkeypatch.setattr(making, "NEEDS", (*making.NEEDS, "one_more"))
    making._in_use.pop().close()
    make()
    assert runner.made() == 2


def test_one_that_is_there_is_used_whichever_pythons_are_installed(make, runner, pythons, tmp_path):
    made = make()
    (tmp_path / "path" / "python3.15").unlink()
    pythons("3.14.0")
    assert make() == made


def test_a_series_is_its_newest_release(make, runner, monkeypatch):
    monkeypatch.setattr(installers, "newest", lambda *_: "0.12.0.1")
    said = []
    assert make("0.12", say=said.append).jax == "0.12.0.1"
    assert said[0] == "JAX 0.12: the newest release is 0.12.0.1"


def test_a_series_without_an_index_names_what_is_there(make, runner):
    make("0.12.0.1")
    runner.fails["compile"] = "error: no version of jax==0.12.*\n"
    with pytest.raises(MakingError) as raised:
        make("0.12")
    said = str(raised.value)
    assert said.startswith(
        "the newest release of JAX 0.12 is not known: uv says: error: no version"
    )
    assert said.endswith("; name a release that is there: 0.12.0.1")


@pytest.mark.parametrize("step", ["venv", "install", "-c"])
def test_what_fails_leaves_nothing(make, runner, store_folder, step):
    runner.fails[step] = "error: no such thing\n"
    with pytest.raises(
        MakingError, match=r"^no environment of JAX 0\.12\.0\.1 with a: .*no such th"
    ):
        make(with_=["a"])
    assert store.kept(store_folder) == []
    del runner.fails[step]
    assert make(with_=["a"])


def test_an_interrupted_maker_leaves_nothing(make, runner, store_folder):
    def interrupt():
        raise KeyboardInterrupt

    runner.on_install = interrupt
    with pytest.raises(KeyboardInterrupt):
        make()
    assert store.kept(store_folder) == []


def test_another_jax_than_was_asked_for_is_no_environment(make, runner):
    runner.installed = "0.11.2"
    with pytest.raises(MakingError, match=r"uv has installed JAX 0\.11\.2 there"):
        make("0.12.0.1")


def test_nothing_is_made_where_the_request_is_wrong(make, runner):
    with pytest.raises(NoPythonError):
        make("0.6.2")
    with pytest.raises(RequirementError):
        make(with_=["./gone"])
    assert runner.commands == []


def test_what_is_in_use_stays(make, store_folder):
    path = make().path
    assert not store.remove(path)
    making._in_use.pop().close()
    assert store.remove(path)


def test_a_process_that_ends_lets_go_and_warns_of_nothing(make):
    path = make().path
    making._in_use.pop().close()
    uses_it = (
        "import pathlib, sys\n"
        "from parity_tests.environments import making\n"
        "lock = making.FolderLock(pathlib.Path(sys.argv[1]))\n"
        "lock.share()\n"
        "making._in_use.append(lock)\n"
        "del lock\n"
    )
    command = [sys.executable, "-W", "always", "-c", uses_it, str(path)]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
    assert ended.stderr == ""
    assert store.remove(path)


def test_an_environment_that_was_removed_is_made_again(make, runner):
    path = make().path
    making._in_use.pop().close()
    store.remove(path)
    assert make().path == path
    assert runner.made() == 2


def test_two_makers_at_once_make_one(make, runner):
    waits, goes_on = threading.Event(), threading.Event()
    runner.on_install = lambda: goes_on.wait(60)
    found = []
    first = threading.Thread(target=lambda: found.append(make()))
    first.start()
    await_(runner.made)

    def second_says(sentence):
        assert sentence.startswith("waiting for another process, which has ")
        waits.set()

    second = threading.Thread(target=lambda: found.append(make(say=second_says)))
    second.start()
    assert waits.wait(60)
    goes_on.set()
    first.join(60)
    second.join(60)
    assert found[0] == found[1]
    assert runner.made() == 1


def test_who_waits_to_make_one_looks_again(make, runner):
    """Two processes may both have seen that it is missing; here the other one was first."""
    marker = make().path / MARKER
    making._in_use.pop().close()
    away = marker.rename(marker.with_name("away"))
    other = FolderLock(marker.parent)
    other.share()

    def the_other_finishes_it(_):
        away.rename(marker)
        other.close()

    make(say=the_other_finishes_it)
    assert runner.made() == 1


MAKER = """
import sys
from pathlib import Path
from parity_tests.environments import installers, making
from parity_tests.environments.installers import Ran, run_command

def run(command, pass_fds=(), variables=None):
    if "venv" in command:
        (Path(command[-1]) / "bin").mkdir(parents=True)
        (Path(command[-1]) / "bin" / "python").touch()
    if "install" not in command:
        return Ran(0, "", "")
    return run_command(["/bin/sh", "-c", f"echo $$ > {sys.argv[1]}; exec /bin/sleep 600"], pass_fds)

installers.run_command = run
making.environment_for("0.12.0.1")
"""


def test_what_a_killed_maker_left_is_not_taken_for_finished(make, runner, store_folder, tmp_path):
    """Its uv lives on, and holds the lock until nobody writes to the folder any more."""
    file = tmp_path / "pid"
    maker = subprocess.Popen([sys.executable, "-c", MAKER, str(file)], cwd=ROOT)
    pid = int(await_(lambda: file.exists() and file.read_text()))
    maker.kill()
    maker.wait()
    (left,) = store.kept(store_folder)
    assert (left.environment, left.is_held) == (None, True)
    store.delete_abandoned(store_folder)
    assert left.path.exists()
    assert not store.remove(left.path)

    os.kill(pid, signal.SIGKILL)
    await_(lambda: not alive(pid))
    assert make().path == left.path
    assert runner.made() == 1
    assert store.finished(left.path)


def test_others_leftovers_go_when_one_is_made(make, store_folder):
    left = store_folder / "jax-0.11.2-python3.13"
    (left / "bin").mkdir(parents=True)
    make()
    assert not left.exists()


def test_the_lock_of_a_folder_is_never_another_file(make, store_folder):
    """Who waits for a lock has opened its file before; a new file would be another lock."""
    path = make().path
    with FolderLock(path) as waiting:
        making._in_use.pop().close()
        store.remove(path)
        waiting.exclude()
        with FolderLock(path) as other:
            assert not other.try_to_exclude()


def test_the_needs_are_those_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    own = {each.split(">=")[0]: each for each in project["dependencies"]}
    assert [own[each.split(">=")[0]] for each in making.NEEDS] == list(making.NEEDS)
    # JAX brings jaxlib.
    assert set(NEEDED) <= {"jax", "jaxlib", *(each.split(">=")[0] for each in making.NEEDS)}
