"""The Python of the guides runs, their spec files are read, and each command has its options.

Blocks of one page run one after the other, with the names that their text takes for granted. A
block of which no test runs or compares anything fails the last test.
"""

import os.path
import re
import shlex
import tomllib
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from built_campaigns import rich
from doc_blocks import DOCS, PAGES, PARTS, ROOT, all_blocks, blocks, commands_of, is_left_out
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec

import engine
from parity_tests import program, targets
from parity_tests.campaign.spec import read_spec
from parity_tests.cli import commands
from parity_tests.suites.settings import checked
from reports.output import json_file
from reports.rows.fail_rules import parse


def run(page, **given):
    """Run the Python of a page; return the names that there are then."""
    found = blocks(page, "python")
    assert found
    for block in found:
        exec(compile(block, page, "exec"), given)
    return given


WEIGHTS = jnp.ones((4, 4))


def times_weights(x):
    return x @ WEIGHTS


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def flag():
    before = engine.config.use_simplified_constants
    yield
    engine.config.update("use_simplified_constants", before)


@pytest.mark.usefixtures("flag")
def test_the_engine_and_its_flag(capsys):
    made = run("guide-library.md")
    assert made["const_arg"] is made["table"]
    assert engine.config.use_simplified_constants
    printed = capsys.readouterr().out
    assert "float32[1024]" in printed


def test_a_policy():
    run("policies.md", engine=engine, f=times_weights, x=WEIGHTS[0])


def test_a_preamble_takes_the_place_of_a_table():
    """The program reads the first rows alone."""
    [block] = blocks("preamble.md", "python")
    made = {"jnp": jnp, "np": np, "program": program}
    exec(block.replace("200_000", "2_000"), made)
    fast = engine.jit(made["score"], constants="simplified", precompute_constants="auto")
    passed = fast.lower(jnp.ones(320)).const_args
    assert sum(each.nbytes for each in passed) < made["table"].nbytes / 8


def test_exports_of_three_kinds():
    x = WEIGHTS[0]
    import safetensors.numpy

    lowered = engine.jit(times_weights, constants="simplified").lower(x)
    made = run(
        "export.md", engine=engine, fun=times_weights, x=x, new=2 * WEIGHTS, jax=jax,
        safetensors=safetensors, lowered=lowered,
    )  # fmt: skip
    np.testing.assert_array_equal(made["y"], x @ WEIGHTS)
    np.testing.assert_array_equal(made["z"], 2 * made["y"])
    np.testing.assert_array_equal(made["compiled"](x), made["y"])


def test_tables_of_a_result():
    Path("result.json").write_text(json_file.render(rich()))
    assert len(run("frames.md")["programs"]) == len(rich().programs)


def test_a_program_that_cannot_run_here_is_lowered():
    made = run(
        "proof.md", AbstractMesh=AbstractMesh, AxisType=AxisType, NamedSharding=NamedSharding,
        PartitionSpec=PartitionSpec, jax=jax, program=program, weights=jnp.ones((4096, 8)),
    )  # fmt: skip
    assert jax.jit(made["step"]).trace(made["x"]).lower(
        lowering_platforms=("cpu",)
    ).out_info.shape == (16, 8)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        ("guide-ci.md", ["step", "from_a_factory"]),
        ("versions.md", ["logistic_map.n4000", "logistic_map.n16000"]),
    ],
)
def test_declared_programs(page, names):
    [block] = blocks(page, "python")
    Path("my_model.py").write_text(block)
    assert [each.name for each in targets.load(["my_model.py"])] == names


def test_parity_tests_that_are_written_in_a_suite():
    run("guide-suites.md", pytest=pytest, jax=jax, step=times_weights, x=WEIGHTS[0])["test_step"]()


@pytest.mark.parametrize("text", blocks("guide-campaigns.md", "toml"))
def test_a_spec_of_a_campaign(text):
    Path("nightly.toml").write_text(text)
    assert read_spec(Path("nightly.toml")).campaign


def test_settings_of_a_suite():
    [known] = map(tomllib.loads, blocks("guide-suites.md", "toml"))
    assert known["known"]
    [settings] = map(tomllib.loads, blocks("settings.md", "toml"))
    assert parse(",".join(settings["tool"]["constparity"]["fail-on"]))
    assert checked(settings["tool"]["constparity"]["pytest"], "pyproject.toml")


COMMANDS = frozenset(commands.every_command())


def written(page):
    """The lines of a page that are typed: in blocks of shell, and in backticks."""
    text = page.read_text("utf-8")
    for language in ("sh", "console"):
        for block in blocks(page, language):
            yield from block.replace("\\\n", " ").splitlines()
    without_blocks = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    # No placeholder, no option of all commands; of the page of messages, no message.
    typed = re.findall(r"`(constparity (?!COMMAND|--)[^`]+)`", without_blocks)
    yield from (" ".join(each.split()) for each in typed if page.stem != "troubleshooting")


def wrong_words(lines):
    """The commands and options of `constparity ...` in lines of shell that there are not."""
    for line in lines:
        for typed in re.findall(r"(?:^|[;&|] )\s*(?:\$ )?constparity (\S.*)", line):
            words = shlex.split(typed, comments=True)
            name, *words = words[: words.index("--")] if "--" in words else words
            if name not in COMMANDS:
                yield name
                continue
            command = commands.command_named(name)
            if words and f"{name} {words[0]}" in COMMANDS:
                command = command.commands[words[0]]
            known = {option for parameter in command.params for option in parameter.opts}
            given = (word.partition("=")[0] for word in words if word.startswith("-"))
            yield from (word for word in given if word not in known)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_that_are_typed_exist(page):
    assert list(wrong_words(written(page))) == []


