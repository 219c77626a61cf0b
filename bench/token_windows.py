"""The windows of text the token estimate is fitted on: taken from a developer's machine, or made of its words.

Whole files (sources, documentation, settings, translations) come from the interpreter's library, /usr/share and
the folders named; what tools print (hits, diffs, diagnostics, traces, logs, progress, tables) is made of lines,
identifiers and paths of those files, and half of it is thinned the way an excerpt is, marks between lines included.
Two machines give different windows; weights fitted on either should do for both.
"""

from __future__ import annotations

import base64
import difflib
import gzip
import hashlib
import json
import random
import re
import struct
import sys
import sysconfig
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

SOURCES = {
    "python": (".py", ".pyi"),
    "javascript": (".js", ".mjs", ".cjs", ".ts"),
    "C": (".h", ".c", ".cc", ".hpp"),
    "other code": (".rs", ".go", ".pl", ".pm", ".sh", ".rb", ".sql"),
    "documents": (".md", ".rst", ".txt", ".adoc", "METADATA", "copyright", "README", "changelog"),
    "json": (".json", ".map"),
    "settings": (".yml", ".yaml", ".toml", ".ini", ".conf", ".cfg", ".desktop"),
    "markup": (".html", ".xml", ".svg", ".css"),
    "minified": (".min.js", ".min.css"),
    "listing": (".csv", ".tsv", ".log", "RECORD", ".list"),
}
LANGUAGES = [
    "ar",
    "bg",
    "cs",
    "da",
    "de",
    "el",
    "es",
    "fa",
    "fi",
    "fr",
    "he",
    "hi",
    "hu",
    "id",
    "it",
    "ja",
    "ko",
    "nl",
    "pl",
    "pt_BR",
    "ro",
    "ru",
    "sv",
    "th",
    "tr",
    "uk",
    "vi",
    "zh_CN",
    "zh_TW",
    "zh_Hans",
    "zh_Hant",
]
PER_SUFFIX = 160
FILE_CHARS = 120_000
LEVELS = ("INFO", "INFO", "WARN", "WARNING", "ERROR", "DEBUG", "info", "error")


