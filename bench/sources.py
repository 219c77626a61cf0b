"""Which project an annotated output comes from: figures on unseen sources leave all of its outputs out."""

from __future__ import annotations

import re

_PROJECTS = re.compile(r"flask|django|redis|lodash|networkx|chartjs|lang36|jq|numpy|rxjs|pydoc|trivy")


def source(name: str) -> str:
    found = _PROJECTS.search(name)
    return found.group() if found else name
