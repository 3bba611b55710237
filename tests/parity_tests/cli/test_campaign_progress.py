"""The progress of a campaign: what is in the store, what tasks have behind them, and the rate."""

from collections import Counter
from types import SimpleNamespace

import pytest

from parity_tests.campaign.scheduling import Tally
from parity_tests.cli import plan_view
from parity_tests.cli.plan_view import CampaignProgress


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until a test sets it, in minutes."""
    now = [0.0]
    monkeypatch.setattr(plan_view, "time", SimpleNamespace(monotonic=lambda: now[0] * 60))
    return now


@pytest.fixture
def steps():
    return []


@pytest.fixture
def progress(steps):
    return CampaignProgress(lambda *step: steps.append(step))


def test_it_says_the_rate_and_failures_by_kind(progress, steps, clock):
    tally = Tally(1000)
    progress(tally)
    clock[0] = 2.0
    tally.done, tally.states = 400, Counter({"safe": 380, "breaks": 12, "lost": 8})
    progress(tally)
    assert steps == [
        (0, 1000, "0 a minute; no failures; 0 in the store"),
        (400, 1000, "200 a minute; 8 lost, 12 breaks; 400 in the store"),
    ]


def test_programs_of_tasks_at_work_count_and_are_not_in_the_store(progress, steps, clock):
    progress.at_work(5.0)  # before anything is known
    tally = Tally(1000, done=400)
    progress(tally)
    clock[0] = 1.0
    progress.at_work(100.0)
    progress.at_work(600.0, "judging step")  # all ran, and the tasks have not ended
    assert [each[:2] for each in steps] == [(400, 1000), (500, 1000), (999, 1000)]
    assert steps[1][2] == "500 a minute; no failures; 400 in the store"
    assert steps[2][2] == ("1000 a minute; no failures; 400 in the store; now judging step")


def test_times_are_a_phase_of_their_own(progress, steps, clock):
    progress(Tally(10, done=10))
    clock[0] = 60.0
    timed = Tally(10)
    progress(timed)
    clock[0] = 61.0
    timed.done = 5
    progress(timed)
    assert steps[-1] == (5, 10, "5 a minute; no failures; 5 in the store")
    timed.done = 10
    progress(timed)
    assert steps[-1] == (10, 10, "10 a minute; no failures")