class Machine:
    """What a machine offers: texts by kind, and the words, identifiers, paths and phrases in them."""

    def __init__(self, folders: list[Path], draw: random.Random) -> None:
        self.draw = draw
        library = Path(sysconfig.get_path("stdlib"))
        roots = [library, Path(sysconfig.get_path("purelib")), *map(Path, ("/usr/share", "/usr/include")), *folders]
        roots += [path for path in (Path("/usr/lib/node_modules"),) if path.is_dir()]
        self.paths = sorted({path for root in roots for path in root.rglob("*") if path.is_file()})
        draw.shuffle(self.paths)
        self.foreign: list[str] = []
        self.texts = {kind: list(self._read(suffixes)) for kind, suffixes in SOURCES.items()}
        self.texts["manuals"] = [re.sub(r"\\f.|^\.\w+ ?|\\", "", text, flags=re.M) for text in self._unpacked(".gz")]
        self.texts["java"] = list(self._java_sources())
        self.code = [
            (path, lines)
            for kind in ("python", "javascript", "C", "other code", "java")
            for path, lines in zip(self._names[kind], map(str.splitlines, self.texts[kind]), strict=True)
            if len(lines) > 20
        ]
        joined = "\n".join(text[:20_000] for kind in ("python", "javascript", "java", "C") for text in self.texts[kind])
        prose = "\n".join(text[:20_000] for kind in ("documents", "manuals") for text in self.texts[kind])
        self.words = re.findall(r"\b[a-z]{3,12}\b", prose)
        self.identifiers = re.findall(r"\b[A-Za-z_][A-Za-z0-9_]{2,}\b", joined)
        self.phrases = re.findall(r"[\"']([A-Z][^\"'\n\\]{3,60} [^\"'\n\\]{3,60})[\"']", joined) or self.words
        self.dotted = re.findall(r"\b[a-zA-Z_]\w+(?:\.\w+)+\b", joined)
        self.classes = list(self._class_names()) or ["java.util.concurrent.ThreadPoolExecutor"]
        self.methods = re.findall(r"\b([a-z]\w{2,})\(", "\n".join(self.texts["java"])) or ["run", "call", "accept"]

    @property
    def _names(self) -> dict[str, list[str]]:
        return self.__dict__.setdefault("names", {})

    def _read(self, suffixes: tuple[str, ...]) -> Iterator[str]:
        kind = next(kind for kind, each in SOURCES.items() if each == suffixes)
        names = self._names[kind] = []
        left = dict.fromkeys(suffixes, PER_SUFFIX)
        for path in self.paths:
            suffix = next((each for each in suffixes if path.name.endswith(each) and left[each]), None)
            if suffix is None or (".min." in path.name) != (kind == "minified"):
                continue
            text = path.read_bytes()[:FILE_CHARS].decode("utf-8", "ignore")
            if len(text) > 600 and "\x00" not in text and len(text) < 200 * text.count("\n") + 4_000 * (kind != "C"):
                if len(text.encode()) > 1.3 * len(text):
                    self.foreign.append(text)
                    continue
                left[suffix] -= 1
                names.append(str(path))
                yield text

    def _unpacked(self, suffix: str) -> Iterator[str]:
        documents = (path for path in self.paths if path.suffix == suffix and re.search(r"/(man|doc)/", str(path)))
        for path in list(documents)[: 3 * PER_SUFFIX]:
            text = gzip.decompress(path.read_bytes())[:FILE_CHARS].decode("utf-8", "ignore")
            if len(text) > 600:
                yield text

    def _java_sources(self) -> Iterator[str]:
        names = self._names["java"] = []
        for archive in sorted(Path("/usr/lib/jvm").glob("*/lib/src.zip"))[:1]:
            with zipfile.ZipFile(archive) as files:
                for name in self.draw.sample(files.namelist(), 600):
                    if name.endswith(".java"):
                        names.append(name)
                        yield files.read(name)[:FILE_CHARS].decode("utf-8", "ignore")

    def _class_names(self) -> Iterator[str]:
        jars = [path for root in ("/usr/share/java", Path.home() / ".m2") for path in Path(root).rglob("*.jar")]
        for jar in sorted(jars)[:: max(1, len(jars) // 150)]:
            try:
                with zipfile.ZipFile(jar) as files:
                    found = [name for name in files.namelist() if name.endswith(".class")]
            except (zipfile.BadZipFile, OSError):
                continue
            for name in self.draw.sample(found, min(60, len(found))):
                yield name.removesuffix(".class").replace("/", ".")
        for name in self._names["java"]:
            yield name.partition("/")[2].removesuffix(".java").replace("/", ".")


def mark(machine: Machine) -> str:
    """What stands between two kept lines of an excerpt."""
    draw = machine.draw
    first = int(10 ** draw.uniform(0.3, 4.2))
    last = first + int(10 ** draw.uniform(0, 3))

    def line() -> int:
        return draw.randint(first, last)

    def path() -> str:
        return "/".join(str(draw.choice(machine.paths)).rsplit("/", draw.randint(1, 5))[1:])

    what = draw.choice(("error", "warning", "failure"))
    name = draw.choice(
        (lambda: draw.choice(machine.identifiers), lambda: f"“{draw.choice(machine.phrases)[:40]}”", path)
    )
    inside = draw.choice((
        lambda: "", lambda: "", lambda: "", lambda: f": {what} in {line()}",
        lambda: f": {draw.randint(2, 40)} {what}s: {line()}, …",
        lambda: ": " + ", ".join(f"{name()} {line()}" for _ in range(draw.randint(1, 4))),
        lambda: ": " + ", ".join(f"{path()} ×{draw.randint(1, 90)}" for _ in range(draw.randint(1, 4))),
        lambda: ": " + ", ".join(f"{path()} +{draw.randint(1, 90)} −{draw.randint(1, 90)}" for _ in range(draw.randint(1, 3))),
    ))  # fmt: skip
    lines = f"line {first}" if draw.random() < 0.2 else f"lines {first}-{last}"
    return f"[… {lines} omitted{inside()}]"


def thinned(text: str, machine: Machine) -> str:
    """Groups of neighbouring lines with marks between them."""
    draw = machine.draw
    lines, kept, at = text.split("\n"), [], 0
    group = draw.choice((1, 2, 4, 9))
    while at < len(lines):
        size = draw.randint(1, 2 * group)
        kept += [*lines[at : at + size], mark(machine)]
        at += size + draw.randint(1, 3 * group)
    return "\n".join(kept)


def printed(machine: Machine) -> dict[str, Callable[[], str]]:
    """What tools print, by kind: each call makes another text."""
    draw = machine.draw
    pick, number = draw.choice, draw.randint

    def rows(line: Callable[[], str], count: int = 90) -> str:
        return "\n".join(line() for _ in range(count))

    def phrase() -> str:
        return pick(machine.phrases) if draw.random() < 0.6 else " ".join(draw.choices(machine.words, k=number(3, 9)))

    def clock() -> str:
        return f"{number(0, 23):02}:{number(0, 59):02}:{number(0, 59):02}"

    def date() -> str:
        return f"20{number(10, 29)}-{number(1, 12):02}-{number(1, 28):02}"

    def address() -> str:
        return ".".join(str(number(0, 255)) for _ in range(4))

    def source() -> tuple[str, int, str]:
        while True:
            path, lines = pick(machine.code)
            at = number(1, len(lines))
            if lines[at - 1].strip():
                return short_path(path), at, lines[at - 1]

    def short_path(path: str) -> str:
        parts = path.split("/")
        return "/".join(parts[number(0, max(0, len(parts) - 3)) :])

    def camel() -> str:
        return "".join(word.title() for word in draw.choices(machine.words, k=number(1, 3)))

    def value() -> object:
        return pick((
            lambda: number(0, 10 ** number(1, 10)),
            lambda: round(draw.random() * 1000, number(1, 8)),
            lambda: str(uuid.UUID(int=draw.getrandbits(128))),
            phrase,
            lambda: pick((True, False, None)),
            lambda: f"{date()}T{clock()}Z",
            lambda: f"https://{pick(machine.words)}.example.org/{pick(machine.words)}/{number(1, 99999)}",
            lambda: pick(machine.identifiers),
            lambda: pick(machine.dotted),
            lambda: short_path(str(pick(machine.paths))),
            lambda: hashlib.sha1(draw.randbytes(4)).hexdigest()[: pick((7, 12, 40))],
        ))()  # fmt: skip

    def message() -> str:
        return pick((
            lambda: f"connection from {address()}:{number(1024, 65535)} closed after {number(1, 9999)}ms",
            phrase,
            lambda: f"request_id={uuid.UUID(int=draw.getrandbits(128))} status={pick((200, 404, 500))} "
            f"path=/{pick(machine.words)}/{number(1, 99999)} duration={draw.random() * 9:.3f}s",
            lambda: f"{pick(machine.dotted)}: {phrase()} ({number(1, 3000)})",
            lambda: f"task_{draw.getrandbits(31)}_m_{number(0, 99999):06} {phrase()} {draw.random() * 100:.1f}%",
            lambda: f"{phrase()}: {short_path(str(pick(machine.paths)))}",
            lambda: f"{pick(machine.identifiers)}={value()} {pick(machine.identifiers)}={value()}",
            lambda: f"{pick(machine.classes)}: {phrase()}",
        ))()  # fmt: skip

    def logs() -> str:
        names = draw.choices(machine.words, k=6)
        found = draw.choices(machine.classes, k=6)
        said = [message() for _ in range(8)]
        shape = number(0, 9)

        def line() -> str:
            text = re.sub(r"\d+", lambda found: str(number(0, 10 ** len(found[0]) - 1)), pick(said))
            level, name, ms = pick(LEVELS), pick(names), number(0, 999)
            return (
                f"{date()} {clock()},{ms:03} {level} [{name}-{number(1, 20)}] {pick(found)}: {text}",
                f"{pick(('Jan', 'Jun', 'Dec'))} {number(1, 28):2} {clock()} host{number(1, 9)} {name}[{ms}]: {text}",
                f"{date()}T{clock()}.{ms:03}{ms:03}Z {level.lower()} {text}",
                f"[{clock()}] {text}",
                f'{address()} - - [{number(1, 28):02}/Mar/2024:{clock()} +0000] "GET /{name}/{pick(names)}.html?id={ms} '
                f'HTTP/1.1" 200 {number(100, 99999)} "-" "Mozilla/5.0 (X11; Linux x86_64)"',
                f"I{number(101, 1231):04} {clock()}.{ms:03}{ms:03}   {number(1, 99999)} {name}.go:{ms}] {text}",
                json.dumps({"ts": 1_700_000_000 + ms, "level": level, "msg": text, "logger": name}),
                f"[{draw.random() * 100000:12.6f}] {name} {number(0, 9)}-{number(0, 9)}: {text}",
                f"{date()} {clock()}.{ms:03}  {level:>5} {number(1, 9999)} --- [{name}] {pick(found)[-40:]:<40} : {text}",
                f"{level}:{name}.{pick(names)}:{text}",
            )[shape]

        return rows(line, number(20, 120))

    def java_trace() -> str:
        def one() -> str:
            frames = [
                f"\tat {name}.{pick(machine.methods)}({name.rpartition('.')[2].partition('$')[0]}.java:{number(1, 2000)})"
                for name in draw.choices(machine.classes, k=number(2, 20))
            ]
            head = f"{pick(('', 'Caused by: '))}{pick(machine.classes)}: {phrase()}"
            return "\n".join([head, *frames, *([f"\t... {number(2, 60)} more"] if draw.random() < 0.3 else [])])

        return "\n".join(one() for _ in range(8))

    def junit() -> str:
        def line() -> str:
            name, spent = pick(machine.classes), f"{draw.random():.3f} s"
            return pick((
                f"[INFO] Tests run: {number(1, 99)}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: {spent} -- in {name}",
                f"[ERROR]   {name.rpartition('.')[2]}.{pick(machine.methods)}:{number(1, 900)} "
                f"expected: <{value()}> but was: <{value()}>",
                f"[ERROR] {name}.{pick(machine.methods)} -- Time elapsed: {spent} <<< FAILURE!",
                f"{name} > {pick(machine.methods)}() PASSED",
                f"[INFO] Running {name}",
            ))  # fmt: skip

        return rows(line, 60)

    def python_trace() -> str:
        def one() -> str:
            frames = []
            for _ in range(number(2, 9)):
                path, at, text = source()
                frames.append(f'  File "{path}", line {at}, in {pick(machine.identifiers)}\n    {text.strip()}')
            error = f"{camel()}Error: {phrase()}"
            return "\n".join(["Traceback (most recent call last):", *frames, error])

        return "\n".join(one() for _ in range(8))

    def other_trace() -> str:
        def node() -> str:
            at = f"{short_path(str(pick(machine.paths)))}:{number(1, 999)}:{number(1, 80)}"
            return f"    at {pick((camel() + '.', 'async ', ''))}{pick(machine.identifiers)} ({pick(('/app/', 'file:///'))}{at})"

        def go() -> str:
            at = f"\t/usr/local/go/src/{short_path(source()[0])}:{number(1, 999)} +0x{number(16, 4095):x}"
            return f"{pick(machine.words)}.(*{camel()}).{camel()}(0xc000{draw.getrandbits(24):06x}, 0x{number(1, 99):x})\n{at}"

        made = pick((node, go))
        return rows(lambda: made() if draw.random() < 0.85 else f"{camel()}Error: {phrase()}")

    def diagnostics() -> str:
        style = number(0, 6)

        def one() -> str:
            path, at, text = source()
            column = number(1, max(1, len(text)))
            what, kind = phrase(), pick(("error", "warning", "note"))
            return (
                f"{path}:{at}:{column}: {kind}: {what} [-W{pick(machine.words)}-{pick(machine.words)}]\n"
                f"{at:5} | {text}\n      | {' ' * column}^{'~' * number(0, 12)}",
                f"{path}:{at}: {kind}: {what}\n{text}\n{' ' * column}^\n  symbol:   class {camel()}\n  location: class {camel()}",
                f"{kind}[E{number(100, 999):04}]: {what}\n  --> {path}:{at}:{column}\n   |\n{at:<3}| {text}\n"
                f"   | {' ' * column}{'^' * number(1, 12)} {phrase()}",
                f"{path}:{at}: {kind}: {what}  [{pick(machine.words)}-{pick(machine.words)}]",
                f"{path}({at},{column}): {kind} TS{number(1000, 9999)}: {what}",
                f"  {at}:{column}  {kind}  {what}  {pick(machine.words)}/{pick(machine.words)}-{pick(machine.words)}",
                f"{path}:{at}:{column}: {pick('EFWN')}{number(100, 999)} {what} `{pick(machine.identifiers)}`",
            )[style]

        return rows(one, 40)

    def hits() -> str:
        style = number(0, 3)
        path, lines = pick(machine.code)
        path = short_path(path)
        found = [(path, at, text) for at, text in enumerate(lines, 1) if len(text) > 4 and at % 7 == 0]
        while len(found) < 80:
            found += [source()] * 1
        root = pick(("", "./", "src/", "/srv/app/"))
        return "\n".join(
            (f"{root}{path}:{at}:{text}", f"{path}:{text}", f"{at}:{text}", f"{root}{path}-{at}-{text}")[style][:300]
            for path, at, text in sorted(found)
        )

    def diff() -> str:
        path, before = pick(machine.code)
        before = before[: number(60, 900)]
        after = [line for line in before if draw.random() > 0.03]
        for at in range(0, len(after), number(4, 30)):
            after[at : at + pick((0, 1, 2))] = [source()[2] for _ in range(number(1, 5))]
        name = short_path(path)
        head = f"diff --git a/{name} b/{name}\nindex {draw.getrandbits(44):011x}..{draw.getrandbits(44):011x} 100644\n"
        return head + "\n".join(difflib.unified_diff(before, after, f"a/{name}", f"b/{name}", lineterm=""))

    def history() -> str:
        def one() -> str:
            commit = f"{draw.getrandbits(160):040x}"
            if draw.random() < 0.5:
                return f"{commit[: number(7, 10)]} {phrase()} (#{number(1, 20000)})"
            files = [
                f" {short_path(str(pick(machine.paths)))} | {number(1, 90)} {'+' * number(1, 20)}{'-' * number(0, 9)}"
                for _ in range(3)
            ]
            return "\n".join(
                [
                    f"commit {commit}",
                    f"Author: {camel()} <{pick(machine.words)}@example.org>",
                    "",
                    f"    {phrase()}",
                    "",
                    *files,
                ]
            )

        return rows(one, 40)

    def tests() -> str:
        style = number(0, 4)

        def one() -> str:
            path, at, text = source()
            name = f"test_{pick(machine.words)}_{pick(machine.identifiers)}"
            return (
                f"{path}::{name} {pick(('PASSED', 'FAILED', 'SKIPPED'))} [{number(0, 100):3}%]",
                f"{path} {'.' * number(1, 60)}{pick('Fs.')} [{number(0, 100):3}%]",
                f"FAILED {path}::{camel()}::{name} - AssertionError: assert {value()} == {value()}",
                f"    {text.strip()}\n>       assert {pick(machine.dotted)}({value()!r}) == {value()!r}\n"
                f"E       AssertionError: {phrase()}\n\n{path}:{at}: AssertionError\n{'_' * 30} {name} {'_' * 30}",
                f"--- {pick(('PASS', 'FAIL'))}: {camel()}/{name} ({draw.random():.2f}s)\n  {pick('✓✕')} {phrase()} ({number(1, 99)} ms)",
            )[style if draw.random() < 0.8 else number(0, 4)]

        return rows(one, 60)

    def progress() -> str:
        def one() -> str:
            name = f"{pick(machine.words)}-{pick(machine.words)}"
            version = f"{number(0, 20)}.{number(0, 30)}.{number(0, 20)}"
            return pick((
                f"Collecting {name}=={version}\n  Downloading {name.replace('-', '_')}-{version}-py3-none-any.whl "
                f"({number(9, 999)} kB)",
                f"Requirement already satisfied: {name}>={version} in ./lib/python3.11/site-packages ({version})",
                f"Get:{number(1, 400)} http://deb.debian.org/debian bookworm/main amd64 {name} amd64 {version}-{number(1, 9)} "
                f"[{number(10, 999)} kB]",
                f"Setting up {name} ({version}-{number(1, 9)}+deb12u{number(1, 9)}) ...",
                f"npm {pick(('warn', 'ERR!', 'http', 'verb'))} {pick(('deprecated', 'code', 'fetch'))} {name}@{version}: {phrase()}",
                f"{pick(('⠋', '⠙', '⸩', '│', '├──', '└──', '✔', '✓', '•', '→'))} {name}@{version} {phrase()}",
                f"   Compiling {name} v{version}",
                f"[{number(1, 400)}/{number(400, 900)}] Building CXX object {short_path(source()[0])}.o",
                f"     {'━' * number(1, 40)}{'╸' * number(0, 1)} {draw.random() * 90:.1f}/{number(91, 300)} MB 1.2 MB/s eta 0:00:{number(0, 59):02}",
                f"#{number(1, 30)} {draw.random() * 90:.3f} {phrase()}",
            ))  # fmt: skip

        if draw.random() < 0.15:
            wheel = pick(("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "⣾⣽⣻⢿⡿⣟⣯⣷", "◐◓◑◒", "◜◠◝◞◡◟"))
            return rows(lambda: "".join(draw.choices(wheel, k=number(1, 60))) + one())
        only = [one() for _ in range(12)] if draw.random() < 0.5 else None
        return rows(lambda: pick(only) if only else one())

    def dots() -> str:
        return "\n".join(
            f"{at * 50:6}K {' '.join(['.' * 10] * 5)} {at % 100:2}% {draw.random() * 9:.2f}{pick('MK')} {number(0, 59)}s"
            for at in range(number(15, 90))
        )

    def columns() -> str:
        style = number(0, 6)
        makers = [pick((
            lambda: pick(machine.words), lambda: str(number(0, 10 ** number(1, 7))), lambda: pick(machine.identifiers),
            lambda: f"{draw.random() * 1000:.2f}", date, phrase, address, lambda: f"{number(0, 9)}/{number(1, 9)}",
            lambda: f"{pick(machine.words)}-{draw.getrandbits(36):09x}", lambda: f"{number(1, 90)}{pick('dhms')}",
        )) for _ in range(number(3, 8))]  # fmt: skip
        cells = [[make().replace("\n", " ")[:40] for make in makers] for _ in range(number(15, 70))]
        wide = [max(map(len, column)) + 2 for column in zip(*cells, strict=True)]
        if style == 0:
            return "\n".join(",".join(row) for row in cells)
        if style == 1:
            return "\n".join("\t".join(row) for row in cells)
        if style == 2:
            return "\n".join("| " + " | ".join(row) + " |" for row in cells)
        padded = [[cell.ljust(size) for cell, size in zip(row, wide, strict=True)] for row in cells]
        if style in (3, 4):
            return "\n".join("".join(row) for row in padded)
        bar, line, cross = ("|", "-", "+") if style == 5 else pick((("│", "─", "┼"), ("┃", "━", "╋"), ("║", "═", "╬")))
        rule = cross + cross.join(line * size for size in wide) + cross
        between = "\n" + (rule + "\n" if draw.random() < 0.4 else "")
        return rule + "\n" + between.join(bar + bar.join(row) + bar for row in padded) + "\n" + rule

    def listing() -> str:
        def one() -> str:
            path = pick(machine.paths)
            kind = f"{pick('-d-l')}{pick(('rw-r--r--', 'rwxr-xr-x', 'rw-rw-r--'))}"
            return f"{kind} {number(1, 9)} {pick(('root root', 'app  staff'))} {number(0, 10 ** number(2, 7)):>9} {pick(('Jan', 'Sep'))} {number(1, 28):2} {clock()[:5]} {path.name}"

        def process() -> str:
            return f"{pick(('root', 'app', 'www-data')):<8} {number(1, 99999):>6}  {draw.random() * 9:.1f}  {draw.random() * 9:.1f} {number(0, 10**6):>7} {number(0, 10**5):>6} ?        {pick(('Ss', 'Sl', 'R+'))}   {clock()[:5]}   0:{number(0, 59):02} {pick(machine.paths)} --{pick(machine.words)}"

        return rows(pick((one, process)))

    def paths() -> str:
        found = sorted(map(str, draw.sample(machine.paths, 40)))
        return "\n".join(short_path(each) for each in found) if draw.random() < 0.3 else "\n".join(found)

    def nested(depth: int) -> object:
        chance = draw.random()
        if depth > 3 or chance < 0.4:
            return value()
        if chance < 0.8:
            return {pick(machine.identifiers): nested(depth + 1) for _ in range(number(2, 8))}
        return [nested(depth + 1) for _ in range(number(1, 6))]

    def records() -> str:
        names = draw.sample(machine.identifiers, 7)
        data: object = (
            [{name: value() for name in names} for _ in range(40)]
            if draw.random() < 0.5
            else [nested(0) for _ in range(30)]
        )
        return json.dumps(data, indent=pick((None, 1, 2, 2, 4)), separators=pick((None, None, (",", ":"))))

    def numbers() -> str:
        size, places = number(2, 14), number(0, 6)
        return rows(
            lambda: pick((",", ", ", " ", "\t")).join(
                f"{draw.random() * 10 ** number(0, 6):.{places}f}" for _ in range(size)
            ),
            50,
        )

    def encoded() -> str:
        data = draw.randbytes(4_000) if draw.random() < 0.7 else pick(machine.texts["python"])[:4_000].encode()
        text = base64.b64encode(data)
        return (base64.encodebytes(data) if draw.random() < 0.4 else text).decode()

    def hexadecimal() -> str:
        def dumped(at: int) -> str:
            data = draw.randbytes(16)
            return f"{at:08x}: {data.hex(' ', 2)}  {''.join(chr(byte) if 32 <= byte < 127 else '.' for byte in data)}"

        return pick((
            lambda: draw.randbytes(2_000).hex(),
            lambda: rows(lambda: f"{draw.getrandbits(256):064x}  {short_path(str(pick(machine.paths)))}", 60),
            lambda: rows(lambda: str(uuid.UUID(int=draw.getrandbits(128)))),
            lambda: "\n".join(dumped(at) for at in range(0, 2_400, 16)),
            lambda: " ".join(f"0x{draw.getrandbits(pick((16, 32, 48))):x}" for _ in range(200)),
        ))()  # fmt: skip

    def symbols() -> str:
        signs = (
            "✓",
            "✗",
            "→",
            "•",
            "⚠",
            "❯",
            "—",
            "…",
            "“",
            "”",
            "’",
            "├── ",
            "│   ",
            "└── ",
            "█" * 9,
            "░" * 7,
            "·",
            "×",
            "−",
        )
        style = number(0, 2)
        faces = [chr(number(0x1F300, 0x1F64F)) for _ in range(30)]
        if style == 0:
            return rows(lambda: f"{pick(signs)} {phrase()}{pick(signs)}")
        if style == 1:
            return rows(
                lambda: (
                    "│   " * number(0, 4)
                    + pick(("├── ", "└── ", "├─┬ ", "└─┬ "))
                    + f"{pick(machine.words)}@{number(0, 9)}.{number(0, 20)}.{number(0, 9)}"
                )
            )
        return rows(lambda: f"{pick(faces)}{pick(faces) if draw.random() < 0.3 else ''} {phrase()}")

    return {
        "logs": logs, "java trace": java_trace, "junit": junit, "python trace": python_trace,
        "other trace": other_trace, "diagnostics": diagnostics, "hits": hits, "diff": diff, "history": history,
        "tests": tests, "progress": progress, "dots": dots, "columns": columns, "ls and ps": listing, "paths": paths,
        "marks": lambda: rows(lambda: mark(machine)), "records": records, "numbers": numbers, "base64": encoded, "hex": hexadecimal, "symbols": symbols,
    }  # fmt: skip


def translations(machine: Machine) -> dict[str, str]:
    """Texts in other languages, from the message catalogues on the machine."""
    found: dict[str, list[str]] = {}
    for path in machine.paths:
        language = re.search(r"/locale/([a-z]{2}(?:_[A-Za-z]+)?)/", str(path))
        if path.suffix == ".mo" and language and language[1] in LANGUAGES and "iso_" not in path.name:
            found.setdefault(language[1], []).extend(_catalogue(path.read_bytes()))
    for messages in found.values():
        machine.draw.shuffle(messages)
    return {name: "\n".join(messages[:6_000]) for name, messages in found.items() if len(messages) > 150}


def _catalogue(data: bytes) -> Iterator[str]:
    order = "<" if data[:4] == b"\xde\x12\x04\x95" else ">"
    count, _, table = struct.unpack_from(f"{order}3I", data, 8)
    for at in range(1, count):
        size, start = struct.unpack_from(f"{order}2I", data, table + 8 * at)
        text = data[start : start + size].decode("utf-8", "ignore").replace("\0", "\n")
        if size > 20:
            yield text


def windows(folders: list[Path], per_kind: int) -> Iterator[tuple[str, str]]:
    """Windows of 1 to 8 KB by kind."""
    draw = random.Random(7)
    machine = Machine(folders, draw)
    for kind, texts in machine.texts.items():
        for _ in range(per_kind if texts else 0):
            yield kind, _window(draw.choice(texts), machine)
    for kind, make in printed(machine).items():
        for _ in range(per_kind):
            yield kind, _window(make(), machine)
    for language, text in sorted(translations(machine).items()):
        for _ in range(per_kind // 4):
            yield f"language {language}", _window(text, machine, thin=False)
    for _ in range(2 * per_kind if machine.foreign else 0):
        yield "whole files in other languages", _window(draw.choice(machine.foreign), machine, thin=False)
    print(f"{len(machine.paths)} files read by {sys.version.split()[0]}", file=sys.stderr)


def _window(text: str, machine: Machine, *, thin: bool = True) -> str:
    draw = machine.draw
    size = int(2 ** draw.uniform(10, 13))
    start = draw.randint(0, max(0, len(text) - size))
    start = text.rfind("\n", max(0, start - 400), start) + 1 or start
    if thin and draw.random() < 0.4 and "\n" in text[start : start + size]:
        return thinned(text[start : start + 4 * size], machine)[:size]
    return text[start : start + size]
