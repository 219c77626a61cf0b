"""What goes wrong on the way to a server at an address, in words: what has happened, and what to do.

Guarantees: nothing that a header or the address may hide stands in them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from overspill.core.notice import one_line
from overspill.mcp import wire
from overspill.mcp.address import shown_url
from overspill.mcp.wire import Raw

if TYPE_CHECKING:
    import httpx

REFUSED = -32000
CONNECT_SECONDS = 30
_MOST_WORDS_BYTES = 65_536
_ADVICE = {401: "; give --header 'Authorization: Bearer ${TOKEN}'", 403: "; the --header given may not do this"}


def answered_with(got: httpx.Response, url: str, words: str = "") -> str:
    """Of an answer that is none; ``words`` are the server's."""
    more = (f" and says {words!r}" if words else "") + _ADVICE.get(got.status_code, "")
    if 300 <= got.status_code < 400:
        there = got.request.url.join(got.headers.get("location", ""))
        more = f" and points to {shown_url(str(there))}; use that as --url if it is meant"
        if there == got.request.url:
            more = " and points to itself: that is for whoever runs it to mend"
    return f"the server at {shown_url(url)} answered {got.status_code}{more}"


def error_of(body: bytes) -> Raw | None:
    """The error of JSON-RPC that a body is; gateways and OAuth have members of that name for other things."""
    said = wire.members(body) if body.lstrip()[:1] == b"{" else None
    error = wire.decoded(said["error"]) if said and "error" in said else None
    if not said or not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return None
    code = error.get("code")
    return said["error"] if isinstance(code, int) and not isinstance(code, bool) else None


def words_of(body: bytes, hidden: Iterable[str]) -> str:
    """What a refusal that is JSON says, on one line; nothing when it repeats any of what is hidden."""
    said = wire.decoded(body) if body.lstrip()[:1] == b"{" and len(body) <= _MOST_WORDS_BYTES else None
    words: Any = said
    for _ in range(3):
        if isinstance(words, dict):
            named = (words.get(name) for name in ("error_description", "error", "message", "detail"))
            words = next((word for word in named if word), None)
    if not isinstance(words, str):
        return ""
    return "" if any(word in words for word in hidden) else one_line(words, 200)


def moved_to(got: httpx.Response) -> str | None:
    """A redirect within the origin: elsewhere the given headers may not go."""
    if got.status_code not in (307, 308):
        return None
    old = got.request.url
    new = old.join(got.headers.get("location", ""))
    return str(new) if (new.scheme, new.host, new.port) == (old.scheme, old.host, old.port) else None


def is_lost_session(status: int, body: bytes) -> bool:
    """404, says the protocol; servers after an early example of its SDK say so in the words of a 400."""
    return status == 404 or (status == 400 and b"session" in body[:2_000].lower())


def in_words(fault: Exception, url: str) -> str:
    """What has happened to a request, and what to do; without anything that a header or the address may hide."""
    import httpx

    where, said = f"the server at {shown_url(url)}", str(fault)
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return f"{where} has a certificate that nobody here vouches for: set SSL_CERT_FILE to its authority's"
    if "[SSL" in said:
        return f"{where} does not speak TLS: check whether --url should begin with http://"
    if isinstance(fault, httpx.ConnectTimeout):
        return f"{where} can't be reached: no connection within {CONNECT_SECONDS} s; check --url"
    if isinstance(fault, httpx.ConnectError):
        return f"{where} can't be reached: {said}; check --url, and whether it runs"
    if isinstance(fault, httpx.TransportError):
        return f"{where} broke off before it had answered ({type(fault).__name__}): ask again"
    return f"{where} can't be asked: {type(fault).__name__}"
