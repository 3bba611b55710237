"""What a bisection answers: of commands that fail always, sometimes, before the flip, or not."""

from __future__ import annotations

import itertools
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from parity_tests.advice import advice
from parity_tests.bisect import kept_runs
from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import CommandError, Ended, NoJaxError, Runner, Until
from parity_tests.bisect.sites import Flips, Site, Told
from parity_tests.cli.app import main
from reports.documents.bisection import lines
from reports.rows.bisection import Bisection

SITES = [Site("array", f"step at a.py:{n}", "a.py", n, "step", "float32[8]") for n in range(40)]
BY_LINE = {site.line: site.id for site in SITES}


@dataclass
class Command:
    """A command of 40 sites in the place of a real one.

    - `fails`: whether it fails with some sites flipped; `stock`: with JAX's flag off and on.
    - `says`: what it prints with some sites flipped.
    """

    fails: Callable[[Flips], bool] = lambda flips: False
    stock: tuple[bool, bool] = (False, True)
    says: Callable[[Flips], str] = lambda flips: ""
    told: Told = field(
        default_factory=lambda: Told(
            sites={site.id: site for site in SITES},
            processes=[{"version": "0.10.2", "error": ""}],
            interpreters=1,
        )
    )
    command: tuple[str, ...] = ("python", "train.py")
    asked: list[str] = field(default_factory=list)

    def flipped(self, flips: Flips) -> Ended:
        self.asked.append(str(flips))
        return Ended(int(self.fails(flips)), self.says(flips), False, 1.0, self.told)

    def on_stock(self, *, flag: bool) -> Ended:
        self.asked.append(f"stock {flag}")
        return Ended(int(self.stock[flag]), self.says(Flips.of("all")), False, 1.0, Told())

    def end_all(self) -> None:
        raise AssertionError("nothing is interrupted")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs.jsonl"


def bisected(command: Any, runs: Path, until: str = "exit", at_once: int = 1) -> Bisection:
    return Bisecting(command, Until.of(until), KeptRuns(runs), at_once).run()


def blamed(found: Bisection) -> list[list[int]]:
    return [[site.line for site in each.sites] for each in found.sets]


def flips(*numbers: int) -> Callable[[Flips], bool]:
    return lambda asked: all(BY_LINE[number] in asked for number in numbers)


def test_a_folder_that_takes_no_runs_is_answered_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".constparity_cache").write_text("no folder")
    assert main(["bisect", "--", sys.executable, "-c", "pass"]) == 4
    assert capsys.readouterr().err == (
        "constparity: the runs of the search are kept in .constparity_cache, which cannot be made "
        "here (File exists): run it in a folder that can be written to\n"
    )


@pytest.mark.parametrize("at_once", [1, 3])
def test_one_site_is_blamed_within_the_bound_and_confirmed_on_stock(
    runs: Path, at_once: int
) -> None:
    found = bisected(Command(flips(7)), runs, at_once=at_once)
    bound = {1: 15, 3: 3 * 3 + 9}[at_once]
    assert (found.answer, blamed(found), found.bound) == ("found", [[7]], bound)
    assert (found.runs <= bound, found.at_once) == (True, at_once)
    told = f"at most {bound} for one culprit{' with 3 at once' if at_once == 3 else ''}; "
    assert told in list(lines(found))[-1]
    assert (found.stock.off, found.stock.on) == (False, True)
    assert (found.sets[0].passes, found.sets[0].fails) == ("none", BY_LINE[7])
    assert found.sets[0].action == advice("inline")
    assert list(lines(found))[:2] == [
        "bisect: 1 site of 40 makes the command fail",
        "  float32[8] at a.py:7 (step), captured by step at a.py:7",
    ]


def test_a_set_is_shown_by_two_commands_that_differ_in_one_site(runs: Path) -> None:
    found = bisected(Command(flips(7, 31)), runs)
    [only] = found.sets
    assert sorted(site.line for site in only.sites) == [7, 31]
    assert only.passes == only.sites[0].id
    assert only.fails == ",".join(sorted(site.id for site in only.sites))


