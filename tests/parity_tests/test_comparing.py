"""Saved results are judged as a live run is: the same code, and the same verdicts."""

import json
import zipfile

import pytest

from parity_tests import campaign, cli
from parity_tests.comparing import compare
from parity_tests.saved import Saved, SavedError

NAMES = ("good", "other_value", "other_rounding", "other_order", "raises_on_one_side", "last")


@pytest.fixture(scope="module")
def saved(faults_file, tmp_path_factory):
    """The same programs in one campaign over four sides, and in two over two sides each."""
    folder = tmp_path_factory.mktemp("saved")
    targets = [f"{faults_file}:{name}" for name in NAMES]
    live = campaign.run(targets, save=folder / "live.json")
    for name, sides in {
        "legacy": ("legacy", "jax-legacy"),
        "simplified": ("simplified", "jax-simplified"),
    }.items():
        campaign.run(targets, sides=sides, save=folder / f"{name}.json")
    return folder, live


def verdicts(result):
    return {row.name: (row.verdict, row.reasons) for row in result.programs}


def test_two_halves_get_the_verdicts_of_the_whole(saved):
    folder, live = saved
    again = compare(Saved.read(folder / "legacy.json"), Saved.read(folder / "simplified.json"))
    assert again.sides == live.sides
    assert verdicts(again) == verdicts(live)


def test_a_campaign_equals_itself(saved):
    folder, live = saved
    again = compare(Saved.read(folder / "live.json"), Saved.read(folder / "live.json"))
    failed = {"raises_on_one_side"}
    for row in again.programs:
        assert row.verdict == ("could not compare" if row.name in failed else "parity")
        for comparison in row.comparisons:
            assert comparison.left == comparison.right
            assert comparison.outcome in ("equal", "not judged", "not compared")
    assert {row.name for row in again.programs} == {row.name for row in live.programs}


def test_a_side_that_changed_is_different_from_itself(saved, tmp_path):
    folder, _ = saved
    for name in ("live.json", "live.json.arrays"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    rows = json.loads((tmp_path / "live.json").read_text())
    [good] = [row for row in rows["programs"] if row["name"] == "good"]
    good["observations"][1]["proof"]["const_args"] += 1
    rows["programs"] = [row for row in rows["programs"] if row["name"] != "last"]
    (tmp_path / "live.json").write_text(json.dumps(rows))
    again = compare(Saved.read(folder / "live.json"), Saved.read(tmp_path / "live.json"))
    by_name = verdicts(again)
    assert by_name["good"] == (
        "difference",
        (
            "simplified and simplified: const args: 1 against 2 (one side gave two counts, and "
            "counts do not depend on the machine)",
        ),
    )
    assert by_name["last"] == ("could not compare", (f"only {folder / 'live.json'} has it",))


def test_bad_files_are_refused(saved, tmp_path):
    folder, _ = saved
    report, arrays = tmp_path / "A.json", tmp_path / "A.json.arrays"
    report.write_bytes((folder / "live.json").read_bytes())
    with pytest.raises(SavedError, match="is missing; write both with constparity run --save"):
        Saved.read(report)
    arrays.write_bytes(b"no archive")
    with pytest.raises(SavedError, match="is not an archive"):
        Saved.read(report)
    with zipfile.ZipFile(arrays, "w"):
        pass
    with pytest.raises(SavedError, match="is damaged or belongs to another report"):
        Saved.read(report).evidence("good")
    with (
        zipfile.ZipFile(folder / "live.json.arrays") as whole,
        zipfile.ZipFile(arrays, "w") as swapped,
    ):
        for member in whole.namelist():
            source = member.replace("0/legacy.npz", "1/legacy.npz")
            swapped.writestr(member, whole.read(source))
    with pytest.raises(SavedError, match="holds other arrays than the report describes"):
        Saved.read(report).evidence("good")


def test_the_command_compares_and_exits_as_run_does(saved, tmp_path, capsys):
    folder, _ = saved
    files = [str(folder / f"{name}.json") for name in ("legacy", "simplified")]
    report = tmp_path / "report.json"
    assert cli.main(["compare", *files, "--report", f"json:{report}"]) == cli.Exit.DIFFERENCE
    assert "mismatch at the only output" in capsys.readouterr().out
    assert report.exists()
    assert cli.main(["compare", *files, "--exit-zero"]) == cli.Exit.PARITY
    assert cli.main(["compare", files[0], str(tmp_path / "none.json")]) == cli.Exit.USAGE
    assert "No such file" in capsys.readouterr().err
