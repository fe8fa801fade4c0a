class OffhookError(Exception):
    """Every error that this package raises on purpose, except for faulty arguments (`ValueError`)."""


class ApiError(OffhookError):
    """The service refused or failed. Branch on `code`; the message is for people."""

    def __init__(self, message: str, status: int, code: str, request_id: str | None, retry_after: int | None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        #: The stable code, such as `agent_not_found`; `unexpected_response` if the answer is not one of the API.
        self.code = code
        self.request_id = request_id
        #: The seconds of the header `Retry-After`.
        self.retry_after = retry_after


class ApiConnectionError(OffhookError):
    """No complete answer: the connection failed, broke or timed out. `__cause__` is the fault."""

    def __init__(self, message: str, sent: bool) -> None:
        super().__init__(message)
        #: Whether the service may have received the request.
        self.sent = sent


class WebhookSignatureError(OffhookError):
    """The webhook is not to be trusted: answer 400 and do nothing else."""