def test_several_culprits_are_blamed_one_by_one(runs: Path) -> None:
    found = bisected(Command(lambda asked: flips(3)(asked) or flips(4)(asked)), runs)
    assert sorted(blamed(found)) == [[3], [4]]


IN_ORDER = [site.line for site in sorted(SITES, key=lambda site: site.id)]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_fails_only_where_another_is_not_flipped_is_not_to_blame(
    runs: Path, count: int
) -> None:
    one, other, *causes = IN_ORDER[5], *IN_ORDER[30 : 31 + count]

    def fails(asked: Flips) -> bool:  # one test compares two programs with each other
        return flips(one)(asked) != flips(other)(asked) or any(flips(n)(asked) for n in causes)

    found = bisected(Command(fails), runs)
    if count == 3:  # too many sets to ask for each combination
        assert sorted(blamed(found)) == sorted([number] for number in [one, other, *causes])
        assert "fails with everything flipped was not asked" in found.detail
        return
    assert sorted(blamed(found)) == sorted([number] for number in causes)
    words = {f"float32[8] at a.py:{n} (step), captured by step at a.py:{n}" for n in (one, other)}
    said = {f"  not to blame, fails only while others are not flipped: {each}" for each in words}
    assert (set(found.apart), said <= set(lines(found))) == (words, True)
    assert "for one culprit" not in list(lines(found))[-1]


def test_what_passes_by_chance_takes_no_set_from_the_blame(runs: Path) -> None:
    one, other = IN_ORDER[5], IN_ORDER[30]
    without_other = ",".join(sorted(BY_LINE[n] for n in IN_ORDER if n != other))

    def fails(asked: Flips) -> bool:  # each by itself, and once neither
        is_first = command.asked.count(without_other) == 1
        missed = str(asked) == without_other and is_first
        return not missed and (flips(one)(asked) or flips(other)(asked))

    command = Command(fails)
    assert sorted(blamed(bisected(command, runs))) == sorted([[one], [other]])


def test_independent_causes_take_a_run_for_each_way_to_leave_some_flipped(runs: Path) -> None:
    command = Command(lambda asked: any(flips(n)(asked) for n in (3, 4, 5)))
    found = bisected(command, runs)
    assert (sorted(blamed(found)), found.apart) == ([[3], [4], [5]], ())
    listed = {site.id for site in SITES}
    ways = [each for each in command.asked if len(listed) > each.count(",") + 1 >= len(listed) - 3]
    assert len(set(ways)) == 3 + 3 + 1


def test_a_value_that_differs_by_more_than_the_tolerance_fails(runs: Path) -> None:
    def says(asked: Flips) -> str:
        return f"loss={1.5 + 1e-3 * flips(9)(asked) + 1e-9 * flips(2)(asked)!r}\n"

    found = bisected(Command(says=says), runs, r"value:loss=(\S+) 1e-6")
    assert blamed(found) == [[9]]
    assert found.sets[0].ended == "1.501 where it was 1.5"
    by_output = r"    both may exit with 0: compare what they print, by value:loss=(\S+) 1e-06"
    assert by_output in list(lines(found))


def test_who_finds_what_reads_the_form_of_a_program_is_lint(runs: Path) -> None:
    form = Site("program", "step at a.py:1", "a.py", 1, "step")
    command = Command(lambda asked: form.id in asked)
    command.told.sites = {form.id: form}
    [blamed] = bisected(command, runs).sets
    assert "it reads the flag, the consts, Literals or text of a jaxpr" in blamed.action
    assert blamed.action.endswith("constparity lint finds where")


def test_what_helps_is_known_by_what_jax_says(runs: Path) -> None:
    said = "INVALID_ARGUMENT: Attempt to donate a buffer which is also used by the same call"
    [blamed] = bisected(Command(flips(7), says=lambda asked: said), runs).sets
    assert blamed.action == advice("donated")


