import pytest

from parity_tests.campaign.selection import Selection, target_key
from parity_tests.processes.protocol import Listed

PROGRAM = Listed(name="add_two", target="programs/model.py:add_two", tags=("slow", "prng"))


@pytest.mark.parametrize(
    ("select", "is_taken"),
    [
        (Selection(), True),
        (Selection(expression=" "), True),
        (Selection(expression="two"), True),
        (Selection(expression="prng and not quick"), True),
        (Selection(expression="programs"), False),
        (Selection(tags=("slow",)), True),
        (Selection(tags=("quick", "prng")), True),
        (Selection(tags=("slo",)), False),
        (Selection(expression="two", tags=("quick",)), False),
        (Selection(targets=("programs/model.py:add_two",)), True),
        (Selection(targets=()), False),
    ],
)
def test_a_program_is_taken_where_all_that_is_asked_holds(select, is_taken):
    assert select.takes(PROGRAM) is is_taken


def test_two_ways_to_name_one_file_are_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert target_key("./a/../model.py:f") == "model.py:f"
    assert target_key(f"{tmp_path}/model.py:f") == "model.py:f"
    assert target_key("package.module:f") == "package.module:f"
