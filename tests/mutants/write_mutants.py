"""Writes docs/trust/mutants.md: each planted fault, and the verdict of the tester on it.

python tests/mutants/write_mutants.py
"""

import os
from pathlib import Path

PAGE = Path(__file__).parent.parent.parent / "docs" / "trust" / "mutants.md"
INTRO = """# Planted faults, and what names them

{caught} of {count} mutants are caught: small faults of our two pipelines, each one function that
`tests/mutants/` replaces. Each is planted on one side (L legacy, S simplified) of one program, and
caught is what is not at parity and is named by the metric that has to name it. Without a mutant all
{programs} programs are at parity. `python tests/mutants/write_mutants.py` writes the page, and
`test_mutants.py` holds it.

*Proof of the side* is evidence that contradicts the side, so the tester refuses to compare it.
Behind the side is what the [proof](proof.md) of both, with the mutant and without, comes to;
nothing where there is no program to compare. None that changes what is computed is proved: c and e
act when a program is called or exported, outside of what is claimed, and o is one computation,
written otherwise.
"""
MARKS = {
    "acts when it is called": "c",
    "acts when it is exported": "e",
    "one computation, written otherwise": "o",
}


def page(controls, outcomes):
    """Return the page as text."""
    text = INTRO.format(
        caught=sum(each.caught for each in outcomes), count=len(outcomes), programs=len(controls)
    )
    named = {}
    for each in outcomes:
        metric = each.mutant.metric if each.caught else f"MISSED by {each.mutant.metric}"
        named.setdefault(metric, []).append(_line(each))
    for metric, lines in named.items():
        text += "\n".join((f"\n**{metric[0].upper()}{metric[1:]}**\n", *lines, ""))
    return text


def _line(outcome):
    """Say what a mutant does, on which side, and what its proof comes to."""
    proof = f"proved {_mark(outcome)}" if outcome.proof == "proved" else outcome.proof
    side = outcome.mutant.side[0].upper()
    return f"- {outcome.mutant.does} ({f'{side}, {proof}' if proof else side})"


def _mark(outcome):
    """Say why a mutant may be proved."""
    return MARKS[outcome.may_be_proved] if outcome.may_be_proved else "WRONGLY"


def main():
    """Run the mutants and write the page."""
    devices = "--xla_force_host_platform_device_count=8"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {devices}".strip()
    import catching

    PAGE.write_text(page(*catching.run()), encoding="utf-8")


if __name__ == "__main__":
    main()
