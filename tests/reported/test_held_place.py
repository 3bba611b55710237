"""A program whose forms part is made smaller, and parts at the same two operations to the end."""

import pytest
from program_files import program_file

from parity_tests.cli import app
from parity_tests.evidence.found import NumberedForms, NumberedStep, NumberedSteps
from parity_tests.judge.proofs import deciding, kind_of
from parity_tests.processes.protocol import Job
from parity_tests.run import proving
from parity_tests.run.options import PROVED_ON, CampaignOptions
from parity_tests.targets import split
from reports.rows.claims import Claim, PartedPlace

FILE = program_file("reported/parts_in_a_vmapped_branch")
OPTIONS = CampaignOptions(sides=PROVED_ON)


def parted(of, before="", after="", **fields):
    place = PartedPlace(file="a.py", line=1, before=before, after=after) if before else None
    return Claim(of=of, answer="parted", reason="the numbers differ", place=place, **fields)


GATED = parted("module", "stablehlo.broadcast_in_dim, shape=(4,)", "stablehlo.dot_general")


def test_a_smaller_program_has_to_part_at_the_same_operations_each_time_that_it_is_built():
    """`drawn_anew` is parted by its random numbers; its answer alone is what is looked for."""
    targets = [f"{FILE}:{name}" for name in ("alike", "drawn_anew", "gated_alone")]
    assert proving.first_alike(targets, GATED, OPTIONS) == targets[2]


def test_what_two_programs_share_are_operations_without_params_and_reasons_without_figures():
    refused = Claim(of="jaxpr", answer="refuted", reason="it had 3 effects and has 12")
    assert kind_of(refused) == ("jaxpr", "", "refuted", "it had # effects and has #")
    other = parted("module", "stablehlo.broadcast_in_dim", "stablehlo.dot_general, precision=x")
    assert kind_of(other) == kind_of(GATED) == (
        "module", "", "parted", "stablehlo.broadcast_in_dim", "stablehlo.dot_general"
    )  # fmt: skip
    for field, value in {"platform": "tpu", "answer": "refuted", "of": "jaxpr"}.items():
        assert kind_of(GATED.model_copy(update={field: value})) != kind_of(GATED)


@pytest.mark.parametrize(
    ("jaxpr", "module", "decides"),
    [
        ("proved", "parted", "module"),
        ("parted", "parted", "module"),
        ("parted", "proved", None),
        ("parted", "undecided", "jaxpr"),
        ("proved", "undecided", None),
        ("undecided", "undecided", "module"),
    ],
)
def test_the_claim_that_is_held_is_the_one_by_which_a_program_is_not_proved(jaxpr, module, decides):
    claims = Claim(of="jaxpr", answer=jaxpr), Claim(of="module", answer=module)
    found = deciding(claims)
    assert (found and found.of) == decides
    assert deciding(()) is None


# -- constparity reduce --metric proof -------------------------------------------------------------


@pytest.fixture
def proofs(monkeypatch):
    """Stand in for proofs: a program is parted where its file has both words."""

    def parts(file):
        return all(word in file.read_text() for word in ("jax.vmap", "jax.lax.cond"))

    def prove(targets, options, **kwargs):
        [target] = targets
        file, name = split(target)
        claims = Claim(of="jaxpr", answer="proved"), GATED
        if not parts(proving.Path(file)):
            claims = Claim(of="jaxpr", answer="proved"), Claim(of="module", answer="proved")
        row = proving.ProvedProgram(
            name=name, target=target, source="", answer=proving.answer_of(claims), claims=claims
        )
        return proving.Proofs.model_construct(programs=(row,))

    def first_alike(targets, claim, options):
        assert (claim, options.sides) == (GATED, PROVED_ON)
        return next(
            (each for each in targets if parts(proving.Path(each.rpartition(":")[0]))), None
        )

    monkeypatch.setattr(proving, "prove", prove)
    monkeypatch.setattr(proving, "first_alike", first_alike)


REASON = "stablehlo.broadcast_in_dim, shape=(4,) before the flip, stablehlo.dot_general after it"
SMALL = '''"""The module of `gated` is parted: {reason}.

Reduced by constparity from {target}:

    constparity prove {file}:gated
"""

import jax

def gated():

    def gate():
        return jax.lax.cond()
    return jax.vmap()
'''


def test_the_source_that_is_left_is_written_with_what_it_shows(proofs, tmp_path, capsys):
    file, target = tmp_path / "small.py", f"{FILE}:gated"
    asked = ["reduce", str(FILE), "--program", "gated", "--metric", "proof", "-o", str(file)]
    assert app.main(asked) == 1
    assert file.read_text() == SMALL.format(reason=REASON, target=target, file=file)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == f"reduced {target}: 37 lines to 7 lines, proof"
    assert printed[2:] == [
        f"  written: {file}",
        f"    module: parted: a.py:1: {REASON}",
    ]
    asked[1:4] = [f"{FILE}::gated"]
    assert app.main([*asked, "--exit-zero", "--max-tries", "1"]) == 0
    stopped = "  the search was stopped, so a smaller one may exist: all 1 tries were made"
    assert stopped in capsys.readouterr().out.splitlines()


def test_a_program_that_is_proved_or_no_file_is_not_reduced(proofs, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fine.py").write_text("def step():\n    pass\n")
    assert app.main(["reduce", "fine.py:step", "--metric", "proof"]) == 0
    said = "proved fine.py:step: its two forms are one computation"
    assert capsys.readouterr().out.splitlines() == [said]
    assert app.main(["reduce", "my_package.models:step", "--metric", "proof"]) == 4
    assert "name it, as in my_model.py:step" in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["fine.py"]


# -- a program that is another one each time -------------------------------------------------------


def test_a_program_that_does_not_repeat_itself_says_so_instead_of_a_place(monkeypatch, tmp_path):
    step = NumberedStep(number="a", name="dot", operands=(), said={}, file="a.py", line=1)

    def placed(digest, name="dot"):
        built = step.model_copy(update={"name": name})
        asked = NumberedSteps(digest=digest, steps=(built,)), NumberedSteps(digest="after")
        forms = [NumberedForms(forms=(each,)) for each in asked]
        monkeypatch.setattr(proving, "ask_all", lambda asking: forms)
        claim = Claim(of="module", answer="parted", before="before", after="after")
        job = Job(number=0, name="p", target="a.py:p")
        folder = tmp_path / digest / name
        [found] = proving.Apart(job, PROVED_ON, folder, OPTIONS).with_places([claim])
        return found

    assert placed("before").place == PartedPlace(file="a.py", line=1, before="dot", after="")
    anew = placed("another")
    assert (anew.answer, anew.place) == ("undecided", None)
    assert anew.reason.startswith("a.py:1: it is another program each time that it is built")
    # As that of Equinox's `error_if`, which no seed makes the same.
    calls = placed("another", "pure_callback")
    assert calls.reason.startswith("a.py:1: a callback holds another value each time")
