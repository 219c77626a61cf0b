"""How far the token estimate is from real tokenizers, by kind of text, and how fast it is.

Run as `python bench/tokens.py`; `--also DIR` adds the files of a folder (`.gz` too). Kinds are built from
the standard library, from generated records and drawings and from the paragraphs of bench/data/scripts.txt. Ratios are
estimate / real: 1.05 is five per cent too high. Percentiles are those of 4 KB windows against o200k_base.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import hashlib
import json
import random
import re
import sysconfig
import timeit
import uuid
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

from overspill.core.tokens import estimate_tokens, exact, tokens_ceiling

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

WINDOW_CHARS = 4_096
STDLIB = Path(sysconfig.get_path("stdlib"))
SCRIPTS = Path(__file__).with_name("data") / "scripts.txt"
SIX = ("prose", "code", "logs", "JSON", "base64", "CJK")
"""The kinds whose average must be within ten per cent."""


def sources(pattern: str, count: int) -> list[str]:
    return [path.read_text(encoding="utf-8", errors="replace") for path in sorted(STDLIB.glob(pattern))[:count]]


def docstrings() -> str:
    found = (re.findall(r'"""(.{400,}?)"""', text, re.S) for text in sources("*.py", 150))
    return "\n\n".join(re.sub(r"\n {4,8}", "\n", each) for every in found for each in every if ">>>" not in each)


def scripts() -> dict[str, str]:
    """The paragraphs of scripts.txt by the name that stands above them."""
    parts = re.split(r"^# (.+)\n", SCRIPTS.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def log(draw: random.Random) -> str:
    words = ["cache", "worker", "queue", "shard", "lease", "commit", "index", "replica", "stream", "handler"]
    levels = ["DEBUG", "INFO", "INFO", "INFO", "WARN", "ERROR"]

    def line(number: int) -> str:
        host, word, other = draw.randint(1, 40), draw.choice(words), draw.choice(words)
        return (
            f"2026-03-{draw.randint(1, 28):02}T{draw.randint(0, 23):02}:{draw.randint(0, 59):02}:"
            f"{draw.randint(0, 59):02}.{draw.randint(0, 999):03}Z {draw.choice(levels)} node-{host} "
            f"[{word}-{draw.randint(1, 16)}] {other}: request {uuid.UUID(int=draw.getrandbits(128))} "
            f"from 10.0.{host}.{draw.randint(1, 254)}:{draw.randint(1024, 65535)} took {draw.randint(1, 9000)} ms"
            if number % 3
            else f"2026-03-02 11:{draw.randint(0, 59):02}:07,{draw.randint(0, 999):03} {draw.choice(levels)} "
            f"{word}.{other}: retry {draw.randint(1, 5)} of 5, {draw.randint(0, 100)} % of blocks written"
        )

    return "\n".join(line(number) for number in range(900))


def records(draw: random.Random, *, indent: int | None) -> str:
    names = ["north gate", "old mill", "harbour", "west bridge", "upper lock"]
    rows = [
        {
            "id": draw.getrandbits(draw.choice((8, 16, 31))),
            "name": draw.choice(names),
            "open": draw.random() < 0.5,
            "level": round(draw.random() * 40, draw.randint(1, 6)),
            "seen_at": f"2026-0{draw.randint(1, 9)}-{draw.randint(10, 28)}T08:00:00Z",
            "tags": draw.sample(names, 2),
            "url": f"https://example.org/gates/{draw.randint(1, 9999)}?page={draw.randint(1, 9)}",
        }
        for _ in range(300)
    ]
    return json.dumps(rows, indent=indent)


def table(draw: random.Random) -> str:
    rows = (
        f"| {draw.choice(('api', 'worker', 'scheduler', 'proxy')):<12} | {draw.randint(0, 9)}/9 | Running "
        f"| {draw.randint(0, 99999):>8} | {draw.random() * 100:6.2f} % | {draw.randint(1, 300)}d |"
        for _ in range(500)
    )
    return "\n".join(rows)


def drawings(draw: random.Random) -> dict[str, str]:
    """What tools draw with characters beyond ASCII, by what it is."""
    words = ["building", "fetch", "linking core", "test_orders.py", "src/app", "node_modules", "72 packages", "idle"]

    def lines(line: Callable[[], str], count: int = 300) -> str:
        return "\n".join(line() for _ in range(count))

    def some(characters: str, least: int, most: int) -> str:
        return "".join(draw.choices(characters, k=draw.randint(least, most)))

    def word() -> str:
        return draw.choice(words)

    def bar() -> str:
        done = draw.randint(0, 30)
        return f"{word()} {'█' * done}{draw.choice('▏▎▍▌▋▊▉')}{'░' * (30 - done)} {done * 3}%"

    braille = "".join(map(chr, range(0x2801, 0x2900)))
    icons = [chr(code) for code in (*range(0xE0A0, 0xE0B8), *range(0xF000, 0xF2E0), *range(0xF0001, 0xF0200))]

    def boxes(*widths: int) -> str:
        def across(ends: str) -> str:
            return ends[0] + ends[1].join(ends[3] * (width + 2) for width in widths) + ends[2]

        def row() -> str:
            return (
                "│"
                + "│".join(f" {draw.choice((word(), str(draw.randint(1, 999))))[:width]:<{width}} " for width in widths)
                + "│"
            )

        tops, others = ("┌┬┐─", "╭┬╮─", "┏┳┓━", "╔╦╗═"), ("├┼┤─", "┡╇┩━", "╠╬╣═", "└┴┘─")
        return lines(lambda: f"{across(draw.choice(tops))}\n{row()}\n{across(draw.choice(others))}", 90)

    faces = [
        "👍🏽",
        "👩‍💻",
        "🧑🏿‍🚀",
        "👨‍👩‍👧‍👦",
        "🏳️‍🌈",
        "🇩🇪",
        "🇯🇵",
        "✅",
        "❌",
        "⚠️",
        "🚀",
        "🔥",
        "💥",
        "📦",
        "🧪",
        "🤖",
        "🫠",
        "🥳",
    ]
    return {
        "spinner": lines(lambda: f"{draw.choice('⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏')} {word()}"),
        "spinner, redrawn": some("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", 3_000, 3_000),
        "braille plot": lines(lambda: some(braille + "⠀⠀⠀⣀⣤⣶⣿⣿", 60, 60)),
        "tree": lines(lambda: "│   " * draw.randint(0, 3) + draw.choice(("├── ", "└── ")) + word()),
        "box table": boxes(12, 6, 18),
        "narrow table": boxes(4, 5, 3),
        "bars": lines(bar),
        "sparkline": lines(lambda: f"{word():<14} {some('▁▂▃▄▅▆▇█', 20, 40)}"),
        "QR code": lines(lambda: some("█▀▄ ", 37, 37)),
        "shapes": lines(lambda: f"{draw.choice('■□▪▲△▶▼◆◇○●◉◌◐★☆')} {word()} {some('●○', 2, 8)}"),
        "arrows": lines(lambda: f"{word()} {draw.choice('→←↑↓⇒⇐↳↪⟶⤷')} {word()} {some('↑↓←→', 1, 3)}"),
        "dingbats": lines(lambda: f"{draw.choice('✓✔✗✘✖➜❯✨✱✦⚙⚑☐☑')} {word()} ({draw.randint(1, 900)} ms)"),
        "mathematics": lines(
            lambda: (
                f"∀x∈ℝ: {draw.choice('∑∏∫√∂∇')}ₙ xⁿ {draw.choice('≤≥≠≈≡∼')} {draw.choice('αβγλσπ')}² "
                f"{draw.choice('∧∨∩∪⊂⊆⊕⊗')} ∅ ⇒ x₁ ± {draw.randint(1, 9)}·10⁻{draw.choice('¹²³⁴')}"
            )
        ),
        "emoji, joined": lines(lambda: f"{draw.choice(faces)}{draw.choice(faces)} {word()}"),
        "icons of a terminal": lines(lambda: f"{draw.choice(icons)} {word()} {draw.choice(icons)} main"),
        "fullwidth": lines(
            lambda: "".join(chr(ord(each) + 0xFEE0) for each in word() if each.isalnum()) + "：１２（％）"
        ),
        "rare CJK": lines(lambda: "".join(chr(draw.randint(0x3400, 0x4DB0)) for _ in range(20))),
    }


def kinds() -> Iterator[tuple[str, str]]:
    draw = random.Random(20)
    code = sources("[a-k]*.py", 60)
    yield "prose", docstrings()
    yield "code", "\n".join(code)
    yield "logs", log(draw)
    yield "JSON", records(draw, indent=2) + records(draw, indent=None)
    yield (
        "base64",
        base64.b64encode(draw.randbytes(150_000)).decode() + base64.encodebytes(draw.randbytes(90_000)).decode(),
    )
    by_script = scripts()
    yield "CJK", "\n".join(by_script[name] for name in ("Chinese", "Traditional Chinese", "Japanese", "Korean"))
    yield "terminal table", table(draw)
    yield "hex", "\n".join(hashlib.sha256(draw.randbytes(8)).hexdigest() for _ in range(900))
    yield "paths", "\n".join(str(path) for path in sorted(STDLIB.rglob("*.py"))[:1500])
    yield "minified", re.sub(r"\s*([=,:;(){}\[\]+*/<>-])\s*", r"\1", " ".join(" ".join(code[:20]).split()))
    yield from by_script.items()
    yield from drawings(draw).items()


def windows(text: str) -> list[str]:
    parts = [text[start : start + WINDOW_CHARS] for start in range(0, len(text), WINDOW_CHARS)]
    return [part for part in parts if len(part) >= WINDOW_CHARS // 2] or [text]


def percentile(ordered: list[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


Counter = Callable[[str], int]


def row(name: str, text: str, o200k: Counter, cl100k: Counter) -> tuple[float, float]:
    estimate = estimate_tokens(text)
    new, old = estimate / o200k(text), estimate / cl100k(text)
    ratios = sorted(estimate_tokens(part) / o200k(part) for part in windows(text))
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    p5, p50, p95 = (percentile(ratios, share) for share in (0.05, 0.5, 0.95))
    print(f"{name[:34]:<34} {len(text):>9} {new:>7.3f} {old:>7.3f}  {p5:>6.3f} {p50:>6.3f} {p95:>6.3f} {worst:>6.3f}")
    return new, old


def files(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data[:2_000_000].decode("utf-8", "replace")
        if text and "\x00" not in text[:1000]:
            yield path.name, text


def averages(label: str, pairs: list[tuple[float, float]]) -> None:
    for encoding, ratios in zip(("o200k", "cl100k"), zip(*pairs, strict=True), strict=True):
        off = sum(abs(ratio - 1) for ratio in ratios) / len(ratios)
        print(f"{label}, {encoding}: mean |error| {off:.1%}, lowest {min(ratios):.3f}, highest {max(ratios):.3f}")


def speed() -> None:
    text = "\n".join(sources("[a-k]*.py", 20)).encode("ascii", "replace").decode()
    for size in (4_096, 40_960):
        part = text[:size]
        best = min(timeit.repeat(lambda part=part: estimate_tokens(part), number=100, repeat=9)) / 100  # type: ignore[misc]
        print(f"estimate of {size:>6} characters: {best * 1e6:7.1f} µs, {size / best / 1e6:5.1f} MB/s")
    part = text[:2_048]
    best = min(timeit.repeat(lambda: tokens_ceiling(part), number=10_000, repeat=9)) / 10_000
    print(f"ceiling of    2048 characters: {best * 1e6:7.2f} µs, {tokens_ceiling(part)} tokens")


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--also", type=Path, metavar="DIR", help="measure the files of a folder too")
    also: Path | None = arguments.parse_args().also
    o200k, cl100k = (exact(bpe_openai.get_encoding(name)) for name in ("o200k_base", "cl100k_base"))
    print(
        f"{'estimate / real':<34} {'chars':>9} {'o200k':>7} {'cl100k':>7}  {'p5':>6} {'p50':>6} {'p95':>6} {'worst':>6}"
    )
    pairs = {name: row(name, text, o200k, cl100k) for name, text in kinds()}
    averages("the six kinds", [pairs[name] for name in SIX])
    if also:
        averages(f"files of {also.name}", [row(name, text, o200k, cl100k) for name, text in files(also)])
    speed()


if __name__ == "__main__":
    main()
