"""Saved results are judged as a live run is: the same code, and the same verdicts."""

import json
import zipfile
from dataclasses import replace

import pytest

import reports
from parity_tests.cli import app, run_view, terminal
from parity_tests.drift import of_campaign
from parity_tests.evidence.saved import Saved, SavedError
from parity_tests.processes.options import Limits
from parity_tests.run import run
from parity_tests.run.compare_saved import compare
from parity_tests.run.options import CampaignOptions
from reports import ReportReadError
from reports.rows import DriftAttribution, TimeSamples
from reports.views.measured import lines_of

HALVES = {"legacy": ("legacy", "jax-legacy"), "simplified": ("simplified", "jax-simplified")}
NAMES = ("good", "other_value", "other_rounding", "other_order", "raises_on_one_side", "last")


@pytest.fixture(scope="module", autouse=True)
def asked():
    """What is asked for causes: it is found by its rule here, and by running in test_drift."""

    def answer(drift, folder, warm):
        left, right = drift.sides
        # Saved halves have an arbiter for all; it is looked at where outputs do not agree.
        has_truth = drift.rung == "mismatch" and bool(drift.truth)
        found.append((drift.job.target, left, right, drift.rung, has_truth))
        cause = "a bug" if drift.job.name == "other_rounding" else "constant folding"
        return DriftAttribution(left=left, right=right, cause=cause, evidence="as planted")

    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_campaign, "attribute", answer)
        yield found


@pytest.fixture(scope="module")
def saved(faults_file, tmp_path_factory):
    """The same programs in one campaign over four sides, and in two over two sides each."""
    folder = tmp_path_factory.mktemp("saved")
    targets = [f"{faults_file}:{name}" for name in NAMES]
    live = run.run(
        targets, CampaignOptions(steady_calls=0, save=folder / "live.json", attribute=True)
    )
    for name, sides in HALVES.items():
        run.run(
            targets,
            CampaignOptions(sides=sides, steady_calls=0, save=folder / f"{name}.json"),
        )
    return folder, live


def halves_of(folder):
    return [Saved.read(folder / f"{name}.json") for name in HALVES]


def of_stock(saved):
    """What is saved, without our side: of that pair `other_rounding` is at parity by the ladder."""
    rows = [
        row.model_copy(update={"observations": (row.observations[1],)})
        for row in saved.campaign.programs
    ]
    changes = {"sides": saved.campaign.sides[1:], "programs": tuple(rows)}
    return replace(saved, campaign=saved.campaign.model_copy(update=changes))


def verdicts(result):
    return {row.name: (row.verdict, row.reasons) for row in result.programs}


def flips(result):
    return {row.name: row.flip.outcome for row in result.programs}


def test_two_halves_get_the_verdicts_of_the_whole(saved, asked):
    folder, live = saved
    of_the_live_run = list(asked)
    asked.clear()
    again = compare(*halves_of(folder), attribute=True)
    assert again.sides == live.sides
    assert verdicts(again) == verdicts(live)
    assert flips(again) == flips(live)
    assert asked == of_the_live_run


def test_a_bug_within_tolerance_is_a_difference_of_halves_as_well(saved):
    folder, _ = saved
    halves = [of_stock(half) for half in halves_of(folder)]
    assert verdicts(compare(*halves))["other_rounding"][0] == "agrees here, not proved"
    verdict, reasons = verdicts(compare(*halves, attribute=True))["other_rounding"]
    assert verdict == "difference"
    assert "outputs differ by a bug: as planted" in reasons[0]


def test_nothing_runs_unless_it_is_asked_for(saved, asked, capsys):
    folder, _ = saved
    files = [str(folder / f"{name}.json") for name in HALVES]
    asked.clear()
    comment = ["--report", "comment:-", "--report-url", "https://ci.example.org/report.html"]
    app.main(["compare", *files, *comment])
    assert asked == []
    assert "[The whole report](<https://ci.example.org/report.html>)" in capsys.readouterr().out
    app.main(["compare", *files, "--attribute"])
    assert {name.rpartition(":")[2] for name, *_ in asked} == {
        "other_value", "other_rounding", "other_order"
    }  # fmt: skip
    assert ": a bug" in capsys.readouterr().out  # the drift, beside the line that reads the flag


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, None),
        ({"target": ""}, "do not name the same target"),
        ({"target": "faults.py:gone"}, "no file 'faults.py'"),
        ({"digest": "0" * 64}, "is another than what was measured"),
        ({"digest": ""}, "is another than what was measured"),
    ],
)
def test_what_is_not_the_program_that_was_measured_is_not_run(saved, tmp_path, change, said):
    folder, live = saved
    row = Saved.read(folder / "live.json").rows()["other_rounding"].model_copy(update=change)
    here = [live.environment]
    found = of_campaign.saved_job(0, [row, row], here, tmp_path, Limits(60))
    if said is None:
        assert found.target == row.target
        elsewhere = live.environment.model_copy(update={"jax": "0.4.1"})
        (tmp_path / "listing-0").rename(tmp_path / "other")
        found = of_campaign.saved_job(0, [row, row], [elsewhere], tmp_path, Limits(60))
        assert found.why == "it was measured in another environment than this"
    else:
        assert said in found.why


