"""Walks a corpus of real outputs: is every needle that is not in the excerpt one suggested call away?

A call counts as suggested when it can be pasted from what the model has read, the excerpt or the answer of
``outline`` to the whole output: it stands there as it is, or its form stands there (``--lines FIRST-LAST``,
``--around LINE``, ``--for QUESTION``) and the numbers put into it do too: the ends of a mark's range, a line
that a mark or the outline names, two places that follow one another in the outline.  The question is the
case's own, word for word; those calls are counted apart.  Pages are counted apart too: the outline names them
for nothing but their position, one by one or by a step ("pages of 93 lines: --lines 1-93, 94-186, …").  PATTERN
is the model's to choose: greps for the single words of the question come last, for comparison only.  Prints a
table; writes nothing.

    python bench/readback.py [--corpus DIR] [--tokens N] [--question] [--only REGEX] [--lost] [--jobs N]
"""

from __future__ import annotations

import argparse
import collections
import gzip
import itertools
import json
import multiprocessing
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from overspill.bounder import Bounder
from overspill.core.access import Shell
from overspill.core.model import Bounded, Budget, Call
from overspill.core.policy import DEFAULT_BUDGET, Policy
from overspill.errors import RequestError
from overspill.retrieve import Answer, grep, outline, read
from overspill.store import MemoryStore

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
NUMBERED = re.compile(r"^\d+(?:\[\d+-\d+\])?[:-]", re.MULTILINE)
PASTED = re.compile(r"overspill (read|outline) ovs_\w+((?: --[a-z]+ [\d.-]+)+)")
OPTION = re.compile(r"--([a-z]+) ([\d.-]+)")
NUMBERS = re.compile(r"(?<![\w.,/:-])\d+(?:\.\d+)?(?![\w.:/])")
STOP = re.compile(
    r"(?:the|and|for|with|that|this|what|which|where|when|does|did|was|were|are|from|have|has|how|why|who|not|any|there|"
    r"their|its|they|them|into|than|then|out|all|but|can|could|should|would|about|been|more|most)",
    re.IGNORECASE,
)
ENDS = re.compile(r"(?:^# |[ :])(\d+(?:\.\d+)?)(?=,|;|$)", re.MULTILINE)
PAGES = "# pages "
STEP = re.compile(r"^# pages of (\d+) (lines|bytes): ", re.MULTILINE)
FORMS = "# with places from here: "
NAMED = ("header", "gap line", "gap range", "gap outline", "outline", "outline line", "outline section", "outline more")
ASKED = ("outline asked",)
SUGGESTED = (*NAMED, *ASKED, "outline page")
ORDER = (*SUGGESTED, "grep question")


def place_of(text: str) -> tuple[int, int]:
    line, _, byte = text.partition(".")
    return int(line), int(byte or 0)


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", ANSI.sub("", text))


def pasted(store: MemoryStore, handle: str, text: str, policy: Policy) -> Iterator[Callable[[], Answer]]:
    """The calls that stand in a text as they are."""
    for verb, options in PASTED.findall(text):
        yield partial(
            {"read": read, "outline": outline}[verb], store, handle, policy=policy, **dict(OPTION.findall(options))
        )


