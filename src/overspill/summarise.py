"""The summariser: a model words what an output holds, labelled as a summary, the whole kept all the same.

Opt-in and asynchronous.  Only an output that had to be cut and is above the trigger is handed to the
model, at most ``max_input_chars`` of it.  When the model fails, is too slow or says nothing, the plain
cut stays.  Whatever it says, the text is within the budget.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from overspill.core.events import Event, EventKind
from overspill.core.excerpt import gaps_between
from overspill.core.measure import display, encode, readable
from overspill.core.model import Bounded, Call, Part
from overspill.core.strategies.summarise import (
    TIMEOUT_SECONDS,
    Request,
    Summarise,
    Summarizer,
    Summary,
)
from overspill.core.summaries import as_much_as_fits
from overspill.errors import MissingExtra, PolicyError
from overspill.source import said

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from overspill.bounder import Bounder
    from overspill.config.files import Summarization
    from overspill.core.notice import Language
    from overspill.core.ports import Store

__all__ = ["OpenAISummarizer", "Request", "Summarise", "Summary", "configured", "summarised"]

ATTEMPTS = 2
_SHORTEST_CHARS = 40
"""A budget that leaves less than this for a summary gets the plain cut."""
_LONGEST_CHARS = 999_999


async def summarised(bounder: Bounder, bounded: Bounded, call: Call, output: Any) -> Bounded:
    """The bounded output with a summary in place of its cut; the cut itself when there is none to be had."""
    strategy = bounder.policy.strategy
    if not isinstance(strategy, Summarise) or strategy.summarizer is None or not bounded.truncated:
        return bounded
    source = await asyncio.to_thread(_source, bounder.store, bounded, output, strategy.max_input_chars)
    if source is None or bounded.total_bytes <= strategy.trigger_chars:
        return bounded
    text, chars_known = source
    if chars_known <= strategy.trigger_chars:
        return bounded
    last_line = max(1, text.count("\n") + (not text.endswith("\n")))
    covers = _Covers(last_line, 0 if text.endswith("\n") or chars_known == len(text) else len(text))
    header = partial(_header, bounded, strategy, covers, bounder)
    room_chars = _room_chars(bounder, header(_LONGEST_CHARS))
    if room_chars < _SHORTEST_CHARS:
        return bounded
    request = Request(text, room_chars, call, 1, last_line)
    summary, reason = await _asked(strategy.summarizer, request, strategy.timeout_seconds)
    if summary is None:
        bounder.tell(_event("error", bounded, call, reason=f"no summary: {reason}"))
        logging.getLogger("overspill").warning("%s: no summary (%s); cut instead", call.tool or "output", reason)
        return bounded
    laid_out = _laid_out(bounder, bounded, header, summary.text)
    if laid_out is None:
        return bounded
    bounder.tell(_event("summarised", laid_out, call, tokens_in=summary.tokens_in, tokens_out=summary.tokens_out))
    return laid_out


def configured(settings: Summarization, *, base_url: str | None = None, api_key: str | None = None) -> Summarise:
    """The strategy as a configuration file's ``summarization`` has it; what is given here goes before it."""
    summarizer = None
    if settings.enabled and settings.model:
        summarizer = OpenAISummarizer(settings.model, base_url=base_url or settings.base_url, api_key=api_key)
    return Summarise(
        summarizer=summarizer, max_input_chars=settings.max_input_chars, trigger_chars=settings.trigger_threshold,
        timeout_seconds=settings.timeout_seconds,
    )  # fmt: skip


def _event(kind: EventKind, bounded: Bounded, call: Call, **more: Any) -> Event:
    shown = len(bounded.text.encode("utf-8", "replace"))
    return Event(
        kind=kind, call=call, bytes_before=bounded.total_bytes, bytes_after=shown, handle=bounded.handle,
        path=bounded.path, **more,
    )  # fmt: skip


async def _asked(summarizer: Summarizer, request: Request, timeout_seconds: float) -> tuple[Summary | None, str]:
    """The summary, or why there is none: one time-out over all attempts, one retry after a failure."""
    reason = ""

    async def attempts() -> Summary | None:
        nonlocal reason
        for _ in range(ATTEMPTS):
            try:
                answer = await summarizer(request)
            except (Exception, SystemExit) as error:
                reason = said(error) or type(error).__name__
                continue
            summary = Summary(answer) if isinstance(answer, str) else answer
            text = summary.text if isinstance(summary, Summary) and isinstance(summary.text, str) else ""
            if text := display(encode(text)).strip():  # valid, and nothing in it steers a terminal
                return Summary(text, *map(_counted, summary[1:]))
            reason = "it said nothing"
        return None

    # Not `wait_for`: that waits for one that does not stop when it is told to.
    asked = asyncio.ensure_future(attempts())
    try:
        done, _ = await asyncio.wait({asked}, timeout=timeout_seconds)
    except asyncio.CancelledError:
        asked.cancel()
        raise
    if not done:
        asked.cancel()
        return None, f"it took longer than {timeout_seconds:g} seconds"
    return (None, "it was cancelled from inside") if asked.cancelled() else (asked.result(), reason)


def _counted(tokens: object) -> int:
    return tokens if isinstance(tokens, int) else 0


def _source(store: Store | None, bounded: Bounded, output: Any, max_chars: int) -> tuple[str, int] | None:
    """The start of the whole output, in whole lines where possible, and how many characters are known of."""
    data = _kept(store, bounded, max_chars * 4)
    if data is None:
        from collections.abc import AsyncIterable, Iterator

        from overspill.source import chunks_of

        if isinstance(output, Iterator | AsyncIterable | Bounded):
            return None
        data = b"".join(chunks_of(output))
    text = readable(data)
    known = len(text) if len(data) >= bounded.total_bytes else max(len(text), max_chars + 1)
    if len(text) > max_chars:
        text = text[:max_chars]
        text = text[: text.rfind("\n") + 1] or text
    return text, known


