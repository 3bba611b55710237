"""`constparity campaign` and `merge`: options that are refused, and what is printed."""

import contextlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

from parity_tests.campaign import campaign, cluster, plan, searching, task_process
from parity_tests.campaign.campaign import digest_of
from parity_tests.campaign.scheduling import run_tasks
from parity_tests.campaign.searching import file_of
from parity_tests.campaign.spec import SpecError, read_spec
from parity_tests.cli import app
from parity_tests.cli import campaign as command
from parity_tests.processes.protocol import Listed, Listing
from parity_tests.run.collection import Collected
from reports.store.plan_records import PlannedText
from reports.store.plan_report import plan_report
from reports.store.plans import opened_plan
from tests.helpers.built_grids import ENVIRONMENT, program
from tests.helpers.quick_campaigns import begin, tasks
from tests.helpers.quick_tasks import finished, result

SPEC = "[[corpus]]\nname = 'models'\ntargets = ['models.py']\n"


@pytest.fixture
def spec(tmp_path, monkeypatch):
    """A spec in the working directory; its store is not there yet."""
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "small.toml"
    file.write_text(SPEC)
    return file


NAMES = ("first", "second")


def run(waiting):
    """Run tasks in no process: the first program of the plan breaks, and the others are safe."""
    for task in waiting:
        rules = task.campaign.rules
        ran = (
            finished(each.place, program(each.name, "safe" if each.place else "different"), rules)
            for each in task.programs
        )
        yield task, result(task).model_copy(update={"programs": tuple(ran)})


@pytest.fixture
def stored(spec):
    """The store of the spec, with a program that breaks and one that is safe."""
    keep(spec)
    return spec


def keep(spec, **changes):
    """Keep a campaign of two programs, of which the first breaks."""
    fields = {"digest": digest_of(read_spec(spec), ""), "rules": ("different",), **changes}
    described = begin(NAMES, **fields)
    with opened_plan(spec.with_suffix(".db"), described) as plan:
        run_tasks(plan, tasks(NAMES), run)
        plan.finish()


@pytest.fixture
def shards(spec):
    """The stores of two shards, each with one of the two programs."""
    whole = begin(NAMES, rules=("different",))
    for number, (task, text) in enumerate(
        zip(tasks(NAMES, task_size=1), whole.programs, strict=True), 1
    ):
        part = replace(whole, programs=[text], shard=f"{number}/2")
        with opened_plan(spec.with_name(f"{number}.db"), part) as plan:
            run_tasks(plan, [task], run)
            plan.finish()
    return ("1.db", "2.db")


def said(capsys, *arguments, code=4):
    assert app.main(arguments) == code
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).replace("│", " ").split())


@pytest.mark.parametrize("option", ["--list", "--retry"])
@pytest.mark.parametrize("text", ["", " , "])
def test_states_that_are_not_named_are_refused(spec, capsys, option, text):
    words = said(capsys, "campaign", "small.toml", option, text)
    assert f"invalid value for '{option}': name states, separated by commas: not run, lost" in words


def test_what_is_unavailable_is_not_run_again(spec, capsys):
    words = said(capsys, "campaign", "small.toml", "--retry", "lost,unavailable")
    assert "what is unavailable does not run before its module is installed" in words


def test_a_shard_that_is_none_is_told_with_one_that_is(spec, capsys):
    words = said(capsys, "campaign", "small.toml", "--shard", "9/8")
    assert words.endswith("'9/8' is no shard; write 3/8 for the third of 8")


@pytest.mark.parametrize(
    ("arguments", "what_to_do"),
    [
        (("campaign", "small.toml", "--status"), "run the same command without --status"),
        (("campaign", "small.toml", "--list", "safe"), "run the same command without --status"),
        (("merge", "small.db", "--into", "all.db"), "name the stores of all shards"),
        (
            ("campaign", "small.toml", "--shard", "1/2", "--durations", "small.db"),
            "name the store of an earlier campaign in --durations",
        ),
    ],
)
def test_a_store_that_is_missing_is_advised_by_what_is_done(spec, capsys, arguments, what_to_do):
    words = said(capsys, *arguments)
    assert "small.db': there is no such file; " + what_to_do in words


