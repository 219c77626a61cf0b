"""What a command writes, on its way to the reader: held while it is little, then bounded; one budget for all of it."""

from __future__ import annotations

from overspill.cli.policies import Chosen
from overspill.cli.streams import write_all
from overspill.process import Ending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from overspill.bounder import Bounder, Capturing
    from overspill.cli.room import Room
    from overspill.core.model import Bounded
    from overspill.core.policy import Policy
    from overspill.core.redact import Redactor
    from overspill.two_streams import TwoStreams

_PROMPT_BYTES = 1_000


class Output:
    """Takes it chunk by chunk; ``finish`` shows what is to be shown."""

    def __init__(self, chosen: Chosen, *, merged: bool, live: bool = False, room: Room | None = None) -> None:
        self.merged = merged
        self.bytes = 0
        self.lines = 0
        self.unfinished = b""
        """The end of the last line, while that has none: a prompt, perhaps."""
        self.counts_lines = False
        """For the progress on a terminal; without one it would be time for nothing."""
        self.chosen = chosen
        self.fault: OSError | None = None
        """What went wrong with writing; one stream's reader may be gone while the other's waits."""
        self._live = live
        self._held = chosen.held()
        self._shown = {1: b"", 2: b""}
        self._room = room
        """For what comes later: the budget, and what was shown within it before."""
        self._bounder: Bounder | None = None
        self._capturing: Capturing | None = None
        self._streams: TwoStreams | None = None
        self._redactors: dict[int, Redactor] = {}
        """Two streams are redacted each for itself: a place in the source must stay a place in a stream."""

    def take(self, stream: int, data: bytes) -> None:
        self.bytes += len(data)
        if self.counts_lines:
            self.lines += data.count(b"\n")
            self.unfinished = (self.unfinished + data)[-_PROMPT_BYTES:].rpartition(b"\n")[2]
        if self.chosen.redacts and (self._live or self.chosen.skip or not self.merged):
            data = self._redacted(stream, data)
        if data:
            self._take(stream, data)

    def finish(self, ending: Ending) -> None:
        for stream in self._redactors:
            self._take(stream, self._redacted(stream, None))
        if self._capturing is None and (self.chosen.skip or self._all_fits(ending)):
            self._pass_on(ending)
            return
        from overspill.cli.room import Room

        room = self._room or Room(self.chosen.policy())
        longest = self._last_line(ending, longest=True)
        goes_on = bool(ending.lingering)
        policy = room.part(longest, two_streams=not self.merged, goes_on=goes_on)
        bounded, texts = self._cut(policy, ending, lambda text: room.fits(text, longest, goes_on=goes_on))
        if bounded.truncated:
            assert self._bounder is not None
            self.chosen.remember(self._bounder, bounded, exit_status=ending.status)
            self._show(bounded, texts, ending, room)
        elif self._room is None or self._room.fits(bounded.text):
            self._pass_on(ending, bounded)
        else:
            self._keep_unseen(bounded)

    def spooled(self) -> str | None:
        """The file in which all of it is so far, once it is on its way into the store."""
        capturing = self._capturing
        return capturing.spooled() if capturing is not None and capturing.overflowed else None

    def held(self) -> list[bytes]:
        return [] if self.chosen.redacts else [data for _, data in self._held.chunks]

    def again(self) -> Output:
        """The same for what comes after it, within what it left of the budget."""
        if self.chosen.skip:
            return Output(self.chosen, merged=self.merged, live=self._live)
        from overspill.cli.room import Room

        room = Room(self.chosen.policy(), {at: shown.decode("utf-8", "replace") for at, shown in self._shown.items()})
        return Output(self.chosen.by(room.part()), merged=self.merged, live=self._live, room=room)

    # -- inside ------------------------------------------------------------------------------------

    def _all_fits(self, ending: Ending) -> bool:
        """Does all that came surely fit, beside what was shown before and what may come later?"""
        if not self._held.surely_fits(last_line(ending).encode() if ending.timed_out else b""):
            return False
        if self._room is None and not ending.lingering:
            return True
        from overspill.cli.room import Room

        room = self._room or Room(self.chosen.policy())
        texts = self._held.data.decode("utf-8", "replace"), self._last_line(ending, longest=True)
        return room.fits(*texts, goes_on=bool(ending.lingering))

    def _last_line(self, ending: Ending, *, longest: bool = False) -> str:
        """It was said already when this is what comes later."""
        return "" if self._room else last_line(ending, longest=longest)

    def _show(self, bounded: Bounded, texts: dict[int, str], ending: Ending, room: Room) -> None:
        if self.chosen.as_json:
            from overspill.cli.as_json import result

            shown = bounded.text.encode("utf-8", "replace")
            self._write(1, result(bounded, **_facts(ending), **self._by_stream(texts)), shown=shown)
            return
        from overspill.cli.room import ended

        main = min(texts)
        # Another system's words stand beside its figures, so ours do there.
        beside = room.whole.layout is not None
        if not (beside or room.fits(*texts.values())):
            texts = {main: room.least(bounded)}
            if not room.fits(texts[main]):
                return
        if longest := self._last_line(ending, longest=True):
            with_line = texts | {main: ended(texts[main], longest)}
            if beside or room.fits(*with_line.values(), goes_on=bool(ending.lingering)):
                texts[main] = ended(texts[main], last_line(ending))
        for stream, text in texts.items():
            self._write(stream, (room.lead(stream) + text).encode("utf-8", "replace"))

    def _keep_unseen(self, bounded: Bounded) -> None:
        """Little came, but after all the room had been taken."""
        from contextlib import suppress

        with suppress(Exception):  # nobody can be told any more
            spill = self.chosen.store().spill(self.chosen.call())
            spill.write(bounded.output)
            spill.commit(self.chosen.call())

    def _redacted(self, stream: int, data: bytes | None) -> bytes:
        redactor = self._redactors.get(stream)
        if redactor is None:
            from overspill.core.redact import Redactor

            redactor = self._redactors[stream] = Redactor(self.chosen.settlement().redact)
        return redactor.finish() if data is None else redactor.feed(data)

    def _take(self, stream: int, data: bytes) -> None:
        if self._live:
            self._copy(data)
        if self.chosen.skip and not self.chosen.as_json:
            self._write(stream, data)
            return
        if self._capturing is None:
            self._held.add(stream, data)
            if not (self.chosen.skip or self._held.surely_fits() or self._held.may_be_ours):
                self._start_capturing(self.chosen.policy())
            return
        self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()
        else:
            self._held.add(stream, data)

    def _start_capturing(self, policy: Policy) -> None:
        """From what is held: all of it so far."""
        self._bounder = self.chosen.bounder(policy)
        self._capturing = self._bounder.capture(self.chosen.call())
        if not self.merged:
            from overspill.two_streams import TwoStreams

            self._streams = TwoStreams(self._capturing.feed)
        for stream, data in self._held.chunks:
            self._hand_on(stream, data)
        if self._capturing.overflowed:
            self._held.clear()

    def _hand_on(self, stream: int, data: bytes) -> None:
        if self._streams is not None:
            self._streams.take(stream, data)
        else:
            assert self._capturing is not None
            self._capturing.feed(data)

    def _cut(self, policy: Policy, ending: Ending, fits: Callable[[str], bool]) -> tuple[Bounded, dict[int, str]]:
        """The bounded output, and what of it goes to which stream: as many marks as ``fits`` allows."""
        if self._held.may_be_ours:
            from overspill.cli.ours import cut_anew

            self._bounder = self.chosen.bounder(policy)
            if anew := cut_anew(self._bounder, self._held.data, self.chosen.call(exit_status=ending.status)):
                return anew, {self._held.chunks[0][0]: anew.text}
        if self._capturing is None or (not self._capturing.overflowed and (ending.timed_out or ending.lingering)):
            self._start_capturing(policy)
        assert self._bounder is not None
        assert self._capturing is not None
        self._bounder.policy = policy
        if self._streams is None:
            bounded = self._capturing.finish(exit_status=ending.status)
            return bounded, {1: bounded.text}
        self._streams.finish()
        bounded = self._capturing.finish(exit_status=ending.status)
        if not bounded.truncated:
            return bounded, {}
        from overspill.two_streams import split

        texts = split(bounded, self._streams, fits=fits)
        self._streams.close()
        return bounded, {stream: text for stream, text in texts.items() if text}

    def _pass_on(self, ending: Ending, bounded: Bounded | None = None) -> None:
        """Everything as it came, each stream to its own descriptor."""
        chunks = self._held.chunks
        if bounded is not None and self.merged:
            chunks = [(1, bounded.output)]  # redacted, where that is asked for
        if self.chosen.as_json:
            from overspill.cli.as_json import untouched

            texts = {
                one: b"".join(data for of, data in chunks if of == one).decode("utf-8", "replace") for one in (1, 2)
            }
            whole = b"".join(data for _, data in chunks)
            self._write(1, untouched(whole, **_facts(ending), **self._by_stream(texts)), shown=whole)
            return
        for stream, data in chunks:
            self._write(stream, data)
        if ending.timed_out:
            self._write(2, f"overspill: stopped after {_seconds(ending.seconds)}, as --timeout asked\n".encode())

    def _copy(self, data: bytes) -> None:
        try:
            write_all(2, data)
        except OSError:  # nobody looks on any more
            self._live = False

    def _by_stream(self, texts: dict[int, str]) -> dict[str, str]:
        """For programs: what each stream shows, where there are two."""
        return {} if self.merged else {"stdout": texts.get(1, ""), "stderr": texts.get(2, "")}

    def _write(self, stream: int, data: bytes, *, shown: bytes | None = None) -> None:
        """``shown`` is what counts of the data: of JSON, the text in it."""
        if not self.chosen.skip:
            self._shown[1 if self.merged else stream] += data if shown is None else shown
        try:
            write_all(stream, data)
        except OSError as fault:
            self.fault = self.fault or fault


def last_line(ending: Ending, *, longest: bool = False) -> str:
    """How the command ended, where that is worth a line.

    ``longest`` is for the room it takes: what else is shown must not depend on how long the command took.
    """
    if not ending.status:
        return ""
    by = "stopped by --timeout, " if ending.timed_out else f"signal {ending.signal}, " if ending.signal else ""
    seconds = "88888.8 min" if longest else _seconds(ending.seconds)
    return f"[overspill: {by}exit status {ending.status} after {seconds}]\n"


def _facts(ending: Ending) -> dict[str, object]:
    """How it ended, for programs."""
    return {
        "exit_status": ending.status,
        "signal": ending.signal or None,
        "timed_out": ending.timed_out,
        "seconds": round(ending.seconds, 3),
    }


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
