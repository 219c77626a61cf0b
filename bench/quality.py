"""Which needles survive: scores ``auto`` on annotated outputs beside plain cuts, and writes the figures into the docs.

Run: ``python bench/quality.py [--corpus DIR] [--hints] [--lost 2000] [--left-out FILE] [--ablation] [--write docs]``.
The corpus folder holds ``cases.jsonl`` and ``files/*.gz``, and ``score.py`` beside or above it defines what survives.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from overspill.core.capture import Capture, Whole  # noqa: E402
from overspill.core.model import Budget, Call  # noqa: E402
from overspill.core.notice import Kept  # noqa: E402
from overspill.core.policy import Policy  # noqa: E402
from overspill.core.render import render  # noqa: E402
from overspill.core.strategies.auto import Auto  # noqa: E402
from overspill.core.strategies.salience import model  # noqa: E402
from overspill.core.tokens import estimate_tokens  # noqa: E402
from sources import source  # noqa: E402

BUDGETS = (1000, 2000, 4000, 8000)
KEPT = Kept("ovs_0000000000")
EXCERPT_CHARS = 44
ABLATED = (
    "views",
    "question",
    "repeats",
    "severity",
    "forms",
    "position",
    "neighbours",
    "places",
    "summaries",
    "outliers",
    "status",
)
FEATURES = {
    "severity": ("severity", "severity_share", "severity_coarse", "severity_fine", "severity_place",
                 "asked_severity", "weak", "verdict", "isolation_severity"),
    "forms": ("fine", "coarse", "coarse_share", "severity_coarse", "severity_fine", "state_coarse", "run"),
    "position": ("from_start", "from_end", "decile", "size_place", "summary_end"),
    "neighbours": ("severe_before", "severe_after", "place_severe", "block"),
    "places": ("place", "severity_place", "place_severe"),
    "summaries": ("summary", "summary_end"),
    "outliers": ("outlier", "rare_value"),
    "status": ("exit",),
}  # fmt: skip


class Row(NamedTuple):
    """What one case kept under one budget."""

    file: str
    category: str
    kept: float
    whole: bool
    saved: float
    over: float
    """By how much it exceeds its budget, as a factor; 1 at most when it fits."""
    lost: tuple[tuple[int, int, str], ...]


def load_score(corpus: Path) -> ModuleType:
    """The scorer that belongs to the corpus, by its path."""
    for folder in (corpus, corpus.parent):
        path = folder / "score.py"
        if path.exists():
            spec = importlib.util.spec_from_file_location("corpus_score", path)
            assert spec
            assert spec.loader
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    sys.exit(f"no corpus at {corpus}: give --corpus a folder with cases.jsonl, files/ and score.py beside it")


def bounded(
    raw: bytes, max_tokens: int, case: Mapping[str, Any], *, strategy: Auto, hints: str, count: Callable[[str], int]
) -> str:
    """What a model would be shown of the case."""
    call = Call()
    if hints == "hints":
        call = Call(
            tool=case.get("tool") or "",
            command=case.get("command") or "",
            exit_status=case.get("exit"),
            question=case.get("question") or "",
        )
    policy = Policy(budget=Budget(max_tokens=max_tokens), strategy=strategy, counter=count)
    capture = Capture(policy, call)
    capture.feed(raw)
    result = capture.finish()
    if isinstance(result, Whole):
        return raw.decode("utf-8", "replace")
    if result.fault:
        raise result.fault
    return render(result, KEPT, policy).text


def judge(score: ModuleType, case: Mapping[str, Any], text: str, max_tokens: int) -> Row:
    flat, tokens = score.squeeze(text), score.count(text)
    lost = [needle for needle in case["needles"] if score.squeeze(needle["text"]) not in flat]
    weight = sum(needle["weight"] for needle in case["needles"])
    return Row(
        case["file"],
        case["category"],
        1 - sum(needle["weight"] for needle in lost) / weight,
        not any(needle["weight"] >= 2 for needle in lost),
        max(0.0, 1 - tokens / case["tokens"]),
        tokens / max_tokens,
        tuple((needle["weight"], needle.get("line") or 0, needle["text"]) for needle in lost),
    )


def strategy_for(case: Mapping[str, Any], left_out: Mapping[str, Any], without: str) -> Auto:
    """``auto``, with the weights that never saw the case's source, or with a rule left out."""
    weights = None
    if left_out:
        weights = model.parsed(left_out[source(case["file"])])
    if without in FEATURES:
        weights = {
            name: {feature: table for feature, table in tables.items() if feature not in FEATURES[without]}
            for name, tables in (weights or model.learned()).items()
        }
        without = ""
    return Auto(weights=weights, without=frozenset({without} if without else ()))


