"""`run` prints the answer first, then what differs, with what helps."""

import contextvars
import io
import itertools

import built_grids as built
import pytest
from built_campaigns import timed
from rich.console import Console

from parity_tests.cli import explain_view, run_view
from parity_tests.cli.exit_codes import TRACEBACKS
from reports.rows import (
    FLIP_OUTCOMES,
    VERDICTS,
    Comparison,
    ExecutableCounts,
    FlipReason,
    FlipVerdict,
)
from reports.views import texts


def printed(campaign, *names, width=140, details=1):
    rows = tuple(row for row in campaign.programs if row.name in names)
    console = Console(file=io.StringIO(), width=width)
    run_view.print_campaign(
        console, campaign.model_copy(update={"programs": rows}), details=details
    )
    return console.file.getvalue()


def cells(text, name):
    [line] = [line for line in text.splitlines() if line.startswith(f"│{name} ")]
    return [cell.strip() for cell in line.strip("│").split("│")]


def test_a_row_has_verdict_rung_and_figures(faults):
    text = printed(faults, "good", "other_value")
    name, flip, verdict, rung, size, const_args, unique = cells(text, "good")
    assert (name, flip, verdict, rung) == ("good", "safe", "parity", "bitwise")
    assert (const_args, unique) == ("- / 1", "1")
    legacy, simplified = (int(part.replace(",", "")) for part in size.split(" / "))
    assert legacy > simplified > 0
    assert cells(text, "other_value")[1:4] == ["different", "difference", "mismatch"]


def test_a_side_that_failed_has_no_figures(faults):
    assert cells(printed(faults, "raises"), "raises")[3:] == ["-", "- / -", "- / -", "-"]


def test_with_debug_a_failure_has_its_traceback_once_for_sides_that_fail_alike(faults, rows):
    assert "Traceback" not in printed(faults, "raises")
    debug = contextvars.copy_context()
    debug.run(TRACEBACKS.set, True)
    campaign = faults.model_copy(update={"programs": (rows["raises"],)})
    assert len([each for each in rows["raises"].observations if each.failure]) > 1
    for show in (run_view.print_campaign, explain_view.print_explanation):
        console = Console(file=io.StringIO(), width=140)
        debug.run(show, console, campaign)
        said = console.file.getvalue()
        assert said.count("    Traceback (most recent call last):\n") == 1
        assert 'faults.py", line ' in said.partition("Traceback")[2]


def test_the_first_lines_answer_and_say_what_to_do_first_and_the_worst_program_comes_first(faults):
    lines = printed(faults, "good", "raises", "other_value").splitlines()
    assert lines[0].startswith(
        "flip: no. It breaks or changes 1 of 3 programs (other_value); of the others, "
        "1 program could not be judged, 1 program changes in nothing that is judged."
    )
    assert lines[1].startswith("first: other_value: ")
    assert lines[2] == "pipelines: constparity's own were not compared with stock JAX"
    order = [line.split()[0][1:] for line in lines if line.startswith("│")]
    assert order == ["other_value", "raises", "good"]


def test_without_details_there_is_the_headline_alone(faults):
    assert len(printed(faults, "good", "other_value", details=0).splitlines()) == 3


def test_cells_that_decide_are_whole_or_broken_between_words(faults):
    for width, whole in ((80, "could not compare"), (60, "could not")):
        text = printed(faults, "good", "other_value", "factory_returns_nonsense", width=width)
        assert cells(text, "factory_returns_nonsense")[1:3] == [whole] * 2
        assert "StableHLO" not in text


def test_a_terminal_breaks_the_first_lines_between_words_and_a_pipe_does_not(faults):
    for is_terminal in (True, False):
        console = Console(
            file=io.StringIO(), width=60, force_terminal=is_terminal, color_system=None
        )
        run_view.print_headline(console, faults)
        lines = console.file.getvalue().splitlines()
        question = faults.headline.question.replace(". First: ", ". first: ")
        assert (len(lines) == 3) is not is_terminal
        assert " ".join(" ".join(lines).split()) == f"{question} {faults.headline.agreement}"
        assert not is_terminal or max(map(len, lines)) <= 60


def test_a_name_is_never_split_however_narrow_the_terminal(faults):
    for width in (40, 60, 80, 140):
        text = printed(faults, *(row.name for row in faults.programs), width=width)
        names = {line[1:].split("│")[0].strip() for line in text.splitlines() if line[:1] == "│"}
        assert names - {""} == {row.name for row in faults.programs}
        assert "…" not in "".join(line for line in text.splitlines() if line[:1] == "│")
    assert max(len(line) for line in text.splitlines() if line.startswith(("│", "┃", "└"))) <= 140


