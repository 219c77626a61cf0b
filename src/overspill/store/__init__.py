"""Where whole outputs are kept: ``open_store`` takes a path or a URL, and opens nothing before it is used."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from overspill.errors import PolicyError

if TYPE_CHECKING:
    from overspill.store.local import LocalStore
    from overspill.store.memory import BytesBlob, MemoryStore
    from overspill.store.object import ObjectStore

__all__ = ["BytesBlob", "LocalStore", "MemoryStore", "ObjectStore", "default_root", "open_store"]

_HOMES = {"BytesBlob": "memory", "LocalStore": "local", "MemoryStore": "memory", "ObjectStore": "object"}
_OBJECT_SCHEMES = ("s3", "s3a", "gs", "az", "azure", "abfs", "abfss")


def open_store(url_or_path: str | os.PathLike[str], **settings: Any) -> LocalStore | MemoryStore | ObjectStore:
    """The store at a path, ``file:///…``, ``memory://``, ``s3://bucket/prefix?endpoint=…``, ``gs://…`` or ``az://…``.

    ``settings`` are those of the store's class (``retention_days``, ``max_total_bytes``, …).
    """
    text = os.fspath(url_or_path)
    scheme, separator, rest = text.partition("://")
    if not separator:
        from overspill.store.local import LocalStore

        return LocalStore(text, **settings)
    scheme = scheme.lower()
    if scheme == "file":
        from urllib.request import url2pathname

        from overspill.store.local import LocalStore

        return LocalStore(url2pathname(rest.removeprefix("localhost")), **settings)
    if scheme == "memory":
        from overspill.store.memory import MemoryStore

        return MemoryStore(**settings)
    if scheme in _OBJECT_SCHEMES:
        from overspill.store.object import ObjectStore

        return ObjectStore(text, **settings)
    raise PolicyError("store", text, "a path, or a URL that starts with file://, memory://, s3://, gs:// or az://")


def default_root(start: Path, env: Mapping[str, str]) -> Path | str:
    """Where outputs go when nobody said: ``OVERSPILL_DIR``, the project around ``start``, or the user's state."""
    from overspill.store.places import default_root as found

    return found(start, env)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"overspill.store.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