def with_rows(saved, change):
    """What is saved, with other rows: `change` gets each row and returns it, or None without it."""
    rows = tuple(row for row in map(change, saved.campaign.programs) if row is not None)
    return replace(saved, campaign=saved.campaign.model_copy(update={"programs": rows}))


def test_drift_that_is_not_looked_into_says_why_and_decides_nothing(saved, asked):
    folder, _ = saved
    halves = [
        with_rows(half, lambda row: row.model_copy(update={"target": ""}))
        for half in halves_of(folder)
    ]
    asked.clear()
    found = compare(*halves, attribute=True)
    assert asked == []
    assert flips(found) == flips(compare(*halves))
    [row] = [row for row in found.programs if row.name == "other_rounding"]
    assert row.drift == ()
    assert row.reasons[-1].startswith("the drift was not looked into: the files do not name")


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


def test_a_hazard_of_either_file_is_one_of_the_program(saved):
    folder, _ = saved
    live = Saved.read(folder / "live.json")
    [hazard] = live.rows()["good"].hazards
    without = with_rows(live, lambda row: row.model_copy(update={"hazards": ()}))
    for files in ((live, without), (without, live), (live, live)):
        result = compare(*files)
        assert {each.name: each.hazards for each in result.programs}["good"] == (hazard,)


def test_a_side_that_changed_is_different_from_itself(saved):
    folder, _ = saved

    def change(row):
        if row.name != "good":
            return None if row.name == "last" else row
        first, second, *others = row.observations
        proof = second.proof.model_copy(update={"const_args": second.proof.const_args + 1})
        changed = (first, second.model_copy(update={"proof": proof}), *others)
        return row.model_copy(update={"observations": changed})

    live = Saved.read(folder / "live.json")
    by_name = verdicts(compare(live, with_rows(live, change)))
    assert by_name["good"] == (
        "difference",
        (
            "simplified and simplified: const args: 1 against 2 (one side gave two counts, and "
            "counts do not depend on the machine)",
        ),
    )
    assert by_name["last"] == ("could not compare", (f"only {folder / 'live.json'} has it",))
    for elsewhere in ({"backend": "gpu"}, {"jaxlib": "0.10.9"}):
        on_another = with_environment(with_rows(live, change), **elsewhere)
        assert verdicts(compare(live, on_another))["good"][0] == "parity"


@pytest.mark.parametrize("names", [("live", "live"), ("legacy", "simplified")])
def test_runs_with_other_arguments_or_of_chance_are_no_difference(saved, names):
    folder, _ = saved
    left, right = (Saved.read(folder / f"{name}.json") for name in names)

    def changed(**of_row):
        def change(row):
            first, *others = row.observations
            leaves = [each.model_copy(update={"dtype": "float16"}) for each in first.outputs]
            argument, *rest = first.arguments
            other = argument.model_copy(update={"sha256": "0" * 64})
            update = {"outputs": tuple(leaves)}
            if not of_row:
                update["arguments"] = (other, *rest)
            first = first.model_copy(update=update)
            return row.model_copy(update={"observations": (first, *others), **of_row})

        return with_rows(right, lambda row: change(row) if row.name == "good" else row)

    by_chance = changed(verdict="not repeatable", flip=None, reasons=("its noise has no seed",))
    for other, why in (
        (changed(), "it was called otherwise: argument "),
        (by_chance, "it does not repeat itself: its noise has no seed"),
    ):
        if other is not by_chance and names[0] != names[1]:
            continue  # a flip may change what a program is called with
        verdict, reasons = verdicts(compare(left, other))["good"]
        assert verdict == "could not compare"
        assert reasons[0].startswith(why)
    assert verdicts(compare(left, changed(summary="as before")))["good"][0] == "difference"


