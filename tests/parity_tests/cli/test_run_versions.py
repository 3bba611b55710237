"""`constparity run` in several interpreters: its exit status, its reports, and one real run."""

import json
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import built_grids as built
import pytest
from built_campaigns import timed
from doc_blocks import excerpt

from parity_tests.cli import app, last_failed
from parity_tests.cli import run as run_command
from parity_tests.cli.run_versions import first_change
from parity_tests.run import each_version
from parity_tests.run.each_version import EachVersion, Interpreter
from reports.output.json_file import load_result
from reports.rows.grid_row import GridVersion

STOCK = ["--sides", "jax-legacy,jax-simplified"]
TWO = ["--python", sys.executable, "--python", sys.executable]


@pytest.fixture
def canned(monkeypatch):
    """A grid as if it had been run; what else came of the campaigns can be given."""

    def of(*versions, changes=(), **more):
        found = EachVersion(built.of(*versions, changes=changes), **more)
        monkeypatch.setattr(each_version, "run_each", lambda *args, **options: found)
        named = [Interpreter(Path("python"), each.label, each.label) for each in versions]
        monkeypatch.setattr(each_version, "interpreters_at", lambda paths: named)

    return of


def run(*arguments):
    return app.main(["run", "x", *TWO, *arguments])


def safe(label):
    return built.version(label, built.program("steady"))


def different(label):
    return built.version(label, built.program("steady", "different"))


def unknown(label):
    return built.version(label, built.program("steady", "could not compare"))


@pytest.mark.parametrize(
    ("last", "code"),
    [(safe, 0), (different, 1), (unknown, 2)],
)
def test_the_exit_status_is_the_worst_of_all_versions(canned, last, code, capsys):
    canned(last("0.9.2"), safe("0.10.2"))
    assert run() == code
    assert ("on 0.9.2" in capsys.readouterr().out.splitlines()[-1]) == bool(code)
    assert run("--exit-zero") == 0


def test_a_format_that_a_grid_does_not_have_is_refused_before_anything_runs(monkeypatch, capsys):
    monkeypatch.setattr(each_version, "run_each", lambda *args, **options: pytest.fail("it ran"))
    assert run("--report", "sarif:-") == 4
    assert "the formats of a grid over versions of JAX are html, md" in capsys.readouterr().err


def test_a_difference_is_worse_than_what_could_not_be_compared(canned):
    canned(unknown("0.9.2"), different("0.10.2"))
    assert run() == 1


def test_a_version_without_a_campaign_could_not_be_compared(canned, capsys):
    canned(GridVersion(label="0.9.2", missing="no module named flax"), safe("0.10.2"))
    assert run() == 2
    assert "fails on not-compared: nothing was run on 0.9.2" in capsys.readouterr().out
    assert run("--fail-on", "different") == 0


def changing(outcome):
    """Two versions, of which the second changes a program."""
    return [safe("0.9.2"), safe("0.10.2")], [built.change("steady", "0.9.2", "0.10.2", outcome)]


def test_a_change_of_version_breaks_its_rule_alone(canned, capsys):
    versions, changes = changing("different")
    canned(*versions, changes=changes)
    assert run() == 0
    assert run("--fail-on", "version-change:jax-legacy,different") == 2  # which ran nowhere twice
    capsys.readouterr()
    assert run("--fail-on", "different,version-change") == 1
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "fails on version-change: 1 program from version to version"
    assert run("--fail-on", "version-change", "--exit-zero") == 0


def test_a_change_of_version_breaks_the_rule_of_the_project(canned, tmp_path, monkeypatch):
    versions, changes = changing("new failure")
    canned(*versions, changes=changes)
    monkeypatch.chdir(tmp_path)
    assert run() == 0
    (tmp_path / "pyproject.toml").write_text('[tool.constparity]\nfail-on = ["version-change"]\n')
    assert run() == 1


def test_quietly_what_a_version_changes_is_named(canned, capsys):
    versions, changes = changing("different")
    canned(*versions, changes=changes)
    run("-q", "--fail-on", "version-change")
    out = capsys.readouterr().out.splitlines()
    assert "steady: flag on: 0.9.2 to 0.10.2: different: it is different" in out


def test_what_was_not_compared_across_versions_is_no_parity(canned, capsys):
    versions, changes = changing("not compared")
    canned(*versions, changes=changes)
    assert run("--fail-on", "version-change") == 2
    canned(*versions)
    capsys.readouterr()
    assert run("--fail-on", "version-change") == 2
    assert "version-change: no side ran on two versions" in capsys.readouterr().out
    canned(GridVersion(label="0.9.2", missing="no module named flax"), safe("0.10.2"))
    assert run("--fail-on", "version-change") == 2
    assert "fails on version-change: nothing was run on 0.9.2" in capsys.readouterr().out


