"""Redaction: secrets go before anything is kept, in any chunks alike, and what is not a secret stays."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overspill.core.redact import BUILT_IN, LONGEST_SECRET_BYTES, WINDOW_BYTES, Redactor, Secret, redacted
from overspill.errors import PolicyError

A = "abcdefghijklmnopqrstuvwxyz"
KEY_BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(["MIIEowIBAAKCAQEA" * 4] * 25) + "\n-----END RSA PRIVATE KEY-----"
)
# Each is (text, the part that must not survive, the name in the mark); put together so that no scanner minds them.
SECRETS = [
    ("id AKIA" + "QYLPMN5HHHFPZAM2 end", "QYLPMN5HHHFPZAM2", "aws key"),
    ("aws_secret_access_key = " + "x/Y9" * 10, "x/Y9x/Y9", "aws key"),
    ("k=AIza" + "Sy" + "D4k" * 11, "D4kD4k", "google key"),
    ("ya29." + A, A, "google token"),
    ("DefaultEndpointsProtocol=https;AccountKey=" + "Ab9+" * 21 + "==;", "Ab9+Ab9+", "azure key"),
    ("https://x.blob.core.windows.net/c?sv=1&sig=" + "a1%2B" * 10, "a1%2Ba1", "azure signature"),
    ("remote: ghp_" + "a1B2" * 9, "a1B2a1B2", "github token"),
    ("github_pat_" + "11AAA" * 6, "11AAA11AAA", "github token"),
    ("glpat-" + "x9-" * 8, "x9-x9-", "gitlab token"),
    ("xoxb-" + "123456789012-" + A, A, "slack token"),
    ("https://hooks.slack.com/services/T000/B000/" + A, A, "slack webhook"),
    ("OPENAI sk-proj-" + A + A, A, "api key"),
    ("sk-ant-" + "api03-" + A, A, "api key"),
    ("sk_live_" + A, A, "stripe key"),
    ("npm_" + "a1B2" * 9, "a1B2a1B2", "npm token"),
    ("hf_" + "aB" * 17, "aBaBaB", "hugging face token"),
    ("eyJhbGciOiJI.eyJzdWIiOiIx." + A, A, "jwt"),
    ("Authorization: Bearer " + A, A, "authorization"),
    ('"authorization": "Basic dXNlcjpwYXNz"', "dXNlcjpwYXNz", "authorization"),
    ('{\\"Authorization\\": \\"token ' + A + '\\"}', A, "authorization"),
    ("curl -H 'X-Api-Key: " + A + "'", A, "api key"),
    ("postgres://app:s3cr3t!@db/x", "s3cr3t!", "url password"),
    ("GET /x?a=1&access_token=" + A + "&b=2", A, "url token"),
    ('"password": "correct-horse"', "correct-horse", "password"),
    ('{\\"client_secret\\":\\"correct-horse\\"}', "correct-horse", "password"),
    ("export DB_PASSWORD=correct-horse", "correct-horse", "password"),
    ("PGPASSWORD=correct-horse psql", "correct-horse", "password"),
    ("https://" + A + "@github.com/owner/repository.git", A, "url token"),
    ("dop_" + "v1_" + "0a" * 32, "0a0a0a", "digitalocean token"),
    ("dckr_" + "pat_" + A, A, "docker token"),
    ("VAULT hvs." + A, A, "vault token"),
    ("AGE-SECRET-" + "KEY-1" + "QZ" * 29, "QZQZQZ", "age key"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0F\n\n" + KEY_BLOCK[32:],
        "MIIEow",
        "private key",
    ),
    ("mysql --password=correct-horse", "correct-horse", "password"),
    (KEY_BLOCK, "MIIEow", "private key"),
    (KEY_BLOCK.replace("\n", "\\n"), "MIIEow", "private key"),
    (KEY_BLOCK[:900], "MIIEow", "private key"),
]
PLAIN = """\
token = next(tokens)
password: str = field(repr=False)
def secret(self) -> None: ...
password=None, api_key=os.environ["API_KEY"]
PASSWORD=$DB_PASSWORD TOKEN=${TOKEN}
Enter password: (hidden)
http://localhost:8080/@scope/package
see https://example.com/a:b and mailto:me@example.com
class="sk-estimator-doc-link fitted" task-force-whatever-else-there-is
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
Authorization: required
git@github.com:owner/repository.git
ssh://git@github.com/owner/repository.git https://somebody@example.com/
OLDPWD=/home/somebody MAX_TOKENS=200000
npm_config_registry=https://packages.example/
-----BEGIN CERTIFICATE-----
MIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ
-----END CERTIFICATE-----
"""


@pytest.mark.parametrize(("text", "secret", "name"), SECRETS, ids=[f"{s[2]}-{n}" for n, s in enumerate(SECRETS)])
def test_secrets_go_and_leave_a_mark(text: str, secret: str, name: str) -> None:
    redactor = Redactor()
    out = redactor.feed(f"before\n{text}\nafter\n".encode()) + redactor.finish()
    assert secret.encode() not in out
    assert f"[redacted: {name}]".encode() in out
    assert out.startswith(b"before\n")
    assert out.endswith(b"after\n")
    assert redactor.counts == {name: 1}
    assert redactor.count == 1


def test_what_is_no_secret_stays() -> None:
    assert redacted(PLAIN.encode()) == PLAIN.encode()


def test_a_beginning_without_an_end_takes_nothing_of_the_next() -> None:
    # Nor does it look at all that follows: many in a row would take minutes.
    beginning = b"-----BEGIN RSA PRIVATE KEY-----\n"
    redactor = Redactor()
    out = redactor.feed(beginning + b"text\n" + KEY_BLOCK.encode() + b"\n" + beginning) + redactor.finish()
    mark = b"[redacted: private key]"
    assert out == mark + b"\ntext\n" + mark + b"\n" + mark + b"\n"
    assert redactor.count == 3


def test_the_name_beside_a_secret_stays_readable() -> None:
    assert redacted(b"DB_PASSWORD=correct-horse next") == b"DB_PASSWORD=[redacted: password] next"
    assert redacted(b"redis://u:hunter2@h/0") == b"redis://u:[redacted: url password]@h/0"


@settings(deadline=None, max_examples=60)
@given(
    parts=st.lists(
        st.one_of(st.sampled_from([s[0].encode() for s in SECRETS] + [PLAIN.encode()]), st.binary(max_size=40)),
        max_size=12,
    ),
    cuts=st.lists(st.integers(0, 6000), max_size=12),
    joined=st.sampled_from([b"", b" ", b"\n", b"x"]),
)
def test_chunking_is_invisible(parts: list[bytes], cuts: list[int], joined: bytes) -> None:
    data = joined.join(parts)
    assert fed(data, cuts) == redacted(data)


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 3 * WINDOW_BYTES), max_size=20))
def test_chunking_is_invisible_across_windows(seed: int, cuts: list[int]) -> None:
    chance = random.Random(seed)
    data = bytearray()
    while len(data) < 3 * WINDOW_BYTES:
        data += chance.choice([b"some words of a log\n" * chance.randrange(1, 400), chance.choice(SECRETS)[0].encode()])
    assert fed(bytes(data), cuts) == redacted(bytes(data))


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2, 9])
def test_a_secret_on_any_border_is_found(shift: int) -> None:
    secret = b" AKIA" + b"QYLPMN5HHHFPZAM2 "
    for border in (WINDOW_BYTES, WINDOW_BYTES - LONGEST_SECRET_BYTES, 2 * (WINDOW_BYTES - LONGEST_SECRET_BYTES)):
        data = b"." * (border - shift) + secret + b"." * WINDOW_BYTES
        assert redacted(data) == data.replace(b"AKIA" + b"QYLPMN5HHHFPZAM2", b"[redacted: aws key]")


@pytest.mark.parametrize("before_border", [100, 900, 1600])
def test_a_long_secret_across_a_border_goes_whole(before_border: int) -> None:
    for border in (WINDOW_BYTES, WINDOW_BYTES - LONGEST_SECRET_BYTES):
        data = b"." * (border - before_border) + b"\n" + KEY_BLOCK.encode() + b"\n" + b"." * WINDOW_BYTES
        assert redacted(data) == data.replace(KEY_BLOCK.encode(), b"[redacted: private key]")


def test_a_word_boundary_looks_behind_the_window() -> None:
    inside_a_word = b"xAKIA" + b"QYLPMN5HHHFPZAM2 "
    for start in range(-20, 3):
        data = b"x" * (WINDOW_BYTES - LONGEST_SECRET_BYTES + start) + inside_a_word + b" " * WINDOW_BYTES
        assert redacted(data) == data


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from([s[0].encode() for s in SECRETS] + [PLAIN.encode()]), max_size=8))
def test_twice_is_once(parts: list[bytes]) -> None:
    once = redacted(b"\n".join(parts))
    assert redacted(once) == once


@given(st.binary(max_size=3000))
def test_any_bytes_are_taken(data: bytes) -> None:
    redacted(data)


def test_own_patterns() -> None:
    own = (*BUILT_IN, Secret("ticket", r"TICKET-(?P<secret>[0-9]+)(?P<tail>[a-z]?)"))
    assert redacted(b"see TICKET-12345x, password='correct-horse'", own) == (
        b"see TICKET-[redacted: ticket]x, password='[redacted: password]'"
    )
    assert redacted(b"AKIA" + b"QYLPMN5HHHFPZAM2", ()) == b"AKIA" + b"QYLPMN5HHHFPZAM2"


@pytest.mark.parametrize("pattern", ["(", "x*", "", "a(?=b)"])
def test_a_wrong_pattern_is_refused_with_its_name(pattern: str) -> None:
    with pytest.raises(PolicyError, match="redact \\(mine\\)"):
        Redactor([Secret("mine", pattern)])


def test_hostile_patterns_and_text_stay_linear() -> None:
    text = b"a" * 200_000 + b"!"
    assert redacted(text, [Secret("evil", r"(a+)+$|(?:a|aa)+b")]) == text


def test_little_is_held_back() -> None:
    redactor, out = Redactor(), 0
    for _ in range(200):
        out += len(redactor.feed(b"words without secrets " * 1000))
        assert redactor.held_bytes <= WINDOW_BYTES
    assert out + len(redactor.finish()) == 200 * 22_000


def test_importing_loads_no_engine() -> None:
    code = "import sys, overspill.core.redact; sys.exit('re2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def fed(data: bytes, cuts: list[int]) -> bytes:
    redactor = Redactor()
    places = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    out = [redactor.feed(data[first:last]) for first, last in pairwise(places)]
    return b"".join(out) + redactor.finish()


@pytest.mark.parametrize("mark", [":", "-"])
@pytest.mark.parametrize("end", ["", "-----END RSA PRIVATE KEY-----"])
def test_a_private_key_whose_lines_are_numbered(mark: str, end: str) -> None:
    lines = ["-----BEGIN RSA PRIVATE KEY-----", *["MIIEpAIBAAKCAQEA0123456789abc"] * 3, *([end] if end else [])]
    numbered = "".join(f"{number}{mark}{line}\n" for number, line in enumerate(lines, 7)) + "-- more --\n"
    shown = redacted(numbered.encode())
    assert b"MIIE" not in shown
    assert shown.endswith(b"-- more --\n")
