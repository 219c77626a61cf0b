"""What tool output costs with and without: tokens before, shown, and read back until nothing needed is missing.

Run: ``python bench/savings.py --corpus DIR [--write docs/savings.md]``, with a folder of annotated outputs as
``bench/quality.py`` has it.  Each output passes through the default policy.  For every marked line that is not
shown, the page around it is read back, and counted; what even that does not show counts as lost.  The same is
done to what a host's own cut leaves (10,000 tokens, half at either end), where nothing can be read back.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from overspill import Bounder, Call, MemoryStore, Policy, preset  # noqa: E402
from overspill.retrieve import read  # noqa: E402
from quality import load_score  # noqa: E402

LONG_LINE_BYTES = 4_000
LISTING = "total 12\n-rw-r--r-- 1 you you 1042 setup.cfg\n"


class Case(NamedTuple):
    category: str
    before: int
    shown: int
    read_back: int
    calls: int
    needed: int
    shown_at_once: int
    lost: int
    host: int
    """Tokens that a host's own cut lets through."""
    host_lost: int


def measured(case: dict[str, Any], score: ModuleType) -> Case:
    store = MemoryStore(max_total_bytes=1 << 30)
    call = Call(
        tool=case.get("tool") or "",
        command=case.get("command") or "",
        exit_status=case.get("exit"),
        question=case.get("question") or "",
    )
    bounded = Bounder(Policy(), store).bound(case["raw"], call)
    seen = score.squeeze(bounded.text)
    needles = case["needles"]
    missing = [needle for needle in needles if score.squeeze(needle["text"]) not in seen]
    pages: list[str] = []
    lost = 0
    for needle in missing:
        wanted = score.squeeze(needle["text"])
        if any(wanted in score.squeeze(page) for page in pages):
            continue
        page = page_around(store, str(bounded.handle), case["raw"], needle)
        pages.append(page)
        lost += wanted not in score.squeeze(page)
    host = preset("codex/tokens", store=MemoryStore(max_total_bytes=1 << 30)).bound(case["raw"]).text
    left = score.squeeze(host)
    return Case(
        category=case["category"],
        before=score.count(case["raw"].decode("utf-8", "replace")),
        shown=score.count(bounded.text),
        read_back=sum(map(score.count, pages)),
        calls=len(pages),
        needed=len(needles),
        shown_at_once=len(needles) - len(missing),
        lost=lost,
        host=score.count(host),
        host_lost=sum(score.squeeze(needle["text"]) not in left for needle in needles),
    )


def page_around(store: MemoryStore, handle: str, raw: bytes, needle: dict[str, Any]) -> str:
    """What one call shows of the place of a line, or of a place in a line too long for a page."""
    at = raw.find(needle["text"].encode())
    if at < 0:
        return read(store, handle, around=needle["line"]).text
    start = raw.rfind(b"\n", 0, at) + 1
    end = raw.find(b"\n", at)
    number = raw.count(b"\n", 0, at) + 1
    if (end if end >= 0 else len(raw)) - start > LONG_LINE_BYTES:
        first = max(1, at - start - LONG_LINE_BYTES // 4)
        return read(store, handle, line=number, bytes=f"{first}-{first + LONG_LINE_BYTES - 1}").text
    return read(store, handle, around=number).text


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def row(name: str, cases: Sequence[Case]) -> str:
    before, shown, back = (sum(getattr(case, key) for case in cases) for key in ("before", "shown", "read_back"))
    host, needed = sum(case.host for case in cases), sum(case.needed for case in cases)
    cells = [
        f"{name} ({len(cases)})",
        f"{before:,}",
        f"{shown:,}",
        f"{back:,}",
        percent(before - shown - back, before),
        f"{host:,}",
        percent(host - shown - back, host),
        percent(sum(case.shown_at_once for case in cases), needed),
        f"{sum(case.lost for case in cases)} of {needed}",
        f"{sum(case.host_lost for case in cases)} of {needed}",
    ]
    return "| " + " | ".join(cells) + " |"


def mixed(cases: Sequence[Case], small: int) -> str:
    """The saving where so many small results, which cost the same either way, come with every large one."""
    from overspill.core.tokens import estimate_tokens

    same = small * len(cases) * estimate_tokens(LISTING * 10)
    host = sum(case.host for case in cases) + same
    ours = sum(case.shown + case.read_back for case in cases) + same
    return percent(host - ours, host)


def page(cases: Sequence[Case]) -> str:
    by_category = defaultdict(list)
    for case in cases:
        by_category[case.category].append(case)
    calls = sum(case.calls for case in cases)
    head = [
        "# What it saves",
        "",
        f"Written by `python bench/savings.py` from {len(cases)} real outputs of tools, with",
        f"{sum(case.needed for case in cases)} lines marked by hand as what the next step needs. Tokens are",
        "o200k. Each output passes through the default policy (2,000 tokens and 9,000 bytes) with its command, exit",
        f"status and question; for each marked line that is not shown, the page around it is read back, {calls} pages in all,",
        "and counted as spent. Whoever does not know the place searches for it first, which is not counted.",
        "",
        "| kind | whole | shown | read back | saved | host's cut | saved of that | at once | lost | lost by the host |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(row(name, held) for name, held in sorted(by_category.items())),
        row("**all**", cases),
        "",
        "*whole*: tokens of the outputs. *saved*: of these, what is read back counted as spent. *host's cut*: what is left",
        "when a host keeps 10,000 tokens of each, half at either end, as several do; *saved of that*: the claim that",
        "counts for whoever has such a host. *at once*: marked lines in the first text. *lost*: marked lines that neither the",
        "text nor a page shows; a host's cut has nothing to read back.",
        "",
        "Most results of a session are small, and small ones cost the same either way. With",
        f"5 small results (about 200 tokens each) to every large one, {mixed(cases, 5)} of the tokens spent on tool results",
        f"are saved against the host's cut; with 20, {mixed(cases, 20)}; with 50, {mixed(cases, 50)}.",
        "Of a whole bill tool results are one part: what they save of it is less again.",
    ]
    return "\n".join(head) + "\n"


def main(words: Iterable[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--write", type=Path, metavar="FILE")
    args = parser.parse_args(None if words is None else list(words))
    score = load_score(args.corpus)
    text = page([measured(case, score) for case in score.load(args.corpus)])
    print(text)
    if args.write:
        args.write.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