def _kept(store: Store | None, bounded: Bounded, max_bytes: int) -> bytes | None:
    if store is None or bounded.handle is None:
        return None
    try:
        with closing(store.open(bounded.handle)) as blob:
            return blob.read(0, max_bytes)
    except (Exception, SystemExit):  # a user's store may raise anything
        return None


class _Covers(NamedTuple):
    """What a model was handed of an output."""

    last_line: int
    chars: int
    """Where the last line is cut in two: how many characters."""

    def said(self, language: Language) -> str:
        if language == "zh":
            return f"前 {self.chars} 个字符" if self.chars else f"第 1-{self.last_line} 行"
        return f"the first {self.chars} characters" if self.chars else f"lines 1-{self.last_line}"


def _header(bounded: Bounded, strategy: Summarise, covers: _Covers, bounder: Bounder, chars: int) -> str:
    """Recognised by other layers as ours, and impossible to take for the output."""
    policy, total = bounder.policy, bounded.total_lines
    model = getattr(strategy.summarizer, "model", "")
    zh = policy.language == "zh"
    by = (f"（模型 {model}）" if zh else f" by {model}") if model else ""
    covered = covers.said(policy.language)
    summary = (
        f"以下是{covered}的摘要，摘要共 {chars} 字{by}，不是原文"
        if zh
        else f"SUMMARY of {covered} in {chars} characters{by}, not the output"
    )
    if bounded.handle is None:
        reason = " ".join(bounded.unsaved.split())[:80]
        opening = (
            f": 共 {total} 行，显示 0 行；其余未能保存（{reason}）"
            if zh
            else f": 0 of {total} lines shown; the rest could NOT be saved ({reason})"
        )
        return f"[overspill{opening}{'。' if zh else '. '}{summary}]\n"
    from overspill.core.access import Rest, speaking

    rest = Rest(bounded.handle, bounded.path, 1, min(total, 200), 0)
    read = speaking(policy.access, policy.language).read(rest)
    step = f"查看原文：{read}" if zh else f"For the output: {read}"
    opening = f" {bounded.handle}：共 {total} 行，显示 0 行" if zh else f" {bounded.handle}: 0 of {total} lines shown"
    stop = "。" if zh else ". "
    return f"[overspill{opening}{stop}{summary}{stop}{step}]\n"


def _room_chars(bounder: Bounder, header: str) -> int:
    """About how many characters of a summary the budget leaves."""
    budget, used = bounder.policy.budget, len(header)
    rooms = [
        budget.max_chars and budget.max_chars - used,
        budget.max_bytes and budget.max_bytes - len(header.encode()),
        budget.max_tokens and (budget.max_tokens - bounder.policy.measure.tokens(header)) * 4,
    ]
    known = [room for room in rooms if room is not None]
    return min(known) if known else 4_000


def _laid_out(bounder: Bounder, bounded: Bounded, header: Callable[[int], str], text: str) -> Bounded | None:
    """As much of the summary as fits; the account says that nothing of the output is shown."""
    measure, budget = bounder.policy.measure, bounder.policy.budget
    fitting = as_much_as_fits(header, text, lambda whole: measure.fits(whole, budget))
    if fitting is None:
        return None
    first, shown = fitting
    assert bounded.totals is not None
    gaps = tuple(gaps_between([], bounded.totals))
    return replace(
        bounded,
        text=first + shown,
        header=first,
        parts=(Part(shown, gap=gaps[0] if gaps else None),),
        gaps=gaps,
        kind="summary",
        headline="",
    )


class OpenAISummarizer:
    """A model behind an OpenAI-compatible endpoint. Holds no connection between summaries: any event loop will do."""

    def __init__(self, model: str, *, base_url: str | None = None, api_key: str | None = None) -> None:
        self.model = model
        self._client = openai_client("the summariser", base_url, api_key, TIMEOUT_SECONDS)

    async def __call__(self, request: Request) -> Summary:
        async with self._client() as client:
            answered = await client.chat.completions.create(
                model=self.model,
                messages=[
                    {"role": "system", "content": request.instructions},
                    {"role": "user", "content": request.text},
                ],
                max_tokens=max(64, request.max_chars // 3),
            )
        text = (answered.choices[0].message.content or "") if answered.choices else ""
        usage = answered.usage
        return Summary(text, usage.prompt_tokens if usage else 0, usage.completion_tokens if usage else 0)


def openai_client(
    feature: str, base_url: str | None, api_key: str | None, timeout_seconds: float
) -> Callable[[], AsyncOpenAI]:
    """What opens a client, to be closed by who opened it; refused now when it could not be opened then.

    Its own retries are off: who retries, and how often, is said here.
    """
    try:
        from openai import AsyncOpenAI, OpenAI, OpenAIError
    except ImportError:
        raise MissingExtra(feature, "summarise") from None
    key = api_key
    if key is None:
        try:
            OpenAI(base_url=base_url).close()  # the environment may have one
        except OpenAIError as error:
            if base_url is None:
                raise PolicyError("api_key", None, " ".join(str(error).split())) from None
            key = "none"  # local servers want none, and the client refuses to start without
    return partial(AsyncOpenAI, base_url=base_url, api_key=key, timeout=timeout_seconds, max_retries=0)
