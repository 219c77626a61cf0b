"""The token estimate: its bounds for any string, its sums over lines, and its aim at real tokenizers."""

from __future__ import annotations

import json
import random
import warnings
from base64 import b64encode
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from overspill.core import tokens
from overspill.core.token_blocks import block_tables
from overspill.core.tokens import estimate_tokens, exact, tokens_ceiling
from overspill.errors import PolicyError

with warnings.catch_warnings():
    # bpe-openai 0.1.3 opens its data by `importlib.resources.open_binary`; goes when it uses `files()`.
    warnings.simplefilter("ignore", DeprecationWarning)
    import bpe_openai

any_text = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=300),
    st.text(st.characters(max_codepoint=127), max_size=300),
    # What real outputs repeat: dense stretches are where weights meet their caps.
    st.builds(
        str.__mul__, st.text(st.characters(exclude_categories=()), min_size=1, max_size=4), st.integers(1, 2_000)
    ),
)
lines = st.lists(st.text(st.sampled_from('aeQ7 0.,:;/-_\t("}é中한\U0001f600⠋─█\ue0b0'), max_size=60), min_size=1).map(
    lambda parts: "\n".join(parts) + "\n"
)


@given(any_text)
@example("")
@example("\ud800")
@example("(")
@example("\x00" * 100)
@example("\U0010ffff" * 100)
@example(",7" * 500)
@example("⠋" * 100)
@example("(⠋ \ue0b0)" * 100)
def test_bounds_hold_for_any_text(text: str) -> None:
    estimate = estimate_tokens(text)
    size = len(text.encode("utf-8", "surrogatepass"))

    assert estimate == estimate_tokens(text)
    assert (estimate == 0) == (not text)
    assert estimate <= (len(text) if text.isascii() else 3 * len(text))
    assert estimate * 32 >= size
    assert estimate <= tokens_ceiling(text)


@given(lines, lines)
@example("7,A\n" * 200, ",,,\n" * 200)
def test_lines_add_up(first: str, second: str) -> None:
    joined = estimate_tokens(first + second)

    assert joined <= estimate_tokens(first) + estimate_tokens(second) + 2
    assert joined >= estimate_tokens(first) + estimate_tokens(second) - 8


@given(any_text, st.integers(1, 40))
def test_blocks_are_invisible(text: str, size: int) -> None:
    whole = estimate_tokens(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "_BLOCK_CHARS", size)
        assert estimate_tokens(text) == whole


def test_an_ordinary_small_text_is_known_to_fit_without_counting() -> None:
    assert tokens_ceiling("x" * 2_048) < 2_000


def test_no_character_counts_more_than_three_tokens() -> None:
    dearest_pair = max(tokens._SCRIPT_WEIGHTS)
    for code in range(0x80, 0x10000, 64):
        data = chr(code).encode("utf-8", "surrogatepass")
        besides = block_tables()[code >> 6 & 3][code >> 8]
        assert tokens._DEAREST + tokens._LEAD_WEIGHTS[data[0]] + len(data) * dearest_pair + besides <= 3 * 128, hex(
            code
        )


def test_rare_characters_are_never_in_a_row_that_is_not_looked_at() -> None:
    for characters in tokens._rare():
        found = characters.findall("".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])))
        assert found
        assert all(tokens._may_have_rare(one) for one in found)


def _log(draw: random.Random) -> str:
    return "\n".join(
        f"2026-01-{draw.randint(1, 28):02} 12:{draw.randint(0, 59):02}:07,{draw.randint(0, 999):03} WARN "
        f"[worker-{draw.randint(1, 9)}] cache: key user:{draw.randint(1, 99999)} expired after {draw.random():.3f}s"
        for _ in range(60)
    )


def _records(draw: random.Random) -> str:
    rows = [{"id": draw.getrandbits(30), "name": "north gate", "open": True, "load": draw.random()} for _ in range(50)]
    return json.dumps(rows, indent=2)


def _base64(draw: random.Random) -> str:
    return b64encode(draw.randbytes(3_000)).decode()


def _code(draw: random.Random) -> str:
    from pathlib import Path

    return Path(json.__file__).with_name("decoder.py").read_text(encoding="utf-8")


def _prose(draw: random.Random) -> str:
    return (
        "The harbour was quiet when the first of the boats came home. Nobody had expected them before the "
        "evening, and the few people on the quay stopped what they were doing to watch. There had been a storm "
        "in the night; two of the masts were broken, and a torn sail hung over the side like washing.\n\n"
    ) * 8


def _cjk(draw: random.Random) -> str:
    return (
        "这个程序把工具的全部输出保存下来，只把最重要的部分交给模型。如果需要更多内容，可以按行号继续读取。\n"
        "このプログラムは出力をすべて保存し、重要な部分だけを表示します。必要なら続きを読むことができます。\n"
        "이 프로그램은 전체 출력을 저장하고 중요한 부분만 보여 줍니다. 필요하면 나머지를 읽을 수 있습니다.\n"
    ) * 8


@pytest.mark.parametrize("text_of", [_prose, _code, _log, _records, _base64, _cjk])
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_never_far_under_a_real_tokenizer(text_of: Callable[[random.Random], str], encoding: str) -> None:
    text = text_of(random.Random(11))
    real = exact(bpe_openai.get_encoding(encoding))(text)

    # One number can't serve both where the older encoding makes half as many tokens again.
    most = 1.9 if text_of is _cjk and encoding == "o200k_base" else 1.2
    assert 0.85 * real <= estimate_tokens(text) <= most * real


