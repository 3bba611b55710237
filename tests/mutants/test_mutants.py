"""Every planted fault is caught, by the metric that has to name it, as docs/trust/mutants.md shows.

One test and not one for each mutant: stock JAX and the programs without mutants are measured once,
and under xdist each worker would measure them again.
"""

import catching
import write_mutants


def test_every_mutant_is_caught_and_named_and_the_page_says_so():
    controls, outcomes = catching.run()
    assert {name: each.reasons for name, each in controls.items() if each.verdict != "parity"} == {}
    assert len(outcomes) >= 25
    missed = {each.mutant.name: (each.verdict, each.named) for each in outcomes if not each.caught}
    assert missed == {}
    proved = {each.mutant.name: each for each in outcomes if each.proof == "proved"}
    assert [name for name, each in proved.items() if not each.may_be_proved] == []
    page = write_mutants.PAGE.read_text(encoding="utf-8")
    assert write_mutants.page(controls, outcomes) == page, (
        "docs/trust/mutants.md is not what this run says: python tests/mutants/write_mutants.py"
    )
