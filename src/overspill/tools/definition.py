"""Wraps a function as a tool definition: arguments checked, run, the output bounded, the metadata filled in.

The result has the form ``{"title", "metadata", "output"}``.  What already carries ``metadata.truncated``
decided for itself and is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from overspill.core.model import Call
from overspill.tools.arguments import Arguments
from overspill.tools.running import called

if TYPE_CHECKING:
    from overspill.bounder import Bounder


class Definition:
    """What ``define`` gives: ``id``, ``description``, ``parameters`` and ``execute``."""

    def __init__(self, id: str, description: str, function: Callable[..., Any], bounder: Bounder) -> None:
        self.id = id
        self.description = description
        self._function = function
        self._bounder = bounder
        self._arguments = Arguments(id, function)

    @property
    def parameters(self) -> dict[str, Any]:
        return self._arguments.schema()

    async def execute(self, arguments: Mapping[str, Any] | str) -> dict[str, Any]:
        """Raises ``RequestError`` for wrong arguments, and what the function raises."""
        returned = await called(self._function, self._arguments.checked(arguments))
        result = self._formed(returned)
        if "truncated" in result["metadata"]:
            return result
        bounded = await self._bounder.abound(result["output"], Call(tool=self.id))
        added: dict[str, Any] = {"truncated": bounded.truncated}
        if bounded.truncated:
            added["outputPath"] = bounded.path or bounded.handle
        return {**result, "output": bounded.text, "metadata": {**result["metadata"], **added}}

    def _formed(self, returned: Any) -> dict[str, Any]:
        if isinstance(returned, Mapping) and "output" in returned:
            metadata = returned.get("metadata")
            return {
                "title": self.id,
                **returned,
                "metadata": dict(metadata) if isinstance(metadata, Mapping) else {},
            }
        return {"title": self.id, "metadata": {}, "output": "" if returned is None else returned}


def define(id: str, description: str, function: Callable[..., Any], *, bounder: Bounder | None = None) -> Definition:
    """A definition; without a bounder, by the ``opencode`` preset."""
    if bounder is None:
        from overspill.api import preset

        bounder = preset("opencode", tool=id)
    return Definition(id, description, function, bounder)
