"""Files in the making: locked by their maker, and swept only when it is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from overspill.store import files
from overspill.store.files import abandoned, open_temporary, sweep

pytestmark = pytest.mark.skipif(os.name == "nt", reason="locks of POSIX")


def test_a_sweeper_takes_what_is_left_and_not_what_is_in_the_making(tmp_path: Path) -> None:
    dead, path = open_temporary(str(tmp_path))
    alive, other = open_temporary(str(tmp_path))
    os.close(dead)
    assert abandoned(tmp_path) == [Path(path)]
    assert sweep(tmp_path) == 1
    assert os.listdir(tmp_path) == [Path(other).name]
    os.close(alive)
    assert sweep(tmp_path) == 1


def test_a_small_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A .gitignore that a crash left empty would be left so for ever, and ignore nothing.
    aside = tmp_path / "aside"
    aside.mkdir()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_all", full)
        with pytest.raises(OSError, match="No space"):
            files.write_private(tmp_path / "file", b"content", by_way_of=aside)
    assert not (tmp_path / "file").exists()
    files.write_private(tmp_path / "file", b"content", by_way_of=aside)
    files.write_private(tmp_path / "file", b"other", by_way_of=aside)
    assert (tmp_path / "file").read_bytes() == b"content"
    sweep(aside)
    assert os.listdir(aside) == []


def test_no_file_is_swept_between_its_creation_and_its_lock(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from overspill.store.files import sweep\n"
        "print('ready', flush=True)\n"
        "while True: sweep(Path(sys.argv[1]))"
    )
    sweeper = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert sweeper.stdout is not None
    sweeper.stdout.readline()
    try:
        for _ in range(1000):
            made = [open_temporary(str(tmp_path)) for _ in range(3)]
            there = [os.path.exists(path) for _, path in made]
            for handle, _ in made:
                os.close(handle)
            assert all(there)
    finally:
        sweeper.kill()
        sweeper.wait()
        sweeper.stdout.close()


def test_a_planted_link_is_swept_and_its_target_stays(tmp_path: Path) -> None:
    target, directory = tmp_path / "target", tmp_path / "tmp"
    directory.mkdir()
    target.write_text("x")
    (directory / "link").symlink_to(target)
    assert sweep(directory) == 1
    assert target.read_text() == "x"
