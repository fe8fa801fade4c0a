"""The types of the API."""

from typing import TYPE_CHECKING, Any

from ._generated import models as _models

if TYPE_CHECKING:
    from ._generated.models import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(_models, name)