DRAWN = {
    "spinner": "⠋ building core\n⠙ building core\n⠹ fetch 12 of 72\n⠸ idle tree\n",
    "spinner, redrawn": "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
    "braille plot": "⠀⡠⠊⠉⠒⠤⣀⣤⣶⣿⣷⡀⢸⠱⡈⢆\n",
    "box table": "┌──────┬───────┐\n│ name │ 12 ms │\n├──────┼───────┤\n│ core │  9 ms │\n└──────┴───────┘\n",
    "bars": "fetch ███████▋░░░░░░░ 48%\nfetch █████████▎░░░░░ 60%\nlinking ███▊░░░ 30%\n",
    "sparkline": "idle ▁▂▇█▅▃▂▁▄▆█▇▂▁▃\nload ▃▅▂▁▇█▇▆▂▄▁▂▃▅▁\n",
    "QR code": "█▀▀▀▀▀█ ▄▀█ █▀▀▀▀▀█\n█ ███ █ ▀▄▄ █ ███ █\n",
    "shapes": "■ core □□■\n▲ test ○●●\n◆ docs ○○●\n▶ lint ◐◌\n",
    "arrows": "a → b ⇒ c ↳ d ⟶ e ↑↓←\n",
    "marks of tests": "✓ opens (3 ms)\n✗ closes (12 ms)\n❯ waits\n✔ ends ➜ 9\n",
    "mathematics": "∀x∈ℝ: ∑ₙ xⁿ ≤ α² ∧ ∂f ≈ ∅ ⇒ x₁ ± 3·10⁻²\n",
    "emoji": "👍🏽 fine\n👩‍💻 works\n🧪 test 🚀\n🇩🇪 host ⚠️\n",
    "icons of a terminal": "\ue0b0 main \ue0a0 ~/src \uf015 home \uf121 code \U000f0320 py\n",
    "fullwidth": "ｂｕｉｌｄ：１２（％）\nｆｅｔｃｈ！７２\n",
    "rare ideographs": "㐀㐁㑇㒥㗊㝵䀀䁖䌷䘛\n",
    "Traditional Chinese": "伺服器啟動失敗：無法連線到資料庫，請檢查設定檔中的位址與連接埠。系統已經重試三次，"
    "最後一次錯誤發生在凌晨兩點十五分。完整的記錄儲存在記錄目錄中，您可以使用搜尋指令尋找關鍵字，或讀取指定的行數。\n",
    "Thai": "ไม่สามารถเชื่อมต่อกับฐานข้อมูลได้ โปรดตรวจสอบที่อยู่และพอร์ตในไฟล์การตั้งค่า\n",
    "Hebrew": "לא ניתן להתחבר למסד הנתונים. בדוק את הכתובת והיציאה בקובץ ההגדרות.\n",
    "Georgian": "მონაცემთა ბაზასთან დაკავშირება ვერ მოხერხდა. შეამოწმეთ მისამართი და პორტი.\n",
    "Telugu": "డేటాబేస్‌కు కనెక్ట్ కాలేకపోయింది. సెట్టింగ్‌ల ఫైల్‌లో చిరునామాను తనిఖీ చేయండి.\n",
}


@pytest.mark.parametrize("text", DRAWN.values(), ids=DRAWN.keys())
@pytest.mark.parametrize("encoding", ["o200k_base", "cl100k_base"])
def test_never_far_under_where_tools_draw_or_write_in_other_scripts(text: str, encoding: str) -> None:
    assert estimate_tokens(text * 40) >= 0.85 * exact(bpe_openai.get_encoding(encoding))(text * 40)


class Words:
    """A tokenizer of words that takes only so much at once, as some do."""

    def __init__(self) -> None:
        self.pieces: list[str] = []

    def encode(self, text: str) -> list[str]:
        text.encode()  # refuses lone surrogates
        self.pieces.append(text)
        return text.split()


class Counting:
    def count(self, text: str) -> int:
        return len(text)


def test_exact_asks_a_tokenizer_for_its_own_number() -> None:
    text = "a special word: <|endoftext|> and more"
    encoding = bpe_openai.get_encoding("o200k_base")

    assert exact(encoding)(text) == len(encoding.encode_ordinary(text))
    assert exact(Words())(text) == 6
    assert exact(Counting())(text) == len(text)
    assert exact(Words())("") == 0


def test_exact_cuts_long_texts_at_line_borders() -> None:
    words = Words()
    text = "one two three\n" * 20_000

    assert exact(words)(text) == 60_000
    assert len(words.pieces) > 1
    assert all(piece.endswith("\n") for piece in words.pieces)
    assert "".join(words.pieces) == text


def test_exact_counts_what_one_call_would_refuse() -> None:
    encoding = bpe_openai.get_encoding("o200k_base")

    assert exact(encoding)("0 a\n" * 150_000) > 200_000


@given(st.text(st.characters(exclude_categories=()), max_size=50))
@example("a\ud83d b \ude00")
@example("\ud83d\ude00")
def test_exact_survives_lone_surrogates(text: str) -> None:
    for encoding in (bpe_openai.get_encoding("o200k_base"), Words()):
        assert exact(encoding)(text) >= (1 if text.strip() else 0)


@pytest.mark.parametrize("wrong", [None, 3, "o200k_base", object()])
def test_exact_refuses_what_is_no_tokenizer(wrong: object) -> None:
    with pytest.raises(PolicyError, match="encode_ordinary"):
        exact(wrong)