def test_a_set_that_fails_with_other_words_than_everything_flipped_is_told_so(runs: Path) -> None:
    def says(asked: Flips) -> str:
        return f"Error: {'two kinds' if str(asked) != 'all' else 'no constant'} in step 3\n"

    [blamed] = bisected(Command(flips(7), says=says), runs).sets
    assert blamed.otherwise == "Error: no constant in step 3"


@pytest.mark.parametrize(("test", "otherwise"), [("test_a", False), ("test_b", True)])
def test_a_set_that_fails_another_test_than_everything_flipped_is_told_so(
    runs: Path, test: str, otherwise: bool
) -> None:
    def says(asked: Flips) -> str:
        whole = "FAILED test_it.py::test_a - assert 0\n2 failed, 1 passed in 3s\n"
        return whole if str(asked) == "all" else f"FAILED test_it.py::{test}\n1 failed in 3s\n"

    [blamed] = bisected(Command(flips(7), says=says), runs).sets
    assert blamed.otherwise == ("FAILED test_it.py::test_a - assert 0" if otherwise else "")


def test_of_pytest_the_test_that_failed_is_quoted(runs: Path) -> None:
    said = "FAILED test_it.py::test_a[x y] - assert 0\n1 failed in 3s\n"
    found = bisected(Command(says=lambda asked: said), runs)
    assert found.detail.endswith("The command said: FAILED test_it.py::test_a[x y] - assert 0")


def test_a_nan_at_both_ends_is_no_difference(runs: Path) -> None:
    command = Command(stock=(False, False), says=lambda asked: "loss=nan\n")
    assert bisected(command, runs, r"value:loss=(\S+) 1e-5").answer == "passes"


def test_sites_that_are_others_in_each_run_are_no_base(runs: Path) -> None:
    command = Command(lambda asked: str(asked) == "all")

    def flipped(asked: Flips) -> Ended:
        made = Site("array", "made", f"made_{len(command.asked)}.py", 1, "made", "float32[8]")
        command.told.sites[made.id] = made
        return Command.flipped(command, asked)

    command.flipped = flipped  # type: ignore[method-assign]
    assert bisected(command, runs).detail == (
        "it fails with everything flipped, and 1 of its sites are other ones in each run, as those "
        "of code that is made anew under another name"
    )


def test_a_text_in_the_output_fails(runs: Path) -> None:
    command = Command(says=lambda asked: "a\nNaN in step 3\n" if flips(5)(asked) else "a\n")
    assert blamed(bisected(command, runs, "text:^NaN")) == [[5]]


def test_what_passes_after_the_flip_has_nothing_to_find(runs: Path) -> None:
    command = Command(stock=(False, False))
    assert bisected(command, runs).answer == "passes"
    listed = ",".join(sorted(site.id for site in SITES))
    assert command.asked == ["none", "all", "none", listed, "stock True"]


def test_what_stock_jax_alone_fails_is_said(runs: Path) -> None:
    found = bisected(Command(), runs)
    assert (found.answer, found.detail) == (
        "fixed",
        "the command fails on stock JAX after the flip (exit status 1) and passes on constparity's "
        "engine with everything flipped. Either the engine fixes what is to blame, or that is out "
        "of reach: an array that JAX captures by itself, or code that reads JAX's flag, which "
        "constparity lint finds. The command said: it printed nothing",
    )


OUT_OF_REACH = "train.py:4 starts Python with python -I, which keeps it from its environment"


def with_a_child_out_of_reach(fails: Callable[[Flips], bool], *stock: bool) -> Command:
    command = Command(fails, stock)
    command.told.not_switched[OUT_OF_REACH] = ""
    return command


def test_processes_that_are_not_switched_leave_it_open_whether_the_flip_is_harmless(
    runs: Path,
) -> None:
    found = bisected(with_a_child_out_of_reach(lambda asked: False, False, False), runs)
    assert (found.answer, list(lines(found))[:3]) == (
        "not reached",
        [
            "bisect: not known, processes of the command cannot be switched",
            "  the command passes with everything flipped, and on stock JAX with its flag on; in "
            "processes that neither reaches, nothing was flipped",
            f"  not switched: {OUT_OF_REACH}",
        ],
    )