def test_what_a_version_changes_is_remembered(canned, monkeypatch):
    remembered = []
    monkeypatch.setattr(last_failed, "remember", lambda rows, names: remembered.append(names))
    versions, changes = changing("different")
    canned(*versions, changes=changes)
    run("--fail-on", "version-change")
    assert remembered == [{"steady"}]


def test_an_interrupted_run_prints_what_there_is(canned, capsys):
    canned(safe("0.9.2"), GridVersion(label="0.10.2", missing="interrupted"), was_interrupted=True)
    assert run() == 130
    printed = capsys.readouterr()
    assert "flip: yes on 0.9.2; not known on 0.10.2" in printed.out
    assert "constparity: interrupted" in printed.err


def test_targets_that_are_wrong_everywhere_are_a_wrong_use(canned, capsys):
    canned(GridVersion(label="0.9.2", missing="no file x"), refused=("no file x",))
    assert run() == 4
    assert "constparity: no file x" in capsys.readouterr().err


def test_an_interpreter_that_cannot_run_sides_is_a_wrong_use(capsys, tmp_path):
    assert run("--python", str(tmp_path / "python")) == 4
    assert "does not exist" in capsys.readouterr().err


def test_results_that_cannot_be_saved_are_told_before_anything_runs(canned, capsys, tmp_path):
    canned(safe("0.9.2"))
    (tmp_path / "A-0.9.2.json").mkdir()
    assert run("--save", str(tmp_path / "A.json")) == 4
    assert "A-0.9.2.json" in capsys.readouterr().err


def test_quietly_each_program_that_fails_is_named(canned, capsys):
    canned(different("0.9.2"), safe("0.10.2"))
    run("-q")
    out = capsys.readouterr().out
    assert "jax 0.9.2:" in out
    assert "steady (models/steady.py:12): flip: different" in out


def test_verbosely_each_campaign_is_printed_before_the_grid(canned, capsys):
    canned(different("0.9.2"), safe("0.10.2"))
    run("-v")
    out = capsys.readouterr().out
    assert out.index("jax-legacy, jax-simplified on jax 0.9.2") < out.index("flip: no on 0.9.2")


def test_every_report_of_a_grid_is_written(canned, tmp_path):
    canned(*built.rich().versions)
    files = {name: tmp_path / f"grid.{name}" for name in ("json", "md", "html")}
    run(*(f"--report={name}:{file}" for name, file in files.items()))
    assert load_result(files["json"]).headline.flip == "no"
    assert files["md"].read_text().startswith("# constparity: flip: no on some versions")
    assert files["html"].read_text().startswith("<!DOCTYPE html>")


def test_what_failed_on_any_version_is_remembered(canned, monkeypatch):
    remembered = []
    monkeypatch.setattr(
        last_failed, "remember", lambda rows, names: remembered.append(([*rows], names))
    )
    canned(different("0.9.2"), safe("0.10.2"))
    run()
    [(rows, names)] = remembered
    assert [row.name for row in rows] == ["steady"]
    assert names == {"steady"}


# -- --jax A..B ------------------------------------------------------------------------------------


RELEASES = [f"0.11.{number}" for number in range(9)]


@pytest.fixture
def search(monkeypatch):
    """Searches releases, of which one is the first slow one; returns the grids that were run."""

    def of(first_slow, *arguments, gap="", typed="constparity run x --jax 0.11.0..0.11"):
        ran = []

        def run_each(targets, options, interpreters, **_):
            labels = [each.label for each in interpreters]
            ran.append(([each.removeprefix("0.11.") for each in labels], options.resume))
            measured = [each for each in labels if each != gap]
            changes = [
                built.change("steady", before, after, "equal", times=(SLOWER,))
                for before, after in pairwise(measured)
                if before < first_slow <= after
            ]
            return EachVersion(built.of(*map(safe, measured), changes=changes))

        monkeypatch.setattr(run_command, "releases_of", lambda jax: RELEASES)
        monkeypatch.setattr(
            run_command, "pythons_of", lambda context, jax, with_: tuple(map(Path, jax.split(",")))
        )
        monkeypatch.setattr(run_command, "interpreters", lambda paths, **_: list(paths))
        monkeypatch.setattr(each_version, "run_each", run_each)
        monkeypatch.setattr(
            each_version,
            "interpreters_at",
            lambda paths: [Interpreter(each, each.name, each.name) for each in paths],
        )
        code = app.main([*shlex.split(typed)[1:], *arguments])
        return code, ran

    return of


SLOWER = timed("slower", left="jax-simplified", ratio=9.0, low=8.0, high=10.0)


