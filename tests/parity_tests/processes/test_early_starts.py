"""Processes that wait for their order: who takes them, and that a campaign comes to the same."""

import os
import sys

import pytest
from program_files import program_file
from waiting import alive, await_

from parity_tests.processes import early_starts
from parity_tests.processes.early_starts import EarlyStarts, Wanted, of_campaign, started_early
from parity_tests.run import run
from parity_tests.run.options import CampaignOptions
from reports.rows import SIDES

pytestmark = pytest.mark.fresh_workers

STOCK = ("jax-legacy", "jax-simplified")
LISTS = Wanted("list programs", "jax-legacy")


@pytest.fixture
def spawned(monkeypatch):
    """The processes that were started, as (side, process)."""
    found = []
    spawn = early_starts.spawn

    def recorded(request, side, *args, **how):
        found.append((side, spawn(request, side, *args, **how)))
        return found[-1][1]

    monkeypatch.setattr(early_starts, "spawn", recorded)
    return found


def without_figures(campaign):
    """Return the rows of a campaign, without what no two processes have in common."""
    return [
        (
            row.verdict,
            row.flip,
            [(each.metric, each.left, each.right, each.outcome) for each in row.comparisons],
            [
                each.model_copy(
                    update={
                        "times": None,
                        "growth": None,
                        "host_memory": each.host_memory and each.host_memory.fresh,
                    }
                )
                for each in row.observations
            ],
        )
        for row in campaign.programs
    ]


def test_a_campaign_takes_what_waits_and_comes_to_the_same(spawned):
    options = CampaignOptions(sides=STOCK, steady_calls=0)
    targets = [str(program_file("planted_sizes"))]
    alone = run.run(targets, options)
    cold = len(spawned)
    with started_early(of_campaign(STOCK)):
        # Both sides start before any target is listed.
        assert [side for side, _ in spawned[cold:]] == ["jax-legacy", *STOCK]
        early = run.run(targets, options)
    assert len(spawned) == 2 * cold  # as many, and none beside
    assert without_figures(early) == without_figures(alone)
    assert not any(alive(process.pid) for _, process in spawned)


def test_who_is_not_taken_ends_with_the_block(spawned):
    with started_early([LISTS]) as early:
        [(_, process)] = spawned
        assert alive(process.pid)
        early.fill()
        assert len(spawned) == 1
    assert not alive(process.pid)


def test_a_spare_process_is_taken_last():
    with started_early([LISTS, LISTS._replace(is_spare=True)]):
        taken = [early_starts.take(*LISTS[:2]) for _ in range(3)]
        try:
            assert taken[2] is None
            assert len({process.pid for process in taken[:2]}) == 2
        finally:
            for process in taken[:2]:
                process.communicate()  # its stdin closes, and it ends


@pytest.mark.parametrize("change", ["environment", "directory", "path", "ended"])
def test_a_process_of_other_conditions_is_not_taken(spawned, change, monkeypatch, tmp_path):
    with started_early([LISTS]):
        [(_, process)] = spawned
        if change == "environment":
            monkeypatch.setenv("XLA_FLAGS", "")
        elif change == "directory":
            monkeypatch.chdir(tmp_path)
        elif change == "path":
            monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
        else:
            os.kill(process.pid, 9)
            await_(lambda: not alive(process.pid))
        assert early_starts.take(*LISTS[:2]) is None
        assert not alive(process.pid)


def test_no_more_start_at_once_than_may(spawned, tmp_path):
    early = EarlyStarts(tmp_path, of_campaign(STOCK))
    try:
        early.fill(at_once=1)
        assert len(spawned) == 1
    finally:
        early.kill()


def test_the_sides_are_those_of_the_rows():
    assert early_starts.SIDES == SIDES
    assert [each.side for each in of_campaign(["legacy", "no side"])] == ["jax-legacy", "legacy"]
