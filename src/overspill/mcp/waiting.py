"""What the host has asked and the server has not answered, by the id: safe for two threads.

Guarantees: an id that is used again before its answer, which no host should do, finds each of its requests
in their order; what was given up may still be answered, and what was answered may be so again, by a stream
that is resumed: the last of both are remembered.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace

from overspill.mcp.wire import Raw

_MOST_GIVEN_UP = 1_000
_MOST_ANSWERED = 1_000
_MOST_COMMAND_CHARS = 4_096


@dataclass(frozen=True, slots=True)
class Asked:
    """What of a request tells what its result is."""

    id: Raw
    method: str
    tool: str = ""
    command: str = ""
    first_page: bool = True


class Waiting:
    def __init__(self) -> None:
        self._asked: dict[object, Asked] = {}
        self._again: dict[object, deque[Asked]] = {}
        self._answered: dict[object, Asked] = {}
        self._given_up: deque[object] = deque()
        self._lock = threading.Lock()

    def put(self, key: object, asked: Asked) -> None:
        with self._lock:
            if key in self._asked:
                self._again.setdefault(key, deque()).append(asked)
            else:
                self._asked[key] = asked

    def take(self, key: object) -> Asked | None:
        with self._lock:
            found = self._asked.pop(key, None)
            if found is None:
                return self._answered.get(key)
            self._remember(key, found)
            if self._again and (others := self._again.get(key)):
                self._asked[key] = others.popleft()
                if not others:
                    del self._again[key]
            return found

    def _remember(self, key: object, asked: Asked) -> None:
        if len(asked.command) > _MOST_COMMAND_CHARS:
            asked = replace(asked, command=asked.command[:_MOST_COMMAND_CHARS])
        self._answered.pop(key, None)
        self._answered[key] = asked
        if len(self._answered) > _MOST_ANSWERED:
            del self._answered[next(iter(self._answered))]

    def give_up(self, key: object) -> None:
        """Its result may still come, or never."""
        self._given_up.append(key)
        if len(self._given_up) > _MOST_GIVEN_UP:
            self.take(self._given_up.popleft())

    def take_all(self) -> list[Asked]:
        with self._lock:
            found = [*self._asked.values(), *(asked for others in self._again.values() for asked in others)]
            self._asked.clear()
            self._again.clear()
            return found
