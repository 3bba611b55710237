"""What a proof says before a program runs, and what a run of it may not show."""

import pytest

from parity_tests.advice import advice
from parity_tests.judge.findings import Findings
from parity_tests.judge.proofs import (
    NOT_ONE_JIT,
    NOT_RUN,
    breaking,
    claim,
    claims_of,
    contradiction,
    need_run,
    reasons,
)
from parity_tests.judge.sides import FLIPS
from parity_tests.judge.verdict import RowDraft, conclude
from reports.rows import (
    Comparison,
    DriftAttribution,
    Failure,
    FlipReason,
    Hazard,
    NamedProgram,
    Numbers,
    Observation,
    ProgramNumber,
)
from reports.rows.claims import Claim, PartedPlace
from reports.rows.fail_rules import parse
from reports.rows.proofs import CONTRADICTION
from tests.helpers.quick_tasks import row

BEFORE, AFTER = FLIPS[0]


def hazard(kind, *, commits_outputs=False):
    return Hazard(
        kind=kind, file="model.py", line=7, array="jax.Array float32[8]", what="something",
        fix="a copy", commits_outputs=commits_outputs,
    )  # fmt: skip


WRITEABLE, DONATED = hazard("writeable NumPy array"), hazard("captured and donated")
COMMITS = hazard("placement of outputs", commits_outputs=True)
MAY_SHARD = hazard("placement of outputs")
FOLDED = hazard("folded by legacy alone")
PLACE = PartedPlace(file="m.py", line=3, before="add", after="mul")


def test_a_read_of_constants_that_decides_nothing_breaks_no_proved_program():
    read = hazard("reads jaxpr constants")
    decides_nothing = read.model_copy(update={"fix": advice("nothing")})
    assert breaking([decides_nothing, read, FOLDED]) == (read,)


def numbered(side, writers=0):
    number = ProgramNumber(digest="d", writers=writers)
    return Observation(program="p", side=side, numbers=Numbers(jaxpr=number))


@pytest.mark.parametrize(
    ("hazards", "writers", "due"),
    [
        ((), 0, ()),
        ((FOLDED, hazard("hoisted more than once")), 0, ()),
        ((WRITEABLE, COMMITS), 0, ()),
        ((WRITEABLE,), 1, (WRITEABLE,)),
        ((COMMITS, MAY_SHARD), 0, (MAY_SHARD,)),
        ((WRITEABLE, DONATED), 0, (DONATED,)),
    ],
)
def test_a_proved_program_runs_where_a_run_tells_more_than_its_contract(hazards, writers, due):
    assert need_run(numbered(BEFORE, writers), hazards) == due


def test_of_a_jaxpr_without_a_digest_it_is_not_known_who_writes():
    unknown = Observation(
        program="p", side=BEFORE, numbers=Numbers(jaxpr=ProgramNumber(undecided="an object"))
    )
    assert need_run(unknown, (WRITEABLE,)) == (WRITEABLE,)


@pytest.mark.parametrize(
    ("jaxprs", "functions", "answer"),
    [
        (("d", "d"), ("", ""), "proved"),
        (("d", "e"), ("", ""), "undecided"),
        (("d", "e"), ("f", "f"), "proved"),
        (("d", "e"), ("f", "g"), "undecided"),
        (("d", "e"), ("f", ""), "undecided"),
        (("", ""), ("f", "f"), "proved"),
    ],
)
def test_a_module_that_calls_python_is_proved_where_its_functions_are_the_same(
    jaxprs, functions, answer
):
    before, after = (
        Observation(
            program="p",
            side=side,
            numbers=Numbers(
                jaxpr=ProgramNumber(digest=jaxpr, undecided="" if jaxpr else "an object"),
                modules={"": ProgramNumber(digest="m", callbacks=1, functions=function)},
            ),
        )
        for side, jaxpr, function in zip((BEFORE, AFTER), jaxprs, functions, strict=True)
    )
    assert claims_of(before, after)[1].answer == answer


def calling(side, jaxpr, **functions):
    """An observation of a program whose modules, by platform, call functions of these numbers."""
    modules = {
        platform: ProgramNumber(digest="m", callbacks=1, functions=each)
        for platform, each in functions.items()
    }
    numbers = Numbers(jaxpr=ProgramNumber(digest=jaxpr), modules=modules)
    return Observation(program="p", side=side, numbers=numbers)


def test_each_platform_has_functions_of_its_own():
    before = calling(BEFORE, "d", cpu="f", cuda="g")
    after = calling(AFTER, "e", cpu="f", cuda="f")
    assert [each.answer for each in claims_of(before, after)[1:]] == ["proved", "undecided"]


