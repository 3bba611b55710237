"""The fuzzer on campaigns that are made up: what is kept, how small it gets, what it exits with."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from parity_tests.cli import app
from parity_tests.evidence.found import NumberedForms, NumberedStep, NumberedSteps
from parity_tests.fuzz import campaign as fuzz
from parity_tests.fuzz import rendering
from parity_tests.observe.environment import describe
from parity_tests.reduce.search import CANDIDATES
from parity_tests.run import proving
from parity_tests.run import run as campaign
from parity_tests.targets import load_one
from reports.rows import (
    Campaign,
    Failure,
    FlipReason,
    FlipVerdict,
    Observation,
    ProgramRow,
)
from reports.rows.claims import Claim, PartedPlace

BOTH = ("simplified", "jax-simplified")


def row(name, verdict, observations=()):
    return ProgramRow(
        name=name,
        source="p.py:1",
        summary="",
        verdict=verdict,
        reasons=("for a reason",),
        observations=observations,
        comparisons=(),
    )


def refusal(*, kind="exception", **raised):
    """A row of sides, with the type that each raises, or None."""
    observations = tuple(
        Observation(
            program="p",
            side=side.replace("_", "-"),
            failure=type_ and Failure(kind=kind, stage="trace", type=type_, message="no"),
        )
        for side, type_ in raised.items()
    )
    return row("p", "could not compare", observations)


@pytest.fixture
def where_a_program_has(monkeypatch):
    """Stand in for campaigns: a program differs where its text has a word, and is fine else."""
    programs_at_once = []

    def plant(word, claims=(), fine="parity"):
        flip = FlipVerdict(
            left="jax-legacy", right="jax-simplified", outcome="safe", reasons=(), claims=claims
        )

        def run(targets, options, **kwargs):
            programs_at_once.append(len(targets))
            found = []
            for target in targets:
                file, name = target.rsplit(":", 1)
                text = Path(file).read_text()
                text = text[text.index(f"def {name}(") :].partition("\n\n\ndef ")[0]
                each = row(name, "difference" if word in text else fine)
                found.append(each.model_copy(update={"flip": flip} if claims else {}))
            return Campaign(
                created="now", environment=describe(), sides=BOTH, programs=tuple(found)
            )

        monkeypatch.setattr(campaign, "run", run)
        return programs_at_once

    return plant


def test_a_program_that_fails_is_made_small_and_kept(where_a_program_has, tmp_path):
    programs_at_once = where_a_program_has("lax.scan(")
    fuzzed = fuzz.run(30, 1, sides=BOTH, timeout=1, folder=tmp_path)
    failed = [row for row in fuzzed.campaign.programs if row.verdict == "difference"]
    told = []
    kept = list(
        fuzz.keep(fuzzed, tmp_path / "kept", timeout=1, progress=lambda *step: told.append(step))
    )
    assert {(done, total) for done, total, _ in told} == {(n, len(kept)) for n in range(len(kept))}
    assert re.fullmatch(f"making {failed[0].name} smaller: \\d+ pieces left", told[0][2])
    assert 0 < len(failed) == len(kept) < 30
    assert max(programs_at_once[1:]) <= CANDIDATES
    for each in kept:
        text = each.file.read_text()
        assert "difference" in text
        assert f"constparity run {each.file}:{each.name}" in text
        assert text.count("lax.scan(") == 1
        assert text.count("def f") <= 3
        assert load_one(f"{each.file}:{each.name}").build()


def test_what_stock_jax_refuses_alike_is_refused():
    alike = refusal(simplified="ValueError", jax_simplified="ValueError")
    unlike = refusal(simplified="NotImplementedError", jax_simplified="ValueError")
    assert fuzz.is_refused(alike)
    assert not fuzz.is_refused(unlike)
    assert fuzz.signature(alike) != fuzz.signature(unlike)
    assert fuzz.is_refused(refusal(legacy=None, jax_legacy=None, jax_simplified="ValueError"))
    assert not fuzz.is_refused(refusal(simplified=None, jax_simplified="ValueError"))


@pytest.mark.parametrize(
    "raised",
    [
        {"legacy": None, "simplified": "ValueError"},
        {"legacy": "ValueError", "simplified": None, "jax_simplified": None},
        {"legacy": "ValueError", "simplified": "ValueError", "jax_simplified": "ValueError"},
    ],
)
def test_a_side_whose_stock_partner_did_not_run_has_failed_and_is_not_refused(raised):
    assert not fuzz.is_refused(refusal(**raised))


@pytest.mark.parametrize("kind", ["timeout", "crash", "wrong side"])
def test_only_what_is_raised_is_refused(kind):
    both = {"simplified": kind, "jax_simplified": kind}
    assert not fuzz.is_refused(refusal(kind=kind, **both))


def test_the_command_keeps_and_exits_as_run_does(where_a_program_has, tmp_path, capsys):
    where_a_program_has("lax.scan(")
    keep = ["--keep", str(tmp_path / "kept")]
    assert app.main(["fuzz", "--programs", "12", "--seed", "1", *keep]) == 1
    out = capsys.readouterr().out
    assert "12 programs:" in out
    assert f"kept: {tmp_path / 'kept'}" in out
    where_a_program_has("no such text")
    assert app.main(["fuzz", "--programs", "3", *keep]) == 0


def test_a_program_that_agrees_and_is_not_proved_is_not_made_small_as_one_that_fails(
    where_a_program_has, monkeypatch, tmp_path, capsys
):
    claims = tuple(Claim(of=each, answer="parted") for each in ("jaxpr", "module"))
    where_a_program_has("no such text", claims=claims, fine="agrees here, not proved")
    monkeypatch.setattr(proving, "where_they_part", lambda *about: ())
    keep = ["--keep", str(tmp_path / "kept")]
    assert app.main(["fuzz", "--programs", "1", "--seed", "1", *keep]) == 2
    assert "kept: " not in capsys.readouterr().out


def test_a_program_that_the_flip_alone_breaks_is_kept_and_its_lines_stay(
    monkeypatch, tmp_path, capsys
):
    """Its verdict is parity; what is found of it names a line of the file of all programs."""

    def run(targets, options, **kwargs):
        found = []
        for target in targets:
            file, _, name = target.rpartition(":")
            text = Path(file).read_text().partition(f"def {name}(")[2].partition("\n\n\ndef ")[0]
            elsewhere = FlipReason(
                outcome="placed otherwise", kind="placement", what="output committed: no and yes"
            )
            flip = FlipVerdict(
                left="jax-legacy", right="jax-simplified",
                outcome="placed otherwise" if "lax.scan(" in text else "safe",
                reasons=(elsewhere,) if "lax.scan(" in text else (),
            )  # fmt: skip
            found.append(row(name, "parity").model_copy(update={"flip": flip, "source": target}))
        return Campaign(created="now", environment=describe(), sides=BOTH, programs=tuple(found))

    monkeypatch.setattr(campaign, "run", run)
    keep = tmp_path / "kept"
    code = app.main(["fuzz", "--programs", "6", "--seed", "1", "--keep", str(keep)])
    out = capsys.readouterr().out
    kept = [Path(each.partition("kept: ")[2]) for each in out.splitlines() if "kept: " in each]
    assert (code, len(kept) > 0) == (1, True)
    for each in kept:
        assert each.read_text().count("lax.scan(") == 1
        assert "made smaller: placed otherwise" in each.read_text()
        assert f"{keep / 'seed_1.py'}:{each.stem}" in out
    assert (keep / "seed_1.py").read_text().count("\ndef seed_1_program_") == 6


def test_a_folder_that_cannot_hold_programs_is_refused_before_any_runs(
    where_a_program_has, tmp_path, capsys
):
    ran = where_a_program_has("no such text")
    (tmp_path / "file").touch()
    assert app.main(["fuzz", "--programs", "1", "--keep", str(tmp_path / "file")]) == 4
    assert "is a file, not a folder" in capsys.readouterr().err
    assert ran == []


def test_a_program_whose_forms_part_is_named_with_the_place(
    where_a_program_has, monkeypatch, tmp_path, capsys
):
    asked = []

    def ask_all(asking):
        asked.append(
            [(each.question.side, [form.of for form in each.question.forms]) for each in asking]
        )
        names = ("dot_general", "div")
        steps = [
            NumberedStep(number=name, name=name, operands=(), said={}, file="model.py", line=7)
            for name in names
        ]
        return [NumberedForms(forms=(NumberedSteps(steps=(each,)),)) for each in steps]

    claims = (Claim(of="jaxpr", answer="parted"), Claim(of="module", answer="proved"))
    where_a_program_has("no such text", claims=claims)
    monkeypatch.setattr(proving, "ask_all", ask_all)
    keep = ["--keep", str(tmp_path / "kept")]
    assert app.main(["fuzz", "--programs", "1", "--seed", "1", *keep]) == 0
    assert asked == [[("jax-legacy", ["jaxpr"]), ("jax-simplified", ["jaxpr"])]]
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if line.startswith("seed_1_program_0: ")] == [
        "seed_1_program_0: jaxpr parted: model.py:7: dot_general before the flip, div after it"
    ]


def test_the_first_program_of_each_kind_that_is_not_proved_is_made_small(
    where_a_program_has, monkeypatch, tmp_path
):
    """What stands in for a proof: a program is parted where its text has a scan."""
    where_a_program_has("no such text")
    fuzzed = fuzz.run(30, 1, sides=BOTH, timeout=1, folder=tmp_path)
    with_scan = [name for name, each in fuzzed.recipes.items() if "scan" in rendering.summary(each)]
    names = ("stablehlo.add, type=a", "stablehlo.add, type=b", "stablehlo.while")
    claims = [
        Claim(
            of="module",
            answer="parted",
            place=PartedPlace(file=f"generated_{number}.py", line=number, before=name, after=""),
        )
        for number, name in enumerate(names)
    ]
    by_module = Claim(of="jaxpr", answer="parted"), Claim(of="module", answer="proved")
    alike = Claim(of="jaxpr", answer="proved")
    apart = {name: (alike, claim) for name, claim in zip(with_scan, claims, strict=False)}
    fuzzed = replace(fuzzed, apart={**apart, with_scan[3]: by_module})
    asked = []

    def first_alike(targets, claim, options):
        asked.append((claim, options.sides))
        for target in targets:
            file, _, name = target.rpartition(":")
            text = Path(file).read_text().partition(f"def {name}(")[2].partition("\n\n\ndef ")[0]
            if "lax.scan(" in text:
                return target

    monkeypatch.setattr(proving, "first_alike", first_alike)
    kept = list(fuzz.keep(fuzzed, tmp_path / "kept", timeout=1))
    assert [each.name for each in kept] == [with_scan[0], with_scan[2]]
    assert {sides for _, sides in asked} == {("jax-legacy", "jax-simplified")}
    assert [claim for claim in claims if claim in [each for each, _ in asked]] == claims[::2]
    for each, claim in zip(kept, claims[::2], strict=True):
        text = each.file.read_text()
        assert each.file == tmp_path / "kept" / f"{each.name}_not_proved.py"
        assert "A generated program, made smaller: its module is parted." in text
        assert f"- {claim.place.before} before the flip, nothing in its place after it" in text
        assert f"constparity prove {each.file}:{each.name}" in text
        assert (text.count("lax.scan("), text.count("def f")) == (1, 2)  # `fun` and its body
        assert load_one(f"{each.file}:{each.name}").build()
