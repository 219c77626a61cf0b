"""Takes secrets out of a stream before anything of it is written or shown.

Feed it any chunks: the result is that of the whole fed at once.  It looks through windows whose
places follow from the content alone, so a secret of up to ``LONGEST_SECRET_BYTES`` is found wherever it
stands, ``WINDOW_BYTES`` at most are held back, and time is linear in the input whatever the patterns.
What is replaced is visibly marked and counted; deciding whether to redact at all is left to the policy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from overspill.errors import PolicyError

LONGEST_SECRET_BYTES = 32 * 1024
WINDOW_BYTES = 8 * LONGEST_SECRET_BYTES
_GROUP_NAME = re.compile(r"\(\?P?<\w+>")


@dataclass(frozen=True, slots=True)
class Secret:
    """A kind of secret: the name that stands in its mark, and a pattern in RE2's syntax.

    Where the pattern has a group ``(?P<secret>…)`` only that part is replaced, else the whole match.
    """

    name: str
    pattern: str

    @property
    def mark(self) -> bytes:
        return f"[redacted: {self.name}]".encode()


_QUOTE = r"""\\*["']"""
_IS = rf"""(?:{_QUOTE})?\s{{0,4}}(?::|=>?|:=)\s{{0,4}}(?:{_QUOTE})?"""
_KEY_END = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

BUILT_IN = (
    Secret(
        "private key",
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
        # Two dashes end the body: beginnings without an end, one after another, must not each look at all that follows.
        # Lines may carry numbers, as those of a search do.
        rf"(?:(?:[A-Za-z0-9+/=:,.()\s\\]|-[A-Za-z0-9 ])*{_KEY_END}"
        r"|(?:(?:\s|\\n|\\r)*(?:[0-9]{1,9}[:-])?[A-Za-z0-9+/]{16,}=*)*)",
    ),
    Secret("aws key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    Secret("aws key", rf"(?i:aws_?secret_?(?:access_?)?key){_IS}(?P<secret>[A-Za-z0-9/+]{{40}})"),
    Secret("aws token", rf"(?i:aws_?session_?token|x-amz-security-token){_IS}(?P<secret>[A-Za-z0-9/+=%]{{100,}})"),
    Secret("google key", r"\bAIza[0-9A-Za-z_-]{35}"),
    Secret("google token", r"\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{28}"),
    Secret("azure key", r"\b(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,}={0,2})"),
    Secret("azure signature", r"[?&]sig=(?P<secret>[A-Za-z0-9%+/=]{40,})"),
    Secret("github token", r"\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}"),
    Secret("gitlab token", r"\bgl(?:pat|ptt|rt|dt)-[0-9A-Za-z_-]{20,}"),
    Secret("slack token", r"\bxox[abeoprs]-[0-9A-Za-z-]{10,}|\bxapp-[0-9]-[0-9A-Za-z-]{10,}"),
    Secret("slack webhook", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[A-Za-z0-9/]{20,})"),
    Secret("api key", r"\bsk-(?:ant|proj|or|svcacct|admin)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}"),
    Secret("stripe key", r"\b[rs]k_(?:live|test)_[0-9A-Za-z]{16,}"),
    Secret("npm token", r"\bnpm_[A-Za-z0-9]{36}"),
    Secret("pypi token", r"\bpypi-AgE[A-Za-z0-9_-]{50,}"),
    Secret("hugging face token", r"\bhf_[A-Za-z0-9]{30,}"),
    Secret("digitalocean token", r"\bdo[opr]_v1_[0-9a-f]{64}"),
    Secret("docker token", r"\bdckr_[po]at_[A-Za-z0-9_-]{20,}"),
    Secret("vault token", r"\bhv[sb]\.[A-Za-z0-9_-]{20,}"),
    Secret("age key", r"\bAGE-SECRET-KEY-1[0-9A-Z]{58}"),
    Secret("sendgrid key", r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    Secret("jwt", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"),
    Secret(
        "authorization",
        rf"(?i:\bauthorization{_IS}(?:bearer|basic|token|apikey|negotiate|digest)\s{{1,4}})"
        r"(?P<secret>[A-Za-z0-9._~+/=-]{6,})",
    ),
    Secret("authorization", r"(?i:\bbearer )(?P<secret>[A-Za-z0-9._~+/-]{24,}=*)"),
    Secret(
        "api key", rf"(?i:\bx-(?:goog-)?(?:api-key|auth-token|access-token)){_IS}(?P<secret>[A-Za-z0-9._~+/=-]{{12,}})"
    ),
    Secret(
        "url password",
        r"""://[^\s/:@"'<>`]*:(?P<secret>[^\s/@"'<>`${}]+)@""",
    ),
    Secret("url token", r"://(?P<secret>[A-Za-z0-9_-]{20,})@"),
    Secret(
        "url token",
        r"""[?&](?:access_token|auth_token|token|api_?key|client_secret|password|signature)"""
        r"""=(?P<secret>[^&\s"'<>`${}\\#\[]{8,})""",
    ),
    # An assignment counts where the value is quoted, or the name is that of an environment variable:
    # `token = next(tokens)` and `password: required` are no secrets.
    Secret(
        "password",
        r"(?i:(?:\b|_)(?:password|passwd|passphrase|secret|secret_?key|client_?secret|api_?key|auth_?token|access_?token))"
        rf"""(?:{_QUOTE})?\s{{0,4}}(?::|=>?|:=)\s{{0,4}}{_QUOTE}(?P<secret>[^\s"'\\${{}}<>`\[*]{{6,}})["'\\]""",
    ),
    Secret(
        "password",
        r"\b(?:[A-Z0-9_]*(?:PASSWORD|PASSWD|PASSPHRASE)|MYSQL_PWD"
        r"|(?:[A-Z0-9]+_)*(?:SECRET|SECRET_KEY|API_?KEY|AUTH_TOKEN|ACCESS_TOKEN|TOKEN))"
        r"""=(?P<secret>[^\s"'\\${}<>`\[*(;,]{6,})""",
    ),
    Secret("password", r"""\s--password[= ](?P<secret>[^\s"'${}<>`\[-][^\s"'${}<>`\[]{5,})"""),
)


class Redactor:
    """One pass over one output: ``feed`` gives back what is certain by now, ``finish`` the rest."""

    __slots__ = ("_any", "_before", "_held", "_secrets", "counts")

    def __init__(self, secrets: Iterable[Secret] = BUILT_IN) -> None:
        known = tuple(secrets)
        self._secrets = tuple((secret, *_compiled(secret)) for secret in known)
        self._any = _compiled_together(known)
        self._held = bytearray()
        self._before = b""
        self.counts: Counter[str] = Counter()

    @property
    def count(self) -> int:
        """How many secrets were replaced so far."""
        return self.counts.total()

    @property
    def held_bytes(self) -> int:
        return len(self._held)

    def feed(self, data: bytes) -> bytes:
        """The redacted text up to where more input could change it."""
        self._held += data
        if len(self._held) < WINDOW_BYTES:
            return b""
        out: list[bytes] = []
        at = 0
        while len(self._held) - at >= WINDOW_BYTES:
            at += self._window(bytes(self._held[at : at + WINDOW_BYTES]), WINDOW_BYTES - LONGEST_SECRET_BYTES, out)
        del self._held[:at]
        return b"".join(out)

    def finish(self) -> bytes:
        """What was held back."""
        out: list[bytes] = []
        rest, self._held = bytes(self._held), bytearray()
        self._window(rest, len(rest) + 1, out)
        return b"".join(out)

    def _window(self, window: bytes, starts_before: int, out: list[bytes]) -> int:
        """Decides about matches that start before there; the bytes that are done with."""
        text = self._before + window
        offset = at = len(self._before)
        limit = min(offset + starts_before, len(text))
        while at < limit:
            found = self._any.search(text, at) if self._any is not None else None
            if found is None or found.start() >= limit:
                break
            start, end, replaced = self._replaced(text, found.start())
            if end <= at:
                break
            out.append(text[at:start])
            out.append(replaced)
            at = end
        if at < limit:
            out.append(text[at:limit])
            at = limit
        # One byte of context: what a word boundary at the next window's start depends on.
        self._before = text[at - 1 : at]
        return at - offset

    def _replaced(self, text: bytes, start: int) -> tuple[int, int, bytes]:
        """The place and the replacement of the first kind of secret that matches exactly here."""
        for secret, pattern, group in self._secrets:
            match = pattern.match(text, start)
            if match is None or match.end() == start:
                continue
            first, last = match.span(group)
            if first < 0:
                first, last = match.span()
            self.counts[secret.name] += 1
            return start, match.end(), text[start:first] + secret.mark + text[last : match.end()]
        return start, start, b""


def redacted(data: bytes, secrets: Iterable[Secret] = BUILT_IN) -> bytes:
    """All of ``data`` at once."""
    redactor = Redactor(secrets)
    return redactor.feed(data) + redactor.finish()


_cache: dict[Secret, tuple[Any, int]] = {}
_together: dict[tuple[Secret, ...], Any] = {}


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.max_mem = 64 << 20
    return options


def _compiled(secret: Secret) -> tuple[Any, int]:
    """The pattern, and the number of the group to replace."""
    if secret not in _cache:
        import re2

        accepted = "a pattern in RE2's syntax that does not match the empty text"
        try:
            pattern = re2.compile(secret.pattern.encode(), _options())
        except re2.error as error:
            raise PolicyError(f"redact ({secret.name})", secret.pattern, f"{accepted} ({_words(error)})") from None
        if pattern.match(b""):
            raise PolicyError(f"redact ({secret.name})", secret.pattern, accepted)
        groups = {_words(name): number for name, number in pattern.groupindex.items()}
        _cache[secret] = (pattern, groups.get("secret", 0))
    return _cache[secret]


def _compiled_together(secrets: tuple[Secret, ...]) -> Any:
    """One pattern that says where any of them starts: most text is passed over at once."""
    if not secrets:
        return None
    if secrets not in _together:
        import re2

        # Names of groups may stand once only in a pattern, and nobody asks for them here.
        bare = (_GROUP_NAME.sub("(?:", secret.pattern) for secret in secrets)
        _together[secrets] = re2.compile("|".join(f"(?:{each})" for each in bare).encode(), _options())
    return _together[secrets]


def _words(said: object) -> str:
    if isinstance(said, Exception):
        said = said.args[0] if said.args else said
    return said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
