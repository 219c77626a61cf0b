"""Learns the weights of line salience from annotated outputs: a table per feature, a softmax over each output.

Run: ``python bench/train_ranker.py --corpus DIR [--out FILE]``; needs numpy and scipy. Prints how the needles rank on
sources that were left out of the training.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

sys.path.insert(0, str(Path(__file__).resolve().parent))

from overspill.core.model import Call, Span, Totals
from overspill.core.strategies.salience import features, question, units
from sources import source

BINS = 256
NEGATIVES = 2500
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def load(folder: Path) -> list[dict]:
    cases = []
    for line in (folder / "cases.jsonl").read_text("utf-8").splitlines():
        case = json.loads(line)
        case["raw"] = gzip.decompress((folder / "files" / (case["file"] + ".gz")).read_bytes())
        cases.append(case)
    return cases


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", _ANSI.sub("", text))


def evidence(case: dict, *, hints: str) -> features.Evidence:
    raw = case["raw"]
    cut = units.cut([Span(0, raw, 1)])
    asked, call = None, Call()
    if hints == "hints":
        call = Call(
            command=case.get("command") or "", question=case.get("question") or "", exit_status=case.get("exit")
        )
        asked = question.Asked(question.terms(call.question))
    totals = Totals(len(raw), raw.count(b"\n") + (not raw.endswith(b"\n")))
    return features.gather(cut, None, asked, call, totals)


def labels(case: dict, found: features.Evidence) -> np.ndarray:
    """The weight of the needles that each unit holds (a part of)."""
    flat, owner = [], []
    for text in found.units.texts:
        squeezed = squeeze(text.decode("utf-8", "replace"))
        flat.append(squeezed)
        owner.append(len(squeezed))
    whole = "".join(flat)
    ends = np.cumsum(owner)
    gold = np.zeros(len(owner))
    lines = np.array(found.units.lines)
    for needle in case["needles"]:
        text = squeeze(needle["text"])
        places, at = [], whole.find(text)
        while at >= 0 and len(places) < 2000:
            first = int(np.searchsorted(ends, at, side="right"))
            last = int(np.searchsorted(ends, at + len(text) - 1, side="right"))
            places.append(
                (abs(int(lines[first]) - (needle.get("line") or 1)) if needle.get("line", 1) else 0, first, last)
            )
            at = whole.find(text, at + 1)
        if not places:
            print("no place for", case["file"], needle["text"][:60])
            continue
        # a needle that stands in many places survives by any of them
        places.sort()
        places = places[:5]
        for _, first, last in places:
            for unit in range(first, last + 1):
                gold[unit] = max(gold[unit], needle["weight"] / len(places) / (last - first + 1) ** 0.5)
    return gold


def dataset(cases: list[dict], hints: str, seed: int = 7) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for case in cases:
        found = evidence(case, hints=hints)
        gold = labels(case, found)
        matrix = np.array([np.frombuffer(bytes(column), dtype=np.uint8) for column in found.columns]).T
        offset = np.zeros(len(gold))
        negatives = np.flatnonzero(gold == 0)
        if len(negatives) > NEGATIVES:
            chosen = rng.choice(negatives, NEGATIVES, replace=False)
            offset[chosen] = np.log(len(negatives) / NEGATIVES)
            keep = np.sort(np.concatenate([np.flatnonzero(gold), chosen]))
            matrix, gold, offset = matrix[keep], gold[keep], offset[keep]
        rows.append((matrix, gold, offset, case["file"]))
    return rows


def prior() -> np.ndarray:
    """What is believed before any output was read: the training only adds what the outputs insist on."""
    tables = np.zeros((len(features.NAMES), BINS))

    def put(name: str, values: dict[int, float]) -> None:
        for bin_, value in values.items():
            tables[features.NAMES.index(name), bin_] += value

    put("severity", dict(enumerate((0, 0.2, 0.5, 0.3, 0.7, 0.9, 1.8, 2.4))))
    for count in range(7):
        for place, value in enumerate((0.9, -0.3, -0.8, -1.5, -0.4)):
            put("coarse", {count * 5 + place: value * min(1, 0.4 + count / 4) + (0.4 if count == 0 else 0)})
    put("coarse", {63: -2.0})
    for around, value in enumerate((0.9, 0.5, 0.0, -0.3, -0.5)):
        put("isolation", {around * 4: value})
    put("summary", {3: 1.0, 4: 1.0, 5: 1.0})
    put("from_start", {0: 0.5, 1: 0.3, 2: 0.2})
    put("from_end", {0: 0.9, 1: 0.9, 2: 0.5, 3: 0.3})
    for step, value in enumerate((0.9, 0.7, 0.4, 0.2, 0.0)):
        for novelty, share in enumerate((1.0, 0.6, 0.2, -0.2)):
            for level in (0, 1):
                put("severe_before", {1 + step * 8 + novelty * 2 + level: value * share * (0.6 + 0.4 * level)})
                put("severe_after", {1 + step * 8 + novelty * 2 + level: 0.5 * value * share})
    put("place", {2: 0.4, 3: 0.5, 4: -0.5, 5: -0.5})
    put("lead", {2: 1.0, 3: 0.5, 4: 0.3, 11: 0.3})
    put("length", {0: -0.6, 1: -0.3, 16: -0.3})
    put("outlier", {3: 0.3, 4: 0.8})
    put("rare_value", {1: 0.3, 2: 0.6, 3: 1.0})
    put("exit", {**{8 + level: -0.1 for level in (5, 6, 7)}, **{16 + level: 0.3 for level in (5, 6, 7)}})
    put("verdict", {1: -0.8, 2: 0.5, 3: -0.4})
    put("run", {1: -0.3, 3: -1.0})
    put("asked", {bin_: 0.2 * bin_ for bin_ in range(11)})
    put("asked_near", {bin_: 0.1 * bin_ for bin_ in range(11)})
    put("asked_rank", {1: 1.5, 2: 1.2, 3: 0.9, 4: 0.5, 5: 0.2})
    put("asked_terms", {2: 0.3, 3: 0.6, 4: 0.8, 5: 1.0, 6: 1.0})
    return tables


def train(rows, *, ridge: float, steps: int = 70, used: list[int] | None = None, beliefs: float = 1.0) -> np.ndarray:
    names = len(features.NAMES)
    used = list(range(names)) if used is None else used
    matrix = np.concatenate([row[0] for row in rows])
    index = matrix[:, used].astype(np.int64) + np.array(used) * BINS
    bounds = np.cumsum([0] + [len(row[1]) for row in rows])
    gold = np.concatenate([row[1] / max(1e-9, row[1].sum()) for row in rows])
    offset = np.concatenate([row[2] for row in rows])
    present = np.unique(index)
    remap = np.zeros(names * BINS, dtype=np.int64)
    remap[present] = np.arange(len(present))
    index = remap[index]
    believed = (prior() if beliefs else np.zeros((names, BINS))).reshape(-1)
    fixed = believed[present]

    def loss(weights):
        scores = (weights + fixed)[index].sum(1) + offset
        total, grad_scores = 0.0, np.empty_like(scores)
        for first, last in pairwise(bounds):
            part = scores[first:last]
            top = part.max()
            exps = np.exp(part - top)
            z = exps.sum()
            total -= (gold[first:last] * (part - offset[first:last])).sum() - (top + np.log(z)) * gold[first:last].sum()
            grad_scores[first:last] = exps / z * gold[first:last].sum() - gold[first:last]
        grad = np.bincount(index.ravel(), weights=np.repeat(grad_scores, index.shape[1]), minlength=len(weights))
        n = len(rows)
        return total / n + ridge * (weights**2).sum(), grad / n + 2 * ridge * weights

    result = minimize(loss, np.zeros(len(present)), jac=True, method="L-BFGS-B", options={"maxiter": steps})
    weights = believed.copy()
    weights[present] += result.x
    return weights.reshape(names, BINS)


def folds(rows, count: int = 12):
    sources = sorted({source(row[3]) for row in rows})
    for fold in range(count):
        held = {name for position, name in enumerate(sources) if position % count == fold}
        yield [row for row in rows if source(row[3]) not in held], held


def export(weights: np.ndarray) -> dict:
    tables = {}
    for name, table in zip(features.NAMES, weights, strict=True):
        tables[name] = {str(bin_): round(float(value), 3) for bin_, value in enumerate(table) if abs(value) >= 0.004}
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument(
        "--left-out", type=Path, help="also write the models of every left-out source, for bench/quality"
    )
    parser.add_argument("--ridge", type=float, default=0.03)
    args = parser.parse_args()
    cases = load(args.corpus)
    out, left_out = {}, {}
    for hints in ("plain", "hints"):
        rows = dataset(cases, hints)
        out[hints] = export(train(rows, ridge=args.ridge))
        if args.left_out:
            for kept, held in folds(rows):
                tables = export(train(kept, ridge=args.ridge))
                for name in sorted(held):
                    left_out.setdefault(name, {})[hints] = tables
    if args.out:
        args.out.write_text(json.dumps(out, separators=(",", ":")))
    if args.left_out:
        args.left_out.write_text(json.dumps(left_out))


if __name__ == "__main__":
    main()
