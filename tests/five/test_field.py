"""The presets that imitate coding agents of the field, to their figures."""

from __future__ import annotations

import pytest

from five.texts import bounder, generated
from overspill import Bounder, Budget, Event, MemoryStore, Policy, preset
from overspill.core.layouts import LAYOUTS
from overspill.core.strategies import Ends, head

TEXT = "".join(f"{number:06} some text\n" for number in range(9_000))


def test_codex_shows_half_of_10000_bytes_at_either_end() -> None:
    bounded = bounder("codex").bound(TEXT)
    assert bounded.text.startswith(f"Total output lines: 9000\n\n{TEXT[:5_000]}…{len(TEXT) - 10_000} chars truncated…")
    assert f"…{TEXT[-5_000:]}\n[overspill ovs_" in bounded.text
    assert bounder("codex").bound("x" * 10_000).truncated is False
    assert bounder("codex/tokens").bound("x" * 40_001).kept_bytes == 40_000


def test_codex_never_parts_a_character() -> None:
    bounded = bounder("codex").bound("字" * 10_000)
    assert bounded.parts[0].text == "字" * 1_666
    assert "\ufffd" not in bounded.text


def test_gemini_cli_shows_the_first_8000_and_the_last_32000_characters() -> None:
    bounded = bounder("gemini-cli").bound(TEXT)
    opening, _, rest = bounded.text.partition("]\n")
    assert opening.startswith("[overspill ovs_")
    assert rest == f"{TEXT[:8_000]}\n\n... [{len(TEXT) - 40_000} characters omitted] ...\n\n{TEXT[-32_000:]}"
    assert bounder("gemini-cli").bound(text := "x" * 40_000).text is text


def test_gemini_cli_equals_its_reference_on_generated_texts() -> None:
    store = MemoryStore()
    for at, text in enumerate(generated(10_000, seed=5, without="\r")):
        size = 269 + at % 400
        if len(text) <= size:
            continue
        policy = Policy(budget=Budget(max_chars=size), strategy=Ends(), layout=LAYOUTS["gemini-cli"])
        head = int(size * 0.2)
        rest = Bounder(policy, store).bound(text).text.partition("]\n")[2]
        cut = f"{text[:head]}\n\n... [{len(text) - size} characters omitted] ...\n\n{text[head - size :]}"
        assert rest == cut


def test_claude_code_shows_the_first_2000_of_more_than_30000_characters() -> None:
    assert bounder("claude-code").bound(text := "x" * 30_000).text is text
    bounded = bounder("claude-code").bound(TEXT)
    assert f"The first 2000 characters:\n{TEXT[:2_000]}\n...\n" in bounded.text
    assert bounded.kept_bytes == 2_000
    assert bounded.handle
    assert bounded.handle in bounded.text[:100]


def test_codex_equals_its_reference_on_generated_texts() -> None:
    store = MemoryStore()
    cuts = 0
    for at, text in enumerate(generated(10_000, seed=6, without="\r")):
        size, data = 367 + at % 500, text.encode()
        if len(data) <= size:
            continue
        cuts += 1
        policy = Policy(budget=Budget(max_bytes=size), strategy=Ends(), layout=LAYOUTS["codex"])
        first = data[: size // 2].decode("utf-8", "ignore")
        last = data[size // 2 - size :].decode("utf-8", "ignore")
        lines = text.count("\n") + (not text.endswith("\n"))
        cut = f"…{len(text) - len(first) - len(last)} chars truncated…"
        expected = f"Total output lines: {lines}\n\n{first}{cut}{last}\n[overspill ovs_"
        assert Bounder(policy, store).bound(text).text.startswith(expected)
    assert cuts > 5_000


def test_claude_code_equals_its_reference_on_generated_texts() -> None:
    store = MemoryStore()
    cuts = 0
    for at, text in enumerate(generated(10_000, seed=7, without="\r")):
        size = 269 + at % 300
        limit = size + at % 200
        if len(text) <= limit:
            continue
        cuts += 1
        policy = Policy(
            budget=Budget(max_chars=size), limit=Budget(max_chars=limit), strategy=head(), layout=LAYOUTS["claude-code"]
        )
        said = (
            f"Too much to show: {len(text.encode()) / 1024:.1f} KB. The first {size} characters:\n{text[:size]}\n...\n"
        )
        assert Bounder(policy, store).bound(text).text.partition("]\n\n")[2] == said
    assert cuts > 5_000


@pytest.mark.parametrize("name", ["codex", "gemini-cli", "claude-code", "buffered", "toollevel", "toollevel/tool"])
def test_streamed_in_pieces_each_is_the_same(name: str) -> None:
    source = (TEXT + "字\r\n" * 5_000 + "😀" * 90_000).encode()
    whole = bounder(name).bound(source)
    with bounder(name).capture() as capturing:
        for at in range(0, len(source), 4_099):
            capturing.feed(source[at : at + 4_099])
    assert capturing.bounded.text == whole.text
    assert whole.kept_bytes + whole.omitted_bytes == len(source)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("codex", "café olé ".encode("latin-1") * 900 + b"\n"),
        ("codex/tokens", "\ud800" * 9_000),
        ("codex/tokens", b"\xff" * 20_000),
    ],
)
def test_what_is_too_much_only_when_it_is_shown_keeps_the_form(name: str, source: str | bytes) -> None:
    events: list[Event] = []
    bounded = preset(name, store=MemoryStore(), on_event=events.append).bound(source)
    first, last = (part.span for part in bounded.parts if part.span)
    assert first.end < last.start
    assert bounded.kept_bytes + bounded.omitted_bytes == bounded.total_bytes
    assert not bounded.text.startswith("[overspill ovs_")
    assert [event.kind for event in events] == ["truncated"]


@pytest.mark.parametrize("name", sorted(LAYOUTS))
def test_broken_unicode_and_escapes_come_out_valid(name: str) -> None:
    lone, red = b"\xed\xa0\x80", b"\x1b[38;5;196m"
    source = (b"\xff\xfe plain " + lone + red + "é漢".encode() + b"\n") * 9_000
    bounded = bounder(name).bound(source)
    assert bounded.truncated
    bounded.text.encode("utf-8")
    for gap in bounded.gaps:
        for border in (gap.start, gap.end):
            for offset in range(1, len(red)):
                assert source[border - offset : border - offset + len(red)] != red
