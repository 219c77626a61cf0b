"""A recogniser and chooser of one's own, in one file: given as an object, added by name, announced by a package."""

from __future__ import annotations

from pathlib import Path

import pytest

from overspill.config.configuration import load
from overspill.core.access import FilePath
from overspill.core.capture import Capture, Cut
from overspill.core.model import Budget, Call
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.render import render
from overspill.core.strategies import Auto, named
from overspill.core.strategies.extensions import view_named
from overspill.errors import PolicyError

ONE_FILE = '''
from overspill.core.strategies.views import View


def sniff(sample, call):
    return 1.0 if sample.startswith(b"#inventory") else 0.0


class Shelves:
    """Keeps the first line and the shelves that are empty."""

    kind, headline = "inventory", ""

    def __init__(self, room, call):
        self.room, self.found = room, []

    def feed(self, block):
        for line in block.lines():
            if (line.line == 1 or b" 0 left" in line.data) and len(self.found) < self.room.bytes_ceiling // 16:
                self.found.append(line)

    def finish(self, totals, call):
        return self

    def fill(self, excerpt):
        for span in self.found:
            excerpt.add(span)

    def describe(self, gap):
        return ""

    def mark(self, gap, words):
        return None


class Inventory:
    name = "inventory"

    def selector(self, room, call):
        return Shelves(room, call)


SHELVES = View("shelves", sniff, Shelves)
'''
DATA = b"#inventory\n" + b"".join(b"shelf %d: %d left of it\n" % (n, 1 + n % 7) for n in range(900))
DATA = DATA.replace(b"shelf 457: 3 left", b"shelf 457: 0 left")


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as it lies in an environment once it is installed."""
    site = tmp_path / "site"
    info = site / "shelves-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "shelves.py").write_text(ONE_FILE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelves\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[overspill.views]\nshelves = shelves:SHELVES\nbroken = shelves:Shelves\n"
        "[overspill.strategies]\ninventory = shelves:Inventory\ngone = shelves:Gone\n"
    )
    monkeypatch.syspath_prepend(str(site))


def shown(data: bytes, policy: Policy) -> tuple[str, str]:
    capture = Capture(policy, Call())
    capture.feed(data)
    result = capture.finish()
    assert isinstance(result, Cut)
    assert result.fault is None, result.fault
    bounded = render(result, Kept("ovs_test000000"), policy)
    return bounded.text, bounded.kind


def test_an_own_view_is_asked_first() -> None:
    namespace: dict = {}
    exec(ONE_FILE, namespace)
    strategy = Auto(views=(namespace["SHELVES"],))
    text, kind = shown(DATA, Policy(budget=Budget(max_tokens=300), strategy=strategy))
    assert kind == "inventory"
    assert "shelf 457: 0 left" in text
    assert shown(b"something else\n" * 900, Policy(budget=Budget(max_tokens=300), strategy=strategy))[1] != "inventory"


@pytest.mark.usefixtures("package")
def test_a_file_names_what_a_package_announces(tmp_path: Path) -> None:
    file = tmp_path / "overspill.toml"
    file.write_text('max_tokens = 300\n[tools.stock]\nviews = "shelves"\n[tools.other]\nkeep = "inventory"\n')
    configuration = load(str(tmp_path), {}, file=str(file))
    assert shown(DATA, configuration.settle(tool="stock").policy(access=FilePath()))[1] == "inventory"
    policy = configuration.settle(tool="other").policy(access=FilePath())
    assert policy.strategy.name == "inventory"
    assert "shelf 457: 0 left" in shown(DATA, policy)[0]
    assert configuration.settle().policy(access=FilePath()).strategy == Auto()


@pytest.mark.usefixtures("package")
def test_a_wrong_announcement_is_a_sentence() -> None:
    with pytest.raises(PolicyError, match=r"one of .*inventory"):
        named("shelf")
    with pytest.raises(PolicyError, match=r"shelves:Gone.*imported"):
        named("gone")
    with pytest.raises(PolicyError, match="name of a View"):
        view_named("broken")
    with pytest.raises(PolicyError, match=r"one of .*shelves"):
        view_named("shelf")
