"""The Offhook API: `Offhook` and `AsyncOffhook` have a method for each operation of the reference."""

from ._client import AsyncOffhook, Offhook
from ._errors import ApiConnectionError, ApiError, OffhookError, WebhookSignatureError
from ._generated.types import UNSET, File
from ._webhooks import construct_event

__all__ = [
    "UNSET",
    "ApiConnectionError",
    "ApiError",
    "AsyncOffhook",
    "File",
    "Offhook",
    "OffhookError",
    "WebhookSignatureError",
    "construct_event",
]
