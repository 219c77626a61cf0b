"""Finding outputs by what is known of their calls."""

from __future__ import annotations

from overspill.core.model import Call
from overspill.store import MemoryStore
from overspill.store.contract import keep
from overspill.store.selection import matching


def test_everything_given_has_to_agree() -> None:
    clock = iter(range(100, 200))
    store = MemoryStore(clock=lambda: next(clock))
    keep(store, b"1", Call(tool="bash", session="a", labels=(("ci", "1"), ("os", "linux"))))
    keep(store, b"2", Call(tool="bash", session="b", labels=(("ci", "1"),)))
    last = keep(store, b"3", Call(tool="grep", session="a"))

    def sizes(**wanted: object) -> int:
        return len(list(matching(store.outputs(), **wanted)))  # type: ignore[arg-type]

    assert sizes() == 3
    assert sizes(tool="bash") == 2
    assert sizes(session="a") == 2
    assert sizes(tool="bash", session="a") == 1
    assert sizes(labels={"ci": "1"}) == 2
    assert sizes(labels={"ci": "1", "os": "linux"}) == 1
    assert sizes(labels={"ci": "2"}) == 0
    assert sizes(created_since=last.created) == 1
