"""Programs that do not repeat themselves are named with what changed, and no others are."""

import re

import pytest
from program_files import line_with, program_file

from parity_tests.cli.exit_codes import Exit, code_of
from parity_tests.evidence.folder_layout import ProgramFiles
from parity_tests.evidence.records import Recorded
from parity_tests.judge.findings import Findings
from parity_tests.judge.verdict import RowDraft
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run import repeats, run
from parity_tests.run.collection import Collected, Context
from parity_tests.run.options import CampaignOptions
from reports.rows import SIDES as ALL_SIDES
from reports.rows import Failure, NamedProgram, Observation, StageTimes

FILE = program_file("trust/unrepeatable")
SIDES = ("jax-legacy", "jax-simplified")


@pytest.fixture(scope="module")
def told():
    return []


@pytest.fixture(scope="module")
def rows(told, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONSTPARITY_TEST_MARK", str(tmp_path_factory.mktemp("mark") / "mark"))
        options = CampaignOptions(sides=SIDES, steady_calls=0, timeout=60.0)
        result = run.run([str(FILE)], options, progress=lambda *step: told.append(step[2]))
        return {row.name: row for row in result.programs}


def test_second_runs_are_told_with_their_programs_and_how_long_they_take(rows, told):
    alone = "run alone twice on jax-legacy, each in fresh processes ("
    [begins] = [text for text in told if text.startswith(alone)]
    assert re.search(r" and \d+ more\), (a few seconds|about .* (s|min))$", begins)
    assert told.count("run alone: jax-legacy: unseeded_argument") == 2


UNREPEATABLE = {
    "unseeded_at_import": ("captured array float32[64] holds other values", "return x * UNSEEDED"),
    "unseeded_in_the_factory": (
        "captured array float32[64] holds other values", "lambda x: x + noise",
    ),
    "unseeded_argument": (
        "argument scale['by'] float32[64] has other values", "def unseeded_argument",
    ),
    "drawn_while_tracing": ("the traced program is another", "return y * np.random.rand()"),
    "clock_while_tracing": ("the traced program is another", "time.time() * 1000 % 1000"),
    "within_rounding_by_chance": ("the traced program is another", "return jnp.stack("),
    "chance_in_a_callback": (
        "the only output is another, though no argument, captured array or equation is "
        "(it makes 1 call into Python)",
        "return jax.pure_callback",
    ),
    "made_by_a_thread": ("the traced program is another", "return x * found[0]"),
    "fails_once": ("LookupError in trace", "def fails_once"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNREPEATABLE)
def test_what_changes_from_run_to_run_is_named_at_its_line(rows, name):
    what, line = UNREPEATABLE[name]
    assert_named(rows[name], what, line)


@pytest.mark.deep
def test_the_order_of_a_set_is_named_at_its_line(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "random")  # as users set it; else a set has one order
    options = CampaignOptions(sides=SIDES, steady_calls=0)
    [row] = run.run([f"{FILE}:walks_over_a_set"], options).programs
    assert_named(row, "the traced program is another", "x = 2 * x + ord(name)")


def assert_named(row, what, line):
    assert (row.verdict, row.flip.outcome) == ("not repeatable", "not repeatable")
    assert code_of(row.verdict) == Exit.COULD_NOT_COMPARE
    reason = row.flip.reasons[0]
    assert "does not repeat itself" in reason.what or row.name == "fails_once"
    assert what in reason.what
    at = line_with(FILE, line) - (line.startswith("def "))  # a decorated function begins there
    assert reason.where.endswith(f"unrepeatable.py:{at}")
    assert reason.action
    assert "culprit" not in str(row.flip)
    assert row.reasons[0].startswith(reason.what)


def test_a_difference_in_every_run_stays_one(rows):
    row = rows["differs_in_every_run"]
    assert (row.verdict, row.flip.outcome) == ("difference", "different")
    assert not any("repeat itself" in reason.what for reason in row.flip.reasons)


def test_a_difference_beside_noise_is_told_from_it(rows):
    row = rows["noise_beside_a_difference"]
    assert (row.verdict, row.flip.outcome) == ("difference", "different")
    assert "at ['value']" in row.flip.reasons[0].what
    assert "at ['value']" in row.reasons[0]
    [remark] = [each for each in row.flip.reasons if "does not repeat itself" in each.what]
    assert remark.outcome == "safe"


def test_what_other_programs_left_in_the_process_is_no_chance(rows):
    row = rows["reads_what_is_left"]
    assert (row.verdict, row.flip.outcome) == ("not repeatable", "not repeatable")
    reason = row.flip.reasons[0]
    assert "depends on what ran before it in its process" in reason.what
    assert "--fresh" in reason.action
    assert reason.where.endswith(f"unrepeatable.py:{line_with(FILE, 'return x + len(BEFORE)')}")


def test_a_program_that_repeats_itself_is_at_parity(rows):
    assert (rows["seeded"].verdict, rows["seeded"].flip.outcome) == ("parity", "safe")


def test_a_program_that_crashes_in_every_run_breaks_by_the_flip(rows):
    assert rows["leaves_state"].flip.outcome == "different"


@pytest.mark.parametrize(
    ("asked", "compiling", "again"),
    [("all", 1.0, [0, 1]), ("unconfirmed", 1.0, [1]), ("all", 11.0, [1])],
)
def test_a_difference_that_both_implementations_show_runs_again_unless_asked_or_that_is_long(
    asked, compiling, again, monkeypatch, tmp_path
):
    failure = Failure(kind="exception", stage="call", type="ValueError", message="no")

    def draft(*failing):
        observed = (
            Observation(program="p", side=side, failure=failure if side in failing else None)
            for side in ALL_SIDES
        )
        named = NamedProgram(name="p", source="model.py:1", summary="")
        return RowDraft(named, Findings(tuple(observed)))

    times = StageTimes(trace=0, lower=0, compile=compiling, first_call=0, call=None, call_samples=0)
    first = {"legacy": Recorded(Observation(program="p", side="legacy", times=times))}
    records = {0: first, 1: first}
    ran = []
    monkeypatch.setattr(
        repeats,
        "run_sides",
        lambda jobs, *how, progress: ran.extend(job.number for job in jobs) or {},
    )
    drafts = [draft("simplified", "jax-simplified"), draft("jax-simplified")]
    programs = [Listed(name=f"p{number}", target="model.py:p") for number in range(2)]
    options = CampaignOptions(run_again=asked)
    collected = Collected(Listing(programs=programs))
    context = Context(collected, options, tmp_path, records=records)
    found = repeats.find_unrepeatable(drafts, context)
    assert (ran, found) == (again, drafts)


@pytest.mark.parametrize(
    ("processes", "apart"),
    [
        ({"jax-legacy": "aaa", "jax-simplified": "aab"}, True),  # the process of one was lost
        ({"jax-legacy": "aaa", "jax-simplified": "aaa"}, False),
        ({"jax-legacy": "abb", "jax-simplified": "aab"}, True),
        ({"jax-legacy": "aab", "jax-simplified": "abc"}, False),
        ({"jax-legacy": "aaa", "jax-simplified": "aa-"}, False),  # it left nothing
    ],
)
def test_a_program_that_one_side_alone_began_its_process_with_runs_alone(
    processes, apart, tmp_path
):
    def record(side, number):
        folder = processes[side][number]
        files = None if folder == "-" else ProgramFiles(tmp_path / side / folder, number)
        return Recorded(Observation(program="p", side=side), files)

    records = {number: {side: record(side, number) for side in SIDES} for number in range(3)}
    context = Context(Collected(Listing()), CampaignOptions(), tmp_path, records=records)
    again = repeats._Again(context, {2: SIDES})
    assert again.began_apart(2) == apart