_STATE: dict[str, Any] = {}


def _prepare(corpus: Path, only_kind: str) -> list[dict[str, Any]]:
    if (corpus, only_kind) not in _STATE:
        score = load_score(corpus)
        cases = [case for case in score.load(corpus) if not only_kind or case.get("kind") == only_kind]
        for case in cases:
            case["tokens"] = case.get("tokens") or score.count(case["raw"].decode("utf-8", "replace"))
        _STATE[(corpus, only_kind)] = (score, cases)  # type: ignore[index]
    return _STATE[(corpus, only_kind)]  # type: ignore[index,no-any-return]


def one_case(
    index: int,
    *,
    corpus: Path,
    kind: str,
    budgets: Sequence[int],
    hints: str,
    left_out: Path | None,
    without: str,
    counter: str,
) -> list[Row]:
    score, cases = _prepare(corpus, kind)
    if left_out and "left_out" not in _STATE:
        _STATE["left_out"] = json.loads(left_out.read_text("utf-8"))
    case = cases[index]
    strategy = strategy_for(case, _STATE["left_out"] if left_out else {}, without)
    count = estimate_tokens if counter == "estimate" else score.count
    return [
        judge(score, case, bounded(case["raw"], tokens, case, strategy=strategy, hints=hints, count=count), tokens)
        for tokens in budgets
    ]


def measured(
    corpus: Path,
    *,
    kind: str = "",
    budgets: Sequence[int],
    hints: str,
    left_out: Path | None = None,
    without: str = "",
    counter: str = "exact",
    jobs: int = 2,
) -> dict[int, list[Row]]:
    """The rows of ``auto``, by budget."""
    _, cases = _prepare(corpus, kind)
    task = partial(
        one_case,
        corpus=corpus,
        kind=kind,
        budgets=tuple(budgets),
        hints=hints,
        left_out=left_out,
        without=without,
        counter=counter,
    )
    if jobs > 1:
        with ProcessPoolExecutor(jobs) as pool:
            found = list(pool.map(task, range(len(cases)), chunksize=4))
    else:
        found = [task(index) for index in range(len(cases))]
    return {tokens: [rows[number] for rows in found] for number, tokens in enumerate(budgets)}


def baselines(corpus: Path, budgets: Sequence[int], kind: str = "", only: str = "") -> dict[str, dict[int, list[Row]]]:
    """The plain cuts and the oracle, as the corpus defines them."""
    score, cases = _prepare(corpus, kind)
    out: dict[str, dict[int, list[Row]]] = {}
    for name, cut in {**score.BASELINES, **score.FIXED}.items():
        if only and name != only:
            continue
        rows = None
        out[name] = {}
        for tokens in budgets:
            if rows is None or name in score.BASELINES:
                rows = [judge(score, case, cut(case["raw"], tokens, case), tokens) for case in cases]
            out[name][tokens] = rows
    return out


def mean(values: Iterable[float]) -> float:
    held = list(values)
    return 100 * sum(held) / max(1, len(held))