def test_stock_jax_answers_for_processes_that_its_flag_reaches(runs: Path) -> None:
    command = with_a_child_out_of_reach(lambda asked: False, False, False)
    command.told.not_switched[OUT_OF_REACH] = "by JAX's flag"
    found = bisected(command, runs)
    assert (found.answer, found.not_switched) == ("passes", (OUT_OF_REACH,))


def test_a_process_that_is_not_switched_may_be_what_fails_on_stock_jax(runs: Path) -> None:
    found = bisected(with_a_child_out_of_reach(lambda asked: False, False, True), runs)
    assert (found.answer, found.not_switched) == ("fixed", (OUT_OF_REACH,))
    assert "captures by itself, a process that is not switched, or code" in found.detail


def test_what_helps_is_said_where_stock_jax_alone_fails(runs: Path) -> None:
    said = "Attempt to donate a buffer which is also used by the same call"
    found = bisected(Command(says=lambda asked: said), runs)
    assert found.detail.endswith(f"The command said: {said} -> {advice('donated')}")


@pytest.mark.parametrize(
    ("stock", "answer", "count"),
    [((True, True), "fails before", 2), ((False, True), "ours", 3)],
)
def test_a_command_that_fails_with_nothing_flipped(
    runs: Path, stock: tuple[bool, bool], answer: str, count: int
) -> None:
    found = bisected(Command(lambda asked: True, stock), runs)
    assert (found.answer, found.runs) == (answer, count)