def test_the_first_release_is_found_by_halves(search, capsys):
    code, ran = search("0.11.6", "--rounds", "5")
    assert code == 0
    assert ran == [(list("048"), None), (list("468"), None), (list("456"), None)]
    out = capsys.readouterr().out
    assert out.endswith("the first release that changes something is 0.11.6, after 0.11.5\n")
    assert "call takes 9.00x (8.00x to 10.0x)" in out
    assert search("0.11.6", "--fail-on", "version-change")[0] == 1


def test_the_search_of_the_docs_names_a_release(search, capsys):
    assert search("0.11.6", typed=excerpt("versions.md", "constparity run loop.py"))[0] == 0
    assert "the first release that changes something is " in capsys.readouterr().out


def test_reports_say_what_a_search_came_to(search, tmp_path):
    file = tmp_path / "grid"
    search("0.11.6", "--rounds", "5", f"--report=json:{file}.json", f"--report=md:{file}.md")
    said = "the first release that changes something is 0.11.6, after 0.11.5"
    assert load_result(file.with_suffix(".json")).search == said
    assert f"T{said[1:]}." in file.with_suffix(".md").read_text()


def test_without_rounds_what_was_run_is_kept(search):
    _, ran = search("0.11.1")
    assert [labels for labels, _ in ran] == [list("048"), list("024"), list("012")]
    assert len({resume for _, resume in ran}) == 1
    assert ran[0][1] is not None


def test_a_search_that_finds_nothing_says_so(search, capsys):
    _, ran = search("0.12")
    assert [labels for labels, _ in ran] == [list("048")]
    assert "no release changes anything, of those that were run: 0.11.0, 0.11.4, 0.11.8" in (
        capsys.readouterr().out
    )


@pytest.mark.parametrize("option", [["-x"], ["--save", "A.json"], ["--resume", "kept"]])
def test_a_search_refuses_what_it_cannot_serve(search, option, capsys):
    code, ran = search("0.11.6", *option)
    assert (code, ran) == (4, [])
    assert f"and {option[0]}: releases are searched by halves" in capsys.readouterr().err


OF_FOUR = ["0.9.2", "0.10.2", "0.11.1", "0.11.2"]


@pytest.mark.parametrize(
    ("changed", "flips", "found"),
    [
        ([], "safe safe safe", None),
        ([("0.10.2", "0.11.1", "different")], "safe safe safe", (1, 2)),
        ([("0.9.2", "0.11.2", "equal")], "safe safe different", (2, 3)),
        ([("0.10.2", "0.11.1", "new failure")], "different different safe", (0, 1)),
        ([("0.11.1", "0.11.2", "fixed failure"), ("0.10.2", "0.11.2", "different")],
         "safe safe safe", (2, 3)),
    ],
)  # fmt: skip
def test_the_first_change_of_some_releases_is_found(changed, flips, found):
    outcomes = dict(zip(OF_FOUR, ["safe", *flips.split()], strict=True))
    versions = [built.version(each, built.program("steady", outcomes[each])) for each in OF_FOUR]
    changes = [built.change("steady", *each) for each in changed]
    assert first_change(built.of(*versions, changes=changes), OF_FOUR) == found


@pytest.mark.parametrize(("kind", "found"), [("time", None), ("size", (0, 1))])
def test_a_price_in_time_that_a_grid_happens_to_see_is_no_change(kind, found):
    priced = built.program("steady", "safe but slower or larger", kind=kind)
    versions = [
        built.version(OF_FOUR[0], built.program("steady")),
        built.version(OF_FOUR[1], priced),
    ]
    assert first_change(built.of(*versions), OF_FOUR) == found


def test_releases_that_cannot_be_run_are_no_first_ones(search, capsys):
    """The middle one has no campaign: something changes between the ends, and no more is known."""
    _, ran = search("0.11.6", gap="0.11.4")
    assert [labels for labels, _ in ran] == [list("048")]
    assert "something changes between 0.11.0 and 0.11.8, and none between them was run" in (
        capsys.readouterr().out
    )


def test_two_interpreters_with_one_jax_agree(good_file, tmp_path):
    file = tmp_path / "grid.json"
    options = [*STOCK, *TWO, "--no-times", "--report", f"json:{file}"]
    assert app.main(["run", str(good_file), *options]) == 0
    data = json.loads(file.read_text())
    python = ".".join(map(str, sys.version_info[:2]))
    jax = data["versions"][0]["campaign"]["environment"]["jax"]
    labels = [f"{jax} py{python} ({number})" for number in (1, 2)]
    assert [each["label"] for each in data["versions"]] == labels
    [program] = data["programs"]
    assert [(each["version"], each["flip"]) for each in program["cells"]] == [
        (label, "safe") for label in labels
    ]
    assert [(each["side"], each["outcome"]) for each in data["changes"]] == [
        ("jax-legacy", "equal"),
        ("jax-simplified", "equal"),
    ]
    # What is empty is left out of the file.
    assert not any(each.get("counters") for each in data["changes"])
