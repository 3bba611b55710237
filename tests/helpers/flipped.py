"""Programs with the flag before and after the flip, and what each comes to by itself."""

from built_grids import STOCK

from parity_tests.cli.exit_codes import code_of
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import answer_of
from reports.rows.fail_rules import DEFAULT, broken, parse


def flipped(*files, timeout=60.0):
    """Run the programs of files on stock JAX on both sides: that is what a user flips."""
    options = CampaignOptions(sides=STOCK, timeout=timeout, attribute=True)
    return run.run([str(file) for file in files], options)


def answer_and_exit(campaign, row):
    """The answer for a program, and the exit status of a run of it alone."""
    alone = campaign.model_copy(update={"programs": (row,)})
    codes = [code_of(each.rule.status) for each in broken(alone, parse(DEFAULT))]
    return answer_of(row.flip), min(codes, default=0)
