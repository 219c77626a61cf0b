"""``query``: a JMESPath expression over JSON or JSON lines, or SQL over anything that is a table.

Guarantees: SQL sees one view named ``output`` and nothing else of the machine, within limits of time and
memory; an answer within the budget, one result to a line as JSON, with the call for the rest.
What is no table is said to be none, with what to do instead; lines among JSON lines that are no JSON are left
out, and named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from overspill.core.access import worded
from overspill.core.policy import Policy
from overspill.core.ports import Store
from overspill.errors import MissingExtra, QueryError
from overspill.retrieve.address import whole_number
from overspill.retrieve.answer import Answer, closing, default_policy, fitted, largest, opening, within
from overspill.retrieve.content import Content, content_of, parsed, strays_in_words
from overspill.retrieve.source import Source

MOST_PARSED_BYTES = 64 << 20
SECONDS = 20.0
_INVISIBLE = re.compile("[\x7f-\x9f\ud800-\udfff]")
"""What JSON may leave as it is and a display would drop."""


def query(
    store: Store,
    handle: str,
    expression: str | None = None,
    *,
    sql: str | None = None,
    skip: int | str = 0,
    policy: Policy | None = None,
    seconds: float = SECONDS,
) -> Answer:
    """The results of a JMESPath ``expression``, or of a SELECT on the view ``output``; ``skip`` goes on."""
    policy = policy or default_policy()
    asked = expression if expression is not None else sql
    if asked is None or not asked.strip() or (expression is not None and sql is not None):
        raise QueryError(asked or "", "give either a JMESPath expression or sql")
    skipped = whole_number("skip", skip, least=0)
    with Source(store, handle) as source:
        content = content_of(source)
        unfit = _unfit(source, content, is_sql=expression is None, policy=policy)
        if unfit:
            return Answer(
                text=within(opening("query", source.handle, unfit), policy), handle=source.handle, exit_status=1
            )
        if expression is not None:
            results, strays = _by_jmespath(source, content, expression, policy)
            names, more = None, ""
        else:
            from overspill.retrieve import sql as engine  # a process to start: only for those who ask by SQL

            assert sql is not None
            names, results, is_cut, strays = engine.select(source, content, sql, seconds=seconds)
            more = f"more than {len(results)}" if is_cut else ""
        option = {"query": expression} if expression is not None else {"sql": sql}
        return _answer(source, results, names, more, option, skipped, strays, policy)


def _unfit(source: Source, content: Content, *, is_sql: bool, policy: Policy) -> str:
    """Why this output can't be queried in this way; empty when it can."""
    if content == "empty":
        return "the output is empty"
    if content in ("json", "json lines"):
        if not is_sql and source.size > MOST_PARSED_BYTES:
            advice = "; use sql" if content == "json lines" else ""
            return f"it has {source.size} bytes, more than the {MOST_PARSED_BYTES} that are parsed at once{advice}"
        return ""
    if is_sql and content in ("csv", "tsv", "parquet"):
        return ""
    outlined = worded(policy.access, "outline", source.rest())
    advice = f"; see what it is with {outlined}" if outlined else ""
    if content in ("csv", "tsv", "parquet"):
        call = worded(policy.access, "query", source.rest(), sql="select * from output limit 5")
        return (
            f"it is {content}, not JSON; ask with sql: {call}" if call else f"it is {content}, not JSON: ask with sql"
        )
    return f"it is {'binary' if content == 'binary' else 'plain text'}, neither JSON nor a table{advice}"


def _by_jmespath(source: Source, content: Content, expression: str, policy: Policy) -> tuple[list[Any], list[int]]:
    try:
        import jmespath
        from jmespath.exceptions import JMESPathError, JMESPathTypeError
    except ModuleNotFoundError as missing:
        raise MissingExtra("a JMESPath query", "query") from missing
    try:
        compiled = jmespath.compile(expression)
    except JMESPathError as error:
        raise QueryError(expression, " ".join(str(error).split())) from error
    try:
        value, strays = parsed(source, content)
    except (ValueError, RecursionError) as error:
        outlined = worded(policy.access, "outline", source.rest())
        advice = f"; see what it is with {outlined}" if outlined else ""
        raise QueryError(expression, f"the output is no valid JSON: {error}{advice}") from error
    try:
        found = compiled.search(value)
    except JMESPathTypeError as error:
        # Its own sentence quotes the whole value.
        takes = " or ".join(error.expected_types)
        raise QueryError(expression, f"{error.function_name}() takes {takes}, not {error.actual_type}") from None
    except (JMESPathError, RecursionError) as error:
        raise QueryError(expression, " ".join(str(error).split())) from error
    if found is None:
        return [], strays
    return found if isinstance(found, list) else [found], strays


def _answer(
    source: Source,
    results: Sequence[Any],
    names: Sequence[str] | None,
    more: str,
    option: dict[str, Any],
    skipped: int,
    strays: list[int],
    policy: Policy,
) -> Answer:
    lines = [_json(value) + "\n" for value in results[skipped:]]
    columns = f"# {_json(list(names))}\n" if names is not None else ""
    total = more or str(len(results))
    left_out = f"; without {strays_in_words(strays)}" if strays else ""
    what = "row" if names is not None else "result"

    def head(count: int) -> str:
        amount = total if count == len(results) else f"{skipped + 1}-{skipped + count} of {total}"
        plural = "" if amount == "1" else "s"
        if not lines:
            amount, plural = ("no", "s") if not results else (f"none after {skipped} of {total}", "s")
        return opening("query", source.handle, f"{amount} {what}{plural}{left_out}") + columns

    def foot(count: int) -> str:
        if count >= len(lines):
            return closing("narrow the query") if more else ""
        return closing(worded(policy.access, "query", source.rest(), **option, skip=skipped + count))

    text, count = fitted(head, lines, foot, policy)
    if not count and lines:
        text, count = _first_cut(head, lines[0], foot, policy), 1
    return Answer(
        text=text,
        handle=source.handle,
        exit_status=int(not results),
        rest=str(skipped + count) if count < len(lines) else "",
        next=foot(count).removeprefix("[more: ").removesuffix("]\n"),
        facts=results,
    )


def _first_cut(head: Any, line: str, foot: Any, policy: Policy) -> str:
    """One result that is too large alone: its start, and how large it is."""

    def text(size: int) -> str:
        mark = f"… [this result has {len(line) - 1} characters: select parts of it]\n"
        return str(head(1)) + line[:size].rstrip("\n") + mark + str(foot(1))

    size = largest(lambda size: policy.measure.fits(text(size), policy.budget), len(line))
    return within(text(size), policy)


def _json(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str, separators=(",", ":"))
    return text if text.isascii() and "\x7f" not in text else _INVISIBLE.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
