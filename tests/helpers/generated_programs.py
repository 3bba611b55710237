"""Generated programs of a seed; several seeds, for the programs of one resemble each other.

CONSTPARITY_EXAMPLES=100 draws more of them for each seed, and CONSTPARITY_SEEDS=20 has more seeds.
"""

import os

from hypothesis import HealthCheck, given, seed, settings

from parity_tests.fuzz import strategy

SEEDS = range(int(os.environ.get("CONSTPARITY_SEEDS", "2")))
DEPTH = 2


def for_all_programs(run, of_seed, examples):
    """Run on programs of a seed, this many where CONSTPARITY_EXAMPLES is not set."""
    settled = settings(
        max_examples=int(os.environ.get("CONSTPARITY_EXAMPLES", examples)),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )(given(strategy.programs(DEPTH))(run))
    seed(of_seed)(settled)()