def test_a_legend_stands_where_pairs_are_named(faults, rows):
    legend = "pairs of sides: jL jax-legacy, jS jax-simplified"
    assert legend not in printed(faults, "good", "other_value")
    [*others, last] = rows["other_value"].comparisons
    first = next(each for each in others if each.metric == "outputs")
    more = first.model_copy(update={"left": "legacy", "right": "simplified", "leaves": ()})
    row = rows["other_value"].model_copy(update={"comparisons": (*others, last, more)})
    text = printed(faults.model_copy(update={"programs": (row,)}), "other_value")
    assert "jL-jS mismatch" in text
    assert legend in text


def test_quietly_each_program_that_fails_has_a_line(faults):
    console = Console(file=io.StringIO(), width=80)
    run_view.print_failing(console, faults, {"exits", "other_value"})
    value, exits = console.file.getvalue().splitlines()
    assert value.startswith("other_value (")
    assert "faults.py:23): flip: different; verdict: difference: outputs are different" in value
    assert exits.startswith("exits (")
    assert "exit status 7" in exits


def test_with_all_details_programs_without_findings_have_their_notes(faults):
    quiet, full = (printed(faults, "good", details=details) for details in (1, 2))
    assert "good (" not in quiet
    assert "good (" in full


def test_a_program_without_findings_that_changed_its_process_has_one_line(faults, rows):
    did = ("the program closes stdout", "the program sets jax_enable_x64 to True (it was False)")
    observed = [
        each.model_copy(update={"changed_process": did[:number]})
        for number, each in enumerate(rows["good"].observations, 1)
    ]
    row = rows["good"].model_copy(update={"observations": tuple(observed)})
    text = printed(faults.model_copy(update={"programs": (row,)}), "good")
    [line] = [each for each in text.splitlines() if each.startswith("good (")]
    assert line.endswith(
        "the program closes stdout; jax-simplified: the program sets jax_enable_x64 to True "
        "(it was False); other programs ran in other processes"
    )


def test_a_safe_program_that_fails_today_has_one_line(faults, rows):
    fails = reason("as it is written, call 2 fails in both forms: E: no", "failure", "safe")
    flip = rows["good"].flip.model_copy(update={"reasons": (fails,)})
    row = rows["good"].model_copy(update={"flip": flip})
    text = printed(faults.model_copy(update={"programs": (row,)}), "good")
    [line] = [each for each in text.splitlines() if each.startswith("good (")]
    assert line.endswith("): as it is written, call 2 fails in both forms: E: no")


def test_the_later_lines_of_a_reason_stand_below_the_first(faults, rows):
    row = rows["other_value"].model_copy(update={"reasons": ("printed: two\nlines",)})
    text = printed(faults.model_copy(update={"programs": (row,)}), "other_value")
    assert "    printed: two\n        lines\n" in text


def reason(what, kind="time", outcome="safe but slower or larger", **fields):
    fields = {"where": "model.py:7", "action": "compute it once"} | fields
    return FlipReason(outcome=outcome, kind=kind, what=what, **fields)


def gain(what, more):
    return reason(what, "gain", "safe", subject="compile", more=more, where="", action="")


def test_one_thing_to_do_stands_once_and_gains_below_it(faults, rows):
    slow, large = reason("each call takes 407x as long"), reason("temporaries grow", "size")
    other = reason("outputs drift", "outputs", "numerics drift, explained", action="accept it")
    reasons = (slow, other, large, gain("compile 60.0 s to 670 ms", -59.3))
    flip = rows["good"].flip.model_copy(update={"outcome": slow.outcome, "reasons": reasons})
    small = rows["good"].flip.model_copy(update={"reasons": (gain("compile 2 s to 1 s", -1.0),)})
    programs = (
        rows["good"].model_copy(update={"flip": flip}),
        rows["good"].model_copy(update={"name": "small", "flip": small}),
    )
    console = Console(file=io.StringIO(), width=140)
    run_view.print_campaign(console, faults.model_copy(update={"programs": programs}))
    lines = console.file.getvalue().splitlines()
    [at] = [number for number, line in enumerate(lines) if line.startswith("good (")]
    assert lines[at + 1 : at + 7] == [
        "    model.py:7: each call takes 407x as long",
        "    model.py:7: temporaries grow",
        "      -> compute it once",
        "    model.py:7: outputs drift",
        "      -> accept it",
        "    gains: compile 60.0 s to 670 ms",
    ]
    assert lines[3].startswith("proof: 2 of 2 programs proved one computation; 2 may still break")
    assert lines[4] == "the flip gains: compile 60.0 s to 670 ms in good and 1 more program"


