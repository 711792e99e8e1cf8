"""An OpenAI-compatible server on loopback that reads as an oracle does, with faults to plant. Bytes are tokens."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ordinate.validate.readers import Oracle
from ordinate.validate.tokenizers import ByteTokenizer

BYTES = ByteTokenizer()


@dataclass
class State:
    """What the server does.

    Args:
        keeps: it reads so many of the last tokens, and says nothing of it
        admits: it counts what it read, not what was sent
        busy: every second request is answered 429
        stalls: from this completion on it does not answer
        says: instead of an answer
        body: instead of JSON
        adds: to the count of prompt tokens
        template: tokens that its chat template counts for
    """

    keeps: int | None = None
    admits: bool = False
    busy: bool = False
    stalls: int | None = None
    says: str | None = None
    body: str | None = None
    adds: int = 0
    template: int = 9
    number: int = 0
    completions: int = 0


class Handler(BaseHTTPRequestHandler):
    state: State
    protocol_version = "HTTP/1.1"
    oracle, lock = Oracle(), threading.Lock()

    def log_message(self, format: str, *args: Any) -> None: ...

    def do_GET(self) -> None:
        self.reply(200, {"data": [{"id": "oracle", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state = self.state
        with self.lock:
            state.number += 1
            busy = state.busy and state.number % 2 == 0
        if busy:
            return self.reply(429, {"error": {"message": "busy"}})
        chat = self.path.endswith("/chat/completions")
        if not chat and not self.path.endswith("/completions"):
            return self.reply(404, {"error": {"message": "no such path"}})
        if {"logprobs", "top_logprobs", "echo", "stream"} & body.keys():
            return self.reply(400, {"error": {"message": "not offered"}})
        prompts = [body["messages"][0]["content"]] if chat else body["prompt"]
        if isinstance(prompts, str) or isinstance(prompts[0], int):
            prompts = [prompts]
        with self.lock:
            state.completions += 1
            stalls = state.stalls is not None and state.completions > state.stalls
        if stalls:
            time.sleep(30)
        if state.body is not None:
            return self.reply(200, state.body)
        choices, counted = [], 0
        for index, prompt in enumerate(prompts):
            ids = BYTES.encode(prompt) if isinstance(prompt, str) else list(prompt)
            read = ids if state.keeps is None else ids[-state.keeps :]
            text = self.oracle.answer(read, BYTES) if state.says is None else state.says
            content = {"message": {"role": "assistant", "content": f"Answer: {text}"}} if chat else {"text": f" {text}"}
            choices.append({"index": index, "finish_reason": "stop", **content})
            counted += (len(read) if state.admits else len(ids)) + state.adds + (state.template if chat else 0)
        return self.reply(200, {"choices": choices, "usage": {"prompt_tokens": counted, "completion_tokens": 9}})

    def reply(self, status: int, data: Any) -> None:
        content = data.encode() if isinstance(data, str) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content)


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The other side went away."""


@contextmanager
def serving(**faults: Any) -> Iterator[tuple[str, State]]:
    """The URL of a server, and what it does, which may be changed while it runs."""
    state = State(**faults)
    server = Quiet(("127.0.0.1", 0), type("Own", (Handler,), {"state": state}))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1", state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
