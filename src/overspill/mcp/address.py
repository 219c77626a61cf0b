"""A server at an address: its URL, the headers given for it, and what of both may be shown. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from overspill.errors import PolicyError


def checked_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise PolicyError("--url", shown_url(url), "an address that begins with http:// or https://")
    return url


def shown_url(url: str) -> str:
    """An address as it may be logged: it can carry secrets before the host and behind the path."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}{parts.path}"


def given_headers(lines: Iterable[str], env: Mapping[str, str]) -> dict[str, str]:
    """`Name: value` lines; ``${NAME}`` in a value is taken from the environment, so that no secret need be typed."""
    found = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+", name.strip()):
            raise PolicyError("--header", name[:40], "a line such as 'Authorization: Bearer ${TOKEN}'")
        for wanted in re.findall(r"\$\{(\w+)\}", value):
            if wanted not in env:
                raise PolicyError("--header", name, f"the variable {wanted} set: the line names it")
            value = value.replace("${" + wanted + "}", env[wanted])
        found[name.strip()] = value.strip()
    return found
