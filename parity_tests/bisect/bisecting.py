"""Bisect a command: both ends, the search between them, and what stock JAX says of it."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations

from parity_tests.advice import advice
from parity_tests.bisect.kept_runs import KeptRun, KeptRuns
from parity_tests.bisect.running import CommandError, Ended, Runner, Until, check_reached
from parity_tests.bisect.search import Question, Search, bound
from parity_tests.bisect.sites import Flips
from parity_tests.judge.reasons_as_written import what_helps
from parity_tests.observe.environment import version
from parity_tests.own_packages import CollisionError
from parity_tests.run.estimates import spoken
from reports.rows import now
from reports.rows.bisection import (
    BisectAnswer,
    Bisection,
    BlamedSet,
    BlamedSite,
    StockEnds,
)
from reports.views.texts import counted

_NONE, _ALL = Flips.of("none"), Flips.of("all")
_RUNS_OF_A_FLAKY = 10
_MOST_REPEATS = 20
_MISSED = 0.05  # how likely a failure of a flaky command may be missed in a search
_LINES = 12
_RUNS_ON_STOCK = 3
_RUNS_BEFORE = 2  # of a command that fails in both
_FEW_SITES = 4
_RUNS_OF_A_SET = 3
_SETS_TO_COMBINE = 4  # of more, only each by itself is asked for with all others flipped


@dataclass
class Bisecting:
    """One bisection.

    - `runner`, `until`: the command, and what failing is.
    - `kept`: the runs so far, also those of an earlier process.
    - `at_once`: how many runs may go at once.
    - `progress`: told in words what is run.
    - `options`: those that name the policy of the runner, for the commands in the answer.
    """

    runner: Runner
    until: Until
    kept: KeptRuns
    at_once: int = 1
    progress: Callable[[str], object] = lambda _: None
    options: Sequence[str] = ()
    _repeats: int = 1
    _confidence: float | None = None
    _began: float = field(default_factory=time.monotonic)

    def run(self) -> Bisection:
        """Return what makes the command fail after the flip.

        Raises `CommandError` where the command cannot be asked.
        """
        before = self._before()
        if before.fails:
            return self._fails_before()
        after = self._one(_ALL, 1, "with everything flipped")
        # With few sites the bound has no room for it: it is run where stock JAX, flag off, fails.
        has_room = len(self.kept.told.sites) > _FEW_SITES
        if has_room and self._fails_again():
            return self._not_repeatable(_mixed("with nothing flipped"))
        listed = Flips.only(self.kept.told.sites)
        words = "with each listed site flipped"
        again = self._one(listed, 1, words) if self.kept.told.sites else before
        if not after.fails and not again.fails:
            return self._passes_after()
        if not (after.fails and again.fails):
            if new := len(self.kept.told.sites) - len(listed.ranges):
                return self._not_repeatable(
                    f"it fails with everything flipped, and {new} of its sites are other ones in "
                    "each run, as those of code that is made anew under another name"
                )
            if refusal := self._repeat_from_now_on():
                return self._not_repeatable(refusal)
            if not self._fails(listed):
                return self._not_repeatable(
                    "it fails with everything flipped and passes with each site flipped that its "
                    "processes told: they do not tell what is to blame"
                )
        return self._search()

    # -- the ends ----------------------------------------------------------------------------------

    def _before(self) -> KeptRun:
        """Return the first run; raise where none of its processes can be switched."""
        if kept := self.kept.runs_of(str(_NONE)):
            return kept[0]
        self.progress("with nothing flipped")
        ended = self.runner.flipped(_NONE)
        check_reached(ended, self.runner.command, _last_line(ended.output))
        return self._kept(str(_NONE), ended)

    def _fails_before(self) -> Bisection:
        run = self.kept.runs_of(str(_NONE))[0]
        if any(word in run.said for word in _NO_TERMINAL):
            raise CommandError(
                f"the command fails with nothing flipped ({run.ended}), and asks for a terminal, "
                f"which it has not here: {_last_line(run.said)}"
            )
        off = self._stock(flag=False)
        collision = re.search(rf"{CollisionError.__name__}: (.*)", run.said)
        if collision and not off.fails:
            raise CommandError(f"its sites cannot be switched: {collision[1]}")
        again = range(2, 1 + (_RUNS_BEFORE if off.fails else _RUNS_ON_STOCK))
        if not all(self._fails_again(number) for number in again):
            return self._not_repeatable(_mixed("with nothing flipped"))
        if not off.fails and not self._repeats_on_stock(flag=False):
            return self._not_repeatable(_mixed("on stock JAX with its flag off"))
        if off.fails:
            return self._answer(
                "fails before",
                f"the command fails with nothing flipped ({run.ended}), and on stock JAX with its "
                f"flag off ({off.ended}): {_last_line(run.said)}",
            )
        return self._answer(
            "ours",
            f"the command fails on constparity's engine with nothing flipped ({run.ended}) and "
            f"passes on stock JAX with its flag off: {_last_line(run.said)}",
        )

    def _passes_after(self) -> Bisection:
        if self.options:
            return self._answer(
                "passes", "the command passes with everything flipped but what the policy inlines"
            )
        on = self._stock(flag=True)
        if not (on.fails or all(self.kept.told.not_switched.values())):
            return self._answer(
                "not reached",
                "the command passes with everything flipped, and on stock JAX with its flag on; in "
                "processes that neither reaches, nothing was flipped",
            )
        if not on.fails:
            return self._answer(
                "passes", "the command passes with everything flipped, and on stock JAX with its "
                "flag on"
            )  # fmt: skip
        off = self._stock(flag=False)
        for flag in (True, False):
            if not self._repeats_on_stock(flag=flag):
                where = f"on stock JAX with its flag {'on' if flag else 'off'}"
                return self._not_repeatable(_mixed(where))
        if off.fails:
            return self._answer(
                "ours",
                "the command fails on stock JAX in both modes, and passes on constparity's engine",
            )
        helps = what_helps(on.said)
        return self._answer(
            "fixed",
            f"the command fails on stock JAX after the flip ({on.ended}) and passes on "
            "constparity's engine with everything flipped. Either the engine fixes what is to "
            "blame, or that is out of reach: an array that JAX captures by itself, "
            f"{'a process that is not switched, ' if self.kept.told.not_switched else ''}or code "
            "that reads JAX's flag, which constparity lint finds. The "
            f"command said: {_last_line(on.said)}{f' -> {helps}' if helps else ''}",
        )

    def _fails_again(self, number: int = 2) -> bool:
        return self._one(_NONE, number, "with nothing flipped, again").fails

    def _repeats_on_stock(self, *, flag: bool) -> bool:
        first = self._stock(flag=flag)
        again = range(2, 1 + _RUNS_ON_STOCK)
        return all(self._stock(flag=flag, number=n).fails == first.fails for n in again)

    def _not_repeatable(self, why: str) -> Bisection:
        return self._answer("not repeatable", why)

    def _repeat_from_now_on(self) -> str:
        """Find out how often a flaky command fails; return why it cannot be bisected, or ""."""
        fails = [
            self._one(_ALL, n, f"with everything flipped, {n} of {_RUNS_OF_A_FLAKY}").fails
            for n in range(1, _RUNS_OF_A_FLAKY + 1)
        ]
        share = max(sum(fails), 0.1) / (len(fails) + 2)  # a little less often than was seen
        missed = _MISSED / self._bound  # in one question of the search
        repeats = math.ceil(math.log(missed) / math.log(1 - share))
        how_often = f"with everything flipped {sum(fails)} of {len(fails)} runs failed"
        if repeats > _MOST_REPEATS:
            return f"{how_often}: each question would take {repeats} runs to be answered"
        for number in range(1, repeats + 1):
            if self._one(_NONE, number, f"with nothing flipped, {number} of {repeats}").fails:
                return f"{how_often}, and with nothing flipped one of {number} failed as well"
        self._repeats = repeats
        self._confidence = 1 - _MISSED
        return ""

    # -- the search --------------------------------------------------------------------------------

    def _search(self) -> Bisection:
        search = Search(self._fail, self.at_once)
        sets: list[BlamedSet] = []
        sites = list(self.kept.told.sites)
        for found in search.sets(sites):
            if search.contradicted or not self._all_are_needed(found):
                search.contradicted = True
                break
            sets.append(self._blamed(found))
            self.progress(f"found: {sets[-1].sites[0].words}")
        if search.contradicted and self._repeats == 1:
            refusal = self._repeat_from_now_on()
            return self._not_repeatable(refusal) if refusal else self._search()
        if search.contradicted:
            return self._not_repeatable(
                "its answers contradict each other: what fails with some sites flipped passes "
                "with them and others"
            )
        blamed = self._to_blame(sites, sets)
        off = self._stock(flag=False)
        if off.fails and self._fails_again():
            return self._not_repeatable(_mixed("with nothing flipped"))
        if self.options:
            whether = "fails" if off.fails else "passes"
            detail = f"stock JAX, which knows no policy, {whether} with its flag off"
            return self._answer("found", detail, blamed, sets)
        on = self._stock(flag=True)
        for number in range(2, _RUNS_ON_STOCK + 1):
            # What depends on chance, as where an array lies in memory, does not fail each time.
            on = on if on.fails or off.fails else self._stock(flag=True, number=number)
        detail = _of_stock(off, on)
        if len(blamed) > _SETS_TO_COMBINE:
            detail += (
                ". Each set fails where no other is flipped; which of so many have a part in what "
                "fails with everything flipped was not asked"
            )
        return self._answer("found", detail, blamed, sets)

    def _to_blame(self, sites: Sequence[str], sets: Sequence[BlamedSet]) -> Sequence[BlamedSet]:
        """Return the sets of which some must be unflipped for all the others to pass flipped.

        What compares two programs fails where one of them is flipped, and not where both are. So a
        set may fail by itself and have no part in what fails after the flip.
        """

        def others(chosen: Sequence[int]) -> list[str]:
            unflipped = {site.id for number in chosen for site in sets[number].sites}
            return [site for site in sites if site not in unflipped]

        for count in range(1, len(sets) if len(sets) <= _SETS_TO_COMBINE else 2):
            ways = list(combinations(range(len(sets)), count))
            fail = self._fail([others(each) for each in ways])
            passing = [way for way, fails in zip(ways, fail, strict=True) if not fails]
            needed = {n for way in passing if self._passes_again(others(way)) for n in way}
            if needed:
                return [sets[number] for number in sorted(needed)]
        return sets

    def _otherwise(self, failing: KeptRun) -> str:
        """Return what everything flipped says, where a set fails with other words; else ""."""
        whole = next(run for run in self.kept.runs_of(str(_ALL)) if run.fails)
        said, of_whole = _last_line(failing.said), _last_line(whole.said)
        is_same = _without_numbers(said) == _without_numbers(of_whole)
        tests, tests_of_whole = _failed_tests(failing.said), _failed_tests(whole.said)
        if tests and tests_of_whole:
            is_same = not tests.isdisjoint(tests_of_whole)
        return "" if is_same or self.until.kind != "exit" else of_whole

    def _all_are_needed(self, found: Sequence[str]) -> bool:
        """Say whether a set passes without each of its sites, time and again.

        One pass by chance, and the search takes a site for needed that is not.
        """
        if len(found) == 1 or self._repeats > 1:
            return True
        return all(
            self._passes_again([site for site in found if site != left_out]) for left_out in found
        )

    def _passes_again(self, question: Question) -> bool:
        """Say whether what passed does so time and again."""
        again = range(2, 2 + _RUNS_OF_A_SET) if self._repeats == 1 else ()
        flips = Flips.only(question)
        return not any(self._one(flips, number, "what passed, again").fails for number in again)

    def _fail(self, questions: Sequence[Question]) -> list[bool]:
        asked = [Flips.only(question) for question in questions]
        if len(asked) == 1:
            return [self._fails(asked[0])]
        with ThreadPoolExecutor(self.at_once) as pool:
            try:
                return list(pool.map(self._fails, asked))
            except BaseException:
                self.runner.end_all()  # the pool waits for its threads
                raise

    def _fails(self, question: Flips) -> bool:
        words = f"with {len(question.ranges)} of {len(self.kept.told.sites)} sites flipped"
        runs = (self._one(question, number, words) for number in range(1, self._repeats + 1))
        return any(run.fails for run in runs)

    def _blamed(self, found: Sequence[str]) -> BlamedSet:
        fails, passes = Flips.only(found), Flips.only(found[:-1])
        failing = next(run for run in self.kept.runs_of(str(fails)) if run.fails)
        sites = tuple(
            BlamedSite.model_validate(self.kept.told.sites[site], from_attributes=True)
            for site in found
        )
        of_arrays = any(site.kind == "array" for site in sites)
        return BlamedSet(
            sites=sites,
            passes=str(passes),
            fails=str(fails),
            ended=failing.ended,
            said="\n".join(failing.said.splitlines()[-_LINES:]),
            otherwise=self._otherwise(failing),
            action=what_helps(failing.said) or advice("inline" if of_arrays else "one program"),
        )

    # -- runs --------------------------------------------------------------------------------------

    @property
    def _bound(self) -> int:
        return bound(len(self.kept.told.sites), self.at_once)

    def _one(self, flips: Flips, number: int, words: str) -> KeptRun:
        """Return the n-th run of a question, which is run where it is not kept."""
        kept = self.kept.runs_of(str(flips))
        if len(kept) >= number:
            return kept[number - 1]
        self._tell(words)
        return self._kept(str(flips), self.runner.flipped(flips))

    def _tell(self, words: str) -> None:
        """Tell what is run now, and how long the rest takes at most, by the runs so far."""
        runs = self.kept.all_runs()
        more = self._bound * self._repeats - len(runs)
        if runs and self.kept.told.sites and more > 0:
            seconds = sum(each.seconds for each in runs) / len(runs)
            left = spoken(more * seconds / self.at_once)
            words += f"; at most {counted(more, 'run')} for one cause, {left} left"
        self.progress(words)

    def _stock(self, *, flag: bool, number: int = 1) -> KeptRun:
        name = f"stock {'on' if flag else 'off'}"
        kept = self.kept.runs_of(name)
        if len(kept) >= number:
            return kept[number - 1]
        self._tell(f"on stock JAX, flag {'on' if flag else 'off'}")
        return self._kept(name, self.runner.on_stock(flag=flag))

    def _kept(self, name: str, ended: Ended) -> KeptRun:
        value = self.until.value(ended)
        first = self.kept.runs_of(str(_NONE))
        before = first[0].value if first else value
        return self.kept.keep(name, ended, self.until.fails(ended, before), value, before)

    def _answer(
        self,
        answer: BisectAnswer,
        detail: str,
        sets: Sequence[BlamedSet] = (),
        found: Sequence[BlamedSet] = (),
    ) -> Bisection:
        """Answer; `sets` are to blame, of those that were found."""
        stock = {
            end: any(run.fails for run in runs)
            for end in ("off", "on")
            if (runs := self.kept.runs_of(f"stock {end}"))
        }
        told = self.kept.told
        processes = [each for run in self.kept.all_runs() for each in run.processes]
        errors = [each["error"] for each in processes if each["error"]]
        return Bisection(
            created=now(),
            constparity=version(),
            command=tuple(self.runner.command),
            options=tuple(self.options),
            until=str(self.until),
            answer=answer,
            detail=detail,
            sites=len(told.sites),
            sets=tuple(sets),
            apart=tuple(
                " and ".join(site.words for site in each.sites)
                for each in found
                if each not in sets
            ),
            runs=sum(not run.name.startswith("stock") for run in self.kept.all_runs()),
            at_once=self.at_once,
            bound=self._bound,
            repeats=self._repeats,
            confidence=self._confidence,
            stock=StockEnds(**stock),
            together=tuple(f"{name}: {why}" for name, why in sorted(told.together.items())),
            not_reached=tuple(sorted(told.not_reached)),
            processes=tuple(sorted({each["version"] for each in processes if not each["error"]})),
            not_switched=tuple(sorted({*errors, *told.not_switched})),
            seconds=time.monotonic() - self._began,
        )


def _of_stock(off: KeptRun, on: KeptRun) -> str:
    if not off.fails and on.fails:
        return (
            f"stock JAX confirms both ends: its flag off passes, its flag on: {on.ended}. It "
            "cannot confirm a single site, for its flag flips all"
        )
    if off.fails:
        return f"stock JAX does not confirm it: it fails with its flag off as well ({off.ended})"
    return (
        f"stock JAX does not confirm it: it passes with its flag on, {_RUNS_ON_STOCK} times. What "
        "fails is constparity's engine, or depends on chance, as where an array lies in memory"
    )


_FOOTER = "For simplicity, JAX has removed its internal frames"
# What programs say that read from a terminal and have none.
_NO_TERMINAL = ("EOF when reading a line", "not a tty", "not a TTY", "Inappropriate ioctl")


def _without_numbers(said: str) -> str:
    return re.sub(r"0x[0-9a-f]+|\d+(\.\d+)?", "N", said)


# What pytest says of a test that failed, above the line of how many did.
_FAILED_TEST = re.compile(r"^((?:FAILED|ERROR) \S+\.py(?:::.*?)?)(?: - .*)?$", re.MULTILINE)


def _failed_tests(said: str) -> set[str]:
    return {each[1] for each in _FAILED_TEST.finditer(said)}


def _mixed(where: str) -> str:
    return (
        f"{where} it both passed and failed: it does not repeat itself, or it leaves behind what "
        "the next run reads (--reset COMMAND removes that)"
    )


def _last_line(said: str) -> str:
    """Return the last line of what a command said; of pytest, the first test that failed."""
    if failed := _FAILED_TEST.search(said):
        return failed[0][:1000]
    lines = [line.strip().strip("= ") for line in said.splitlines() if line.strip(" -=")]
    own = [line for line in lines if not line.startswith(_FOOTER)]
    return own[-1][:1000] if own else "it printed nothing"