@pytest.mark.parametrize(
    ("flipped", "stock_off", "stock_on", "where"),
    [
        ([True, False], [True], [], "with nothing flipped"),
        ([True, True, False], [False], [], "with nothing flipped"),
        ([True, True, True], [False, True], [], "on stock JAX with its flag off"),
        ([False] * 4, [False], [True, False], "on stock JAX with its flag on"),
        ([False] * 4, [False, False, True], [True] * 3, "on stock JAX with its flag off"),
        ([False] * 4, [True, False], [True] * 3, "on stock JAX with its flag off"),
    ],
)
def test_what_does_not_repeat_itself_is_blamed_on_nobody(
    runs: Path,
    flipped: list[bool],
    stock_off: list[bool],
    stock_on: list[bool],
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    of_flips, of_stock = iter(flipped), [iter(stock_off), iter(stock_on)]
    command = Command(lambda asked: next(of_flips))

    class OfStock:
        def __getitem__(self, flag: bool) -> bool:
            return next(of_stock[flag])

    monkeypatch.setattr(command, "stock", OfStock())
    found = bisected(command, runs)
    assert (found.answer, found.detail.partition(" it both passed and failed")[0]) == (
        "not repeatable",
        where,
    )


def test_the_engine_is_to_blame_where_stock_jax_passes_in_both_modes(runs: Path) -> None:
    found = bisected(Command(flips(7), stock=(False, False)), runs)
    assert next(lines(found)) == (
        "bisect: 1 site of 40 makes the command fail, and stock JAX does not confirm it"
    )
    assert found.detail == (
        "stock JAX does not confirm it: it passes with its flag on, 3 times. What fails is "
        "constparity's engine, or depends on chance, as where an array lies in memory"
    )


class Sometimes:
    """Fails at some of the times at which it could; the others come in the order given."""

    def __init__(self, culprit: Callable[[Flips], bool], answers: Iterator[bool]) -> None:
        self.culprit, self.answers = culprit, answers

    def __call__(self, asked: Flips) -> bool:
        return self.culprit(asked) and next(self.answers)


def alternating() -> Iterator[bool]:
    while True:
        yield from (True, False, True)


def test_a_flaky_command_is_answered_by_repetition(runs: Path) -> None:
    found = bisected(Command(Sometimes(flips(7), alternating())), runs)
    assert (found.answer, blamed(found), found.repeats) == ("found", [[7]], 7)
    assert found.confidence == 0.95


def test_a_command_is_flaky_where_its_answers_contradict_each_other(runs: Path) -> None:
    # Both ends fail, and then a range passes that holds the culprit.
    missed = itertools.chain([True, True, False], itertools.repeat(True))
    found = bisected(Command(Sometimes(flips(7), missed)), runs)
    assert (found.answer, blamed(found), found.repeats) == ("found", [[7]], 4)


def test_what_no_process_tells_is_not_blamed_on_what_they_tell(runs: Path) -> None:
    untold = Site("array", "hidden at a.py:99", "a.py", 99, "hidden", "float32[8]").id
    found = bisected(Command(lambda asked: untold in asked), runs)
    assert (found.answer, found.sets) == ("not repeatable", ())
    assert found.detail == (
        "it fails with everything flipped and passes with each site flipped that its processes "
        "told: they do not tell what is to blame"
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_flaky_command_is_never_blamed_on_what_does_not_decide(runs: Path, seed: int) -> None:
    chance = random.Random(seed)
    answers = iter(lambda: chance.random() < 0.7, None)
    found = bisected(Command(Sometimes(flips(7), answers)), runs)
    assert found.answer in ("not repeatable", "passes", "fixed") or blamed(found) == [[7]]


def test_a_command_that_seldom_fails_is_refused(runs: Path) -> None:
    seldom = iter([True, *[False] * 20])
    found = bisected(Command(Sometimes(flips(7), seldom)), runs)
    assert (found.answer, found.detail) == (
        "not repeatable",
        "with everything flipped 1 of 10 runs failed: each question would take 66 runs to be "
        "answered",
    )


def test_a_command_that_fails_before_the_flip_once_leaves_something_behind(runs: Path) -> None:
    state = iter([False, True, True])
    found = bisected(Command(lambda asked: next(state)), runs)
    assert (found.answer, found.detail) == ("not repeatable", LEAVES_STATE)


LEAVES_STATE = (
    "with nothing flipped it both passed and failed: it does not repeat itself, or it leaves "
    "behind what the next run reads (--reset COMMAND removes that)"
)


def with_one_site(fails: Callable[[Flips], bool], *stock: bool) -> Command:
    command = Command(fails, stock)
    command.told.sites = {SITES[7].id: SITES[7]}
    return command


def test_no_site_is_blamed_for_what_a_command_of_few_sites_leaves_behind(runs: Path) -> None:
    asked = list[Flips]()  # the first run passes, and leaves what all the others read

    def fails(flips: Flips) -> bool:
        asked.append(flips)
        return len(asked) > 1

    found = bisected(with_one_site(fails, True, True), runs)
    assert (found.answer, found.sets, found.detail) == ("not repeatable", (), LEAVES_STATE)


def test_a_failure_of_stock_jax_alone_before_the_flip_is_said_first(runs: Path) -> None:
    found = bisected(with_one_site(flips(7), True, True), runs)
    assert [found.answer, *lines(found)][:2] == [
        "found",
        "bisect: 1 site of 1 makes the command fail, and stock JAX does not confirm it",
    ]
    assert "it fails with its flag off as well (exit status 1)" in found.detail


def test_an_interrupted_search_goes_on_after_what_was_run(runs: Path) -> None:
    def interrupted(asked: Flips) -> bool:
        if len(first.asked) == 7:
            raise KeyboardInterrupt
        return flips(7)(asked)

    first, second, whole = Command(interrupted), Command(flips(7)), Command(flips(7))
    with pytest.raises(KeyboardInterrupt):
        bisected(first, runs)
    with open(runs, "a") as file:
        file.write('{"run": {"name"')  # what a process leaves that is killed while it writes
    assert blamed(bisected(second, runs)) == [[7]]
    bisected(whole, runs.with_name("other.jsonl"))
    assert first.asked[:-1] + second.asked == whole.asked


def test_runs_of_other_code_are_not_used(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("step = 1\n")
    bisected(Command(flips(7)), runs)
    assert KeptRuns(runs).all_runs()
    (tmp_path / "a.py").write_text("step = 12\n")
    kept = KeptRuns(runs)
    assert (kept.all_runs(), kept.changed) == ([], "a.py")


@pytest.mark.parametrize(
    ("changed", "is_used"),
    [("data.json", False), ("new.py", False), ("loss.txt", True), ("new.txt", True)],
)
def test_data_below_the_folder_is_as_it_was_but_for_what_the_first_run_wrote(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, is_used: bool
) -> None:
    folder = tmp_path / "app"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in ("data.json", "loss.txt"):
        (folder / name).write_text("0")

    def fails(asked: Flips) -> bool:
        (folder / "loss.txt").write_text(f"written in {len(command.asked)} runs")
        return flips(7)(asked)

    command = Command(fails)
    bisected(command, runs)
    (folder / changed).write_text("another")
    kept = KeptRuns(runs)
    assert (bool(kept.all_runs()), kept.changed) == (is_used, "" if is_used else changed)


def test_files_that_are_many_are_said_not_to_be_looked_at(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(kept_runs, "_MOST_FILES", 2)
    (tmp_path / "z.py").touch()
    for number in range(2):
        (tmp_path / f"{number}.npz").touch()
    assert not KeptRuns(runs).is_cut
    (tmp_path / "2.npz").touch()
    assert KeptRuns(runs).is_cut


USES = """\
import os, sys
sys.path.insert(0, "../lib")
import jax, jax.numpy as jnp
table = jnp.ones(32)
"""
JITS = "jax.jit(lambda x: x + table)(1.0)\n"


@pytest.mark.parametrize("rest", [f"import klib\n{JITS}os._exit(0)\n", f"{JITS}import klib\n"])
def test_runs_that_loaded_other_code_from_elsewhere_are_not_used(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: str
) -> None:
    for name in ("app", "lib"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "app")
    library = tmp_path / "lib" / "klib.py"
    library.write_text("WHICH = 'q'\n")
    Path("t.py").write_text(USES + rest)
    ended = Runner([sys.executable, "t.py"]).flipped(Flips.of("none"))
    KeptRuns(runs).keep("none", ended, fails=False, value=None, before=None)
    assert KeptRuns(runs).all_runs()
    library.write_text("WHICH = 'another'\n")
    kept = KeptRuns(runs)
    assert (kept.all_runs(), kept.changed) == ([], str(library))


def test_what_imports_no_jax_or_one_without_an_engine_is_refused(runs: Path) -> None:
    with pytest.raises(NoJaxError, match=r"\(exit status 0\) imports no JAX, in any"):
        bisected(Command(told=Told(interpreters=2)), runs)
    old = Told(processes=[{"version": "0.9.0", "error": "jax 0.9.0 is too old"}], interpreters=1)
    with pytest.raises(CommandError, match=r"switched: jax 0[.]9[.]0 is too old"):
        bisected(Command(told=old), runs.with_name("other.jsonl"))


def test_a_command_that_speaks_of_terminals_fails_as_others_do(runs: Path) -> None:
    command = Command(lambda asked: True, (True, True), lambda asked: "no terminal state\n")
    assert bisected(command, runs).answer == "fails before"


def test_a_package_of_the_users_that_is_in_the_way_is_named(runs: Path) -> None:
    said = "E   own_packages.CollisionError: constparity has a package 'engine'\n1 error\n"
    command = Command(lambda asked: True, says=lambda asked: said)
    with pytest.raises(CommandError, match=r"switched: constparity has a package 'engine'$"):
        bisected(command, runs)


def test_a_command_that_asks_for_a_terminal_is_told_so(runs: Path) -> None:
    command = Command(lambda asked: True, says=lambda asked: "EOFError: EOF when reading a line\n")
    with pytest.raises(CommandError, match="asks for a terminal, which it has not here: EOFError"):
        bisected(command, runs)
