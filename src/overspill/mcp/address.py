"""A server at an address: its URL, the headers given for it, and what of both may be shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from overspill.errors import PolicyError

_PRINTABLE = re.compile(r"[\x21-\x7e]*")
_SCHEMES = ("basic", "bearer", "token")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(r"[\t\x20-\x7e]*")


def checked_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or an address in brackets that is none
        is_one = False
    if not is_one or not _PRINTABLE.fullmatch(url):
        raise PolicyError(
            "--url", shown_url(url), "an address such as https://host.example/mcp, special characters as %XX"
        )
    return url


def shown_url(url: str) -> str:
    """An address as it may be logged: it can carry secrets before the host and behind the path."""
    try:
        parts = urlsplit(url)
        if not parts.hostname:
            return url if url == parts.path and "@" not in url else f"{parts.scheme[:10]}:…".lstrip(":")
        return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"
    except ValueError:
        return url.partition("://")[0][:10] + "://…"


def hidden_words(url: str, given: Mapping[str, str]) -> list[str]:
    """What of an address and of the headers given for it is shown nowhere, word by word."""
    parts = urlsplit(url)
    texts = [*given.values(), parts.username or "", parts.password or "", *re.split("[&=]", parts.query)]
    return [word for text in texts for word in text.split() if len(word) > 3 and word.lower() not in _SCHEMES]


def shown_header(line: str) -> str:
    """A line as it may be repeated: a value that only names variables is no secret."""
    name, _, value = line.partition(":")
    return line if re.fullmatch(r"\s*([A-Za-z]+ )?\$\{\w+\}\s*", value) else f"{name}: …"


def given_headers(lines: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """`Name: value` lines; ``${NAME}`` in a value is taken from the environment, so that no secret need be typed."""
    found = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name.strip()):
            raise PolicyError("--header", "…", "a line such as 'Authorization: Bearer ${TOKEN}'; it is not shown here")
        for wanted in re.findall(r"\$\{(\w+)\}", value):
            if wanted not in env:
                raise PolicyError("--header", name, f"the variable {wanted} set: the line names it")
            value = value.replace("${" + wanted + "}", env[wanted])
        if not _VALUE.fullmatch(value.strip()):
            raise PolicyError("--header", name.strip(), "a value of printable ASCII on one line; it is not shown here")
        found[name.strip()] = value.strip()
    return found
