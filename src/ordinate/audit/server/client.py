"""Requests to a server, each of which ends: in a bounded answer, or in an error that says what went wrong."""

import asyncio
import threading
import time
from collections.abc import Coroutine, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal, TypeVar

import httpx2
import msgspec

from ordinate import __version__
from ordinate.audit.server.budget import Budget
from ordinate.audit.server.events import read_events
from ordinate.errors import InputError, Unavailable

Reason = Literal["connection", "timeout", "size", "rubbish", "redirect", "busy", "fault"]

_MESSAGE = 200
_LOOK = "start it, or look at the host, the port and the path, usually /v1, in --url"
T = TypeVar("T")


class ServerFault(Unavailable):
    """A request ended without an answer that can be used.

    Args:
        reason: "connection", "timeout", "size", "rubbish", "redirect", "busy" (429 again and again) or "fault" (5xx)
        message: the same in a sentence
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


@dataclass(frozen=True)
class Limits:
    """What one request may take.

    Args:
        wait: from sending to the last byte of the answer, [s]
        connect: until a connection stands, [s]
        size: of an answer, [byte]
        busy: how often a request is sent while the server answers 429
        faults: how often a request is sent while it answers 5xx or closes the connection
        pause: the longest wait before a request is sent again, whatever Retry-After says, [s]
    """

    wait: float = 300.0
    connect: float = 10.0
    size: int = 32 * 2**20
    busy: int = 10
    faults: int = 3
    pause: float = 20.0


@dataclass(frozen=True)
class Answer:
    """What a server said: the HTTP status and the JSON of the body, None where a refusal has none.

    Where `stream` was asked for and given, the data are the events: each with the time since the request, [s].
    """

    status: int
    data: Any

    @property
    def message(self) -> str:
        """The reason that a refusal gives, in one line."""
        data = self.data
        for name in ("error", "message", "detail"):
            if isinstance(data, dict) and data.get(name):
                data = data[name]
        text = data if isinstance(data, str) else str(data) if data else ""
        return " ".join(text.split())[:_MESSAGE] or "no reason given"


class Client:
    """Sends JSON to one server, alone or several requests at a time; a context manager.

    No redirect is followed, no proxy or netrc of the environment is used, and the key goes to this server alone.

    Args:
        url: of the API, as a client of OpenAI's would be given it: "http://127.0.0.1:8080/v1"
        key: sent as a bearer token; none where not given
        limits: of one request
        budget: of all together

    Attributes:
        repeated: how many answers of each kind made a request be sent again, or given up

    Raises:
        InputError: a URL that is not http or https, or has a user, a query or a fragment in it
    """

    def __init__(self, url: str, *, key: str | None = None, limits: Limits | None = None, budget: Budget) -> None:
        self.url = _checked(url)
        self.limits = limits or Limits()
        self.budget = budget
        headers = {"User-Agent": f"ordinate/{__version__}", "Accept-Encoding": "identity"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        self._headers = headers
        self.repeated: dict[Reason, int] = {"busy": 0, "fault": 0, "connection": 0}

    def __enter__(self) -> "Client":
        # A loop of its own, so that the audit can be called from a notebook, which runs one already.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ordinate-audit-server", daemon=True)
        self._thread.start()
        timeout = httpx2.Timeout(self.limits.wait, connect=self.limits.connect)
        self._http = httpx2.AsyncClient(
            headers=self._headers,
            timeout=timeout,
            follow_redirects=False,
            trust_env=False,
            # No redirect leads from http to https, and reading the certificates takes a tenth of a second.
            verify=self.url.startswith("https"),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def root(self) -> str:
        """The server's address without the last part of the API's path."""
        return self.url.rsplit("/", 1)[0] if self.url.endswith("/v1") else self.url

    def get(self, path: str) -> Answer:
        """Fetch JSON; `path` begins with "/" and follows the URL of the API.

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        return self._run(self._send("GET", self.url + path, None, 0))

    def post(self, path: str, body: dict[str, Any], tokens: int = 0, *, base: str | None = None) -> Answer:
        """Send JSON and return the answer; a refusal (4xx but 429) is an answer.

        Args:
            path: follows the URL of the API, or `base`
            body: what is sent
            tokens: about how many it costs
            base: another address on the same server

        Raises:
            ServerFault: no answer that can be used
            Spent: the budget does not allow it
        """
        return self._run(self._send("POST", (base or self.url) + path, body, tokens))

    def post_together(self, path: str, bodies: Sequence[dict[str, Any]], tokens: int) -> list[Answer]:
        """Send several requests at the same time, and return the answers in the order of the requests.

        Raises:
            ServerFault: no usable answer to one of them
            Spent: the budget does not allow one of them
        """
        return self._run(self._together(path, bodies, tokens))

    async def _together(self, path: str, bodies: Sequence[dict[str, Any]], tokens: int) -> list[Answer]:
        sent = (self._send("POST", self.url + path, body, tokens) for body in bodies)
        # All are waited for: one that fails leaves none behind it that goes on.
        answers = await asyncio.gather(*sent, return_exceptions=True)
        found: list[Answer] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            found.append(answer)
        return found

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def _close(self) -> None:
        await self._http.aclose()

    async def _send(self, method: str, address: str, body: dict[str, Any] | None, tokens: int) -> Answer:
        busy = faults = 0
        streams = body is not None and body.get("stream") is True
        while True:
            self.budget.take(tokens)
            try:
                sent = time.monotonic()
                status, headers, content, times = await self._once(method, address, body)
            except httpx2.TransportError as error:
                faults += 1
                self.repeated["connection"] += 1
                if faults >= self.limits.faults or isinstance(error, httpx2.TimeoutException):
                    raise _lost(address, error) from error
                await self._pause(None, faults, address)
                continue
            if status == 429:
                busy += 1
                self.repeated["busy"] += 1
                if busy >= self.limits.busy:
                    raise ServerFault("busy", f"{address} answered 429, too many requests, {busy} times in a row")
                await self._pause(headers.get("retry-after"), busy, address)
                continue
            if status >= 500 and status != 501:
                faults += 1
                self.repeated["fault"] += 1
                if faults >= self.limits.faults:
                    message = Answer(status, _json(content)).message
                    raise ServerFault("fault", f"{address} answered {status} {faults} times: {message}")
                await self._pause(headers.get("retry-after"), faults, address)
                continue
            if 300 <= status < 400:
                where = headers.get("location", "nowhere")[:_MESSAGE]
                raise ServerFault("redirect", f"{address} redirects to {where}, which is not followed: give that URL")
            if streams and status < 300 and headers.get("content-type", "").startswith("text/event-stream"):
                return Answer(status, read_events(content, times, sent))
            data = _json(content)
            if status < 300 and data is None:
                start = content[:40].decode("utf-8", "replace")
                raise ServerFault("rubbish", f"{address} must answer with JSON, got {start!r}")
            return Answer(status, data)

    async def _once(
        self, method: str, address: str, body: dict[str, Any] | None
    ) -> tuple[int, Any, bytes, list[tuple[int, float]]]:
        wait = min(self.limits.wait, self.budget.left())
        content = None if body is None else msgspec.json.encode(body)
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            # Timeouts of the client are for one read each: this one ends an answer that comes drop by drop too.
            async with asyncio.timeout(wait):
                request = self._http.stream(method, address, content=content, headers=headers)
                async with request as response:
                    if response.headers.get("content-encoding", "identity") != "identity":
                        raise ServerFault("rubbish", f"{address} answered compressed, which was not asked for")
                    parts, times = bytearray(), []
                    async for part in response.aiter_raw():
                        parts += part
                        times.append((len(parts), time.monotonic()))
                        if len(parts) > self.limits.size:
                            size = f"{self.limits.size} bytes"
                            raise ServerFault("size", f"{address} answered with more than {size}: given up")
                    return response.status_code, response.headers, bytes(parts), times
        except (TimeoutError, httpx2.TimeoutException) as error:
            self.budget.left()
            raise ServerFault("timeout", f"{address} did not answer in full within {wait:.3g} s") from error

    async def _pause(self, said: str | None, times: int, address: str) -> None:
        pause = min(0.25 * 2 ** (times - 1), self.limits.pause)
        if said is not None and said.isascii() and said.strip().isdigit():
            pause = float(said.strip())
            if pause > self.limits.pause:
                raise ServerFault("busy", f"{address} asks to wait {pause:g} s, more than {self.limits.pause:g} s")
        if pause > self.budget.left():
            raise ServerFault("busy", f"{address} asks to wait longer than the budget's time allows")
        await asyncio.sleep(pause)


def _checked(url: str) -> str:
    try:
        parsed = httpx2.URL(url)
    except httpx2.InvalidURL as error:
        raise InputError(f"url must be an address like http://127.0.0.1:8080/v1, got {url!r}: {error}") from error
    if parsed.scheme not in ("http", "https") or not parsed.host or not 0 < (parsed.port or 80) < 2**16:
        raise InputError(f"url must be an address like http://127.0.0.1:8080/v1, got {url!r}")
    if parsed.userinfo or parsed.query or parsed.fragment:
        raise InputError(f"url must have no user, query or fragment in it, got one for the host {parsed.host}")
    return str(parsed).rstrip("/")


def _json(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def _lost(address: str, error: httpx2.TransportError) -> ServerFault:
    if isinstance(error, httpx2.TimeoutException):
        return ServerFault("timeout", f"{address} could not be reached in time: {type(error).__name__}; {_LOOK}")
    what = " ".join(str(error).split()) or type(error).__name__
    return ServerFault("connection", f"{address} cannot be reached, or broke off: {what[:_MESSAGE]}; {_LOOK}")
