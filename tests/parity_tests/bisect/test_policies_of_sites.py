"""`bisect --flip` with a policy: some arrays are inlined or hoisted, whatever is flipped."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest
from doc_blocks import blocks, commands_in, says
from jax.extend import core
from program_files import program_file

import engine
from engine.configuration.choices import NO_CHOICES
from legacy_closedjaxpr import pipeline as legacy
from parity_tests.bisect import sites
from parity_tests.bisect.bisecting import Bisecting
from parity_tests.bisect.kept_runs import KeptRuns
from parity_tests.bisect.running import Ended, Runner, Until
from parity_tests.bisect.sites import Flips, Site, Told
from parity_tests.bisect.switch import Switch
from parity_tests.cli.app import main
from reports.documents.bisection import commands_of
from reports.rows.bisection import StockEnds

PROGRAM = program_file("sites/prints_its_module")
ONE, TWO, THREE = jnp.ones(33), jnp.ones(35), jnp.ones(37)
X = jnp.ones(3)
apply_p = core.Primitive("apply")
apply_p.def_abstract_eval(lambda x, *, body: x)


def helper(x: Any) -> Any:
    return jnp.concatenate([x, TWO])


def step(x: Any) -> Any:
    return jnp.concatenate([helper(x), ONE, THREE])  # the line of the step


def closed(x: Any) -> Any:
    return apply_p.bind(x, body=engine.make_jaxpr(lambda y: y + ONE)(ONE))


LINE = 1 + Path(__file__).read_text().splitlines().index(
    "    return jnp.concatenate([helper(x), ONE, THREE])  # the line of the step"
)


def planned(
    folder: Path, function: Any, flips: str, policy: Sequence[str], *, hoist: bool = True
) -> tuple[list[int], Told]:
    """Return the lengths of the arrays that a plan hoists, and what was told."""
    text = "".join(f"{line}  # why\n" for line in policy)
    sites.prepare(folder, Flips.of(flips), text)
    pipeline = Switch(folder).switched(legacy.PIPELINE)
    plan = pipeline.plan(engine.make_jaxpr(function, constants="legacy")(X), 32, hoist, NO_CHOICES)
    return sorted(len(each) for each in plan.const_args), sites.told(folder)


@pytest.mark.parametrize(
    ("flips", "policy", "hoisted"),
    [
        ("none", [], []),
        ("all", [], [33, 35, 37]),
        ("all", [f"inline test_policies_of_sites.py:{LINE}"], [35]),
        ("all", ["inline test_policies_of_sites.py:hel*"], [33, 37]),
        ("all", ["inline float32[35]", "embed float32[37]"], [33]),
        ("all", ["inline test_policies_of_sites.py:*", "hoist other.py:*"], []),
        ("none", ["hoist float32[35]"], [35]),
        ("none", [f"hoist float32[33] bisect/test_policies_of_sites.py:{LINE}"], [33]),
        ("none", ["hoist test_policies_of_sites.py:*", "inline float32[33] a.py:3"], [33, 35, 37]),
    ],
)
def test_a_policy_goes_before_the_flips(
    tmp_path: Path, flips: str, policy: list[str], hoisted: list[int]
) -> None:
    assert planned(tmp_path, step, flips, policy)[0] == hoisted


def test_keys_that_name_an_array_are_told(tmp_path: Path) -> None:
    policy = ["inline float32[35]", "hoist test_policies_of_sites.py:helper", "inline a.py:3"]
    hoisted, told = planned(tmp_path, step, "none", policy)
    assert hoisted == [35]  # a place goes before a type
    assert set(told.matched) == {"float32[35]", "test_policies_of_sites.py:helper"}
    assert told.unfollowed == {}


@pytest.mark.parametrize("place", ["test_policies_of_sites.py:*.model", "a_library.py:scaled"])
def test_a_place_is_a_line_of_the_users_or_of_the_library_that_it_calls(
    tmp_path: Path, place: str
) -> None:
    file = tmp_path / "site-packages" / "a_library.py"
    file.parent.mkdir()
    file.write_text("def scaled(x, by):\n    return x * by\n")
    spec = spec_from_file_location("a_library", file)
    assert spec is not None
    assert spec.loader is not None
    library = module_from_spec(spec)
    spec.loader.exec_module(library)

    def model(x: Any) -> Any:
        return library.scaled(x[0], ONE)

    assert planned(tmp_path / "run", model, "none", [f"hoist {place}"])[0] == [33]


def test_keys_that_cannot_be_followed_are_told(tmp_path: Path) -> None:
    exported = planned(tmp_path / "1", step, "all", ["hoist float32[33]"], hoist=False)
    assert exported[1].unfollowed == {"float32[33]": "they are exported"}
    closed_over = planned(tmp_path / "3", closed, "all", ["hoist float32[33]"])
    assert closed_over[1].unfollowed == {"float32[33]": "its arrays go to bodies of apply"}
    inlined = planned(tmp_path / "2", step, "all", ["inline float32[33]"], hoist=False)
    assert (set(inlined[1].matched), inlined[1].unfollowed) == ({"float32[33]"}, {})


class Fails(Runner):
    """A command that fails where a site is flipped that its policy leaves alone."""

    def flipped(self, flips: Flips) -> Ended:
        captured = [
            Site("array", "f at a.py:1", "a.py", line, "f", "float32[9]") for line in (2, 3)
        ]
        told = Told(processes=[{"version": "0.10.2", "error": ""}], matched={"a.py:2": ""})
        told.sites = {site.id: site for site in captured}
        fails = any(
            site.id in flips and f"a.py:{site.line} " not in self.policy for site in captured
        )
        return Ended(int(fails), "", False, 1.0, told)

    def on_stock(self, *, flag: bool) -> Ended:
        assert not flag, "stock JAX knows no policy"
        return Ended(0, "", False, 1.0, Told())


def test_each_run_of_a_search_is_told_the_policy() -> None:
    policy = "inline a.py:2  # known"
    runner = Runner(["sh", "-c", f"cat ${sites.VARIABLE}/[fp]*.txt"], policy=policy)
    assert runner.flipped(Flips.of("all")).output == f"all{policy}"


def test_a_search_leaves_out_what_a_policy_inlines(tmp_path: Path) -> None:
    runner = Fails(["pytest", "a.py"], policy="inline a.py:2  # known")
    kept = KeptRuns(tmp_path / "runs.jsonl")
    found = Bisecting(runner, Until.of("exit"), kept, options=["--inline", "a.py:2"]).run()
    [[site]] = [each.sites for each in found.sets]
    assert (found.answer, site.line, found.stock) == ("found", 3, StockEnds(off=False))
    assert commands_of(found, found.sets[0]) == (
        "constparity bisect --flip none --inline a.py:2 -- pytest a.py",
        f"constparity bisect --flip {site.id} --inline a.py:2 -- pytest a.py",
    )
    assert KeptRuns(tmp_path / "runs.jsonl").told.matched == {"a.py:2": ""}


def test_a_command_passes_after_the_flip_but_for_a_policy(tmp_path: Path) -> None:
    policy = "inline a.py:2  # known\ninline a.py:3  # known"
    runner = Fails(["pytest", "a.py"], policy=policy)
    kept = KeptRuns(tmp_path / "runs.jsonl")
    found = Bisecting(runner, Until.of("exit"), kept, options=["--policy", "p"]).run()
    assert found.answer == "passes"
    assert found.detail == "the command passes with everything flipped but what the policy inlines"


@pytest.fixture
def policy_file(tmp_path: Path) -> Path:
    file = tmp_path / "constants.policy"
    file.write_text("# what breaks\n\ninline prints_its_module.py:step  # until #12 is fixed\n")
    return file


def test_a_command_runs_after_the_flip_but_for_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The file and the command of the guide, and two keys more."""
    [block] = blocks("guide-questions.md", "console")
    (_, policy, _), (command, said, status) = commands_in(block)
    monkeypatch.chdir(tmp_path)
    Path("constants.policy").write_text(f"# what breaks\n\n{policy}")
    shutil.copy(PROGRAM, "train.py")
    more = ["--hoist", "float32[37] a.py:1", "--hoist", "float32[35] train.py:step"]
    _, *words = shlex.split(command.replace("python", sys.executable))
    assert main([*words[:1], *more, *words[1:]]) == status
    output, errors = capfd.readouterr()
    assert re.findall(r"tensor<(\d+)xf32> \{jax\.const = true\}", output) == ["35"]
    assert re.findall(r"stablehlo\.constant .*tensor<(3[357])xf32>", output) == ["33", "37"]
    added = "constparity: policy: float32[37] a.py:1 names no array that the command captured\n"
    assert says(said, output + errors.replace(added, "", 1))
    assert errors.count("\n") == 2


def test_a_bad_line_is_an_error_with_its_place(
    policy_file: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    policy_file.write_text("inline a.py:3  # fine\ninline a.py:4\n")
    assert main(["bisect", "--flip", "all", "--policy", str(policy_file), "--", "true"]) == 4
    assert capfd.readouterr().err == (
        f"constparity: {policy_file}:2: 'inline a.py:4' is not a choice, a key and a reason; write "
        "them as in 'inline model.py:31  # until #1234 is fixed'\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hoist", "a.py:3"], "a search begins with nothing hoisted, and the policy hoists a.py"),
        (["--flip", "all", "--inline", "a.py"], "--inline has a key that cannot be read, 'a.py'"),
        (["--flip", "all", "--inline", "a.py:3", "--hoist", "a.py:3"], "two keys for 'a.py:3'"),
    ],
)
def test_options_that_make_no_policy_are_refused(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["bisect", *options, "--", "true"]) == 4
    assert said in capfd.readouterr().err
