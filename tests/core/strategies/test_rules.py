"""What people say of their tool's lines holds: kept ones come first, dropped ones don't, blocks stay whole."""

from __future__ import annotations

import pytest

from overspill.config.configuration import load
from overspill.core.access import FilePath
from overspill.core.capture import Capture, Cut
from overspill.core.model import Budget, Call
from overspill.core.notice import Kept
from overspill.core.policy import Policy
from overspill.core.render import render
from overspill.core.strategies import Auto
from overspill.core.strategies.rules import Rules
from overspill.errors import PolicyError


def shown(data: bytes, rules: Rules, tokens: int = 500, call: Call | None = None) -> str:
    policy = Policy(budget=Budget(max_tokens=tokens), strategy=Auto(rules=rules))
    capture = Capture(policy, call or Call())
    capture.feed(data)
    result = capture.finish()
    assert isinstance(result, Cut)
    assert result.fault is None, result.fault
    return render(result, Kept("ovs_test000000"), policy).text


def ordinary(lines: int) -> list[bytes]:
    return [b"12:%02d:%02d INFO step %d took %d ms\n" % (n // 60 % 60, n % 60, n, n * 37 % 113) for n in range(lines)]


@pytest.mark.parametrize("lines", [2_000, 60_000])
def test_a_kept_line_is_shown_however_plain_it_is(lines: int) -> None:
    made = ordinary(lines)
    made[lines // 2] = b"12:30:00 INFO step %d took %d ms\n" % (lines // 2, 777_777)
    made[10:20] = [b"12:00:10 ERROR kind%d broke\n" % n for n in range(10)]
    pattern = r"took 777777 ms$"
    assert "777777" in shown(b"".join(made), Rules(keep={"slow": pattern}), tokens=350)


def test_a_dropped_line_is_not_shown_however_bad_it_is() -> None:
    made = ordinary(2_000)
    made[700] = b"12:11:40 FATAL known and harmless\n"
    made[900] = b"12:15:00 ERROR the real one\n"
    data = b"".join(made)
    assert "known and harmless" in shown(data, Rules())
    text = shown(data, Rules(drop={"noise": "known and harmless"}))
    assert "the real one" in text
    assert not any("known and harmless" in line for line in text.splitlines()[1:])


def test_a_block_is_shown_whole_with_any_of_its_lines() -> None:
    block = [b"CASE of step 0\n", *ordinary(20), b"END of step 0\n"]
    block[9] = b"12:00:09 INFO step 8 took 777777 ms\n"
    data = b"".join([*ordinary(800), *block, *ordinary(800)])
    keep = {"slow": "took 777777 ms$"}
    marked = Rules(keep=keep, block_starts={"case": "^CASE"}, block_ends={"case": "^END"})
    assert b"".join(block).decode() in shown(data, marked, tokens=900)
    assert b"".join(block).decode() not in shown(data, Rules(keep=keep), tokens=900)
    assert "777777" in shown(data, marked, tokens=250)


def test_a_block_without_an_end_stops_at_a_blank_line() -> None:
    texts = [b"a\n", b"BEGIN\n", b"b\n", b"\n", b"c\n", b"BEGIN\n", b"BEGIN\n", b"d\n"]
    blocks = Rules(block_starts={"it": "^BEGIN"}).judged(texts).blocks
    assert [blocks.get(index) for index in range(8)] == [
        None, range(1, 3), range(1, 3), None, None, range(5, 6), range(6, 8), range(6, 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rules", "setting"),
    [
        ({"keep": {"open": "("}}, "keep_lines.open"),
        ({"drop": {"all": "x*"}}, "drop_lines.all"),
        ({"block_ends": {"alone": "^$"}}, "block_ends.alone"),
    ],
)
def test_a_pattern_that_is_none_is_refused_by_its_name(rules: dict[str, dict[str, str]], setting: str) -> None:
    with pytest.raises(PolicyError) as refused:
        Rules(**rules)
    assert refused.value.setting == setting


def test_a_file_speaks_of_one_command_only(tmp_path) -> None:
    file = tmp_path / "overspill.toml"
    file.write_text(
        '[commands.mytool.keep_lines]\nslow = "took 777777 ms$"\n'
        '[commands.mytool.block_starts]\ncase = "^-- CASE"\n[commands.mytool.block_ends]\ncase = "^-- END$"\n'
    )
    configuration = load(str(tmp_path), {}, file=str(file))
    rules = configuration.settle(command="mytool --all").policy(access=FilePath()).strategy
    assert isinstance(rules, Auto)
    assert rules.rules == Rules(
        keep={"slow": "took 777777 ms$"}, block_starts={"case": "^-- CASE"}, block_ends={"case": "^-- END$"}
    )
    assert configuration.settle(command="other").policy(access=FilePath()).strategy == Auto()


def test_a_wrong_pattern_in_a_file_is_refused_with_its_origin(tmp_path) -> None:
    file = tmp_path / "overspill.toml"
    file.write_text('[tools.shell.drop_lines]\nnoise = "["\n')
    with pytest.raises(PolicyError, match=r"drop_lines\.noise \(.*overspill\.toml"):
        load(str(tmp_path), {}, file=str(file)).settle(tool="shell").policy(access=FilePath())