def figures(rows: Sequence[Row]) -> str:
    kept, whole = mean(row.kept for row in rows), mean(row.whole for row in rows)
    return f"{kept:5.1f} / {whole:4.1f} / {mean(row.saved * row.whole for row in rows):4.1f}"


def over_budget(lines: Mapping[str, Mapping[int, Sequence[Row]]]) -> str:
    """How many outputs are over their budget, and the worst of them."""
    rows = [row for by in lines.values() for part in by.values() for row in part]
    over = [row for row in rows if row.over > 1]
    if not over:
        return f"0 of {len(rows)}"
    worst = max(over, key=lambda row: row.over)
    return f"{len(over)} of {len(rows)}, {worst.over:.2f}× at most ({worst.file})"


def table(title: str, lines: Mapping[str, Mapping[int, Sequence[Row]]], budgets: Sequence[int]) -> str:
    head = f"| {title} | " + " | ".join(f"{tokens:,}" for tokens in budgets) + " |"
    body = [
        f"| {name} | " + " | ".join(figures(rows[tokens]) for tokens in budgets) + " |" for name, rows in lines.items()
    ]
    return "\n".join([head, "|---|" + "---|" * len(budgets), *body])


def by_category(rows: Mapping[int, Sequence[Row]], budgets: Sequence[int]) -> str:
    names = sorted({row.category for row in rows[budgets[0]]})
    out = ["| category | " + " | ".join(f"{tokens:,}" for tokens in budgets) + " |", "|---|" + "---|" * len(budgets)]
    for name in names:
        held = [[row for row in rows[tokens] if row.category == name] for tokens in budgets]
        out.append(
            f"| {name} ({len(held[0])}) | "
            + " | ".join(f"{mean(row.kept for row in part):.0f}" for part in held)
            + " |"
        )
    return "\n".join(out)


