"""What every store promises, as tests: subclass ``StoreContract``, say how to make one, and run pytest.

    from overspill.store.contract import StoreContract

    class TestMyStore(StoreContract):
        def make_store(self, place):          # ``place`` is an empty directory of this test's own
            return MyStore(place)

        def reopen(self, store, place):       # optional: how another process would open the same store
            return MyStore(place)

Only the ``Store`` protocol is used, so a store of thirty lines can pass.
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from overspill.core.model import Call
from overspill.core.ports import Store, Stored
from overspill.errors import StoreError, UnknownHandle

__all__ = ["StoreContract", "keep", "whole"]

HANDLE = re.compile(r"ovs_[0-9a-z]+")
ODD_CONTENTS = (
    b"",
    b"\n",
    b"plain text\n",
    b"no end of line",
    b"one\r\ntwo\rthree\n",
    b"\x00\x01\x02 NUL \x00",
    b"\xff\xfe invalid \xc3 utf-8 \xed\xa0\x80",
    "日本語 \U0001f9ea e\u0301".encode(),
    b"\x1b[31mred\x1b[0m\n" * 50,
)


def keep(store: Store, data: bytes, call: Call | None = None, *, chunk_bytes: int | None = None) -> Stored:
    """Puts ``data`` into the store, at once or in chunks."""
    call = call or Call()
    spill = store.spill(call)
    for start in range(0, len(data), chunk_bytes or len(data) or 1):
        spill.write(data[start : start + (chunk_bytes or len(data))])
    return spill.commit(call)


def whole(store: Store, handle: str) -> bytes:
    """The bytes of an output."""
    blob = store.open(handle)
    try:
        return blob.read(0, blob.size)
    finally:
        blob.close()


@contextmanager
def _raises(*kinds: type[BaseException]) -> Iterator[None]:
    try:
        yield
    except kinds:
        return
    raise AssertionError(f"expected {' or '.join(kind.__name__ for kind in kinds)}")


class StoreContract:
    """Inherit from it; each method is one promise."""

    def make_store(self, place: Path) -> Store:
        raise NotImplementedError("say how to make an empty store")

    def reopen(self, store: Store, place: Path) -> Store:
        """The same store as another process sees it; by default the very object."""
        return store

    def close(self, store: Store) -> None:
        """Called at the end of each test."""
        close = getattr(store, "close", None)
        if callable(close):
            close()

    @contextmanager
    def _store(self) -> Iterator[tuple[Any, Path]]:
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory) / "place"
            store = self.make_store(place)
            try:
                yield store, place
            finally:
                self.close(store)

    def test_it_is_a_store(self) -> None:
        with self._store() as (store, _):
            assert isinstance(store, Store)
            assert list(store.outputs()) == []

    def test_any_bytes_come_back_as_they_were(self) -> None:
        with self._store() as (store, place):
            rows = [(keep(store, data), data) for data in ODD_CONTENTS]
            again = self.reopen(store, place)
            for row, data in rows:
                assert whole(again, row.handle) == data
                assert row.bytes == len(data)
                assert row.digest == hashlib.sha256(data).hexdigest()

    def test_handles_are_short_names(self) -> None:
        with self._store() as (store, _):
            row = keep(store, b"one output")
            assert HANDLE.fullmatch(row.handle)
            assert len(row.handle) <= 64

    def test_lines_are_counted(self) -> None:
        with self._store() as (store, _):
            for data, lines in ((b"", 0), (b"a", 1), (b"a\n", 1), (b"a\nb", 2), (b"\n\n", 2), (b"a\r\nb\r\n", 2)):
                assert keep(store, data).lines == lines, data

    def test_chunks_make_no_difference(self) -> None:
        with self._store() as (store, _):
            data = random.Random(1).randbytes(50_000) + b"\n" * 99
            rows = [keep(store, data, chunk_bytes=size) for size in (777, 50_000, 64_000)]
            assert len({(row.handle, row.digest, row.bytes, row.lines) for row in rows}) == 1
            assert whole(store, rows[0].handle) == data

    def test_ranges(self) -> None:
        with self._store() as (store, _):
            data = random.Random(2).randbytes(300_000)
            blob = store.open(keep(store, data).handle)
            assert blob.size == len(data)
            for start, length in ((0, 0), (0, 1), (0, 10), (131_071, 2), (299_990, 10), (299_990, 99), (300_000, 5)):
                assert blob.read(start, length) == data[start : start + length], (start, length)
            blob.close()

    def test_equal_outputs_are_kept_once_and_share_a_handle(self) -> None:
        with self._store() as (store, place):
            first = keep(store, b"the same\n", Call(tool="a", id="1"))
            other = keep(store, b"another\n")
            again = keep(self.reopen(store, place), b"the same\n", Call(tool="b", id="2"))
            assert first.handle == again.handle != other.handle
            assert sorted(row.handle for row in store.outputs()) == sorted({first.handle, other.handle})
            assert store.stored(first.handle).call.tool == "b"

    def test_what_a_later_call_does_not_know_stays_known(self) -> None:
        with self._store() as (store, place):
            first = Call(tool="shell", command="make", exit_status=2, session="s")
            keep(store, b"the same\n", first)
            again = self.reopen(store, place)
            for later, known in (
                (Call(), first),
                (Call(tool="shell", exit_status=0), replace(first, exit_status=0)),
                (Call(command="make -j"), Call(command="make -j")),
            ):
                assert keep(again, b"the same\n", later).call == known
                assert [row.call for row in again.outputs()] == [known]

    def test_the_call_is_remembered(self) -> None:
        with self._store() as (store, place):
            call = Call(
                tool="bash",
                command="make 'läuft' \udc80",
                exit_status=2,
                id="call/1",
                session="s",
                labels=(("k", "v"),),
            )
            handle = keep(store, b"x", call).handle
            assert self.reopen(store, place).stored(handle).call == call

    def test_newest_first(self) -> None:
        with self._store() as (store, _):
            handles = [keep(store, b"%d" % number).handle for number in range(5)]
            rows = list(store.outputs())
            assert {row.handle for row in rows} == set(handles)
            assert [row.created for row in rows] == sorted((row.created for row in rows), reverse=True)

    def test_a_unique_prefix_is_enough(self) -> None:
        with self._store() as (store, _):
            handle = keep(store, b"x").handle
            assert store.stored(handle[:-1]).handle == handle
            assert whole(store, handle[:-1]) == b"x"

    def test_what_does_not_exist_is_a_clear_error(self) -> None:
        with self._store() as (store, _):
            keep(store, b"x")
            for handle in ("ovs_00000000", "ovs_", "", "nonsense handle", "é", "ovs_*", "ovs_" + "0" * 5000):
                for verb in (store.stored, store.open):
                    with _raises(UnknownHandle):
                        verb(handle)

    def test_no_handle_is_a_path(self) -> None:
        with self._store() as (store, _):
            keep(store, b"x")
            for handle in ("../../etc/passwd", "/etc/passwd", "ovs_../x", "..", ".", "a/b", "C:\\x", "\x00", "ovs_\n"):
                with _raises(UnknownHandle):
                    store.open(handle)

    def test_removed_is_gone(self) -> None:
        with self._store() as (store, place):
            row = keep(store, b"x", Call(tool="bash", command="make it"))
            stays = keep(store, b"y")
            store.remove(row.handle, reason="asked to")
            for view in (store, self.reopen(store, place)):
                with _raises(UnknownHandle):
                    view.stored(row.handle)
                with _raises(UnknownHandle):
                    view.open(row.handle)
                assert [each.handle for each in view.outputs()] == [stays.handle]
            with _raises(UnknownHandle):
                store.remove(row.handle, reason="twice")

    def test_removed_and_made_again(self) -> None:
        with self._store() as (store, _):
            handle = keep(store, b"x").handle
            store.remove(handle, reason="asked to")
            assert keep(store, b"x").handle == handle
            assert whole(store, handle) == b"x"

    def test_discarded_was_never_there(self) -> None:
        with self._store() as (store, _):
            spill = store.spill(Call())
            spill.write(b"half of it")
            spill.discard()
            spill.discard()
            assert list(store.outputs()) == []
            with _raises(StoreError):
                spill.commit(Call())

    def test_nothing_shows_before_commit(self) -> None:
        with self._store() as (store, place):
            spill = store.spill(Call())
            spill.write(b"half of it" * 100_000)
            assert list(self.reopen(store, place).outputs()) == []
            row = spill.commit(Call())
            assert [each.handle for each in self.reopen(store, place).outputs()] == [row.handle]
            with _raises(StoreError):
                spill.commit(Call())

    def test_two_spills_at_once(self) -> None:
        with self._store() as (store, _):
            one, other = store.spill(Call()), store.spill(Call())
            for number in range(200):
                one.write(b"one %d\n" % number)
                other.write(b"other %d\n" % number)
            rows = one.commit(Call()), other.commit(Call())
            assert whole(store, rows[0].handle) == b"".join(b"one %d\n" % number for number in range(200))
            assert whole(store, rows[1].handle) == b"".join(b"other %d\n" % number for number in range(200))

    def test_threads(self) -> None:
        with self._store() as (store, _):
            faults: list[BaseException] = []

            def work(number: int) -> None:
                try:
                    for step in range(10):
                        data = b"%d" % (step if step % 2 else number * 100 + step)
                        assert whole(store, keep(store, data).handle) == data
                except BaseException as error:
                    faults.append(error)

            threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not faults, faults
            assert len(list(store.outputs())) == 4 * 5 + 5

    def test_odd_names_are_harmless(self) -> None:
        with self._store() as (store, _):
            for tool in ("a/b", "..", "", "x" * 4096, "工具", "CON", "\x00", "a\nb", "-rf", "%2F", "\udc80"):
                data = b"of " + tool.encode("utf-8", "surrogatepass")
                row = keep(store, data, Call(tool=tool, id=tool, session=tool))
                assert whole(store, row.handle) == data
                if row.path is not None:
                    assert Path(row.path).read_bytes() == data
