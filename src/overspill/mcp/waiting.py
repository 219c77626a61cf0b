"""What the host has asked and the server has not answered, by the id: safe for two threads.

Guarantees: an id that is used again before its answer, which no host should do, finds each of its requests
in their order; what was given up may still be answered, and the last of those are remembered.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from overspill.mcp.wire import Raw

_MOST_GIVEN_UP = 1_000


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
            if self._again and (others := self._again.get(key)):
                self._asked[key] = others.popleft()
                if not others:
                    del self._again[key]
            return found

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
