"""An interrupted campaign goes on: nothing is run twice, and nothing is lost."""

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from full_disk import FULL_DISK
from program_files import program_file
from waiting import alive, await_

import engine
from parity_tests.evidence.folder_layout import ProgramFiles
from parity_tests.evidence.saved import Saved
from parity_tests.processes.kept_files import finish
from parity_tests.processes.protocol import Listing
from parity_tests.run import run
from parity_tests.run.folder import (
    FORMAT,
    ResumeError,
    Setup,
    campaign_folder,
    check_same_campaign,
)
from parity_tests.run.options import CampaignOptions
from reports.rows import Check, Failure, Observation

SIDES = ("legacy", "simplified")


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.setenv("RUN_LOG", str(tmp_path / "log"))
    return Path(shutil.copy(program_file("logged_programs"), tmp_path))


def started(tmp_path):
    return (tmp_path / "log").read_text().split()


def test_what_waiting_processes_of_a_killed_campaign_left_is_deleted_by_the_next(tmp_path):
    for name in ("serve-reruns-jax-legacy-1/0", "serve-truth-jax-legacy-1", "arbiter-0"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "serve-reruns-jax-legacy-1" / "0" / "outputs.npz").touch()
    with campaign_folder(tmp_path):
        assert sorted(each.name for each in tmp_path.iterdir()) == ["arbiter-0", "lock"]


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_campaign_that_was_stopped_goes_on(module, tmp_path, how):
    folder = tmp_path / "kept"
    targets = [f"{module}:program_{number}" for number in range(12)]
    command = [sys.executable, "-m", "parity_tests.cli", "run", "--no-times", *targets]
    command += ["--resume", str(folder), "--sides", ",".join(SIDES)]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while sum(file.stem.isdecimal() for file in folder.glob("*/*/*.json")) < 5:
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    workers = psutil.Process(process.pid).children()
    process.send_signal(how)
    _, said = process.communicate()
    for worker in workers:  # which see a little later that nobody is left to kill them
        await_(lambda pid=worker.pid: not alive(pid))
    if how != signal.SIGKILL:
        assert process.returncode == 130
        assert "interrupted; the same command goes on from here" in said
    before = started(tmp_path)
    assert len(set(before)) < 12
    finished = [
        {int(file.stem) for file in folder.glob(f"{side}/*/*.json") if file.stem.isdecimal()}
        for side in SIDES
    ]

    steps = []
    result = run.run(
        targets, CampaignOptions(sides=SIDES, steady_calls=0, resume=folder),
        progress=lambda done, total, text: steps.append((done, text)),
    )  # fmt: skip
    assert steps[1][1] == "finished before"
    assert steps[1][0] >= 5
    assert [row.name for row in result.programs if row.verdict == "parity"] == [
        f"program_{number}" for number in range(12)
    ]
    # Once for each side. Once more for what a side was on when it was stopped, which is the first
    # that it had not finished.
    after = started(tmp_path)
    again = [0] * 12
    for done in finished:
        for number in sorted(set(range(12)) - done)[:1]:
            again[number] += 1
    for number in range(12):
        assert 2 <= after.count(str(number)) <= 2 + again[number]

    options = CampaignOptions(sides=SIDES, steady_calls=0, resume=folder)
    again = run.run(targets, options)
    assert again.programs == result.programs
    assert started(tmp_path) == after  # nothing was left to run

    save = tmp_path / "A.json"
    run.run(targets, options.model_copy(update={"save": save}))
    for number in range(12):  # the arrays are of the processes of both campaigns
        for each in Saved.read(save).evidence(f"program_{number}").values():
            [output] = each.outputs
            assert output.array.tolist() == [n + number for n in range(4)]


def test_a_program_that_hung_is_not_waited_for_again(module, tmp_path):
    targets, folder = [f"{module}:hangs"], tmp_path / "kept"
    result = run.run(targets, CampaignOptions(sides=SIDES, timeout=8, resume=folder))
    [row] = result.programs
    assert row.verdict == "could not compare"
    assert {each.failure.kind for each in row.observations} == {"timeout"}
    assert started(tmp_path) == ["hangs", "hangs"]
    for file in folder.rglob("*.json"):
        os.utime(file, (0, 0))  # of a command before this one
    again = run.run(targets, CampaignOptions(sides=SIDES, timeout=8, resume=folder))
    assert again.programs == result.programs
    assert started(tmp_path) == ["hangs", "hangs"]
    assert again.provenance[0].startswith(
        f"{folder} had results of 1 of 1 program: data, packages that "
    )

    (tmp_path / "log.fixed").touch()  # what it waits for
    again = run.run(targets, CampaignOptions(sides=SIDES, timeout=60, resume=folder))
    assert [row.verdict for row in again.programs] == ["parity"]