@pytest.fixture
def copy(saved, tmp_path):
    """A copy of saved results, to be damaged; the function writes its archive anew, changed."""
    folder, _ = saved
    for name in ("live.json", "live.json.arrays"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())

    def archive(change):
        with zipfile.ZipFile(folder / "live.json.arrays") as whole:
            members = {member: whole.read(member) for member in whole.namelist()}
        change(members)
        with zipfile.ZipFile(tmp_path / "live.json.arrays", "w") as changed:
            for member, content in members.items():
                changed.writestr(member, content)

    return tmp_path / "live.json", archive


def refusal(path):
    with pytest.raises(SavedError) as raised:
        Saved.read(path)
    return str(raised.value)


def test_what_is_no_archive_is_refused(copy):
    report, _ = copy
    other = report.with_name("A.json")
    written = f"write one with constparity run --save {other}$"
    with pytest.raises(ReportReadError, match=f"No such file or directory; .* {written}"):
        Saved.read(other)
    other.write_text("{}")
    name_one = "name a file that constparity run --save FILE wrote, or write it again$"
    with pytest.raises(ReportReadError, match=f"not a constparity report .* {name_one}"):
        Saved.read(other)
    arrays = report.with_name("live.json.arrays")
    arrays.write_bytes(b"no archive")
    assert "is not an archive" in refusal(report)
    arrays.unlink()
    assert "is missing; write both with constparity run --save" in refusal(report)


def test_a_report_that_was_changed_since_is_refused(copy):
    report, _ = copy
    report.write_text(report.read_text().replace('"equal"', '"different"', 1))
    assert f"'{report}' is not the report that it was saved with" in refusal(report)


def test_a_bit_that_flipped_in_the_archive_is_found(copy):
    """Whichever it is: in the middle it is one of an array, at the end one of the directory."""
    report, _ = copy
    arrays = report.with_name("live.json.arrays")
    whole = arrays.read_bytes()
    found, places = 0, range(0, len(whole), len(whole) // 60)
    for place in places:
        arrays.write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            Saved.read(report)
        except SavedError:
            found += 1
    # Nobody reads the times and modes of members, so that is no damage.
    assert found >= 0.8 * len(places)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update({"0/legacy.npz": m["1/legacy.npz"]}), "0/legacy.npz is not what was"),
        (lambda m: m.pop("0/legacy.npz"), "0/legacy.npz"),
        (lambda m: m.pop("manifest.json"), "is in format 1, and this constparity reads format 2"),
        (
            lambda m: m.update({"manifest.json": b'{"format": 3, "other": 1}'}),
            "is in format 3, and this constparity reads format 2",
        ),
        (lambda m: m.update({"manifest.json": b"[]"}), "is damaged or belongs to another report"),
        (lambda m: m.update({"manifest.json": b"{"}), "is damaged or belongs to another report"),
    ],
)
def test_an_archive_is_read_only_where_its_digests_are_right(copy, change, said):
    report, archive = copy
    archive(lambda members: None)
    assert Saved.read(report).campaign.programs
    archive(change)
    assert said in refusal(report)


def test_the_command_compares_and_exits_as_run_does(saved, tmp_path, capsys):
    folder, _ = saved
    files = [str(folder / f"{name}.json") for name in HALVES]
    report = tmp_path / "report.json"
    assert app.main(["compare", *files, "--report", f"json:{report}"]) == app.Exit.DIFFERENCE
    printed = capsys.readouterr()
    assert "mismatch at the only output" in printed.out
    assert f"reading {files[0]}, and the digests of its arrays\n" in printed.err
    assert " judging other_value\n" in printed.err
    assert report.exists()
    assert app.main(["compare", *files, "--exit-zero"]) == app.Exit.PARITY
    assert app.main(["compare", files[0], str(tmp_path / "none.json")]) == app.Exit.USAGE
    assert "No such file" in capsys.readouterr().err


def test_counts_are_not_judged_between_two_versions_of_jax(saved):
    left, _ = halves_of(saved[0])

    def changed(row):
        first, *others = row.observations
        if row.name != "good":
            return row
        more = first.jaxpr.model_copy(update={"equations": first.jaxpr.equations + 1})
        tree = first.model_copy(update={"jaxpr": more})
        return row.model_copy(update={"observations": (tree, *others)})

    rows = tuple(map(changed, left.campaign.programs))
    right = replace(left, campaign=left.campaign.model_copy(update={"programs": rows}))

    def equations(result):
        [row] = [each for each in result.programs if each.name == "good"]
        [found] = [
            each
            for each in row.comparisons
            if each.metric == "jaxpr equations" and each.left == "legacy"
        ]
        return row.verdict, found.outcome, int(found.right_value) - int(found.left_value)

    assert equations(compare(left, right)) == ("difference", "different", 1)
    later = with_environment(right, jax="0.99.0")
    assert equations(compare(left, later)) == ("parity", "not judged", 1)


