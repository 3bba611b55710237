"""The options that choose programs, say how they run, and how much is printed of them."""

import re
import subprocess
import sys

import pytest
from program_files import program_file

from parity_tests.cli import app, last_failed
from parity_tests.run import run as campaign
from parity_tests.run.options import CampaignOptions
from reports.rows import fail_rules

TAGGED = str(program_file("tagged_programs"))


@pytest.fixture
def ran(monkeypatch, faults):
    """The planted campaign, as if it had been run, and what it was run with."""
    given = {}

    def run(targets, options, **others):
        given.update(targets=targets, options=options, **others)
        return faults

    monkeypatch.setattr(campaign, "run", run)
    return given


def usage(capsys, *arguments):
    assert app.main([*arguments]) == 4
    return " ".join(capsys.readouterr().err.replace("│", " ").split())


# -- which programs --------------------------------------------------------------------------------


def test_the_choice_is_handed_to_the_campaign(ran):
    app.main(["run", "x.py", "-k", "good or last", "--tag", "slow", "--tag", "prng", "--jobs", "3"])
    options = ran["options"]
    assert ran["targets"] == ("x.py",)
    assert (options.select.expression, options.select.tags) == ("good or last", ("slow", "prng"))
    assert (options.select.targets, options.processes) == (None, 3)
    assert ran["stops_after"] is None


def test_an_expression_that_cannot_be_read_is_usage(monkeypatch, capsys):
    monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
    for command in ("run", "explain", "aa"):
        assert "cannot read 'good and'" in usage(capsys, command, "x", "-k", "good and")
    assert "contradict" in usage(capsys, "run", "x", "-q", "-v")


def test_programs_are_listed_with_their_places_and_tags_and_none_is_run(monkeypatch, capsys):
    monkeypatch.setattr(campaign, "run", lambda *a, **k: pytest.fail("it ran"))
    assert app.main(["run", TAGGED, "--list", "-k", "add"]) == 0
    first, second, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"add_one \(.*tagged_programs.py:13\) \[quick\]", first)
    assert second.endswith(" [slow, prng]")
    assert last == "2 programs"


