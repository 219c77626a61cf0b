"""``open_store``: a path or a URL, opened by nothing but its use."""

from __future__ import annotations

from pathlib import Path

import pytest

from overspill.errors import PolicyError
from overspill.store import LocalStore, MemoryStore, open_store
from overspill.store.contract import keep, whole


def test_paths_and_urls(tmp_path: Path) -> None:
    for place in (
        tmp_path / "a",
        str(tmp_path / "b"),
        (tmp_path / "with space").as_uri(),
        f"file://localhost{tmp_path}/d",
    ):
        store = open_store(place, retention_days=1)
        assert isinstance(store, LocalStore)
        assert store.retention.days == 1
        assert whole(store, keep(store, b"x").handle) == b"x"
    assert (tmp_path / "with space").is_dir()
    assert (tmp_path / "d").is_dir()
    assert isinstance(open_store("memory://"), MemoryStore)


def test_unknown_schemes(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match="memory://"):
        open_store("http://example.com/x")


def test_names_of_the_package() -> None:
    import overspill.store as package

    assert package.__all__ == sorted(package.__all__)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError):
        package.Nope  # noqa: B018