def calls(store: MemoryStore, bounded: Bounded, question: str, policy: Policy) -> Iterator[tuple[str, Any]]:
    """Every call that the notice or the outline suggests, as (way, function)."""
    handle = bounded.handle
    assert handle
    for call_it in pasted(store, handle, bounded.header, policy):
        yield "header", call_it
    for part in bounded.parts:
        if part.gap is None:
            continue
        gap = part.gap
        described = part.text.partition(": ")[2]
        for number in NUMBERS.findall(described):
            if gap.first_line <= float(number) < gap.last_line + 1:
                yield "gap line", lambda number=number: read(store, handle, around=number, policy=policy)
        lines = f"{gap.first_line}-{gap.last_line}"
        yield "gap range", lambda lines=lines: read(store, handle, lines=lines, policy=policy)
        yield "gap outline", lambda lines=lines: outline(store, handle, lines=lines, policy=policy)
    whole = outline(store, handle, policy=policy)
    yield "outline", lambda: whole
    for call_it in pasted(store, handle, whole.next, policy):
        yield "outline more", call_it
    if FORMS not in whole.text:  # then it was shown whole
        return
    total = store.stored(handle).lines
    lines = [line for line in whole.text.splitlines() if not line.startswith(("[", FORMS))]
    paged = {place for line in lines if line.startswith(PAGES) for place in ENDS.findall(line)}
    for number in sorted(paged, key=place_of):
        yield "outline page", lambda number=number: read(store, handle, around=number, policy=policy)
    facts = "\n".join(line for line in lines if line.startswith("# ") and not line.startswith(PAGES))
    shown = {number for line in lines for number in re.findall(r"^\d+(?=[:\[])", line)}
    named = {number for number in (*NUMBERS.findall(facts), *shown) if 1 <= float(number) < total + 1}
    for number in sorted(named, key=float):
        yield "outline line", lambda number=number: read(store, handle, around=number, policy=policy)
    for step, unit in STEP.findall(whole.text):
        for first in range(1, (total if unit == "lines" else store.stored(handle).bytes) + 1, int(step)):
            span = {unit: f"{first}-{first + int(step) - 1}"}
            yield "outline page", lambda span=span: read(store, handle, policy=policy, **span)
    for way, listed in (("outline section", {*ENDS.findall(facts), *shown}), ("outline page", paged)):
        places = sorted({place_of(place) for place in listed if 1 <= float(place) < total + 1})
        for first, behind in itertools.pairwise([*places, (total + 1, 0)]):
            last = f"{behind[0]}.{behind[1] - 1}" if behind[1] > 1 else str(max(first[0], behind[0] - 1))
            lines_of = f"{first[0]}.{first[1]}-{last}" if first[1] else f"{first[0]}-{last}"
            yield way, lambda lines_of=lines_of: read(store, handle, lines=lines_of, policy=policy)
    yield "outline asked", lambda: outline(store, handle, question=question, policy=policy)
    for part in bounded.parts:
        if part.gap is not None:
            lines_of = f"{part.gap.first_line}-{part.gap.last_line}"
            yield (
                "outline asked",
                lambda lines_of=lines_of: outline(store, handle, lines=lines_of, question=question, policy=policy),
            )
    words = {word for word in re.findall(r"[A-Za-z_][\w.-]{2,}", question) if not STOP.fullmatch(word)}
    for word in sorted(words):
        yield (
            "grep question",
            lambda word=word: grep(store, handle, word, literal=True, ignore_case=True, policy=policy),
        )