def test_jaxprs_of_stock_jax_alone_tell_the_functions_of_modules():
    before, after = calling("legacy", "d", cpu=""), calling("simplified", "d", cpu="")
    assert claims_of(before, after)[1].answer == "undecided"


@pytest.mark.parametrize(
    ("one", "two", "answer", "reason"),
    [
        ({"tree": "f"}, {"tree": "f"}, "proved", ""),
        ({"tree": "f"}, {"tree": "g"}, "undecided", "what the tree of its results holds is "),
        ({"tree": "f"}, {"tree_undecided": "an object"}, "undecided", "an object"),
        ({"types": "-> f"}, {"types": "-> g"}, "refuted", "its type was -> f and is -> g"),
    ],
)
def test_trees_that_are_printed_alike_are_proved_by_their_digests_and_never_refuted(
    one, two, answer, reason
):
    number = ProgramNumber(digest="d")
    found = claim("jaxpr", "", *(Numbers(jaxpr=number, **each) for each in (one, two)))
    assert found.answer == answer
    assert found.reason.startswith(reason)


def test_of_long_types_only_the_place_where_they_part_is_told():
    one, two = ("x" * 1000 + each + "y" * 1000 for each in ("one", "two"))
    number = ProgramNumber(digest="d")
    reason = claim("jaxpr", "", *(Numbers(jaxpr=number, types=each) for each in (one, two))).reason
    assert reason.startswith(f"its type was ...{'x' * 30}oneyy")
    assert f" and is ...{'x' * 30}twoyy" in reason
    assert len(reason) < 300


def told(*hazards):
    """Return the row of a program that is proved and was not run."""
    found = Findings(
        (numbered(BEFORE), numbered(AFTER)), hazards=hazards, not_run=NOT_RUN, proved_only=True
    )
    named = NamedProgram(name="p", source="", summary="")
    draft = RowDraft(named, found, observations=found.observed)
    return draft.row(conclude(found, [(BEFORE, AFTER)]))


def test_what_was_not_run_has_no_verdict_but_that_of_its_contract():
    clean, placed = told(FOLDED), told(COMMITS)
    assert [each.verdict for each in (clean, placed)] == ["could not compare"] * 2
    assert (clean.flip.outcome, placed.flip.outcome) == ("could not compare", "placed otherwise")
    assert clean.flip.reasons[0] == FlipReason(
        outcome="could not compare", kind="proof", what=NOT_RUN
    )
    first = placed.flip.reasons[0]
    assert (first.what, first.kind, first.action) == (
        "output committed: something (read off its trace)", "placement", "a copy",
    )  # fmt: skip
    rules = parse("different,placement,not-compared")
    assert [[each.text for each in rules if each.is_broken_by(one)] for one in (clean, placed)] == [
        [], ["placement"],
    ]  # fmt: skip


def not_here(digest, effects=0, *, is_one_jit=True):
    """Return the flip verdict of a program that cannot run here; `digest` is of its new form."""
    failure = Failure(kind="not here", stage="number", type="NotHereError", message="no devices")
    numbers = [
        Numbers(
            jaxpr=(each := ProgramNumber(digest=text, effects=count)),
            modules={"": each},
            is_one_jit=is_one_jit,
        )
        for text, count in (("d", 0), (digest, effects))
    ]
    observed = tuple(
        Observation(program="p", side=side, numbers=each, failure=failure)
        for side, each in zip((BEFORE, AFTER), numbers, strict=True)
    )
    compared = Comparison(
        left=BEFORE, right=AFTER, metric="failure", outcome="not compared",
        left_value="", right_value="", detail="",
    )  # fmt: skip
    return conclude(Findings(observed, (compared,)), [(BEFORE, AFTER)]).flip


@pytest.mark.parametrize(
    ("found", "outcome", "said"),
    [
        (not_here("d"), "could not compare", "both forms are proved one computation"),
        (
            not_here("e"), "could not compare",
            "not proved: its two forms part; `constparity prove` says where",
        ),
        (
            not_here("e", effects=1), "different",
            "its two forms are two computations: it had 0 effects and has 1",
        ),
    ],
)  # fmt: skip
def test_of_what_cannot_run_here_the_proof_is_all_that_is_known(found, outcome, said):
    assert found.outcome == outcome
    assert {(each.kind, each.what) for each in found.reasons} == {
        ("failure", "it cannot run here: no devices"), ("proof", said),
    }  # fmt: skip


def test_of_what_cannot_run_here_nobody_calls_the_jits_one_by_one():
    told = not_here("d", is_one_jit=False).reasons
    assert [each.what for each in told if each.kind == "proof"] == [
        NOT_ONE_JIT, "both forms are proved one computation",
    ]  # fmt: skip
    assert NOT_ONE_JIT not in [each.what for each in not_here("d").reasons]


