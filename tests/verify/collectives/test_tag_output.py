"""Open MPI's tagged lines, cut and mixed on their way."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fabric.verify.collectives.launcher_lines import lines_of
from fabric.verify.collectives.tag_output import untangled

TEXT = st.text(st.characters(codec="ascii", exclude_characters="[]\n\r", min_codepoint=32), max_size=20)


def test_a_line_end_that_came_late() -> None:
    text = "[1,0]<stdout>:row 1[1,0]<stdout>:\n[1,0]<stdout>:row 2\nmpirun: ends\n"
    assert untangled(text) == "[1,0]<stdout>:row 1\n[1,0]<stdout>:row 2\nmpirun: ends\n"


def test_without_tags_nothing_changes() -> None:
    assert untangled("0: row\n") == "0: row\n"


def test_what_was_cut_stays_cut() -> None:
    whole = [(line.text, line.whole) for line in lines_of(untangled("[1,0]<stdout>:a\n[1,1]<stdout>:12"))]
    assert whole == [("a", True), ("12", False)]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.lists(TEXT, min_size=1, max_size=5), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_pieces_of_all_ranks_become_their_lines(said: list[list[str]], dice: object) -> None:
    """Each rank's text is cut anywhere, the pieces of all ranks are mixed, each piece with its tag at each line that it begins or goes on."""
    pieces: list[list[str]] = []
    for rank, lines in enumerate(said):
        text, mine = "".join(f"{line}\n" for line in lines), []
        while text:
            size = dice.randint(1, len(text))  # type: ignore[attr-defined]
            piece, text = text[:size], text[size:]
            tag = f"[1,{rank}]<stdout>:"
            mine.append("".join(f"{tag}{part}" for part in piece.splitlines(keepends=True)))
        pieces.append(mine)
    mixed = ""
    while any(pieces):
        mine = dice.choice([one for one in pieces if one])  # type: ignore[attr-defined]
        mixed += mine.pop(0)
    found: dict[int | None, list[str]] = {}
    for text in untangled(mixed).splitlines():
        tag, _, rest = text.partition(":")
        found.setdefault(int(tag[3]), []).append(rest)
    assert found == dict(enumerate(said))
