"""The first line: the worst answer, and of the others how many programs stand where."""

import pytest

from reports.rows import Comparison, Failure, Hazard, Observation
from reports.rows.claims import Claim
from reports.rows.headline import headline
from reports.rows.observation import Numbers, ProgramNumber
from reports.views.causes import standings
from tests.helpers.built_grids import program


def placed(name):
    return program(name, "placed otherwise", kind="placement", what="output committed")


@pytest.mark.parametrize(
    ("programs", "answer", "line"),
    [
        (
            [placed("a"), placed("b"), program("c")],
            "placed otherwise",
            "flip: placed otherwise. It places or commits outputs of 2 of 3 programs elsewhere "
            "(a, b); of the others, 1 program changes in nothing that is judged. First: a: "
            "output committed",
        ),
        (
            [placed("a"), program("b", "different")],
            "no",
            "flip: no. It breaks or changes 1 of 2 programs (b); of the others, 1 program is "
            "placed otherwise. First: b: outputs are apart",
        ),
        (
            [placed("a"), placed("b"), program("c", "could not compare")],
            "not known",
            "flip: not known. Nothing can be said of 1 of 3 programs (c); of the others, 2 "
            "programs are placed otherwise. First: c: outputs are apart",
        ),
        (
            [placed("a"), program("b", "numerics drift, explained")],
            "placed otherwise",
            "flip: placed otherwise. It places or commits outputs of 1 of 2 programs elsewhere "
            "(a); of the others, 1 program pays a price. First: a: output committed",
        ),
    ],
)
def test_what_is_placed_otherwise_is_told_apart_from_what_breaks(programs, answer, line):
    found = headline(programs)
    assert (found.flip, found.question) == (answer, line)


def proved(name):
    return program(name, "could not compare").model_copy(update={"proved_only": True})


@pytest.mark.parametrize(
    ("programs", "line"),
    [
        (
            [proved("a"), proved("b")],
            "flip: not known. 2 of 2 programs are proved and were not run, so bits and costs are "
            "not known",
        ),
        (
            [proved("a"), program("b"), program("c", "could not compare")],
            "flip: not known. Nothing can be said of 1 of 3 programs (c); 1 is proved and was not "
            "run, so bits and costs are not known; of the others, 1 program changes in nothing "
            "that is judged. First: c: outputs are apart",
        ),
        (
            [proved("a"), program("b"), program("c", "could not compare"), placed("d")],
            "flip: not known. Nothing can be said of 1 of 4 programs (c); 1 is proved and was not "
            "run, so bits and costs are not known; of the others, 1 program is placed otherwise, "
            "1 program changes in nothing that is judged. First: c: outputs are apart",
        ),
        (
            [proved("a"), program("b", "different"), program("c", "could not compare")],
            "flip: no. It breaks or changes 1 of 3 programs (b); of the others, 1 program could "
            "not be judged, 1 is proved and was not run. First: b: outputs are apart",
        ),
    ],
)
def test_what_is_proved_and_was_not_run_stands_apart(programs, line):
    assert headline(programs).question == line


def not_here(name, answer="proved", hazards=()):
    """A program that both sides have traced and lowered, with what its numbers come to."""
    row = program(name, "could not compare")
    failure = Failure(stage="lower", type="NotHere", message="no values", kind="not here")
    observations = tuple(
        Observation(program=name, side=side, failure=failure)
        for side in ("jax-legacy", "jax-simplified")
    )
    claims = (Claim(of="jaxpr", answer=answer),)
    return row.model_copy(
        update={
            "observations": observations,
            "hazards": hazards,
            "flip": row.flip.model_copy(update={"claims": claims}),
        }
    )


def hazard(kind):
    return Hazard(kind=kind, file="model.py", line=3, array="jax.Array f32[8]", what="", fix="")


BREAKS, COSTS = hazard("captured and donated"), hazard("hoisted more than once")
FIRST = "First: a: outputs are apart"


@pytest.mark.parametrize(
    ("programs", "line"),
    [
        (
            [not_here("a"), not_here("b")],
            "flip: not known. 2 of 2 programs cannot run here and are proved, so bits and costs "
            f"are not known. {FIRST}",
        ),
        (
            [not_here("a"), proved("b"), proved("c")],
            "flip: not known. 2 of 3 programs are proved and were not run, 1 cannot run here and "
            f"is proved, so bits and costs are not known. {FIRST}",
        ),
        (
            [not_here("a"), program("b", "different")],
            "flip: no. It breaks or changes 1 of 2 programs (b); of the others, 1 cannot run here "
            "and is proved. First: b: outputs are apart",
        ),
        (
            [
                not_here("a", "parted"),
                not_here("b", hazards=(BREAKS,)),
                not_here("c", hazards=(COSTS,)),
            ],
            "flip: not known. Nothing can be said of 2 of 3 programs (a, b); 1 cannot run here and "
            f"is proved, so bits and costs are not known. {FIRST}",
        ),
    ],
)
def test_what_cannot_run_here_and_is_proved_stands_apart(programs, line):
    assert headline(programs).question == line


