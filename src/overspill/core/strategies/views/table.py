"""Tables: header, first rows, last row, and the rows whose cells stand out or answer the question.

CSV, TSV, columns aligned by spaces, and Markdown tables.  Lines before the header and rows of
another shape are text like any other.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from overspill.core.model import Block, Budget, Call, Gap, Span, Totals, lines_of
from overspill.core.strategies.views.columns import (
    SERIES_KEPT,
    Cells,
    Column,
    Delimited,
    Lines,
    Picked,
    split_markdown,
    split_markdown_within,
    split_on_bars,
    split_wide,
    split_words,
)
from overspill.core.strategies.views.offers import Replay, ViewSelection, counted, interleave
from overspill.core.strategies.views.passages import Passages
from overspill.core.strategies.views.quantities import figure
from overspill.core.strategies.views.query_terms import query_for

COLUMNS_KEPT = 40
HEADER_WITHIN = 12
FIRST_ROWS = 6
ROW_BYTES = 4_000
"""A longer line is no row."""
_MOST = re.compile(
    r"\b(?:max\w*|most|largest|highest|biggest|greatest|top|costliest|priciest|longest|widest|peak|record|rise|hog\w*|"
    r"burn\w*|heaviest|slowest|worst|expensive)\b",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"\b(?:min\w*|least|lowest|smallest|fewest|cheapest|shortest|fall|drop|fastest|best)\b", re.IGNORECASE
)
_RULE = re.compile(rb"(?=.*(?:--|==|:-|-:))[\s|:+=-]+")
"""What parts the header from the rows in tables that are drawn."""
_MARKDOWN_RULE = re.compile(rb"(?=.*\|)\|?(?:\s*:?-+:?\s*\|)*\s*(?::?-+:?)?\s*")
_STATES = re.compile(
    rb"(?i)error|fail|crash|backoff|oom|evict|pending|unknown|denied|defunct|critical|fatal|dead|lost|invalid|missing|"
    rb"terminat|notready|unhealthy|refused|timeout|zombie|panic|disabled|degraded|down\b"
)
_COMMANDS = re.compile(r"\.(?:csv|tsv|psv)\b|\bps\b|kubectl get|docker (?:ps|images)|\bdf\b|\btop\b|netstat|\bss\b")


def sniff(sample: bytes, call: Call) -> float:
    """By lines that fall into the same cells."""
    shape = shape_of(sample.split(b"\n")[:-1][:200] or [sample])
    if shape is None:
        return 0.0
    return min(1.0, shape[2] + (0.2 if _COMMANDS.search(call.command) else 0.0))


def shape_of(lines: Sequence[bytes]) -> tuple[int, Cells, float] | None:
    """Where the header is, how lines fall into cells, and how sure that is."""
    lines = lines[:120]
    for start in range(min(HEADER_WITHIN, len(lines) - 4)):
        if b"|" in lines[start] and _MARKDOWN_RULE.fullmatch(lines[start + 1].strip()):
            names, rows = split_markdown(lines[start]), [line for line in lines[start + 2 :] if line.strip()]
            alike = sum(b"|" in line for line in rows)
            if len(names) == len(split_markdown(lines[start + 1])) >= 2 and alike >= max(3, 0.9 * len(rows)):
                return start, split_markdown_within(len(names)), 0.9
    for delimiter, least in ((b"\t", 2), (b",", 3), (b";", 3), (b"|", 3)):
        split = Delimited(delimiter)
        counts = [len(split(line)) if delimiter in line else 1 for line in lines]
        for start in range(min(HEADER_WITHIN, len(lines) - 3)):
            width = counts[start]
            if width < least:
                continue
            body = [count for count, line in zip(counts[start + 1 :], lines[start + 1 :], strict=True) if line.strip()]
            alike = sum(count == width for count in body)
            if len(body) >= 3 and alike >= 0.9 * len(body) and _is_header(lines[start], delimiter):
                cells = split_on_bars if delimiter == b"|" else split
                return start, cells, 0.9 if delimiter != b"," or width > 3 else 0.75
    for start in range(min(HEADER_WITHIN, len(lines) - 3)):
        header = lines[start].strip()
        rows = [line for line in lines[start + 1 :] if line.strip()]
        if len(rows) < 3 or not header:
            continue
        wide = split_wide(header)
        if len(wide) >= 3 and all(len(name) < 40 for name in wide):
            alike = sum(abs(len(split_wide(line)) - len(wide)) <= 1 for line in rows)
            if alike >= 0.85 * len(rows) and _looks_like_names(wide):
                return start, split_wide, 0.8
        words = header.split()
        if len(words) >= 4 and _looks_like_names(words) and header.upper() == header:
            alike = sum(len(line.split()) >= len(words) for line in rows)
            if alike >= 0.9 * len(rows):
                return start, split_words(len(words)), 0.8
    return None


def _looks_like_names(cells: Sequence[bytes]) -> bool:
    named = sum(1 for cell in cells if re.fullmatch(rb"[%#A-Z][\w%.#/()-]*(?: [\w%.#/()-]+)*", cell))
    return named >= 0.8 * len(cells)


def _is_header(line: bytes, delimiter: bytes) -> bool:
    cells = [cell.strip().strip(b'"') for cell in line.rstrip(b"\r").split(delimiter)]
    named = [cell for cell in cells if cell]
    if len(named) < 2 or any(len(cell) > 60 for cell in named):
        return False
    if b"(" in line and any(cell.count(b"(") != cell.count(b")") for cell in Delimited(delimiter)(line)):
        return False  # what is called with several things, not parted by them
    return sum(1 for cell in named if re.match(rb"[-+]?[\d.]+$", cell)) <= 0.2 * len(named)


class TableView:
    """The rows of one table."""

    def __init__(self, room: Budget, call: Call) -> None:
        self._query = query_for(call.question)
        self._most = bool(_MOST.search(call.question))
        self._least = bool(_LEAST.search(call.question))
        self._passages = Passages(room, self._query, landmarks=lambda block: (), reach=0)
        self._cells: Cells | None = None
        self._columns: list[Column] = []
        self._header: list[Span] = []
        self._first: list[Span] = []
        self._last: Span | None = None
        self._odd: list[Span] = []
        self._rows = 0
        self._width = 0
        self._first_row_line = 0
        self._regular = True
        """Whether each line after the header was one row, so that lines number rows."""
        self._complete = True
        """Whether no row is so long, or goes over so many lines, that rows were not counted."""

    def feed(self, block: Block) -> None:
        self._passages.feed(block)
        if block.column:
            self._regular = self._complete = False
            return
        texts = lines_of(block.data)
        lines = Lines(block, texts, [*accumulate(map(len, texts), initial=0)])
        first = 0 if self._cells else self._begin(lines)
        if columns := self._even(lines, first):
            rows = Picked(lines, range(first, len(lines)))
            self._note(rows)
            for column, held in zip(self._columns, columns, strict=False):
                column.take(held, rows)
            return
        rows, cells = self._rows_of(lines, first)
        if not rows:
            return
        self._note(rows)
        if min(map(len, cells)) >= len(self._columns):
            for column, each in zip(self._columns, zip(*cells, strict=False), strict=False):
                column.see(each, rows)
            return
        for number, column in enumerate(self._columns):
            places = [at for at, row in enumerate(cells) if len(row) > number]
            column.see([cells[at][number] for at in places], Picked(rows, places), places=places, of=len(cells))

    def _note(self, rows: Picked) -> None:
        self._rows += len(rows)
        self._first += [rows[at] for at in range(min(len(rows), FIRST_ROWS - len(self._first)))]
        self._last = rows[len(rows) - 1]

    def _even(self, lines: Lines, first: int) -> list[list[bytes]]:
        """The cells by column, where all lines are rows that fall into the same cells; else nothing."""
        cells, texts = self._cells, lines.texts[first:] if first else lines.texts
        if not isinstance(cells, Delimited) or self._width < 2 or not texts or max(map(len, texts)) > ROW_BYTES:
            return []
        if not self._rows and _RULE.fullmatch(texts[0].strip()):
            return []
        if cells.delimiter.isspace() and any(map(bytes.isspace, texts)):
            return []
        data = lines.block.data[lines.starts[first] :] if first else lines.block.data
        return cells.columns(data if data.endswith(b"\n") else data + b"\n", len(texts), self._width)

    def _begin(self, lines: Lines) -> int:
        """Finds the header; returns where the rows begin."""
        shape = shape_of(lines.texts[:160])
        start, self._cells = (shape[0], shape[1]) if shape else (0, Delimited(b","))
        self._header = [lines[at] for at in range(start + 1)]
        names = self._cells(lines.texts[start])
        self._width = len(names)
        self._columns = [Column(bytes(name).removeprefix(b"\xef\xbb\xbf").strip()) for name in names[:COLUMNS_KEPT]]
        self._first_row_line = lines.block.line + start + 1 if len(lines) > start + 1 else 0
        return start + 1

    def _rows_of(self, lines: Lines, first: int) -> tuple[Picked, list[Sequence[bytes]]]:
        """The lines that are rows, and their cells."""
        assert self._cells is not None
        cells_of, least, most = self._cells, self._width - 1, self._width + 1
        quoted = b'"' in lines.block.data
        places: list[int] = []
        table: list[Sequence[bytes]] = []
        for at, text in enumerate(lines.texts[first:] if first else lines.texts, first):
            if len(text) > ROW_BYTES or text.isspace():
                self._regular = False
                self._complete &= text.isspace()
                continue
            if not (self._rows or places) and _RULE.fullmatch(text.strip()):
                self._first_row_line = lines.block.line + at + 1
                continue
            cells = cells_of(text)
            if quoted:
                self._complete &= text.count(b'"') % 2 == 0
            if least <= len(cells) <= most:
                places.append(at)
                table.append(cells)
                continue
            self._regular = False
            if len(self._odd) < 12 and not _RULE.fullmatch(text.strip()):
                self._odd.append(lines[at])
        return Picked(lines, places), table

    def finish(self, totals: Totals, call: Call) -> ViewSelection:
        asked = bool(self._query)
        outstanding = Replay(self._outstanding())

        def ranked(room: Budget) -> Iterable[Span]:
            header = [line for line in self._header[-1:] if len(line.data) < ROW_BYTES]
            yield from header
            yield from self._first[:1]
            yield from interleave(
                (0.55, outstanding),
                (0.45 if asked else 0.0, self._passages.passages(totals)),
                (0.06, iter(self._first[1:])),
                (0.08, [self._last] if self._last else []),
                (0.06, iter(self._header[:-1])),
            )

        return ViewSelection("table", self._headline(), ranked, self._describe)

    def _column_weight(self, column: Column) -> float:
        name = b" ".join(re.findall(rb"[A-Z]?[a-z]+|[A-Z]+|%", column.name)) or column.name
        bits = self._query.mask(name + b" " + column.name)
        return 2.0 if bits else 1.0

    def _outstanding(self) -> Iterator[Span]:
        """Rows by what makes them stand out: each reason adds to its row."""
        scores: dict[int, float] = {}
        rows: dict[int, Span] = {}

        def add(row: Span, score: float) -> None:
            rows[row.start] = row
            old = scores.get(row.start, 0.0)
            scores[row.start] = max(old, score) + 0.3 * min(old, score)

        for column in self._columns:
            weight = self._column_weight(column)
            for row, score in _rare_rows(column):
                add(row, weight * score)
            for row, score in self._extreme_rows(column):
                add(row, weight * score)
        for index, row in enumerate(self._odd):
            add(row, 1.0 / (1 + index))
        for start in sorted(scores, key=lambda at: (-scores[at], at)):
            yield rows[start]

    def _extreme_rows(self, column: Column) -> Iterator[tuple[Span, float]]:
        if not column.numeric or column.deviation == 0 or column.rows < 6:
            return
        wanted = (1.7 if self._most else 1.0, 1.7 if self._least else 1.0)
        if not column.is_counter:
            for side, heap in ((0, column.highest), (1, column.lowest)):
                ranked = sorted(heap, reverse=True)
                for place, (value, _, row) in enumerate(ranked):
                    if place and value == ranked[0][0]:
                        continue
                    distance = abs((value if side == 0 else -value) - column.mean) / column.deviation
                    if distance > 1.2:
                        score = min(1.6, 0.3 + distance / 5) * (1.0, 0.4, 0.25)[min(place, 2)]
                        yield row, score * wanted[side]
        if column.is_smooth():
            for heap, side in ((column.jumps, 0), (column.falls, 1)):
                for place, (_, _, row) in enumerate(sorted(heap, reverse=True)):
                    yield row, (0.9, 0.4, 0.25)[min(place, 2)] * wanted[side] * 0.9

    def _headline(self) -> str:
        """How large the table is, and how often its most telling column holds what."""
        if not self._complete:
            return ""
        words = f"{counted(self._rows, 'row')} × {counted(self._width, 'column')}"
        telling: list[tuple[Counter[bytes], Column]] = [
            (column.values, column)
            for column in self._columns
            if column.values is not None and 2 <= len(column.values) <= 8 and column.rows > 8 and not column.numeric
        ]
        if telling:
            values, column = max(telling, key=lambda one: (max(one[0].values()), -len(one[0])))
            counts = sorted(values.items(), key=lambda entry: (-entry[1], entry[0]))
            shown = ", ".join(f"{_text(value, 24) or '(empty)'} ×{count}" for value, count in counts[:5])
            words += f"; {_text(column.name, 30)}: {shown}"
        return words

    def _describe(self, gap: Gap) -> str:
        """Ranges of the columns that vary most, over the rows inside the gap."""
        if not self._regular or gap.first_column or gap.last_column is not None:
            return ""
        first, last = gap.first_line - self._first_row_line, gap.last_line - self._first_row_line
        if first < 0 or last >= self._rows or last - first < 9 or last >= SERIES_KEPT:
            return ""
        found = []
        for column in self._columns:
            told = ""
            if column.quantities is not None and len(column.quantities.numbers) > last:
                told = column.quantities.range(first, last)
            elif column.numeric and column.is_exact and len(column.series) > last:
                values = [value for value in column.series[first : last + 1] if not math.isnan(value)]
                told = f"{figure(min(values))}–{figure(max(values))}" if values else ""
            if told:
                words = f"{_text(column.name, 24)} {told}"
                found.append((-self._column_weight(column), column.is_counter, words))
        best = sorted(enumerate(found), key=lambda entry: (entry[1][0], entry[1][1], entry[0]))[:2]
        return "; ".join(words for _, (_, _, words) in best)


def _text(cell: bytes, most: int) -> str:
    text = cell.decode("utf-8", "replace").strip('" ')
    return text if len(text) <= most else text[: most - 1] + "…"


def _rare_rows(column: Column) -> Iterator[tuple[Span, float]]:
    """Rows with a value that few others have, where the column has few values or is seldom missing."""
    total = column.rows
    if total < 6:
        return
    if column.values is not None and len(column.values) <= max(3, total // 3):
        top = max(column.values.values())
        for value, rows in column.first_rows.items():
            count = column.values[value]
            share = count / total
            if count == top or share > 0.15:
                continue
            telling = math.log(total / count) / math.log(total + 1) * (0.4 + 0.6 * top / total)
            if column.numeric and len(column.values) > 8:
                telling *= 0.4
            bonus = 0.8 if _STATES.search(value) else 0.0
            for place, row in enumerate(rows):
                yield row, (telling + bonus) / (1 + 0.5 * place)
    elif column.missing and sum(column.missing.values()) < 0.1 * total:
        share = column.missing.total() / total
        for place, row in enumerate(column.missing_rows):
            yield row, 0.8 * (1 - share) / (1 + 0.25 * place)
