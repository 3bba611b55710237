"""Programs are listed by as many processes as it takes; no module costs another one anything."""

import json

import jax
import pytest

from parity_tests.evidence.folder_layout import ProcessFiles
from parity_tests.observe.process_state import ProcessState
from parity_tests.processes import listing
from parity_tests.processes.options import Limits
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.processes.worker_process import Lost
from parity_tests.targets import TargetError
from reports.rows import Environment

ENDS, CHANGES, RAISES = "ends.py", "changes.py", "raises.py"


def program(part):
    return Listed(name="step", target=f"{part}:step", unavailable=None)


@pytest.fixture
def asked(monkeypatch, tmp_path):
    """Processes that import files as their names say; returns what each was asked for."""
    monkeypatch.chdir(tmp_path)
    questions = []

    def ask(question, side, folder, limits):
        questions.append(question.targets)
        found = []
        left = list(question.targets)
        while left:
            part = left.pop(0)
            if part == ENDS:
                return Lost("crash", "signal SIGABRT", part, "", None)
            raised = part.startswith("raises")
            found.append(
                Listed(name=part, target=part, unavailable="no") if raised else program(part)
            )
            ProcessFiles(folder).imported.write_text(json.dumps([part]))
            if part == CHANGES:
                break
        return Listing(programs=tuple(found), environment=HERE, left=tuple(left))

    monkeypatch.setattr(listing, "ask", ask)
    return questions


HERE = Environment.model_construct()


def listed(tmp_path, *parts):
    for part in parts:
        (tmp_path / part).touch()
    return listing.list_programs(parts, tmp_path, Limits(1.0))


def test_another_process_goes_on_behind_a_module_that_changes_its_own(asked, tmp_path):
    found = listed(tmp_path, "a.py", CHANGES, "b.py", "c.py")
    assert asked == [("a.py", CHANGES, "b.py", "c.py"), ("b.py", "c.py")]
    names = ["a.py:step", "changes.py:step", "b.py:step", "c.py:step"]
    assert [each.name for each in found.programs] == names  # by targets, as all have one name
    assert (found.error, found.left) == (None, ())
    assert json.loads(ProcessFiles(tmp_path).imported.read_text()) == ["c.py", "changes.py"]


def test_a_module_that_ends_its_process_is_an_entry_once_it_was_the_first(asked, tmp_path):
    found = listed(tmp_path, "a.py", ENDS, "b.py")
    assert asked == [("a.py", ENDS, "b.py"), ("a.py",), (ENDS, "b.py"), ("b.py",)]
    assert [(each.target, each.unavailable) for each in found.programs] == [
        ("a.py:step", None),
        (ENDS, "importing ends.py: signal SIGABRT"),
        ("b.py:step", None),
    ]


def test_the_only_module_is_an_error_and_so_are_several_of_which_none_is_imported(asked, tmp_path):
    with pytest.raises(listing.ListingError, match=r"importing ends\.py: signal SIGABRT"):
        listed(tmp_path, ENDS)
    assert listed(tmp_path, RAISES, "raises_too.py").error == "no\nno"
    assert listed(tmp_path, RAISES, "a.py").error is None


def test_settings_that_jax_does_not_latch_are_taken_back():
    at_start = ProcessState.now()
    jax.config.update("jax_numpy_rank_promotion", "warn")
    jax.config.update("jax_default_matmul_precision", "highest")
    assert at_start.is_restored()
    assert at_start.changes(ProcessState.now()) == ()
    with jax.numpy_rank_promotion("warn"):
        assert not at_start.is_restored()  # what holds in a block is nobody's to take back
    assert at_start.is_restored()


def test_no_process_starts_for_a_file_that_is_missing(asked, tmp_path):
    (tmp_path / "a.py").touch()
    with pytest.raises(TargetError, match=r"no file 'gone\.py' in "):
        listing.list_programs(["a.py", "gone.py:step"], tmp_path, Limits(1.0))
    assert asked == []