@pytest.mark.parametrize(
    ("expression", "asks"),
    [("nosuch", False), ("seed_7_program_9", False), ("seed_7_program_2", True), ("small", True)],
)
def test_an_expression_that_takes_nothing_is_refused_before_anything_is_made(
    spec, capsys, monkeypatch, expression, asks
):
    def made(*_):
        raise SpecError("an environment would be made")

    monkeypatch.setattr(command, "_environments", made)
    spec.write_text("[[corpus]]\nname = 'small'\ngenerated = 3\nseed = 7\n")
    words = said(capsys, "campaign", "small.toml", "-k", expression)
    nothing = f"no program, corpus or tag of the campaign is '{expression}'"
    assert words == f"constparity: {'an environment would be made' if asks else nothing}"
    spec.write_text(SPEC)  # the names of its programs are not known yet
    assert "would be made" in said(capsys, "campaign", "small.toml", "-k", expression)


def test_a_program_of_several_generated_corpora_is_known_by_its_whole_name(
    spec, capsys, monkeypatch
):
    def made(*_):
        raise SpecError("an environment would be made")

    monkeypatch.setattr(command, "_environments", made)
    two = (f"[[corpus]]\nname = '{name}'\ngenerated = 3\nseed = 7\n" for name in ("one", "two"))
    spec.write_text("".join(two))
    assert "would be made" in said(capsys, "campaign", "small.toml", "-k", "two/seed_7_program_1")


def test_a_short_report_is_the_answer_and_what_fails(stored, capsys):
    long = said(capsys, "campaign", "small.toml", "--status", code=1)
    assert "2 programs: 1 break" in long
    assert "Campaign nightly" in long
    short = said(capsys, "campaign", "small.toml", "--status", "-q", code=1)
    assert short == "2 programs: 1 break fails on different: 1 program"


def test_a_full_disk_is_said_in_one_line_and_the_same_command_goes_on(spec, capsys, monkeypatch):
    """The process of a task finds the disk full; there is room again when it is started anew."""
    marks = spec.parent / "marks"
    marks.mkdir()
    monkeypatch.setenv("QUICK_TASKS", str(marks))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))  # of `quick_tasks`
    monkeypatch.setattr(task_process, "ENTRY", "tests.helpers.quick_tasks")
    listed = [Listed(name=each, target=f"models.py:{each}") for each in ("first", "once fills")]
    collected = Collected(Listing(programs=listed, environment=ENVIRONMENT))
    monkeypatch.setattr(plan, "collect", lambda *_: collected)
    monkeypatch.setattr(plan, "_environment_of", lambda *_: ENVIRONMENT)
    spec.write_text(f"[campaign]\ntask_size = 1\n{SPEC}")
    assert app.main(["campaign", "small.toml"]) == 3
    *_, last = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"constparity: the folder 'small\.db\.work/campaign-1/\w+' takes no more files \(No space "
        r"left on device\); make room there, and the same command goes on: small\.db has what was "
        r"finished",
        last,
    )
    assert "nothing breaks, of 2 programs" in said(capsys, "campaign", "small.toml", code=0)
    assert (marks / "first").read_text().count("\n") == 1


def test_a_scheduler_that_does_not_answer_is_said_before_programs_are_listed(
    spec, capsys, monkeypatch
):
    monkeypatch.setattr(command, "_FIRST_ANSWER_SECONDS", 0.5)
    words = said(capsys, "campaign", "small.toml", "--scheduler", "tcp://127.0.0.1:1")
    assert words.startswith(
        "waiting for the scheduler at tcp://127.0.0.1:1 constparity: no scheduler at 'tcp://127."
    )
    assert not spec.with_suffix(".db").exists()


