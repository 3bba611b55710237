"""Generated programs: what is proved has identical bits in the reference interpreter.

Stock JAX makes each form in processes of its own. CONSTPARITY_TEST_EVALUATED=2000 takes so many
programs (`make deep`), and CONSTPARITY_TEST_EVALUATED_SEED another seed. What was found is printed.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from parity_tests.campaign.generated import recipe_of
from parity_tests.fuzz import rendering
from parity_tests.judge.proofs import claims_of
from parity_tests.processes.side_environment import environment_of
from reports.rows import Observation
from reports.rows.claims import answer_of
from tests.helpers.evaluated_programs import Outcome

SEED = int(os.environ.get("CONSTPARITY_TEST_EVALUATED_SEED", "17"))
PROGRAMS = int(os.environ.get("CONSTPARITY_TEST_EVALUATED", "3"))
A_PROCESS = 100  # programs
SIDES = ("jax-legacy", "jax-simplified")
# The interpreter has one device.
QUICK = "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
HELPER = Path(__file__).parents[2] / "helpers" / "evaluated_programs.py"


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """The outcomes of each program on both sides."""
    folder, found = tmp_path_factory.mktemp("evaluated"), {}
    for first in range(0, PROGRAMS, A_PROCESS):
        numbers = range(first, min(first + A_PROCESS, PROGRAMS))
        recipes = {f"program_{number}": recipe_of(SEED, number) for number in numbers}
        file = folder / f"from_{first}.py"
        file.write_text(rendering.module(recipes))
        for side in SIDES:
            for each in outcomes(file, side, recipes):
                found.setdefault(each.name, []).append(each)
    return found


def outcomes(file, side, names):
    """Yield the outcome of each program; where one ends the process, another goes on."""
    waiting = list(names)
    while waiting:
        ran = subprocess.run(
            [sys.executable, str(HELPER), str(file), side, *waiting],
            env=environment_of(side, os.environ | {"XLA_FLAGS": QUICK}),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        for line in ran.stdout.splitlines():
            yield Outcome.model_validate_json(line)
            waiting.pop(0)
        if waiting:
            assert "LLVM ERROR" in ran.stderr, ran.stderr
            last = ran.stderr.strip().splitlines()[-1]
            yield Outcome(name=waiting.pop(0), not_evaluated=last)


def answer(pair):
    """Return what a proof says of a program, and "" where a form cannot be made."""
    if not all(each.numbers for each in pair):
        return ""
    forms = (
        Observation(program=each.name, side=side, numbers=each.numbers)
        for each, side in zip(pair, SIDES, strict=True)
    )
    return answer_of(claims_of(*forms))


def test_a_proved_program_has_identical_bits_in_the_reference_interpreter(pairs):
    counts, contradicted = Counter(), []
    for name, (before, after) in pairs.items():
        said = answer((before, after))
        counts[said or "not made"] += 1
        if reason := before.not_evaluated or after.not_evaluated:
            counts[reason] += 1
        if before.results and after.results:
            is_same = before.results == after.results
            counts[f"{said}, {'the same' if is_same else 'other'} bits"] += 1
            if said == "proved" and not is_same:
                contradicted.append(name)
    sys.stderr.write(f"\n{PROGRAMS} programs of seed {SEED}: {dict(counts)}\n")
    assert contradicted == []
    assert counts["proved, the same bits"] >= PROGRAMS // 3


def test_the_interpreter_and_xla_agree_within_rounding(pairs):
    """A program that both sides run, and that the interpreter evaluates, has one meaning."""
    assert {name: each.far for name, pair in pairs.items() for each in pair if each.far} == {}