def test_outputs_that_do_not_correspond_name_what_differs(faults):
    names = ("dtype", "shape", "structure", "weak_type", "equations")
    text = printed(faults, *(f"other_{name}" for name in names))
    words = [cells(text, f"other_{name}")[3] for name in names]
    assert words == ["dtype", "shape", "structure", "weak type", "bitwise"]


def row_with(row, pairs, detail):
    """A program whose outputs differ alike in several pairs of sides."""
    comparisons = tuple(
        Comparison(
            metric="outputs", left=left, right=right, outcome="different", left_value="",
            right_value="", detail=detail,
        )
        for left, right in pairs
    )  # fmt: skip
    reasons = tuple(f"{left} and {right}: outputs differ: {detail}" for left, right in pairs)
    what = f"outputs are not bitwise equal: {detail}"
    flip = FlipVerdict(
        left="jax-legacy", right="jax-simplified", outcome="different",
        reasons=(FlipReason(outcome="different", kind="outputs", what=what, action="look"),),
    )  # fmt: skip
    return row.model_copy(
        update={"comparisons": comparisons, "reasons": reasons, "flip": flip, "drift": ()}
    )


def test_a_finding_of_several_pairs_is_printed_once(faults, rows):
    pairs = [("legacy", "simplified"), ("jax-legacy", "jax-simplified")]
    row = row_with(rows["other_value"], pairs, "mismatch at [3]")
    text = printed(faults.model_copy(update={"programs": (row,)}), "other_value")
    assert text.partition("\npipelines: ")[2].count("mismatch at [3]") == 1


def test_a_name_is_neither_markup_nor_emoji_nor_obeyed(faults, rows):
    name = "model:100:[red]\x1b[2J\nnext"
    row = rows["other_value"].model_copy(update={"name": name, "source": "a:100:"})
    text = printed(faults.model_copy(update={"programs": (row,)}), name)
    assert "\x1b" not in text
    shown = "model:100:[red]\\x1b[2J\\nnext"
    [row] = [line for line in text.splitlines() if line.startswith("│model")]
    assert "[red]\\x1b[2J\\nnext │ different" in row
    assert f"\n{shown} (a:100:): flip: different" in text


def test_every_verdict_is_printed_in_colour_and_reads_the_same_without(faults):
    for verdict, outcome in itertools.product(VERDICTS, FLIP_OUTCOMES):
        flip = FlipVerdict(left="jax-legacy", right="jax-simplified", outcome=outcome, reasons=())
        row = faults.programs[0].model_copy(update={"verdict": verdict, "flip": flip})
        campaign, printed = faults.model_copy(update={"programs": (row,)}), []
        for colours in ("standard", None):
            file = io.StringIO()
            console = Console(file=file, width=140, force_terminal=True, color_system=colours)
            run_view.print_campaign(console, campaign, details=2)
            printed.append(file.getvalue())
        assert "\x1b[" in printed[0]
        assert texts.visible(printed[0]) == printed[1]
        assert outcome in printed[1]
        assert verdict in printed[1]


@pytest.mark.parametrize(
    ("digests", "metric", "is_said"),
    [
        ("dd", "call", True),
        ("de", "call", False),
        ("dd", "compile", False),
        ("d", "call", False),
        (["", ""], "call", False),
    ],
)
def test_of_one_module_that_takes_another_time_it_is_said(digests, metric, is_said):
    row = built.program("loop")
    observations = tuple(
        seen.model_copy(update={"executable": executable(digest)})
        for seen, digest in itertools.zip_longest(row.observations, digests)
    )
    slower = timed("slower", metric=metric, ratio=3.0, low=2.9, high=3.1)
    row = row.model_copy(update={"observations": observations, "times": (slower,)})
    text = printed(built.version("0.10.2", row).campaign, "loop")
    said = f"in {metric} of loop: 3.00 times (2.90 to 3.10)"
    assert said in text
    assert (f"{said}; the optimised module is the same, the time is not" in text) == is_said


def executable(digest):
    if digest is None:
        return None
    return ExecutableCounts(
        instructions=3, fusions=1, constants=0, constant_bytes=0, serialized_bytes=9, digest=digest
    )