@pytest.mark.parametrize(
    ("outcome", "comes_to"),
    [("equal", "agrees here, not proved"), ("different", "safe"), ("not compared", "safe")],
)
def test_only_a_program_whose_outputs_are_equal_agrees_here(outcome, comes_to):
    numbers = (Numbers(jaxpr=ProgramNumber(digest=text)) for text in "de")
    outputs = Comparison(
        left=BEFORE, right=AFTER, metric="outputs", outcome=outcome, left_value="", right_value=""
    )
    [reason] = reasons([claim("jaxpr", "", *numbers)], [outputs])
    assert reason.outcome == comes_to
    assert reason.what.startswith("not proved: its two forms part")


@pytest.mark.parametrize(
    ("jaxpr", "place", "said", "arrays"),
    [
        ("parted", PLACE, ": m.py:3: add before the flip, mul after it", "the captured arrays of "),
        ("parted", None, "; `constparity prove` says where", "its captured arrays"),
        ("proved", None, f": {CONTRADICTION}", "its captured arrays"),
    ],
)
def test_what_agrees_here_is_told_by_its_line_or_why_there_is_none(jaxpr, place, said, arrays):
    claims = (
        Claim(of="jaxpr", answer=jaxpr),
        Claim(of="module", answer="parted", reason="the numbers differ", place=place),
    )
    outputs = Comparison(
        left=BEFORE, right=AFTER, metric="outputs", outcome="equal", left_value="", right_value=""
    )
    [reason] = reasons(claims, [outputs])
    assert reason.what == f"not proved: its two forms part{said}"
    assert reason.action.startswith(f"pass {arrays}")


def test_what_reads_the_flag_and_agrees_here_is_helped_as_the_read_is():
    numbers = (Numbers(jaxpr=ProgramNumber(digest=text)) for text in "de")
    outputs = Comparison(
        left=BEFORE, right=AFTER, metric="outputs", outcome="equal", left_value="", right_value=""
    )
    read = Hazard(kind="reads the flag", array="", file="m.py", line=3, what="read", fix="do not")
    [reason] = reasons([claim("jaxpr", "", *numbers)], [outputs], read=(read,))
    assert (reason.outcome, reason.action) == ("agrees here, not proved", "do not")
    assert reason.where.startswith("m.py:3")


@pytest.mark.parametrize(("is_told", "comes_to"), [(False, "different"), (True, "safe")])
def test_a_refuted_program_differs_though_it_agrees_here(is_told, comes_to):
    numbers = (Numbers(jaxpr=ProgramNumber(digest=text, effects=len(text))) for text in ("d", "ee"))
    [reason] = reasons([claim("jaxpr", "", *numbers)], [], is_told=is_told)
    assert reason.what.startswith("its two forms are two computations")
    assert (reason.outcome, bool(reason.action)) == (comes_to, not is_told)


def ran(outcome="different", kind="outputs", stage=None, cause=None, **changes):
    found = row("p", outcome)
    reason = FlipReason(outcome=outcome, kind=kind, what="what was seen")
    flip = found.flip.model_copy(update={"reasons": (reason,)})
    failure = stage and Failure(kind="exception", stage=stage, type="E", message="")
    drift = cause and DriftAttribution(left=BEFORE, right=AFTER, cause=cause, evidence="here")
    update = {
        "flip": flip,
        "observations": (numbered(BEFORE), numbered(AFTER).model_copy(update={"failure": failure})),
        "drift": (drift,) if drift else (),
    }
    return found.model_copy(update={**update, **changes})


EXCLUDED = "what was seen"


@pytest.mark.parametrize(
    ("found", "of_clean", "of_placed"),
    [
        (ran("safe"), "", "its outputs are placed alike, and its contract says otherwise"),
        (ran("placed otherwise", "placement"), EXCLUDED, ""),
        (ran("different", "outputs"), "", ""),  # bits are XLA's
        (ran("numerics drift, explained", cause="constant folding"), "", None),
        (
            ran("different", cause="another program"),
            "outputs differ by another program: here",
            "outputs differ by another program: here",
        ),
        (ran("different", "structure or count"), EXCLUDED, EXCLUDED),
        (ran("different", "failure", stage="call"), EXCLUDED, EXCLUDED),
        (ran("different", "failure", stage="compile"), "", ""),  # XLA's, too
        (ran("different", "structure or count", verdict="not repeatable"), "", ""),
        (ran("could not compare", "failure"), "", ""),
    ],
)
def test_a_run_contradicts_what_its_proof_or_its_contract_excludes(found, of_clean, of_placed):
    assert contradiction(told(), found) == of_clean
    if of_placed is not None:
        assert contradiction(told(COMMITS), found) == of_placed
