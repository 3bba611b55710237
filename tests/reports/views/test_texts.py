"""Words that follow their numbers."""

from reports.views.texts import counted


def test_nouns_follow_their_numbers():
    assert counted(1, "leaf") == "1 leaf"
    assert counted(2, "leaf") == "2 leaves"
    assert counted(0, "program") == "0 programs"