def test_a_listed_program_is_one_line_whatever_its_name_is(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(
        "from parity_tests import program\n"
        "@program(args=(1.0,), name='two\\nlines')\ndef step(x):\n    return x\n"
    )
    assert app.main(["run", str(file), "--list"]) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("two\\nlines (")
    assert last == "1 program"


def test_a_choice_of_nothing_has_its_own_status_and_names_the_choice(monkeypatch, capsys, faults):
    assert app.main(["run", TAGGED, "--list", "-k", "add", "--tag", "none"]) == 5
    assert "tagged_programs.py with -k 'add' and --tag none: --list" in capsys.readouterr().err
    nothing = faults.model_copy(update={"programs": ()})
    monkeypatch.setattr(campaign, "run", lambda *a, **k: nothing)
    assert app.main(["run", "-k", "none"]) == 5
    said = "constparity: no programs in the built-in corpus with -k 'none': --list without "
    err = capsys.readouterr().err
    assert said in err
    assert "no target is named: the programs are those of the built-in corpus" in err


def test_what_failed_last_is_run_again(ran, rows):
    app.main(["run", "x.py", "--last-failed"])
    assert ran["options"].select.targets is None  # nothing has failed before
    failed = last_failed.read()
    assert len(failed) == 17  # all but good and last
    app.main(["run", "--last-failed"])
    assert ran["options"].select.targets == ran["targets"] == failed
    app.main(["run", "x.py", "--last-failed"])
    assert ran["targets"] == ("x.py",)
    app.main(["run", "x.py", "--fail-on", "new-failure"])
    assert {each.rpartition(":")[2] for each in last_failed.read()} == {
        "aborts", "exits", "hangs", "raises_on_one_side",
    }  # fmt: skip


# -- how they run ----------------------------------------------------------------------------------


def test_the_first_program_that_breaks_a_rule_is_the_last(ran, rows):
    app.main(["run", "x", "-x", "--fail-on", "different"])
    stops = {name for name in ("good", "other_value", "raises") if ran["stops_after"](rows[name])}
    assert stops == {"other_value"}


def test_the_number_of_processes_is_no_part_of_how_a_campaign_measures(tmp_path):
    for processes in (1, 3):
        options = CampaignOptions(
            sides=("jax-legacy", "jax-simplified"),
            steady_calls=0,
            resume=tmp_path / "kept",
            processes=processes,
        )
        result = campaign.run([f"{TAGGED}:add_one"], options)
        assert result.verdict == "parity"


# -- what is printed -------------------------------------------------------------------------------


def test_quietly_there_is_the_headline_and_what_fails(ran, capsys, faults):
    assert app.main(["run", "x", "-q", "--fail-on", "new-failure"]) == 1
    printed = capsys.readouterr()
    answer, first, agreement, *failing, rule = printed.out.splitlines()
    assert f"{answer} {first}" == faults.headline.question.replace(". First: ", ". first: ")
    assert agreement == faults.headline.agreement
    assert {line.split()[0] for line in failing} == {
        "aborts", "exits", "hangs", "raises_on_one_side",
    }  # fmt: skip
    assert rule == "fails on new-failure: 4 programs"
    assert printed.err == ""


def test_a_rule_about_several_versions_says_that_it_was_not_looked_at(ran, capsys):
    assert app.main(["run", "x", "--fail-on", "version-change"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("version-change: not looked at, for it is about several versions")


def test_a_rule_about_times_says_where_nothing_was_timed(ran, capsys):
    app.main(["run", "x", "--fail-on", "slower:20%"])
    assert capsys.readouterr().out.splitlines()[-1] == (
        "slower:20%: looked at where it is beyond doubt, for nothing was timed in rounds "
        "(--rounds 5)"
    )


def test_a_rule_about_times_does_not_ask_for_rounds_that_were_asked_for(
    monkeypatch, capsys, faults
):
    had = faults.model_copy(update={"settings": {"rounds": "5"}})
    monkeypatch.setattr(campaign, "run", lambda *a, **k: had)
    app.main(["run", "x", "--rounds", "5", "--fail-on", "slower:20%"])
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "slower:20%: looked at where it is beyond doubt, for the rounds timed no "
    )
    assert "--rounds" not in last


@pytest.mark.parametrize("rules", ["", " , "])
def test_rules_that_name_none_are_no_way_to_pass(ran, capsys, rules):
    assert app.main(["run", "x", "--fail-on", rules]) == 4
    assert "it names no rule; --exit-zero ends with 0" in " ".join(capsys.readouterr().err.split())


def test_all_reasons_are_printed_on_request(ran, capsys):
    app.main(["run", "x", "--exit-zero"])
    assert "good (" not in capsys.readouterr().out
    app.main(["run", "x", "--exit-zero", "-v"])
    assert "good (" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["run", "explain"])
def test_without_colours_the_text_is_plain(ran, capsys, monkeypatch, command):
    monkeypatch.setenv("FORCE_COLOR", "1")
    app.main([command, "x"])
    assert "\x1b[" in capsys.readouterr().out
    app.main([command, "x", "--no-color"])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    app.main([command, "x"])
    assert not re.search(r"\x1b\[[0-9;]*3\d", capsys.readouterr().out)


def test_each_rule_of_the_help_is_a_rule(capsys, monkeypatch):
    """The help names the rules and the table of the project."""
    monkeypatch.setenv("COLUMNS", "200")
    assert app.main(["run", "--help-all"]) == 0
    text = capsys.readouterr().out
    for group in ("What is run", "How it is run", "Output", "Exit status"):
        assert f"\n{group}\n" in text
    text = " ".join(text.split())
    assert "fail-on of [tool.constparity] in pyproject.toml" in text
    assert all(name in text for name in fail_rules.RULE_NAMES)


@pytest.mark.parametrize("command", ["run", "explain", "compare", "matrix", "aa", "fuzz"])
def test_commands_over_programs_have_the_same_options_of_output(command, capsys):
    assert app.main([command, "--help-all"]) == 0
    text = capsys.readouterr().out
    assert all(option in text for option in ("--quiet", "--verbose", "--no-color"))


# -- completion ------------------------------------------------------------------------------------


def test_a_shell_completes_commands_and_options(tmp_path):
    def completions(*words):
        return subprocess.run(
            [sys.executable, "-m", "parity_tests.cli"],
            env={
                "PATH": "",
                "HOME": str(tmp_path),
                "_CONSTPARITY_COMPLETE": "complete_bash",
                "COMP_WORDS": " ".join(words),
                "COMP_CWORD": str(len(words) - 1),
            },
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()

    assert completions("constparity", "ex") == ["explain", "export"]
    assert completions("constparity", "run", "--last") == ["--last-failed"]
