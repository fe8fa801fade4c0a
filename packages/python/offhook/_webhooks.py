import hashlib
import hmac
import json
import re
import time
from typing import Any

from ._errors import WebhookSignatureError

# The service sends at most six; each costs a comparison.
_MAX_SIGNATURES = 16


def construct_event(
    body: bytes, signature: str | None, secret: str, *, tolerance: float = 300, now: float | None = None
) -> dict[str, Any]:
    """The event of a webhook, once its signature is verified. Branch on its `type`.

    `body` is the request's body as received, before any parsing; `signature` is its header `X-Service-Signature`.
    `tolerance` is how many seconds the signature's time may differ from the clock, `now` (Unix seconds).

    Raises `WebhookSignatureError` if the event is not to be trusted.
    """
    times, signatures = [], []
    for element in (signature or "").split(","):
        name, is_pair, value = element.partition("=")
        if not is_pair:
            raise _malformed()
        if name == "t":
            times.append(value)
        if name == "v1":
            if not re.fullmatch("[0-9A-Fa-f]{64}", value):
                raise _malformed()
            signatures.append(value.lower())
    if len(times) != 1 or not re.fullmatch("[0-9]{1,15}", times[0]):
        raise _malformed()
    if not 1 <= len(signatures) <= _MAX_SIGNATURES:
        raise _malformed()
    if abs(int(time.time() if now is None else now) - int(times[0])) > tolerance:
        raise WebhookSignatureError("the signature's time is too far from the present")
    expected = hmac.new(secret.encode(), times[0].encode() + b"." + body, hashlib.sha256).hexdigest()
    # One match is enough: while a rotated secret still signs there are several.
    if not any(hmac.compare_digest(one, expected) for one in signatures):
        raise WebhookSignatureError("no signature in the header matches the body and the secret")
    event: dict[str, Any] = json.loads(body)
    return event


def _malformed() -> WebhookSignatureError:
    return WebhookSignatureError("the signature header is not of the form `t=<seconds>,v1=<hex>`")
