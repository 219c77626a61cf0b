"""The requests of an object store: small objects by path, written under conditions, every fault one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, Literal, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

from overspill.errors import PolicyError, StoreError, StoreUnavailable

T = TypeVar("T")
R = TypeVar("R")

REQUESTS_AT_ONCE = 16
MOST_RETRYING = timedelta(seconds=10)
"""A tool waits for its output to be saved: better an honest notice soon than a copy late."""

_connected_pid = 0
"""The process that made the first connection: the client's threads do not survive a fork, and requests would hang."""


class Found(NamedTuple):
    """An object as it was read: what it held, and the tag that says whether it still does."""

    data: bytes
    e_tag: str | None


class Listed(NamedTuple):
    """An object as a listing tells of it; ``modified`` is the service's time."""

    path: str
    size: int
    modified: float
    tag: str


class Bucket:
    """The objects below one prefix of a bucket."""

    def __init__(self, url: str, *, timeout_seconds: float) -> None:
        parts = urlsplit(url)
        self.where = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        self._query = dict(parse_qsl(parts.query))
        self._timeout = timedelta(seconds=timeout_seconds)
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The service's client, made at the first request."""
        global _connected_pid
        if _connected_pid not in (0, os.getpid()):
            raise StoreUnavailable(self.where, 'a forked process can\'t go on with it; start workers with "spawn"')
        if self._client is None:
            self._client = self._made()
            _connected_pid = os.getpid()
        return self._client

    def _made(self) -> Any:
        from obstore import store as services
        from obstore.exceptions import UnknownConfigurationKeyError

        # Typed for each service apart, and here it is whichever the URL names.
        from_url: Any = services.from_url
        config: dict[str, Any] = dict(self._query)
        plain = config.get("endpoint", config.get("aws_endpoint", "")).startswith("http://")
        try:
            return from_url(
                self.where,
                config=config,
                client_options={"allow_http": plain, "timeout": self._timeout, "connect_timeout": "5s"},
                retry_config={"max_retries": 2, "retry_timeout": min(self._timeout, MOST_RETRYING)},
            )
        except UnknownConfigurationKeyError as error:
            raise PolicyError("store", self.where, f"settings of the service in the URL's query ({error})") from None

    def close(self) -> None:
        """Lets go of the connection; the next request opens it again."""
        self._client = None

    def get(self, path: str) -> Found | None:
        """A whole small object; None when it isn't there."""
        import obstore

        try:
            found = obstore.get(self.client, path)
            return Found(bytes(found.bytes()), found.meta["e_tag"])
        except FileNotFoundError:
            return None

    def get_range(self, path: str, start: int, end: int) -> bytes:
        import obstore

        return bytes(obstore.get_range(self.client, path, start=start, end=end))

    def put(self, path: str, data: bytes, *, when: Found | Literal["absent", "any"] = "any") -> bool:
        """Writes an object; False when the condition doesn't hold: it is there, or is another than was read."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, NotSupportedError, PreconditionError

        mode: Any = {"any": "overwrite", "absent": "create"}.get(when) if isinstance(when, str) else {"e_tag": when[1]}
        try:
            obstore.put(self.client, path, data, mode=mode, use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            return False
        except FileNotFoundError:
            if isinstance(when, str):
                raise
            return False
        except NotSupportedError:
            # A service without conditions: the last one wins.
            obstore.put(self.client, path, data, use_multipart=False)
        return True

    def writer(self, path: str, *, part_bytes: int) -> Any:
        """An object that comes in parts."""
        import obstore

        return obstore.open_writer(self.client, path, buffer_size=part_bytes, max_concurrency=2)

    def head(self, path: str) -> Listed | None:
        import obstore

        try:
            return _listed(obstore.head(self.client, path))
        except FileNotFoundError:
            return None

    def objects(self, prefix: str) -> Iterator[Listed]:
        """What lies below; services list by whole segments of a path."""
        import obstore

        for page in obstore.list(self.client, prefix=prefix):
            yield from map(_listed, page)

    def delete(self, paths: Iterable[str]) -> None:
        """Objects that are gone already are no fault."""
        import obstore

        def remove(path: str) -> None:
            with suppress(FileNotFoundError):
                obstore.delete(self.client, path)

        self.at_once(remove, paths)

    def at_once(self, work: Callable[[T], R], values: Iterable[T]) -> list[R]:
        """Several requests side by side, the answers in order."""
        pending = list(values)
        if len(pending) < 2:
            return [work(value) for value in pending]
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            return list(pool.map(work, pending))

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Whatever the service says becomes one sentence."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            raise StoreUnavailable(self.where, _in_words(error)) from error
        except Exception as error:
            from obstore.exceptions import BaseError

            if isinstance(error, BaseError):
                raise StoreUnavailable(self.where, _in_words(error)) from error
            raise


def _listed(meta: Any) -> Listed:
    modified = meta["last_modified"]
    return Listed(meta["path"], meta["size"], modified.timestamp(), str(meta["e_tag"] or modified))


def _in_words(error: Exception) -> str:
    """What happened, for people and for models: the same fault in the same words, without times and addresses."""
    said, kind = str(error), type(error).__name__
    if kind in ("UnauthenticatedError", "PermissionDeniedError") or isinstance(error, PermissionError):
        return "the credentials are missing or not accepted"
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket"
    if status := re.search(r"status code: (\d{3})", said):
        return f"the service answers with HTTP status {status[1]}"
    if re.search(r"error sending request|timed? ?out|connect|dns", said, re.IGNORECASE):
        return "the service does not answer"
    words = re.sub(r"https?://\S+|[\d.]+ ?[mµn]?s\b", "…", said.partition("\n")[0]).strip() or kind
    return words if len(words) <= 200 else words[:199] + "…"
