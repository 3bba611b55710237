"""A difference is run again before it is reported."""

SUITE = """
def count(name):
    file = Path(f"{name}.txt")
    number = int(file.read_text()) + 1 if file.exists() else 1
    file.write_text(str(number))
    return number

def test_differs_once():
    assert not (ON_SIMPLIFIED and count("once") == 1), "only the first time"

def test_swaps():
    assert ON_SIMPLIFIED == (count("swaps") < 3)

def test_differs(): assert not ON_SIMPLIFIED
"""


def test_what_differs_once_is_named_and_not_failed(plant, run):
    done = run(plant(SUITE))
    assert [each.test for each in done.result.differences] == ["test_it.py::test_differs"]
    first = {each.test: each for each in done.result.not_repeatable}
    once = first["test_it.py::test_differs_once"]
    assert (once.legacy.outcome, once.simplified.outcome) == ("passed", "failed")
    assert once.again == ("passed", "passed")
    assert "only the first time" in done.printed


def test_a_difference_with_its_sides_swapped_is_not_repeated(plant, run):
    done = run(plant(SUITE), "-k", "swaps")
    [swaps] = done.result.not_repeatable
    assert (swaps.legacy.outcome, swaps.simplified.outcome) == ("failed", "passed")
    assert swaps.again == ("passed", "failed")
    assert done.code == 1  # its outcome is that of jax-legacy, the first time


def test_what_differs_after_other_tests_alone_differs(plant, run):
    done = run(
        plant("""
found = []
def test_collects(): found.extend([] if ON_SIMPLIFIED else [1])
def test_uses(): assert found
""")
    )
    [uses] = done.result.differences
    assert uses.test == "test_it.py::test_uses"
    assert uses.again == ("passed", "failed")  # with its file: by itself it fails on both sides
    assert done.code == 1


def test_what_differs_after_tests_of_other_files_alone_differs(plant, run):
    folder = plant(
        {
            "test_a.py": "import sys\ndef test_leaves(): sys.left = ON_SIMPLIFIED",
            "test_b.py": "import sys\ndef test_finds(): assert not getattr(sys, 'left', False)",
            "test_c.py": "def test_after(): Path('runs.txt').open('a').write('c ')",
        }
    )
    done = run(folder)
    assert {each.test: each.again for each in done.result.differences} == {
        "test_b.py::test_finds": ("passed", "failed")
    }
    assert done.code == 1
    assert (folder / "runs.txt").read_text().split() == ["c", "c"]  # what runs later is no reason


def test_only_what_differs_runs_again(plant, run):
    folder = plant("""
def test_one(): Path("runs.txt").open("a").write("one ")
def test_two():
    Path("runs.txt").open("a").write("two ")
    assert not ON_SIMPLIFIED
""")
    run(folder)
    assert (folder / "runs.txt").read_text().split() == ["one", "two"] * 2 + ["two"] * 2
