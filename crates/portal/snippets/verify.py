import hashlib
import hmac
import time


def verify(header: str, body: bytes, secret: str, now: float | None = None) -> bool:
    """Whether X-Service-Signature is a signature of the raw body, not older than five minutes."""
    items = [item.partition("=") for item in header.split(",")]
    times = [value for name, _, value in items if name == "t"]
    if len(times) != 1 or not (times[0].isascii() and times[0].isdigit()):
        return False
    if abs((time.time() if now is None else now) - int(times[0])) > 300:
        return False
    signed = times[0].encode() + b"." + body
    expected = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    # One that fits is enough: during a rotation there are several.
    return any(
        hmac.compare_digest(value.encode(), expected.encode())
        for name, _, value in items
        if name == "v1"
    )