def walk(job: tuple[dict[str, Any], bytes, int, bool]) -> dict[str, Any]:
    case, raw, tokens, with_question = job
    started = time.perf_counter()
    store = MemoryStore(max_total_bytes=1 << 30)
    budget = (
        Budget(max_tokens=tokens, max_bytes=DEFAULT_BUDGET.max_bytes) if tokens == 2000 else Budget(max_tokens=tokens)
    )
    policy = Policy(budget=budget, access=Shell())
    call = Call(
        tool=case.get("tool") or "",
        command=case.get("command") or "",
        exit_status=case.get("exit"),
        question=case["question"] if with_question else "",
    )
    bounded = Bounder(policy, store).bound(raw, call)
    flat = squeeze(bounded.text)
    needles = [needle for needle in case["needles"] if squeeze(needle["text"]) not in flat]
    reached: dict[int, dict[str, int]] = collections.defaultdict(dict)
    sizes: list[int] = []
    if needles and bounded.handle:
        for way, call_it in calls(store, bounded, case["question"], policy):
            if all(len(reached[number]) and way in reached[number] for number in range(len(needles))):
                continue
            try:
                answer = call_it()
            except RequestError:  # two places of one line, named in another order
                continue
            size = policy.measure.tokens(answer.text)
            assert policy.measure.fits(answer.text, budget), (case["file"], way)
            sizes.append(size)
            shown = squeeze(NUMBERED.sub("", answer.text))
            for number, needle in enumerate(needles):
                if squeeze(needle["text"]) in shown:
                    reached[number][way] = min(size, reached[number].get(way, 1 << 30))
    return {
        "file": case["file"],
        "category": case["category"],
        "needles": len(case["needles"]),
        "missing": needles,
        "reached": [reached[number] for number in range(len(needles))],
        "sizes": sizes,
        "seconds": time.perf_counter() - started,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True, help="a folder with cases.jsonl and files/")
    parser.add_argument("--tokens", type=int, default=2000)
    parser.add_argument("--question", action="store_true", help="the excerpt is made with the question known")
    parser.add_argument("--only", default="")
    parser.add_argument("--lost", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after this, with a sample")
    arguments = parser.parse_args()
    if not (arguments.corpus / "cases.jsonl").exists():
        print(f"no corpus at {arguments.corpus}: nothing was measured")
        return 0
    jobs = []
    for line in (arguments.corpus / "cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        if re.search(arguments.only, case["file"]):
            raw = gzip.decompress((arguments.corpus / "files" / f"{case['file']}.gz").read_bytes())
            jobs.append((case, raw, arguments.tokens, arguments.question))
    random.Random(1).shuffle(jobs)  # so that what is done when time is over is a fair sample
    results, until = [], time.monotonic() + arguments.seconds
    with multiprocessing.Pool(arguments.jobs) as pool:
        for result in pool.imap_unordered(walk, jobs, chunksize=1):
            results.append(result)
            if time.monotonic() > until:
                break
    print(f"{len(results)} of {len(jobs)} outputs")
    report(results, lost=arguments.lost)
    return 0


def report(results: list[dict[str, Any]], *, lost: bool) -> None:
    rows: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for result in results:
        rows[result["category"]].append(result)
    print(f"{'category':18} needles missing  by name  +question  +pages  +grep   median tokens")
    for name, group in [*sorted(rows.items()), ("all", results)]:
        missing = [ways for result in group for ways in result["reached"]]
        shares = "  ".join(
            f"{share(missing, ways):>{width}}"
            for ways, width in ((NAMED, 7), ((*NAMED, *ASKED), 9), (SUGGESTED, 6), (ORDER, 6))
        )
        cheapest = [
            min(size for way, size in ways.items() if way in SUGGESTED) for ways in missing if {*SUGGESTED} & {*ways}
        ]
        median = f"{statistics.median(cheapest):.0f}" if cheapest else "-"
        print(f"{name:18} {sum(r['needles'] for r in group):7} {len(missing):7}  {shares}  {median:>8}")
    total = sum(len(result["missing"]) for result in results) or 1
    print("\nreached by (a needle can be reached in several ways)")
    for way in ORDER:
        sizes = [ways[way] for result in results for ways in result["reached"] if way in ways]
        median = statistics.median(sizes) if sizes else 0
        print(f"  {way:15} {len(sizes):4}  {100 * len(sizes) / total:5.1f} %   median {median:.0f} tokens")
    every = [size for result in results for size in result["sizes"]]
    print(
        f"  answers: {len(every)}, median {statistics.median(every) if every else 0:.0f} tokens; "
        f"{sum(result['seconds'] for result in results):.0f} s"
    )
    if lost:
        for result in results:
            for needle, ways in zip(result["missing"], result["reached"], strict=True):
                if not {*SUGGESTED} & {*ways}:
                    place = f"{result['file']}:{needle.get('line')}"
                    print(f"    lost w{needle['weight']} {place} ({', '.join(ways)}) {needle['text'][:100]}")


def share(missing: list[dict[str, int]], ways: tuple[str, ...]) -> str:
    reached = sum(1 for found in missing if {*ways} & {*found})
    return f"{100 * reached / len(missing):.1f} %" if missing else "-"


if __name__ == "__main__":
    sys.exit(main())
