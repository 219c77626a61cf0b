"""Configuration: files, the environment and flags become one frozen policy for each call.

``load`` reads once; ``Configuration.settle`` answers for one call.  Nothing here looks at the clock, the
working directory or the environment by itself: both are passed in.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from overspill.config.configuration import Configuration as Configuration
    from overspill.config.configuration import Settlement as Settlement
    from overspill.config.configuration import load as load

__all__ = ["Configuration", "Settlement", "load"]


def __getattr__(name: str) -> object:
    if name in __all__:
        from overspill.config import configuration

        return getattr(configuration, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
