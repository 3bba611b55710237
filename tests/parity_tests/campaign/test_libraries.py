"""Several libraries: one that fails costs no other, some run at once, and folders are locked."""

from functools import partial

import pytest

from parity_tests.campaign.ecosystem import Programs, gather
from parity_tests.campaign.libraries import with_libraries
from parity_tests.campaign.spec import CorpusSpec, LibrarySpec, Spec, SpecError
from parity_tests.environments.store import FolderLock
from reports.rows.plan import PlanLibrary
from tests.helpers.quick_suites import FINE


def library(name, **changes):
    return LibrarySpec(name=name, version="1", **changes)


def spec(*names, corpus=()):
    return Spec(library=tuple(map(library, names)), corpus=corpus)


@pytest.fixture
def gathered(suites, tmp_path):
    """Make corpora of the libraries of a spec; return them, and what is said."""

    def make(given, **changes):
        said = []
        return with_libraries(given, tmp_path / "e", "0.12", said.append, **changes), said

    return make


def test_a_library_that_fails_is_left_out_and_costs_no_other(gathered, suites):
    suites.unfetched.add("first")
    suites.lines["crashes"] = "exit 3"
    given = spec("first", "crashes", "fine")
    slow = library("slow", suite_timeout=0.2)
    suites.lines["slow"] = "sleep 60"
    given = given.model_copy(update={"library": (*given.library, slow)})
    found, said = gathered(given)
    assert [each.name for each in found.spec.corpus] == ["fine"]
    assert [each.name for each in found.spec.library] == ["first", "crashes", "slow"]
    first, crashes, fine, of_slow = found.libraries
    assert first.left_out == "it cannot be fetched; check its name"
    assert crashes.left_out.startswith("its suite wrote no programs (exit status 3); see /")
    assert crashes.left_out.endswith("/pytest.log")
    assert (fine.left_out, fine.programs, fine.failures) == ("", 1, ("t::fails",))
    assert of_slow.left_out.startswith("its suite has not ended in 0.2 seconds; name fewer tests")
    assert said[0] == (
        "library 'first': it cannot be fetched; check its name; the campaign goes on without it"
    )


def test_a_test_that_is_not_known_to_fail_is_said(gathered, suites):
    _, said = gathered(spec("fine"))
    assert said[-1] == ("fine 1: 1 program; 1 tests fail that are not known to, as t::fails")
    [again] = gathered(spec("fine"))[0].libraries  # it is read
    assert (again.programs, again.failures, suites.started) == (1, ("t::fails",), ["fine"])


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (("first",), "library 'first': it cannot be fetched; check its name"),
        (("first", "second"), "library 'first': it .* its name; library 'second': it cannot"),
    ],
)
def test_where_all_libraries_fail_nothing_is_run(gathered, suites, names, why):
    suites.unfetched.update(names)
    with pytest.raises(SpecError, match=why):
        gathered(spec(*names))


def test_libraries_that_fail_do_not_cost_the_other_corpora(gathered, suites):
    suites.unfetched.add("first")
    models = CorpusSpec(name="models", targets=("models.py",))
    assert gathered(spec("first", corpus=(models,)))[0].spec.corpus == (models,)


def test_a_campaign_that_goes_on_leaves_out_what_it_left_out(gathered, suites):
    before = (
        PlanLibrary(name="first", version="1", left_out="no wheel; check it"),
        PlanLibrary(name="second", version="1", programs=1),
    )
    found, said = gathered(spec("first", "second"), before=before)
    assert [each.name for each in found.spec.corpus] == ["second"]
    assert found.libraries[0] == before[0]
    assert suites.started == ["second"]
    assert said[0] == (
        "library 'first' is left out, as when this campaign began: no wheel; check it; -k first "
        "takes it alone, and --anew begins with all"
    )


def test_a_campaign_does_not_go_on_without_programs_that_it_has(gathered, suites):
    suites.unfetched.add("second")
    with pytest.raises(SpecError, match=r"library 'second': .* on has programs of it: --anew"):
        gathered(spec("first", "second"), before=())


def test_suites_run_at_once(gathered, suites, tmp_path):
    wait = "touch ../{own}; until [ -e ../{other} ]; do sleep 0.02; done; " + FINE
    suites.lines["first"] = wait.format(own="first", other="second")
    suites.lines["second"] = wait.format(own="second", other="first")
    both = tuple(library(each, suite_timeout=20) for each in ("first", "second"))
    found, _ = gathered(Spec(library=(*both, library("third"))), jobs=2)
    assert [each.name for each in found.spec.corpus] == ["first", "second", "third"]


def test_no_more_suites_than_jobs_run_at_once(gathered, suites):
    alone = "mkdir ../alone && sleep 0.1 && rmdir ../alone && " + FINE
    suites.lines.update(first=alone, second=alone)
    found, _ = gathered(spec("first", "second"))
    assert [each.name for each in found.spec.corpus] == ["first", "second"]


def test_a_folder_that_another_campaign_has_is_waited_for_last(gathered, suites, tmp_path):
    run = partial(with_libraries, folder=tmp_path / "e", jax="0.12", jobs=2)
    run(spec("first"), say=str)
    [folder] = (tmp_path / "e").glob("first-*")
    other = FolderLock(folder)
    other.exclude()
    said = []

    def say(text):
        said.append(text)
        if "waiting" in text:
            other.close()  # which has ended

    found = run(spec("first", "second"), say=say)
    assert [each.programs for each in found.libraries] == [1, 1]
    assert suites.started == ["first", "second"]  # nothing ran where it was at work
    assert said[-1] == f"first 1: waiting for another campaign, which runs its suite in {folder}"


def test_a_suite_has_its_folder_until_it_has_ended(suites, tmp_path):
    suites.lines["first"] = "sleep 60"
    suite = gather(library("first"), tmp_path / "e", "0.12", str)
    suite.lock.close()  # as where the process of its campaign is killed
    assert gather(library("first"), tmp_path / "e", "0.12", str, may_wait=False) is None
    suite.end()
    suites.lines["first"] = FINE
    again = gather(library("first"), tmp_path / "e", "0.12", str)
    again.process.wait()
    assert isinstance(again.programs(str), Programs)


def test_suites_end_where_the_campaign_is_interrupted(suites, tmp_path):
    suites.lines["first"] = "exec sleep 60"

    def say(text):
        if text == "second 1: running its test-suite":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_libraries(spec("first", "second"), tmp_path / "e", "0.12", say, jobs=2)
    [folder] = (tmp_path / "e").glob("first-*")
    with FolderLock(folder) as lock:
        assert lock.try_to_exclude()