def with_environment(saved, **changed):
    environment = saved.campaign.environment.model_copy(update=changed)
    return replace(saved, campaign=saved.campaign.model_copy(update={"environment": environment}))


def with_times(saved):
    """What is saved, as if each side had been measured in 8 rounds, simplified slower."""

    def change(row):
        samples = tuple(
            TimeSamples(side=each.side, metric="call", seconds=(n, n, n, n, n, n, n, n))
            for n, each in enumerate(row.observations, 1)
        )
        return row.model_copy(update={"time_samples": samples})

    return with_rows(saved, change)


def test_other_versions_and_machines_are_in_the_headline_and_have_no_times(saved, capsys):
    folder, _ = saved
    left, right = map(with_times, halves_of(folder))
    alike = compare(left, right)
    assert alike.provenance == ()
    assert all(row.times for row in alike.programs)

    here = left.campaign.environment
    other = with_environment(right, jax="0.10.9", cpu="another CPU")
    result = compare(left, other)
    assert result.provenance == (
        f"provenance: not measured alike: jax {here.jax} and 0.10.9; cpu {here.cpu} and another "
        "CPU; times are not judged",
    )
    for row in result.programs:
        assert row.times == row.time_samples == ()
        assert all(each.times is None for each in row.observations)
    assert verdicts(result) == verdicts(alike)
    run_view.print_headline(terminal.console(), result)
    assert result.provenance[0] in capsys.readouterr().out.splitlines()
    assert result.provenance[0] in reports.render_report("html", result).replace("&#39;", "'")
    assert result.provenance[0] in reports.render_report("md", result)
    assert json.loads(reports.render_report("json", result))["provenance"] == [*result.provenance]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"JAX_ENABLE_X64": "1"}, "JAX_ENABLE_X64 unset and 1"),
        ({"fresh": "True"}, "fresh False and True"),
        (None, "settings of {} not recorded"),
    ],
)
def test_other_settings_are_in_the_headline_and_have_no_times(saved, settings, told):
    folder, _ = saved
    left, right = map(with_times, halves_of(folder))
    update = {"settings": settings and {**right.campaign.settings, **settings}}
    other = replace(right, campaign=right.campaign.model_copy(update=update))
    result = compare(left, other)
    assert result.provenance == (
        f"provenance: not measured alike: {told.format(right.path)}; times are not judged",
    )
    assert not any(row.times for row in result.programs)


def measured_with_jax(saved, version):
    """What is saved, as if all processes had told this version of JAX."""

    def change(row):
        observations = tuple(
            each.model_copy(
                update={"measured_with": each.measured_with.model_copy(update={"jax": version})}
            )
            for each in row.observations
            if each.measured_with
        )
        return row.model_copy(update={"observations": observations})

    return with_rows(saved, change)


def test_each_side_names_what_it_was_measured_with(saved):
    folder, _ = saved
    left, right = halves_of(folder)
    assert len(lines_of(compare(left, right))) == 1
    other = compare(left, measured_with_jax(right, "0.10.9"))
    of_left, of_right = lines_of(other)
    assert of_left.startswith("legacy, jax-legacy: measured with jax ")
    assert of_right.startswith("simplified, jax-simplified: measured with jax 0.10.9, jaxlib ")


def test_two_files_of_one_side_name_what_each_was_measured_with(saved):
    folder, _ = saved
    left, _ = halves_of(folder)
    assert compare(left, left).files_measured == ()
    of_left, of_right = lines_of(compare(left, measured_with_jax(left, "0.10.9")))
    assert of_left.startswith(f"{folder / 'legacy.json'}: measured with jax ")
    assert of_right.startswith(f"{folder / 'legacy.json'}: measured with jax 0.10.9, jaxlib ")


def test_other_sources_are_in_the_headline_and_have_no_times(saved):
    folder, _ = saved
    left, right = map(with_times, halves_of(folder))
    changed = with_rows(
        right,
        lambda row: row.model_copy(update={"digest": "0" * 64}) if row.name == "good" else row,
    )
    result = compare(left, changed)
    assert result.provenance == (
        "provenance: other sources of 1 of 6 programs (good); their times are not judged",
    )
    for row in result.programs:
        assert bool(row.times) == (row.name != "good")