def test_they_stand_apart_in_the_groups_of_a_report(campaigns):
    rows = (proved("a"), proved("b"), program("c"), program("d", "could not compare"))
    found = standings(campaigns.campaign(*rows))
    assert [(each.state, each.count, len(each.causes)) for each in found] == [
        ("not known", 1, 1), ("proved", 2, 0), ("yes", 1, 0),
    ]  # fmt: skip


def outputs(left, right, outcome):
    return Comparison(
        metric="outputs", left=left, right=right, left_value="", right_value="", outcome=outcome
    )


@pytest.mark.parametrize(
    ("outcome", "line"),
    [
        (
            "safe",
            "flip: not known. Nothing can be said of 2 of 3 programs (b, c); of the others, 1 "
            "program changes in nothing that is judged",
        ),
        (
            "different",
            "flip: no. It breaks or changes 1 of 3 programs (a); of the others, 2 programs could "
            "not be judged. First: a: outputs are apart",
        ),
    ],
)
def test_what_an_interrupted_run_did_not_come_to_is_not_known(outcome, line):
    assert headline([program("a", outcome)], ("b", "c")).question == line


def test_both_lines_count_the_same_programs():
    """Those that failed to be built, or do not repeat themselves, have nothing that agrees."""
    pairs = [("legacy", "jax-legacy"), ("simplified", "jax-simplified")]
    agrees, differs = (
        program(name).model_copy(
            update={"comparisons": tuple(outputs(*pair, outcome) for pair in pairs)}
        )
        for name, outcome in (("a", "equal"), ("b", "different"))
    )
    draws = agrees.model_copy(update={"name": "c", "verdict": "not repeatable"})
    not_built = program("d", "could not compare")
    found = headline([agrees, draws, not_built])
    assert "of 3 programs" in found.question
    assert found.agreement == (
        "pipelines: constparity's own agree with stock JAX on 1 of 3 programs; 2 could not be "
        "compared"
    )
    assert headline([agrees, differs, draws, not_built]).agreement == (
        "pipelines: constparity's own differ from stock JAX on 1 of 4 programs (b); 2 could not be "
        "compared"
    )


def test_programs_that_agree_here_and_capture_an_array_that_is_written_to_may_break():
    written = Hazard(
        kind="writeable NumPy array", file="a.py", line=1, array="float32[8]", what="w", fix="f"
    )
    proved = Claim(of="jaxpr", answer="proved")

    def row(name, outcome="safe", hazards=()):
        made = program(name, outcome)
        flip = made.flip.model_copy(update={"claims": (proved,)})
        return made.model_copy(update={"flip": flip, "hazards": hazards})

    assert headline([row("a")]).proof == "proof: 1 of 1 programs proved one computation"
    found = headline([row("a"), row("b", hazards=(written,)), row("c", "different", (written,))])
    assert found.proof == (
        "proof: 3 of 3 programs proved one computation; 1 may still break, if a captured NumPy "
        "array is written to"
    )


def test_what_python_does_around_the_jits_of_a_program_may_break_it_as_prove_says():
    written = Hazard(
        kind="writeable NumPy array", file="a.py", line=1, array="float32[8]", what="w", fix="f"
    )

    def row(name, answer="proved", hazards=()):
        made = program(name, "safe")
        flip = made.flip.model_copy(update={"claims": (Claim(of="jaxpr", answer=answer),)})
        numbers = Numbers(jaxpr=ProgramNumber(digest="1"), is_one_jit=False)
        before = Observation(program=name, side=flip.left, numbers=numbers)
        update = {"flip": flip, "hazards": hazards, "observations": (before,)}
        return made.model_copy(update=update)

    found = headline([row("a"), row("b", "parted")])
    assert found.proof.endswith("; 1 may still break, by what Python does around jitted functions")
    both = headline([row("a"), row("b", hazards=(written,)), row("c", "parted", (written,))])
    assert both.proof.endswith(
        "; 3 may still break: 2 if a captured NumPy array is written to, 1 by what Python does "
        "around jitted functions"
    )


def test_what_agrees_here_and_parts_is_not_known_and_named():
    unproved, drifts = "agrees here, not proved", "numerics drift, explained"
    assert headline([program("a"), program("b", unproved)]).question == (
        "flip: not known. 1 of 2 programs agrees here, not proved (b); of the others, 1 program "
        "changes in nothing that is judged. First: b: outputs are apart"
    )
    rows = [program("b", unproved), program("c", unproved), program("d", drifts)]
    assert headline([*rows, program("e", "could not compare")]).question.startswith(
        "flip: not known. Nothing can be said of 1 of 4 programs (e); 2 agree here, not proved "
        "(b, c); of the others, 1 program pays a price"
    )
    assert headline([*rows, program("e", "different")]).question.startswith(
        "flip: no. It breaks or changes 1 of 4 programs (e); of the others, 2 agree here, not "
        "proved (b, c), 1 program pays a price"
    )
