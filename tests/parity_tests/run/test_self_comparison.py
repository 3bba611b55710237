"""A/A: a side that agrees with itself, one that does not, and how alarms are counted."""

from types import SimpleNamespace

from program_files import program_file

from parity_tests.cli.aa import summary
from parity_tests.cli.app import main
from parity_tests.processes.protocol import Job
from parity_tests.run import self_comparison
from parity_tests.run.options import CampaignOptions
from parity_tests.run.self_comparison import SelfComparison
from reports.rows import Campaign, Comparison, ProgramRow
from tests.helpers.built_campaigns import ENVIRONMENT, timed

FILE = program_file("steady_and_fitful")


def test_a_program_that_differs_from_itself_is_found(capsys):
    assert main(["aa", str(FILE), "--runs", "2"]) == 1
    answer, totals, *rest = capsys.readouterr().out.splitlines()
    assert answer.startswith("2 runs of 2 programs: 1 program with other outputs or counts")
    assert answer.endswith("times are judged from 16 runs on")
    assert totals == "2 programs: 1 parity, 1 difference"
    assert totals not in rest
    assert "flip" not in answer + "".join(rest[:1])


def test_every_run_is_compared_with_the_first():
    found = self_comparison.run([f"{FILE}:fitful"], CampaignOptions(sides=("simplified",)), 3)
    [row] = found.campaign.programs
    outputs = [each for each in row.comparisons if each.metric == "outputs"]
    assert [each.outcome for each in outputs] == ["different"] * 2
    assert {(each.left, each.right) for each in row.comparisons} == {("simplified", "simplified")}
    assert row.flip is None


def test_nothing_collected_and_unknown_sides_have_their_own_status(tmp_path, capsys):
    (tmp_path / "empty.py").touch()
    empty = str(tmp_path / "empty.py")
    assert main(["aa", empty]) == 5
    assert "run 1 of 20" not in capsys.readouterr().err
    assert main(["aa", empty, "--side", "neither"]) == 4
    assert "no side 'neither'" in " ".join(capsys.readouterr().err.split())


def verdicts(*found):
    times = tuple(timed(verdict, left="legacy", right="legacy") for verdict in found)
    row = ProgramRow(
        name="p", source="", summary="", verdict="parity", reasons=(), observations=(),
        comparisons=(), times=times,
    )  # fmt: skip
    campaign = Campaign(created="", environment=ENVIRONMENT, sides=("legacy",), programs=(row,))
    return SelfComparison(campaign, 20)


def test_one_alarm_in_a_hundred_is_as_many_as_may_be():
    calm = ["equivalent"] * 50 + ["inconclusive"] * 49
    found = verdicts(*calm, "slower", *["not measured"] * 500)
    assert found.is_trustworthy
    told = "; 1 alarm in 100 verdicts on times (1.00%); 49 of them inconclusive"
    assert summary(found).endswith(told)
    assert not verdicts(*calm, "slower", "faster").is_trustworthy


def test_no_alarm_where_nothing_was_found_is_no_good_news():
    assert summary(verdicts(*["inconclusive"] * 7)).endswith(
        "; 0 alarms in 7 verdicts on times (0.00%); 7 of them inconclusive: more --runs or a "
        "quieter machine"
    )
    assert summary(verdicts("equivalent")).endswith("; 0 alarms in 1 verdict on times (0.00%)")


def test_alarms_that_point_one_way_are_no_chance():
    calm = ["equivalent"] * 2000
    assert not verdicts(*calm, *["slower"] * 10).is_trustworthy
    assert verdicts(*calm, *["slower", "faster"] * 5).is_trustworthy


def test_what_is_no_figure_is_said_before_figures(monkeypatch, tmp_path):
    """Of many that differ three are said, and figures alone would hide no break."""
    names = ["const args", "jaxpr equations", "output bytes", "effects of calls"]
    differing = tuple(
        Comparison(
            metric=each, left="legacy", right="legacy", outcome="different", left_value="1",
            right_value="2",
        )
        for each in names
    )  # fmt: skip
    ran = SimpleNamespace(observation=SimpleNamespace(failure=None))
    found = SimpleNamespace(comparisons=differing)
    monkeypatch.setattr(self_comparison, "run_sides", lambda *_, **__: {(0, "legacy"): ran})
    monkeypatch.setattr(self_comparison, "_compared", lambda *_: found)
    job = Job(number=0, name="step", target="model.py:step")
    context = SimpleNamespace(
        options=CampaignOptions(sides=("legacy", "simplified")),
        collected=SimpleNamespace(jobs=[job]),
        folder=tmp_path,
        progress=None,
    )
    apart = self_comparison.AgainstItself(tmp_path / "again")
    apart(context)
    assert apart.differing["model.py:step"].startswith("effects of calls: 1 against 2; const args")
