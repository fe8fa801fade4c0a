import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, ParamSpec, Protocol, TypeVar

import httpx

from ._errors import ApiConnectionError, ApiError, OffhookError
from ._generated.api import AsyncOperations, Operations
from ._generated.client import Client

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

_FIRST_DELAY = 0.5
_LAST_DELAY = 8.0
_SAFE_METHODS = ("GET", "PUT", "DELETE")
# Faults before a request has left.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
# The generated readers ask it only this.
_READER = Client("", raise_on_unexpected_status=True)


class Page(Protocol[T_co]):
    """One page of a list."""

    @property
    def data(self) -> Sequence[T_co]: ...
    @property
    def next_cursor(self) -> str | None: ...


class _Base:
    def __init__(
        self, api_key: str | None, base_url: str | None, max_retries: int, timeout: float, max_retry_after: float
    ) -> None:
        api_key = api_key or os.environ.get("OFFHOOK_API_KEY")
        if not api_key:
            raise ValueError("api_key: pass an API key, or set OFFHOOK_API_KEY")
        self._max_retries, self._max_retry_after = max_retries, max_retry_after
        self._settings: dict[str, Any] = {
            "base_url": base_url or os.environ.get("OFFHOOK_API_URL") or "http://127.0.0.1:8080",
            "headers": {"Authorization": f"Bearer {api_key}", "User-Agent": f"offhook-python/{version('offhook')}"},
            "timeout": timeout,
        }

    def _delay(self, request: httpx.Request, error: OffhookError, attempt: int) -> float:
        """The seconds until the request is sent again; raises the error if it is not."""
        if attempt >= self._max_retries or not _is_retryable(request, error):
            raise error
        retry_after = error.retry_after if isinstance(error, ApiError) else None
        if retry_after is None:
            return min(_LAST_DELAY, _FIRST_DELAY * 2.0**attempt) * random.uniform(0.5, 1)
        if retry_after > self._max_retry_after:
            raise error
        return retry_after


class Offhook(_Base, Operations):
    """A client of the API, with a method for each operation of the reference: `place_call`, `list_calls`, …

    `api_key` and `base_url` are by default the environment's `OFFHOOK_API_KEY` and `OFFHOOK_API_URL`. A request is sent
    again up to `max_retries` times, where that is safe. `timeout` is in seconds, for connecting and for each silence.
    A `Retry-After` of more than `max_retry_after` seconds is raised at once. `transport` and `sleep` are for proxies
    and tests.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = 3,
        timeout: float = 30,
        max_retry_after: float = 60,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        super().__init__(api_key, base_url, max_retries, timeout, max_retry_after)
        #: With the key and address; for streams: `offhook.http.stream("GET", "/v1/webhooks/stream", timeout=None)`.
        self.http = httpx.Client(**self._settings, transport=transport)
        self._sleep = sleep

    def __enter__(self) -> "Offhook":
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def paginate(
        self, operation: Callable[P, Page[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Iterator[T]:
        """Every item of a list, page after page: `for call in offhook.paginate(offhook.list_calls)`."""
        more: Any = {}
        while True:
            page = operation(*args, **{**kwargs, **more})
            yield from page.data
            if page.next_cursor is None:
                return
            more = {"cursor": page.next_cursor}

    def _send(self, request: dict[str, Any], parse: Callable[..., T | None]) -> T:
        built = _built(self.http, request)
        # A file is read once and sent in each attempt.
        built.read()
        attempt = 0
        while True:
            try:
                return _answer(self.http.send(built), parse)
            except httpx.RequestError as fault:
                error: OffhookError = _connection_error(built, fault)
            except ApiError as refused:
                error = refused
            self._sleep(self._delay(built, error, attempt))
            attempt += 1


class AsyncOffhook(_Base, AsyncOperations):
    """As `Offhook`, with coroutines."""

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        *,
        max_retries: int = 3,
        timeout: float = 30,
        max_retry_after: float = 60,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        super().__init__(api_key, base_url, max_retries, timeout, max_retry_after)
        self.http = httpx.AsyncClient(**self._settings, transport=transport)
        self._sleep = sleep

    async def __aenter__(self) -> "AsyncOffhook":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.http.aclose()

    async def paginate(
        self, operation: Callable[P, Awaitable[Page[T]]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncIterator[T]:
        """Every item of a list, page after page: `async for call in offhook.paginate(offhook.list_calls)`."""
        more: Any = {}
        while True:
            page = await operation(*args, **{**kwargs, **more})
            for item in page.data:
                yield item
            if page.next_cursor is None:
                return
            more = {"cursor": page.next_cursor}

    async def _send(self, request: dict[str, Any], parse: Callable[..., T | None]) -> T:
        built = _built(self.http, request)
        await built.aread()
        attempt = 0
        while True:
            try:
                return _answer(await self.http.send(built), parse)
            except httpx.RequestError as fault:
                error: OffhookError = _connection_error(built, fault)
            except ApiError as refused:
                error = refused
            await self._sleep(self._delay(built, error, attempt))
            attempt += 1


def _built(http: httpx.Client | httpx.AsyncClient, request: dict[str, Any]) -> httpx.Request:
    segments = request["url"].split("/")[1:]
    if not all(segments) or "." in segments or ".." in segments:
        raise ValueError(f"{request['url']}: a parameter of the path is empty")
    return http.build_request(**request)


def _connection_error(request: httpx.Request, fault: httpx.RequestError) -> ApiConnectionError:
    words = f"{request.method} {request.url}: {fault or type(fault).__name__}"
    error = ApiConnectionError(words, not isinstance(fault, _NOT_SENT))
    error.__cause__ = fault
    return error


def _answer(response: httpx.Response, parse: Callable[..., T | None]) -> T:
    """What is in an answer that says so; raises the error otherwise."""
    code, cause = "unexpected_response", None
    words = f"status {response.status_code} with a body that is not of the API"
    try:
        if response.is_success:
            parsed = parse(client=_READER, response=response)
            if parsed is not None:
                return parsed
        else:
            body = response.json()
            code, words = str(body["error"]), str(body["message"])
    except Exception as fault:
        cause = fault
    wait = response.headers.get("Retry-After", "")
    raise ApiError(
        words,
        response.status_code,
        code,
        response.headers.get("X-Request-Id"),
        int(wait) if wait.isascii() and wait.isdigit() else None,
    ) from cause


def _is_retryable(request: httpx.Request, error: OffhookError) -> bool:
    """Whether it may be sent again: at once where it had no effect, else only if it is safe to repeat."""
    is_safe = request.method in _SAFE_METHODS or "Idempotency-Key" in request.headers
    if isinstance(error, ApiConnectionError):
        return is_safe or not error.sent
    if not isinstance(error, ApiError):
        return False
    had_no_effect = (
        error.status == 429
        or error.code == "rate_limit_unavailable"
        or (error.status == 409 and error.retry_after is not None)
    )
    return had_no_effect or (is_safe and (error.status >= 500 or error.status < 300))
