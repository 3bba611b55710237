"""What helps a program of a campaign is said in words of its spec."""

import pytest

from reports.store.plan_records import in_words_of_spec


@pytest.mark.parametrize(
    ("of_run", "of_spec"),
    [
        ("raise --timeout, or see", "raise `timeout` in the spec, or see"),
        ("raise --memory-limit, or see", "raise `memory_limit` in the spec, or see"),
        ("measure again with more --rounds", "measure again with more `rounds` in the spec"),
        ("constparity run --fresh helps", "constparity run --fresh helps"),
    ],
)
def test_options_of_run_are_keys_of_the_spec(of_run, of_spec):
    assert in_words_of_spec(of_run) == of_spec