def plot(lines: Mapping[str, Mapping[int, Sequence[Row]]], budgets: Sequence[int]) -> str:
    """A plot of the needles kept by budget, as SVG."""
    width, height, left, bottom = 640, 360, 48, 40
    colours = ("#0b6e4f", "#3a86c8", "#b5541c", "#7a5ea8", "#8a8a8a", "#c9a227", "#555555", "#aa3355", "#000000")
    step = (width - left - 170) / max(1, len(budgets) - 1)

    def y_of(value: float) -> float:
        return height - bottom - value / 100 * (height - bottom - 20)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    parts += [
        f'<path d="M{left} {y_of(value):.1f}H{width - 170}" stroke="#ddd"/>'
        f'<text x="{left - 6}" y="{y_of(value) + 4:.1f}" text-anchor="end">{value} %</text>'
        for value in range(0, 101, 20)
    ]
    parts += [
        f'<text x="{left + number * step:.1f}" y="{height - bottom + 18}" text-anchor="middle">{tokens:,}</text>'
        for number, tokens in enumerate(budgets)
    ]
    parts.append(f'<text x="{left}" y="{height - 6}">tokens shown: weighted needles that survive</text>')
    for number, (name, rows) in enumerate(lines.items()):
        values = [mean(row.kept for row in rows[tokens]) for tokens in budgets]
        points = " ".join(f"{left + at * step:.1f},{y_of(value):.1f}" for at, value in enumerate(values))
        colour = colours[number % len(colours)]
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="{3 if number < 2 else 1.5}"/>'
        )
        parts.append(f'<text x="{width - 162}" y="{30 + 18 * number}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def lost_briefly(rows: Sequence[Row]) -> str:
    """The needles that did not survive, each by its line and a few of its words."""
    out = []
    for row in sorted(rows, key=lambda row: (row.category, row.file)):
        if row.lost:
            told = "; ".join(f"{line} {excerpt(text)}" for _, line, text in sorted(row.lost, key=lambda one: -one[0]))
            out.append(f"* {row.category} · {row.file} ({100 * row.kept:.0f} %): {told}")
    return "\n".join(out)


def excerpt(text: str) -> str:
    """A few words of a needle, homes and the table's own signs masked."""
    words = re.sub(r"/(?:home|root|work|Users)/[\w.-]+", "~", " ".join(text.split())).replace("`", "'")
    return f"`{words if len(words) <= EXCERPT_CHARS else words[: EXCERPT_CHARS - 1] + '…'}`"


def write(folder: Path, corpus: Path, left_out: Path | None, jobs: int) -> None:
    """The whole story into ``quality.md`` and ``quality.svg``."""
    budgets = BUDGETS
    plain = measured(corpus, budgets=budgets, hints="plain", jobs=jobs)
    hinted = measured(corpus, budgets=budgets, hints="hints", jobs=jobs)
    lines: dict[str, Mapping[int, Sequence[Row]]] = {"auto": plain, "auto, hints given": hinted}
    if left_out:
        lines["auto, source left out"] = measured(corpus, budgets=budgets, hints="plain", left_out=left_out, jobs=jobs)
        lines["auto, hints, source left out"] = measured(
            corpus, budgets=budgets, hints="hints", left_out=left_out, jobs=jobs
        )
    estimated = {
        f"{name}, as installed": measured(corpus, budgets=budgets, hints=hints, counter="estimate", jobs=jobs)
        for name, hints in (("auto", "plain"), ("auto, hints", "hints"))
    }
    plain_cuts = baselines(corpus, budgets)
    _, cases = _prepare(corpus, "")
    parts = [
        "# What survives",
        "",
        f"{len(cases)} real outputs with {sum(len(case['needles']) for case in cases)} marked lines that the next "
        "step needs, cut to 1,000, 2,000, 4,000 and 8,000 tokens (o200k).",
        "Each cell: weighted needles kept / cases that keep every needle of weight 2 and 3 / mean saving, a case that",
        "lost one of those counting 0. Hints are the command, the exit status and the question. *Source left out*: the",
        "weights were learned without any output of the case's own project, so nothing in them can know it.",
        "*As installed*: nobody gave a tokenizer, so tokens are estimated; the other rows count them exactly.",
        "",
        "![needles kept by budget](quality.svg)",
        "",
        table("%, by tokens shown", {**lines, **estimated, **plain_cuts}, budgets),
        "",
        f"Outputs over their budget: {over_budget(lines)}.",
        f"By the estimate alone: {over_budget(estimated)}.",
        "",
        "## By category, without hints",
        "",
        by_category(plain, budgets),
        "",
        "## By category, with hints",
        "",
        by_category(hinted, budgets),
        "",
        "## By category, 2,000 tokens, beside plain cuts",
        "",
        beside({**lines, **plain_cuts}, 2000),
    ]
    kinds = corpus.parent / "kinds"
    if (kinds / "cases.jsonl").exists():
        parts += ["", "## By what can be expected", "", table("%, by tokens shown", expected(kinds, jobs), budgets)]
    at = (2000,)
    ablated: dict[str, Mapping[int, Sequence[Row]]] = {"all rules": {2000: hinted[2000]}}
    for name in ABLATED:
        ablated[f"without {name}"] = measured(corpus, budgets=at, hints="hints", without=name, jobs=jobs)
    parts += [
        "",
        "## What each rule is worth (hints given, 2,000 tokens)",
        "",
        table("%", ablated, at),
        "",
        "## What is lost (hints given, 2,000 tokens)",
        "",
        lost_briefly(hinted[2000]),
        "",
        "Made by `bench/quality.py --write docs`; the outputs themselves are not part of this repository.",
        "",
    ]
    folder.mkdir(parents=True, exist_ok=True)
    chosen = {name: rows for name, rows in {**lines, **plain_cuts}.items() if name != "oracle"}
    (folder / "quality.svg").write_text(plot(chosen, budgets), "utf-8")
    (folder / "quality.md").write_text("\n".join(parts), "utf-8")


def expected(kinds: Path, jobs: int) -> dict[str, Mapping[int, Sequence[Row]]]:
    """The cases by what a reader without, or with, the question can be expected to see."""
    lines: dict[str, Mapping[int, Sequence[Row]]] = {}
    for kind, hints, title in (
        ("salient", "plain", "what anyone can see matters, without hints"),
        ("lookup", "hints", "what matters only because of the question, with hints"),
    ):
        lines[title] = measured(kinds, kind=kind, budgets=BUDGETS, hints=hints, jobs=jobs)
        plain_cut = "head+tail 50/50"
        lines[f"{plain_cut} on these {kind} cases"] = baselines(kinds, BUDGETS, kind, only=plain_cut)[plain_cut]
    return lines


def beside(lines: Mapping[str, Mapping[int, Sequence[Row]]], tokens: int) -> str:
    """One column per way of cutting, one line per category."""
    names = sorted({row.category for rows in lines.values() for row in rows[tokens]})
    out = ["| category | " + " | ".join(lines) + " |", "|---|" + "---|" * len(lines)]
    for name in names:
        held = [mean(row.kept for row in rows[tokens] if row.category == name) for rows in lines.values()]
        out.append(f"| {name} | " + " | ".join(f"{value:.0f}" for value in held) + " |")
    return "\n".join(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--budgets", default=",".join(map(str, BUDGETS)))
    parser.add_argument("--kind", default="", help="only cases of this kind, where the corpus says it")
    parser.add_argument("--hints", action="store_true", help="give the command, the exit status and the question")
    parser.add_argument("--estimate", action="store_true", help="count tokens as who installs no tokenizer does")
    parser.add_argument("--lost", type=int, help="list the needles lost under this budget")
    parser.add_argument(
        "--left-out", type=Path, help="weights by left-out source, as bench/train_ranker.py writes them"
    )
    parser.add_argument("--ablation", action="store_true", help="what each rule is worth")
    parser.add_argument("--baselines", action="store_true", help="the plain cuts too")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--write", type=Path, metavar="DIR", help="write quality.md and quality.svg there")
    args = parser.parse_args()
    budgets = [int(part) for part in args.budgets.split(",")]
    hints = "hints" if args.hints else "plain"
    if not (args.corpus / "cases.jsonl").exists():
        sys.exit(f"no corpus at {args.corpus}: give --corpus a folder with cases.jsonl and files/")
    if args.write:
        write(args.write, args.corpus, args.left_out, args.jobs)
        return
    rows = measured(
        args.corpus,
        kind=args.kind,
        budgets=budgets,
        hints=hints,
        left_out=args.left_out,
        counter="estimate" if args.estimate else "exact",
        jobs=args.jobs,
    )
    lines: dict[str, Mapping[int, Sequence[Row]]] = {
        f"auto ({hints}{', source left out' if args.left_out else ''})": rows
    }
    if args.baselines:
        lines.update(baselines(args.corpus, budgets, args.kind))
    print(table("kept / whole / safe, %", lines, budgets))
    print(by_category(rows, budgets))
    print(f"over budget: {over_budget(lines)}")
    if args.ablation:
        ablated = {
            f"without {name}": measured(
                args.corpus,
                kind=args.kind,
                budgets=budgets,
                hints=hints,
                without=name,
                left_out=args.left_out,
                jobs=args.jobs,
            )
            for name in ABLATED
        }
        print(table("ablation", ablated, budgets))
    if args.lost:
        grouped: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for row in rows[args.lost]:
            grouped[f"{row.file} ({row.category}) kept {100 * row.kept:.0f} %"] += row.lost
        for name, lost in grouped.items():
            if lost:
                print(name)
                for weight, line, text in lost:
                    print(f"    {weight} {line}: {text[:110]}")


if __name__ == "__main__":
    main()
