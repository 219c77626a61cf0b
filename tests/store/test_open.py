"""``open_store``: a path or a URL, opened by nothing but its use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overspill.errors import PolicyError
from overspill.store import LocalStore, MemoryStore, default_root, open_store
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


def test_overspill_dir_takes_every_form(tmp_path: Path) -> None:
    plain = tmp_path / "with space 目录 %41?#"
    for named in (str(plain), plain.as_uri(), "memory://"):
        place = default_root(tmp_path, {"OVERSPILL_DIR": named, "HOME": str(tmp_path)})
        store = open_store(place)
        assert whole(store, keep(store, b"x").handle) == b"x"
        assert isinstance(store, MemoryStore) or store.root == plain
    assert default_root(tmp_path, {"OVERSPILL_DIR": "s3://bucket/prefix?region=x"}) == "s3://bucket/prefix?region=x"
    assert default_root(tmp_path, {"OVERSPILL_DIR": "~/outputs"}) == Path.home() / "outputs"


def test_bound_takes_it_from_the_environment(tmp_path: Path) -> None:
    code = "from overspill import bound; print(bound('a line\\n' * 9000).handle)"
    env = {**os.environ, "OVERSPILL_DIR": (tmp_path / "outputs").as_uri()}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert [row.handle for row in LocalStore(tmp_path / "outputs").outputs()] == [done.stdout.strip()]


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
