"""Tests that one side collects and the other does not."""


def compared(result, kind):
    return {each.test: (str(each.legacy), str(each.simplified)) for each in getattr(result, kind)}


def test_a_file_that_one_side_cannot_import_differs_in_each_test(plant, run):
    done = run(
        plant(
            {
                "test_broken.py": """
assert not ON_SIMPLIFIED, "not with the flag"
def test_one(): pass
class TestTwo:
    def test_two(self): pass
""",
                "test_good.py": "def test_three(): pass",
            }
        )
    )
    said = "not collected: AssertionError: not with the flag"
    assert compared(done.result, "differences") == {
        "test_broken.py::test_one": ("passed", said),
        "test_broken.py::TestTwo::test_two": ("passed", said),
    }
    assert done.last_line == "2 failed, 1 passed"


def test_a_file_that_one_side_cannot_import_differs_where_no_test_of_it_is_to_run(plant, run):
    done = run(
        plant(
            {
                "test_broken.py": "assert not ON_SIMPLIFIED, 'no'\ndef test_one(): pass",
                "helpers[1]/test_empty.py": "assert ON_SIMPLIFIED or not IS_CHILD, 'no'",
                "test_good.py": "def test_two(): pass",
            }
        ),
        *("-k", "two"),
    )
    assert compared(done.result, "differences") == {
        "helpers[1]/test_empty.py": ("not collected: AssertionError: no", "collected"),
        "test_broken.py": ("collected", "not collected: AssertionError: no"),
    }
    assert done.last_line == "2 failed, 1 passed, 1 deselected"


def test_a_test_of_one_side_alone_differs(plant, run):
    done = run(
        plant("""
@pytest.mark.parametrize("x", [1, 2] if ON_SIMPLIFIED else [1])
def test_one(x): pass
""")
    )
    assert compared(done.result, "differences") == {
        "test_it.py::test_one[2]": ("not collected", "passed")
    }
    assert done.last_line == "1 failed, 1 passed"  # though the parent has not collected it


def test_a_file_that_one_side_skips_differs(plant, run):
    done = run(
        plant("""
if ON_SIMPLIFIED:
    pytest.skip("not yet", allow_module_level=True)
def test_one(): pass
""")
    )
    assert compared(done.result, "differences") == {
        "test_it.py::test_one": ("passed", "skipped: Skipped: not yet")
    }


def test_a_folder_may_have_brackets_in_its_name(plant, run):
    text = "if IS_CHILD: pytest.skip('no children', allow_module_level=True)\ndef test_one(): pass"
    done = run(plant({"a[1]/test_it.py": text}))
    assert done.last_line == "1 skipped"


def test_a_test_that_no_child_collects_is_an_error(plant, run):
    done = run(plant("if not IS_CHILD:\n    def test_one(): pass\ndef test_two(): pass"))
    assert compared(done.result, "not_compared") == {
        "test_it.py::test_one": ("not collected", "not collected")
    }
    assert done.last_line == "1 passed, 1 error"
    assert done.code == 1


def test_a_conftest_that_fails_everywhere_is_no_outcome(plant, run):
    done = run(
        plant(
            {
                "conftest.py": "assert not IS_CHILD, 'no children here'",
                "test_it.py": "def test_one(): pass",
            }
        )
    )
    assert done.code == 4
    assert "pytest did not start on JAX" in done.printed
    assert "no children here" in done.printed


INTERNAL_ERROR = """
def pytest_collection_finish():
    if ON_SIMPLIFIED: raise ValueError("broken plugin")
"""


def test_an_internal_error_of_one_side_is_told(plant, run):
    done = run(plant({"conftest.py": INTERNAL_ERROR, "test_it.py": "def test_one(): pass"}))
    assert compared(done.result, "not_compared") == {
        "test_it.py::test_one": (
            "passed",
            "not run: internal error of pytest: ValueError: broken plugin",
        )
    }
    assert done.last_line == "1 error"


def test_a_suite_that_pytest_cannot_collect_is_not_run(plant, run):
    done = run(plant("import nothing_of_this_name"))
    assert done.code == 2
    assert "1 error during collection" in done.printed
    assert done.result is None


def test_2000_tests_are_compared(plant, run):
    done = run(
        plant("""
@pytest.mark.parametrize("x", range(2_000))
def test_one(x): assert x != 1_999 or not ON_SIMPLIFIED
"""),
        "-q",
    )
    assert done.result.tests == 2_000
    assert done.last_line == "1 failed, 1999 passed"
