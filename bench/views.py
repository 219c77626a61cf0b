"""Measures the views on annotated outputs: kept weight of needles at each budget, with and without the question.

    python bench/views.py CORPUS_FOLDER [--only REGEX] [--budgets 1000,2000,4000] [--lost 2000] [--speed]

Each output goes to the view that is named by --view, or else to the one that is surest of it.
"""

from __future__ import annotations

import argparse
import collections
import functools
import gzip
import json
import pathlib
import re
import sys
import time

from overspill.bounder import Bounder
from overspill.core.model import Budget, Call
from overspill.core.policy import Policy
from overspill.core.strategies.ends import Ends
from overspill.core.strategies.views import SAMPLE_BYTES, VIEWS, best_view

ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@functools.cache
def encoding_of_tokens():
    import bpe_openai

    return bpe_openai.get_encoding("o200k_base")


def count_tokens(text: str) -> int:
    encoding = encoding_of_tokens()
    return sum(len(encoding.encode_ordinary(text[i : i + 150_000])) for i in range(0, len(text), 150_000))


class Viewed:
    """A strategy that hands each output to one view."""

    name = "views"

    def __init__(self, call: Call, view: str | None) -> None:
        self.call, self.view, self.kind = call, view, "-"

    def selector(self, room: Budget, call: Call):
        return _Late(self, room, call)


class _Late:
    """Picks the view at the first block."""

    def __init__(self, strategy: Viewed, room: Budget, call: Call) -> None:
        self._strategy, self._room, self._call, self._view = strategy, room, call, None

    def feed(self, block) -> None:
        if self._view is None:
            name = self._strategy.view or best_view(block.data[:SAMPLE_BYTES], self._call)
            self._strategy.kind = name or "-"
            self._view = (
                VIEWS[name].selector(self._room, self._call) if name else Ends().selector(self._room, self._call)
            )
        self._view.feed(block)

    def finish(self, totals, call):
        return self._view.finish(totals, call)


def bounded(raw: bytes, call: Call, max_tokens: int, view: str | None):
    strategy = Viewed(call, view)
    policy = Policy(budget=Budget(max_tokens=max_tokens), strategy=strategy, counter=count_tokens)
    return Bounder(policy).bound(raw, call), strategy.kind


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", ANSI.sub("", text))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--budgets", default="1000,2000,4000")
    parser.add_argument("--view")
    parser.add_argument("--lost", type=int, default=0, help="list what is lost at this budget")
    parser.add_argument("--show", type=int, default=0, help="print the excerpt at this budget")
    parser.add_argument("--plain", action="store_true", help="without question, command and tool")
    parser.add_argument("--skip", default="^(build|lint|system-log|test-run|stack-trace|terminal-progress)$")
    args = parser.parse_args()
    budgets = [int(part) for part in args.budgets.split(",")]
    sums: dict[str, list[list[float]]] = collections.defaultdict(lambda: [[] for _ in budgets])
    for row in (args.corpus / "cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(row)
        if not re.search(args.only, case["file"]) or (not args.only and re.search(args.skip, case["category"])):
            continue
        raw = gzip.decompress((args.corpus / "files" / (case["file"] + ".gz")).read_bytes())
        call = Call() if args.plain else Call(
            tool=case.get("tool") or "", command=case.get("command") or "", exit_status=case.get("exit"),
            question=case.get("question") or "",
        )  # fmt: skip
        figures, name, seconds = [], None, 0.0
        for index, budget in enumerate(budgets):
            began = time.perf_counter()
            result, name = bounded(raw, call, budget, args.view)
            seconds = time.perf_counter() - began
            text = result.text
            flat = squeeze(text)
            if count_tokens(text) > budget:
                print("   OVER", count_tokens(text), budget)
            lost = [needle for needle in case["needles"] if squeeze(needle["text"]) not in flat]
            weight = sum(needle["weight"] for needle in case["needles"])
            kept = 1 - sum(needle["weight"] for needle in lost) / weight
            figures.append(kept)
            sums[case["category"]][index].append(kept)
            sums["ALL"][index].append(kept)
            if budget == args.show:
                print(f"===\n{text}\n===")
            if budget == args.lost:
                for needle in lost:
                    print(f"      lost w{needle['weight']} :{needle.get('line')} {needle['text'][:110]}")
        columns = " ".join(f"{100 * value:5.0f}" for value in figures)
        print(f"{case['file'][:34]:34} {case['category'][:14]:14} {name or '-':10} {columns}  {seconds * 1000:6.0f} ms")
    for category, columns_of in sorted(sums.items()):
        print(f"{category:20} " + " ".join(f"{100 * sum(v) / len(v):5.1f}" for v in columns_of))
    return 0


if __name__ == "__main__":
    sys.exit(main())
