"""The built-in corpus on all four sides: what the project claims of its two pipelines.

One campaign for the whole module, in processes as `constparity run` starts them. With
CONSTPARITY_WHOLE_CORPUS=1 they have the user's flags of XLA as well; otherwise LLVM optimises
nothing.
"""

import os
import re

import pytest
import write_corpus

from parity_tests.run import run
from reports.output import json_file

pytestmark = pytest.mark.fresh_workers

# Nothing that is left after dead code is removed reads this program's captured array.
DEAD = {"unused_captured"}


@pytest.fixture(scope="module")
def corpus():
    with pytest.MonkeyPatch.context() as patch:
        if os.environ.get("CONSTPARITY_WHOLE_CORPUS"):
            patch.setenv("XLA_FLAGS", os.environ["CONSTPARITY_TEST_XLA_FLAGS"])
        return run.run((), write_corpus.OPTIONS)


def on(row, side):
    return next(o for o in row.observations if o.side == side)


def compared(row, metric, left, right):
    return next(c for c in row.comparisons if (c.metric, c.left, c.right) == (metric, left, right))


def test_every_program_is_at_parity(corpus):
    assert {row.name: row.reasons for row in corpus.programs if row.verdict != "parity"} == {}
    assert len(corpus.programs) > 100


def test_ours_are_bitwise_what_stock_jax_computes(corpus):
    for row in corpus.programs:
        for ours, stock in (("legacy", "jax-legacy"), ("simplified", "jax-simplified")):
            outputs = compared(row, "outputs", ours, stock)
            assert {leaf.rung for leaf in outputs.leaves} <= {"bitwise"}, (row.name, outputs.detail)


def test_simplified_passes_each_captured_array_once_and_inlines_none(corpus):
    for row in corpus.programs:
        proof = on(row, "simplified").proof
        assert proof.inlined_constant_bytes == 0, row.name
        expected = 0 if row.name in DEAD else proof.unique_captured
        assert proof.const_args == expected, row.name


def test_legacy_inlines_every_captured_array_and_passes_none(corpus):
    for row in corpus.programs:
        proof = on(row, "legacy").proof
        assert proof.const_args == 0, row.name
        assert proof.array_literals == 0, row.name
        if proof.unique_captured and row.name not in DEAD:
            assert proof.inlined_constant_bytes > 0, row.name


def test_stock_jax_passes_more(corpus):
    """The difference from stock that is intended is there: stock passes one per Literal."""
    ours, stock = (
        sum(on(row, side).proof.const_args for row in corpus.programs)
        for side in ("simplified", "jax-simplified")
    )
    assert ours < stock


def test_printed_jaxprs_are_those_of_stock_jax(corpus):
    for row in corpus.programs:
        for ours, stock in (("legacy", "jax-legacy"), ("simplified", "jax-simplified")):
            assert compared(row, "printed jaxpr", ours, stock).outcome == "equal", row.name


def test_the_result_stays_small_and_reads_back_as_it_was(corpus, tmp_path):
    path = tmp_path / "corpus.json"
    path.write_text(json_file.render(corpus), "utf-8")
    # 25 KB with the times of 20 calls on four sides, which are not measured here.
    assert path.stat().st_size < 23_000 * len(corpus.programs)
    assert repr(json_file.load(path)) == repr(corpus)


def test_the_report_in_the_docs_is_what_the_corpus_comes_to(corpus):
    kept, fresh = write_corpus.FILE.read_text("utf-8"), write_corpus.text(corpus)
    of_kept = re.search(r"with jax (\S+) and jaxlib (\S+) on", kept).groups()
    installed = (corpus.environment.jax, corpus.environment.jaxlib)
    if installed != of_kept:
        pytest.skip(f"the report is of jax {of_kept[0]}, and this is {installed[0]}")
    again = "docs/example/corpus.md is stale: python tests/example/write_corpus.py"
    assert write_corpus.steady(fresh) == write_corpus.steady(kept), again