def test_campaigns_of_two_folders_have_tasks_of_their_own_on_a_cluster(tmp_path, monkeypatch):
    """Their specs may be alike, and their programs others: paths are relative to the folder."""
    monkeypatch.setattr(cluster, "connected", lambda *_: contextlib.nullcontext())
    made = command._on_cluster("tcp://node-1:8786")
    stores = [tmp_path / each / "small.db.work" / "campaign-1" for each in ("one", "two", "one")]
    one, two, again = (made(folder, "1", alone=False) for folder in stores)
    assert one.campaign == again.campaign != two.campaign


def test_the_comment_of_merged_shards_links_to_the_whole_report(shards, capsys):
    link = "https://ci.example.org/report.html"
    options = ("--into", "all.db", "--report", "comment:comment.md", "--report-url", link)
    said(capsys, "merge", *shards, *options, code=1)
    assert link in Path("comment.md").read_text()


def test_the_report_is_there_before_programs_are_made_smaller_and_names_them_after(
    stored, capsys, monkeypatch
):
    [cause] = plan_report(Path("small.db")).causes
    seen = []

    def smaller(store, *_, say):
        seen.append(Path("summary.md").read_text())
        file_of(store, cause).parent.mkdir()
        file_of(store, cause).touch()
        yield file_of(store, cause)

    monkeypatch.setattr(searching, "smaller_programs", smaller)
    monkeypatch.setattr(campaign, "run_campaign", lambda *_, **how: 1)
    said(capsys, "campaign", "small.toml", "--report", "md:summary.md", code=1)
    runs = f"constparity run {file_of(Path('small.db'), cause)}:program"
    assert [runs in text for text in (*seen, Path("summary.md").read_text())] == [False, True]


def test_merged_shards_name_the_smaller_programs_that_lie_beside_them(shards, capsys):
    [cause] = plan_report(Path("1.db")).causes
    file = file_of(Path("1.db"), cause)
    file.parent.mkdir()
    file.touch()
    said(capsys, "merge", *shards, "--into", "all.db", "--report", "md:summary.md", code=1)
    assert f"constparity run {file}:program" in Path("summary.md").read_text()


@pytest.mark.parametrize(("rounds", "code"), [("5", 2), ("0", 0)])
def test_times_that_were_not_taken_are_no_pass(spec, capsys, rounds, code):
    spec.write_text(f'[campaign]\nfail_on = ["slower:20%"]\n{SPEC}')
    keep(spec, settings={"rounds": rounds}, rules=("slower:20%",))
    words = said(capsys, "campaign", "small.toml", "--status", "-q", code=code)
    assert words == "2 programs: 1 break" + (", 2 not timed" if code else "")


def with_two_environments(names):
    """Describe a plan whose programs are in two environments, each with the same names."""
    other = ENVIRONMENT.model_copy(update={"jax": "0.12.0.1"})
    texts = [
        PlannedText(place, place // len(names), name, text="{}")
        for place, name in enumerate(names * 2)
    ]
    return {"environments": (ENVIRONMENT, other), "programs": texts, "total": len(texts)}


def test_a_list_names_the_environment_where_there_are_several(spec, capsys):
    names = ("first", "sec\tond\nline")
    described = begin(names, digest=digest_of(read_spec(spec), ""), **with_two_environments(names))
    with opened_plan(spec.with_suffix(".db"), described):
        pass
    assert app.main(("campaign", "small.toml", "--list", "not run")) == 0
    assert [line.split("\t") for line in capsys.readouterr().out.splitlines()] == [
        [name, environment]
        for environment in ("0.10.2", "0.12.0.1")
        for name in ("first", "sec\\tond\\nline")
    ]


def test_a_list_of_one_environment_is_names_alone(stored, capsys):
    assert app.main(("campaign", "small.toml", "--list", "safe,breaks")) == 0
    assert capsys.readouterr().out == "first\nsecond\n"


@pytest.mark.parametrize("option", [("--report", "md:x.md"), ("--report-url", "https://x.org")])
def test_a_list_is_no_report(stored, capsys, option):
    words = said(capsys, "campaign", "small.toml", "--list", "safe", *option)
    assert "--list prints names and writes no report: leave out --report and --report-url" in words
    assert not stored.with_name("x.md").exists()
