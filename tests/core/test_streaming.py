"""Memory depends on the budget, never on the output; the spill is on its way while the tool still runs."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from overspill import Budget, Policy
from overspill.core.capture import Capture, Cut, Whole

POLICY = Policy(budget=Budget(max_bytes=1_000))


def test_nothing_is_persisted_while_everything_fits() -> None:
    capture = Capture(POLICY)
    assert capture.feed(b"x" * 600) == b""
    assert capture.feed(b"y" * 400) == b""
    assert capture.finish() == Whole(b"x" * 600 + b"y" * 400)


def test_everything_so_far_at_the_first_overflow_then_each_chunk() -> None:
    capture = Capture(POLICY)
    assert capture.feed(b"x" * 600) == b""
    assert capture.feed(b"y" * 401) == b"x" * 600 + b"y" * 401
    assert capture.feed(b"z") == b"z"
    ended = capture.finish()
    assert isinstance(ended, Cut)
    assert ended.unpersisted == b""
    assert ended.totals == (1_002, 1)


def test_an_output_that_crosses_the_limit_at_its_end_is_handed_over_then() -> None:
    capture = Capture(Policy(budget=Budget(max_lines=10)))
    assert capture.feed(b"line\n" * 11) == b""
    ended = capture.finish()
    assert isinstance(ended, Cut)
    assert ended.unpersisted == b"line\n" * 11


@pytest.mark.skipif(sys.platform == "win32", reason="no resource module")
@pytest.mark.parametrize(
    "line", [b"a line of the usual length, as logs have them\n", b"x" * 48], ids=["lines", "one line"]
)
def test_memory_does_not_grow_with_the_output(line: bytes) -> None:
    code = f"""
        import resource
        from overspill import Bounder, Budget, Policy
        from overspill.core.strategies import Ends
        class Nowhere:
            def spill(self, call): return self
            def write(self, data): pass
            def discard(self): pass
            def commit(self, call): raise OSError("kept nowhere")
        def peak(megabytes):
            with Bounder(Policy(strategy=Ends()), Nowhere()).capture() as capturing:
                for _ in range(megabytes):
                    capturing.feed({line!r} * 21845)
            assert len(capturing.bounded.text) < 9_000
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(peak(10), peak(300))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    small, large = map(int, done.stdout.split())
    unit = 1 if sys.platform == "darwin" else 1024
    assert (large - small) * unit < 2_000_000
