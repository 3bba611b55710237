import pytest

from parity_tests.observe.calls import without_addresses
from reports.views.texts import counted


@pytest.mark.parametrize("address", ["0x7f00ab", "0x7F00", "0xXXXXXXXXXXXX"])
def test_addresses_are_left_out(address):
    assert without_addresses(f"policy=<function f at {address}> b") == "policy=<function f> b"


def test_what_only_looks_like_an_address_stays():
    assert without_addresses("0x7f00 looked at 77") == "0x7f00 looked at 77"


def test_nouns_follow_their_numbers():
    assert counted(1, "leaf") == "1 leaf"
    assert counted(2, "leaf") == "2 leaves"
    assert counted(0, "program") == "0 programs"