def test_a_planted_command_is_found(tmp_path):
    assert len(list(written(DOCS / "use" / "how_to.md"))) > 15
    page = tmp_path / "page.md"
    page.write_text(
        "`constparity run a.py\n--gone`\n\n```sh\nconstparity run a.py \\\n  --lost\n```\n"
    )
    assert list(wrong_words(written(page))) == ["--lost", "--gone"]
    planted = "constparity ruin a.py\ncd a && constparity run a.py --gone  # why\n"
    planted += "$ constparity bisect -- a --gone"
    assert list(wrong_words(planted.splitlines())) == ["ruin", "--gone"]


# What tests do with all blocks of a language on a page.
TAKEN = {
    "compared": {
        "python": ("captured_arrays.md", "jaxpr_examples.md"),  # test_docs.py, tests/seeds/
        # test_examples.py, tests/parity_tests/bisect/, test_parity_job.py
        "console": (
            *("../README.md", "examples.md", "guide-questions.md"),
            "examples/parity_job/README.md",
        ),
        "text": ("captured_arrays.md", "migrating.md"),  # tests/migrating/
        "": ("jaxpr_examples.md",),
    },
    "run": {
        "python": (
            *("export.md", "frames.md", "guide-ci.md", "guide-library.md", "guide-suites.md"),
            *("policies.md", "preamble.md", "proof.md", "versions.md"),
            "guide-campaigns.md",  # test_long_blocks.py
            *("../README.md", "migrating.md"),  # test_examples.py, tests/migrating/
        ),
    },
    "read": {"toml": ("guide-campaigns.md", "guide-suites.md", "settings.md")},
}
# Which a test takes by its first words.
OF_AN_EXCERPT = {"text": "compared", "yaml": "read", "sh": "run"}
TESTS = [file.read_text("utf-8") for file in (ROOT / "tests").rglob("test_*.py")]


DEEP = re.search(r"^deep:.*\n((\t.*\n)+)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)[1]
MADE = set(re.findall(r"(?:make|\$\(MAKE\)) ([\w-]+)", (ROOT / ".ci" / "run").read_text() + DEEP))


def is_typed(command):
    """Whether a test types a command, or `.ci/run` or `make deep` makes the same target."""
    target = re.match(r"make ([\w-]+)", command)
    return target[1] in MADE if target else not is_left_out(command)


def taken(name, language, text):
    """What tests do with a block: a key of `TAKEN`; None where nothing is known."""
    if language == "sh" and any(map(is_typed, commands_of(text))):
        return "run"
    for what, pages in TAKEN.items():
        if name in pages.get(language, ()):
            return what
    asked = rf'excerpt\("{re.escape(name)}", "(.+?)"\)'
    begins = tuple(each for text in TESTS for each in re.findall(asked, text))
    return OF_AN_EXCERPT.get(language) if text.startswith(begins) else None


def is_drawn(language):
    """Whether a block is made when the site is built."""
    return language == "mermaid" or language.startswith("{")


def not_taken(name, found):
    """The first line of each block of a page of which nothing is known."""
    for language, text in found:
        if not is_drawn(language) and taken(name, language, text) is None:
            yield text.partition("\n")[0]


BY_NAME = {
    page.name if page.parent.name in PARTS else os.path.relpath(page, DOCS): all_blocks(page)
    for page in PAGES
}


@pytest.mark.parametrize("name", BY_NAME)
def test_each_block_is_taken_by_a_test(name):
    assert list(not_taken(name, BY_NAME[name])) == []


def test_a_planted_block_is_found():
    fine = [("sh", "ls\n"), ("python", "x = 1\n"), ("text", "proof: 1 of 1\n")]
    assert list(not_taken("guide-suites.md", fine)) == []
    planted = [("text", "planted\n"), ("json", "{}\n"), ("", "proved\n")]
    assert list(not_taken("guide-suites.md", fine + planted)) == ["planted", "{}", "proved"]


def test_each_target_that_a_page_makes_is_made():
    typed = [each for page in PAGES for block in blocks(page, "sh") for each in commands_of(block)]
    made = [each for each in typed if each.startswith("make ")]
    assert [each for each in made if not is_typed(each)] == []
    assert made
    assert not is_typed("make planted")


def test_no_page_is_named_in_vain():
    named = {
        (name, language)
        for pages in TAKEN.values()
        for language, names in pages.items()
        for name in names
    }
    assert named <= {(name, language) for name in BY_NAME for language, _ in BY_NAME[name]}


def test_coverage_counts_what_is_done_with_the_blocks():
    page = (DOCS / "carry_on" / "coverage.md").read_text("utf-8")
    told = dict(re.findall(r"^\| (compared|run|read) \| (\d+) \|", page, re.MULTILINE))
    found = Counter(
        taken(name, *block) for name in BY_NAME for block in BY_NAME[name] if not is_drawn(block[0])
    )
    assert {what: int(count) for what, count in told.items()} == found