def test_another_campaign_is_refused(module, tmp_path):
    targets = [f"{module}:program_1"]
    module.with_name("helper.py").touch()
    module.write_text(f"import helper\n{module.read_text()}")
    run.run(targets, CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    with pytest.raises(ResumeError, match="it has 1 programs and the targets name other ones"):
        run.run([f"{module}:program_2"], CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    helper = module.with_name("helper.py")
    helper.write_text("# changed\n")
    with pytest.raises(ResumeError, match=r"'\S+helper\.py' has changed since; name"):
        run.run(targets, CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    helper.write_text("")
    with module.open("a") as file:
        file.write("\n# changed\n")
    with pytest.raises(ResumeError, match=r"the source of program_1 .* has changed since; name"):
        run.run(targets, CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    (tmp_path / "kept" / "campaign.json").write_text("{")
    with pytest.raises(ResumeError, match="is no campaign of this constparity"):
        run.run(targets, CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    (tmp_path / "file").touch()
    with pytest.raises(ResumeError, match="name another folder"):
        run.run(targets, CampaignOptions(sides=SIDES, resume=tmp_path / "file"))


def setup_of(**changed):
    return Setup(**{"timeout": 60, "memory_limit": 2**30, "variables": {}, **changed})


def test_what_was_measured_otherwise_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    folder.mkdir()
    check_same_campaign(folder, Listing(), setup_of(variables={"JAX_PLATFORMS": "cpu"}))
    for changed, said in (
        ({"reload": True}, "its reload was False and is True"),
        ({"fresh": True}, "its fresh was False and is True"),
        ({"steady_calls": 0}, "its steady_calls was 20 and is 0"),
        ({"hazards_on": "legacy"}, "its hazards_on was None and is 'legacy'"),
        ({"variables": {}}, "its JAX_PLATFORMS was 'cpu' and is None"),
    ):
        now = setup_of(**{"variables": {"JAX_PLATFORMS": "cpu"}, **changed})
        with pytest.raises(ResumeError, match=f"cannot be resumed: {said}; name another"):
            check_same_campaign(folder, Listing(), now)
    monkeypatch.setenv("XLA_FLAGS", "--of_the_user")
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    monkeypatch.setenv("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS", "1")  # each side has its own
    variables = Setup(timeout=1).variables
    assert variables["XLA_FLAGS"] == "--of_the_user"
    assert variables["JAX_ENABLE_X64"] == "1"
    assert variables["JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"] == "0"


def test_figures_depend_on_all_settings_of_the_engine_but_its_flag_and_on_no_secret(monkeypatch):
    names = {name for name in dir(engine.config) if not name.startswith("_")} - {"update"}
    settings = {f"CONSTPARITY_{name.upper()}" for name in names}
    for name in (*settings, "CONSTPARITY_TOKEN"):
        monkeypatch.setenv(name, "a value")
    kept = {name for name, value in Setup(timeout=1).variables.items() if value == "a value"}
    assert kept == settings - {"CONSTPARITY_USE_SIMPLIFIED_CONSTANTS"}


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, {"crash", "timeout", "memory"}),
        ({"timeout": 30, "memory_limit": 2**20}, {"crash", "timeout", "memory"}),
        ({"timeout": 90}, {"crash", "memory"}),
        ({"memory_limit": 2**31}, {"crash", "timeout"}),
        ({"memory_limit": None, "timeout": math.inf}, {"crash"}),
    ],
)
def test_what_exceeded_a_limit_runs_again_with_a_larger_one(tmp_path, limits, left):
    """Also in rounds; and a limit that was smaller for a while counts as the smaller one."""
    check_same_campaign(tmp_path, Listing(), setup_of())
    folder = tmp_path / "rounds" / "0" / "legacy" / "1"
    folder.mkdir(parents=True)
    for number, kind in enumerate(("crash", "timeout", "memory")):
        failure = Failure(kind=kind, stage="run", type="a type", message="")
        finish(
            ProgramFiles(folder, number), Observation(program="p", side="legacy", failure=failure)
        )

    check_same_campaign(tmp_path, Listing(), setup_of(**limits))
    records = map(Observation.model_validate_json, map(Path.read_text, folder.glob("*.json")))
    assert {each.failure.kind for each in records} == left
    check_same_campaign(tmp_path, Listing(), setup_of(timeout=math.inf, memory_limit=None))
    assert [file.name for file in folder.glob("*.json")] == ["0.json"]


def identity_of(folder, **changed):
    """A folder with an identity that was changed afterwards."""
    check_same_campaign(folder, Listing(), setup_of())
    file = folder / "campaign.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changed}))


def test_an_older_or_newer_format_is_named(tmp_path):
    identity_of(tmp_path, format="9.9", what_only_it_knows=1)
    with pytest.raises(ResumeError, match=rf"in format 9\.9, and this .* in format {FORMAT}"):
        check_same_campaign(tmp_path, Listing(), setup_of())
    file = tmp_path / "campaign.json"
    older = json.loads(file.read_text())
    del older["format"]
    file.write_text(json.dumps(older))
    with pytest.raises(ResumeError, match="is in format 1, and this constparity"):
        check_same_campaign(tmp_path, Listing(), setup_of())


@pytest.mark.parametrize("changed", [{"sha256": "0"}, {"setup": {"timeout": 61, "variables": {}}}])
def test_a_changed_identity_is_not_believed(tmp_path, changed):
    identity_of(tmp_path, **changed)
    with pytest.raises(ResumeError, match="it was changed since it was written; name another"):
        check_same_campaign(tmp_path, Listing(), setup_of())


def test_results_without_an_identity_are_not_believed(tmp_path):
    (tmp_path / "legacy" / "1").mkdir(parents=True)
    finish(ProgramFiles(tmp_path / "legacy" / "1", 0), Observation(program="p", side="legacy"))
    with pytest.raises(ResumeError, match=r"campaign\.json, which says .* is missing"):
        check_same_campaign(tmp_path, Listing(), setup_of())


def test_what_is_damaged_is_measured_again_and_said(module, tmp_path, caplog):
    """A flipped bit, half a file, a lost one, another program's, and rubbish: each on one side."""
    targets = [f"{module}:program_{number}" for number in range(6)]
    options = CampaignOptions(sides=SIDES, steady_calls=0, resume=tmp_path / "kept")
    first = run.run(targets, options)
    before, caplog_before = started(tmp_path), list(caplog.messages)
    assert caplog_before == []
    files = {
        side: {int(file.stem): file for file in (tmp_path / "kept" / side).glob("*/?.json")}
        for side in SIDES
    }

    def change(side, number, suffix, content):
        file = files[side][number].with_suffix(suffix)
        file.write_bytes(content(file.read_bytes()))

    change("legacy", 0, ".npz", lambda old: old[:-40] + bytes([old[-40] ^ 1]) + old[-39:])
    change("simplified", 1, ".json", lambda old: old[: len(old) // 2])
    files["simplified"][2].with_suffix(".jaxpr.txt").unlink()
    change("legacy", 3, ".sha256", lambda old: b"")
    for suffix in (".json", ".npz", ".jaxpr.txt", ".sha256"):
        change(
            "simplified", 4, suffix, lambda old, suffix=suffix: files["simplified"][5]
            .with_suffix(suffix).read_bytes().replace(b"  5.", b"  4."),
        )  # fmt: skip

    again = run.run(targets, options)
    assert [row.verdict for row in again.programs] == ["parity"] * 6
    assert again.model_dump(exclude={"created"}).keys() == first.model_dump().keys() - {"created"}
    said = sorted(caplog.messages)
    for text, (number, side) in zip(
        said,
        [(0, "legacy"), (3, "legacy"), (1, "simplified"), (2, "simplified"), (4, "simplified")],
        strict=True,
    ):
        assert text.endswith(f"so program_{number} is measured again on {side}"), said
    runs = started(tmp_path)[len(before) :]
    assert sorted(runs) == ["0", "1", "2", "3", "4"]  # once on its side

    caplog.clear()
    run.run(targets, options)
    assert caplog.messages == []
    assert len(started(tmp_path)) == len(before) + len(runs)


def test_a_folder_that_goes_away_leaves_what_was_measured(module, tmp_path, caplog):
    """It is not made again, and the programs that were not finished say why."""
    targets = [f"{module}:program_{number}" for number in range(12)]
    folder = tmp_path / "kept"

    def progress(done, total, text):
        if done > total / 2:  # a program has run on both sides, however slow one of them is
            shutil.rmtree(folder, ignore_errors=True)

    options = CampaignOptions(sides=SIDES, steady_calls=0, resume=folder, rounds=2, attribute=True)
    result = run.run(targets, options, progress=progress)
    assert len(result.programs) == 12
    assert {row.verdict for row in result.programs} == {"could not compare"}
    said = {row.reasons[0].partition("(")[0] for row in result.programs}
    assert said >= {"its arrays cannot be read any more "}
    assert any(text.startswith("the campaign's folder took no results of it on") for text in said)
    observed = [len(row.observations) for row in result.programs]
    assert sum(observed) >= 5
    assert f"{folder}/legacy takes no more results" in caplog.text
    assert not folder.exists()


@pytest.mark.parametrize("file", ["0.npz", "0.sha256", "0.json"])
def test_a_folder_that_is_full_keeps_what_it_has(module, tmp_path, monkeypatch, caplog, file):
    """The second program does not fit; the first is compared, and nothing is half-written."""
    module.write_text(module.read_text() + FULL_DISK)
    monkeypatch.setenv("FULL_FOR", file.replace("0", "1", 1))
    targets = [f"{module}:program_{number}" for number in range(3)]
    folder = tmp_path / "kept"
    result = run.run(targets, CampaignOptions(sides=SIDES, steady_calls=0, resume=folder))
    by_name = {row.name: row for row in result.programs}
    assert by_name["program_0"].verdict == "parity"
    assert by_name["program_1"].verdict == "could not compare"
    assert "took no results of it" in by_name["program_1"].reasons[0]
    assert "takes no more results ([Errno 28] No space left on device" in caplog.text
    assert list(folder.rglob("*.part")) == []
    monkeypatch.delenv("FULL_FOR")
    again = run.run(targets, CampaignOptions(sides=SIDES, steady_calls=0, resume=folder))
    assert [row.verdict for row in again.programs] == ["parity"] * 3
    assert started(tmp_path).count("0") == 2  # not again


def test_two_campaigns_do_not_share_a_folder(module, tmp_path):
    from parity_tests.run.folder import campaign_folder

    with campaign_folder(tmp_path / "kept"), pytest.raises(ResumeError, match="another campaign"):
        run.run([f"{module}:program_1"], CampaignOptions(sides=SIDES, resume=tmp_path / "kept"))
    assert os.listdir(tmp_path / "kept") == ["lock"]


def test_what_was_killed_from_outside_runs_again(tmp_path):
    file, folder = shutil.copy(program_file("trust/killed_from_outside"), tmp_path), tmp_path / "k"
    options = CampaignOptions(sides=("jax-legacy", "jax-simplified"), resume=folder)
    [row] = run.run([str(file)], options).programs
    assert row.verdict == "could not compare"
    assert row.reasons[0] == (
        "jax-legacy: crash in trace: signal SIGKILL: the process was killed from outside, or by "
        "the kernel because memory ran out; a campaign with --resume runs the program again"
    )
    (tmp_path / "memory_is_back").touch()
    [row] = run.run([str(file)], options).programs
    assert (row.verdict, len(row.hazards)) == ("parity", 1)


def test_a_check_that_was_killed_from_outside_is_made_again(tmp_path):
    check_same_campaign(tmp_path, Listing(), setup_of())
    for number, ending in enumerate(("signal SIGKILL: killed", "signal SIGABRT: the end")):
        check = Check(name="flag flips", holds=True, measured=False, statement=ending)
        lost = Observation(program="p", side="legacy", checks=(check,))
        finish(ProgramFiles(tmp_path, number), lost)
    check_same_campaign(tmp_path, Listing(), setup_of())
    assert [each.name for each in tmp_path.glob("?.json")] == ["1.json"]
