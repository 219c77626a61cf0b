"""SQL over an output that is a table: on a copy of it, in a process that can be stopped.

Guarantees: what a statement does reaches neither the store nor this process, and is over when its time
is; the engine's sentence comes back in one line.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from overspill.errors import MissingExtra, QueryError
from overspill.retrieve.content import Content, json_lines
from overspill.retrieve.source import Source

MOST_ROWS = 10_000
MOST_CHARS = 8 << 20
"""More rows, or more text in them, of a result are not fetched."""
MEMORY_BYTES = 512 << 20
_WORKER = Path(__file__).with_name("sql_worker.py")
_USUAL_OBJECT_BYTES = 16 << 20
_LARGEST_OBJECT_BYTES = 64 << 20
"""The engine takes several times as much for each thread that reads: large objects are read by one alone."""
_TABLES: dict[Content, tuple[str, str]] = {
    "csv": (".csv", "read_csv_auto(?, sample_size = 20480)"),
    "tsv": (".tsv", "read_csv_auto(?, delim = '\t', sample_size = 20480)"),
    "json": (".json", "read_json_auto(?, maximum_object_size = {object_bytes})"),
    "json lines": (".jsonl", "read_json_auto(?, format = 'newline_delimited', maximum_object_size = {object_bytes})"),
    "parquet": (".parquet", "read_parquet(?)"),
}
_ADVICE = re.compile(r"\s*(?:Possible solutions:|See also http|LINE 1: create view output )")
_NEEDED = ("SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Of the environment, what a Python can't start without on some systems."""


class Table(NamedTuple):
    """A result: names of its columns, its first rows, and whether there are more."""

    names: list[str]
    rows: list[list[Any]]
    is_cut: bool
    strays: list[int]
    """The lines among JSON lines that are no JSON, and left out."""


def select(source: Source, content: Content, sql: str, *, seconds: float) -> Table:
    until = time.monotonic() + seconds
    with _copied(source, content) as (path, scratch):
        asked = {
            "path": sys.path,
            "file": str(path),
            "scratch": str(scratch),
            "sql": sql,
            "memory_bytes": MEMORY_BYTES,
            "most_rows": MOST_ROWS,
            "most_chars": MOST_CHARS,
        }
        object_bytes, threads = _USUAL_OBJECT_BYTES, 2
        strays: list[int] = []
        while True:
            asked |= {"table": _TABLES[content][1].format(object_bytes=object_bytes), "threads": threads}
            try:
                ran = _run(asked, timeout=max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise QueryError(sql, f"it took longer than {seconds:g} s; select less, or aggregate") from None
            refused = ran.stdout.rpartition(b'{"refused": ')[2]
            if b"maximum_object_size" in refused and threads > 1 and source.size > object_bytes:
                object_bytes, threads = min(source.size, _LARGEST_OBJECT_BYTES), 1
            elif not (b"Malformed JSON" in refused and content == "json lines" and not strays) or not (
                strays := _leave_out_strays(source, path)
            ):
                break
    return _table(sql, ran, strays)


def _run(asked: dict[str, Any], *, timeout: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-I", str(_WORKER)],
        input=json.dumps(asked).encode(),
        capture_output=True,
        cwd=asked["scratch"],
        env={name: os.environ[name] for name in _NEEDED if name in os.environ},
        timeout=timeout,
        check=False,
    )


def _leave_out_strays(source: Source, path: Path) -> list[int]:
    """Writes the copy anew without the lines that are no JSON, and says which these are."""
    strays: list[int] = []
    line = 1
    with path.open("wb") as file:
        for data, no_json in json_lines(source, 0, source.size):
            strays += [line + at for at in no_json]
            line += data.count(b"\n")
            file.write(data)
    return strays


def _table(sql: str, ran: subprocess.CompletedProcess[bytes], strays: list[int]) -> Table:
    lines = [json.loads(line) for line in ran.stdout.splitlines() if line.endswith((b"]", b"}"))]
    last = lines[-1] if lines and isinstance(lines[-1], dict) else {}
    if "missing" in last:
        raise MissingExtra("an SQL query", "query")
    if "refused" in last:
        raise QueryError(sql, _sentence(last["refused"]))
    if "rows" not in last and "more" not in last:
        raise QueryError(sql, f"the engine stopped (exit status {ran.returncode}): select less, or aggregate")
    return Table(lines[0]["columns"], lines[1:-1], "more" in last, strays)


def _sentence(refused: str) -> str:
    """What the engine says in one line, without advice that can't be followed here and without our own statements."""
    said = _ADVICE.split(refused)[0]
    if said.startswith("Out of Memory"):
        said += "; select less, or aggregate"
    return " ".join(said.split())


@contextmanager
def _copied(source: Source, content: Content) -> Iterator[tuple[Path, Path]]:
    """The output as a file of its own, and a place for what the engine writes out of memory."""
    directory = Path(tempfile.mkdtemp(prefix="overspill-query-"))
    try:
        path = directory / f"output{_TABLES[content][0]}"
        with os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
            for chunk in source.chunks(0, source.size):
                file.write(chunk)
        scratch = directory / "scratch"
        scratch.mkdir()
        yield path, scratch
    finally:
        shutil.rmtree(directory, ignore_errors=True)
