"""An OpenAI-compatible server on loopback around the tiny model of `fake_language_model`, with faults to plant.

Each fault is a field of `Fault`; without one the server is sound: it refuses what does not fit, reuses beginnings at
their positions, and answers requests at the same time as alone. Characters are tokens.
"""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

import numpy as np
from fake_language_model import ALPHABET, Cache, Model, decode, encode

Manner = Literal[
    "",
    "stall",
    "drops",
    "rubbish",
    "list",
    "endless",
    "redirect",
    "broken",
    "closed",
    "busy",
    "silent",
    "mute",
    "half",
    "late",
    "babble",
]


@dataclass
class Fault:
    """What is wrong with a server.

    Args:
        cut: where it drops what does not fit, instead of refusing: "head", "middle" or "tail"
        kept: of the head where the middle is cut; half of what there is room for where not given, [token]
        admits: whether it counts the tokens that are left, rather than those that were sent
        reuse_offset: added to the positions that follow a cached beginning
        decode_offset: added to the positions of generated tokens
        mixed: requests at the same time get each other's answers
        noise: of the logits, drawn anew for each answer, [logit]
        count: makes the count of prompt tokens from the right one
        busy: every second request is answered 429
        wait: how long it asks to be left alone then
        manner: how it misbehaves once `after` completions were answered
        after: how many completions are answered well
        shift: drops the oldest tokens when an answer reaches the window, and goes on
        refuses_from: a length from which prompts are refused, below the window
    """

    cut: Literal["", "head", "middle", "tail"] = ""
    kept: int | None = None
    admits: bool = False
    reuse_offset: int = 0
    decode_offset: int = 0
    mixed: bool = False
    noise: float = 0.0
    count: Any = None
    busy: bool = False
    wait: str = "0"
    manner: Manner = ""
    after: int = 0
    shift: bool = False
    refuses_from: int = 10**9
    reason: str = "too long"


@dataclass
class Features:
    """What a server offers."""

    window: int = 640
    declares: bool = True
    declared: int = 0  # another window than it has
    completions: bool = True
    chat: bool = True
    logprobs: bool = True
    ids: bool = True
    lists: bool = True
    echo: bool = True
    cached_tokens: bool = True
    cache: bool = True
    bypass: bool = True
    tokenize: bool = True
    slots: int = 1
    repeats: bool = False  # a "model" that repeats canaries
    key: str = ""
    delay: float = 0.0
    streams: bool = False
    between: float = 0.0  # parts of a stream, [s]
    forces: bool = False  # a bias decides what is generated; tokens are named by id, with log-probabilities
    biased: bool = False  # and these are those after the bias


class FakeServer:
    """The state of a running server: its cache, and what it was asked."""

    def __init__(self, fault: Fault, features: Features) -> None:
        self.fault, self.features = fault, features
        self.model = Model()
        self.caches: list[Cache] = []
        self.lock = threading.Lock()
        self.requests = self.completions = self.tokens = 0
        self.draw = np.random.default_rng(7)
        self.waiting: list[dict[str, Any]] = []
        self.url = ""

    def complete(self, ids: list[int], steps: int, *, use_cache: bool, bias: dict[str, float]) -> dict[str, Any]:
        """The greedy answer to a prompt that fits: text, scores, cached tokens."""
        fault = self.fault
        with self.lock:
            cache, kept = Cache(), 0
            if self.features.cache and use_cache:
                best = max(self.caches, key=lambda each: _shared(each.ids, ids), default=Cache())
                kept = min(_shared(best.ids, ids), len(ids) - 1)
                cache = best.cropped(kept)
            position = kept + (fault.reuse_offset if kept else 0)
            logits = self.model.read(ids[kept:], cache, position)
            position += len(ids) - kept + fault.decode_offset
            chosen, scores = [], []
            for _ in range(steps):
                if len(ids) + len(chosen) >= self.features.window and not fault.shift:
                    break
                noisy = logits + self.draw.normal(size=logits.shape) * fault.noise
                values = noisy - noisy.max()
                values -= np.log(np.exp(values).sum())
                moved = values.copy()
                for number, more in bias.items():
                    moved[int(number)] += more
                chosen.append(int(moved.argmax()))
                values = (
                    moved - np.log(np.exp(moved - moved.max()).sum()) - moved.max() if self.features.biased else values
                )
                best = dict.fromkeys([*np.argsort(-values)[:5], chosen[-1]])
                scores.append({ALPHABET[number]: float(values[number]) for number in best})
                if len(chosen) < steps:
                    logits = self.model.read([chosen[-1]], cache, position)
                    position += 1
            if self.features.cache:
                self.caches = [*self.caches, cache][-self.features.slots :]
        text = decode(chosen)
        if self.features.repeats:
            text = _recall(decode(ids))
        return {"text": text, "ids": chosen, "scores": scores, "cached": kept}

    def echoes(self, ids: list[int]) -> list[dict[str, float]]:
        """For each token but the first: its own log-probability, and the likeliest token's."""
        cache, found = Cache(), []
        for at in range(len(ids) - 1):
            values = self.model.read([ids[at]], cache, at)
            values = values - values.max() - np.log(np.exp(values - values.max()).sum())
            best, own = int(values.argmax()), ids[at + 1]
            found.append({ALPHABET[own]: float(values[own]), ALPHABET[best]: float(values[best])})
        return found

    def fitted(self, ids: list[int]) -> tuple[list[int], str]:
        """What is read of a prompt, and the reason where it is refused."""
        room = self.features.window - 1
        if len(ids) >= self.fault.refuses_from:
            return ids, self.fault.reason
        if len(ids) <= room:
            return ids, ""
        kept = room // 2 if self.fault.kept is None else self.fault.kept
        if self.fault.cut == "head":
            return ids[-room:], ""
        if self.fault.cut == "tail":
            return ids[:room], ""
        if self.fault.cut == "middle":
            return ids[:kept] + ids[kept - room :], ""
        return ids, f"{len(ids)} tokens exceed the window of {self.features.window}"


def _shared(one: list[int], other: list[int]) -> int:
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def _recall(text: str) -> str:
    """What a model answers that can repeat canaries: by their words, from what it was given alone."""
    asked = text.rstrip("\n").rsplit("The code of note ", 1)[-1].split(" ")[0]
    _, found, rest = text.partition(f"The code of note {asked} is ")
    return f" {rest[:5]}." if found and rest[:1].isdigit() else " unknown, I fear"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer: two would wait for each other
    state: FakeServer

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        features = self.state.features
        self.state.requests += 1
        entry: dict[str, Any] = {"id": "tiny", "object": "model"}
        if features.declares:
            entry["max_model_len"] = features.declared or features.window
        self.send_json(200, {"object": "list", "data": [entry]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        state, features = self.state, self.state.features
        with state.lock:
            state.requests += 1
            number = state.requests
        if features.key and self.headers.get("Authorization") != f"Bearer {features.key}":
            return self.send_json(401, {"error": {"message": "invalid key"}})
        if state.fault.busy and number % 2:
            return self.send_json(429, {"error": {"message": "too many requests"}}, {"Retry-After": state.fault.wait})
        path = self.path
        if path == "/tokenize" and features.tokenize:
            return self.send_json(200, {"tokens": encode(body["content"])})
        if path == "/detokenize" and features.tokenize:
            return self.send_json(200, {"content": decode(body["tokens"])})
        if path == "/v1/completions" and features.completions:
            return self.answer(body, chat=False)
        if path == "/v1/chat/completions" and features.chat:
            return self.answer(body, chat=True)
        return self.send_json(404, {"error": {"message": f"no {path}"}})

    def answer(self, body: dict[str, Any], *, chat: bool) -> None:
        state, features = self.state, self.state.features
        with state.lock:
            state.completions += 1
            misbehaves = state.completions > state.fault.after
        if misbehaves and state.fault.manner:
            return self.misbehave(body)
        time.sleep(features.delay)
        if "logprobs" in body and not features.logprobs:
            return self.send_json(400, {"error": {"message": "logprobs are not supported"}})
        if not features.bypass and {"cache_prompt", "cache_salt"} & body.keys():
            return self.send_json(400, {"error": {"message": "unknown setting"}})
        given = "".join(f"<{m['role']}>{m['content']}\n" for m in body["messages"]) + "<assistant>" if chat else None
        prompts = [given] if chat else body["prompt"]
        if not chat and (isinstance(prompts, str) or all(isinstance(each, int) for each in prompts)):
            prompts = [prompts]
        if len(prompts) > 1 and not features.lists:
            return self.send_json(400, {"error": {"message": "one prompt at a time"}})
        choices, usage = [], {"prompt_tokens": 0, "completion_tokens": 0}
        for index, prompt in enumerate(prompts):
            if not isinstance(prompt, str) and not features.ids:
                return self.send_json(400, {"error": {"message": "prompt must be text"}})
            ids = encode(prompt) if isinstance(prompt, str) else prompt
            steps = body.get("max_tokens", 16)
            kept, refusal = state.fitted(ids)
            if refusal:
                return self.send_json(400, {"error": {"message": refusal}})
            bias = body.get("logit_bias", {}) if features.forces else {}
            found = state.complete(kept, steps, use_cache=body.get("cache_prompt", True), bias=bias)
            counted = len(kept) if state.fault.admits else len(ids)
            usage["prompt_tokens"] += counted if state.fault.count is None else state.fault.count(counted)
            usage["completion_tokens"] += len(found["ids"])
            if features.cached_tokens:
                usage["prompt_tokens_details"] = {"cached_tokens": found["cached"]}
            choices.append(self.choice(index, found, body, chat=chat, prompt=kept))
        if state.fault.mixed:
            choices = self.mixed(choices)
        if body.get("stream") and features.streams:
            return self.send_events(choices[0], usage, chat=chat)
        return self.send_json(200, {"choices": choices, "usage": usage})

    def choice(
        self, index: int, found: dict[str, Any], body: dict[str, Any], *, chat: bool, prompt: list[int]
    ) -> dict[str, Any]:
        choice: dict[str, Any] = {"index": index, "finish_reason": "length"}
        choice |= {"message": {"role": "assistant", "content": found["text"]}} if chat else {"text": found["text"]}
        if body.get("logprobs") and self.state.features.logprobs:
            tokens = [ALPHABET[number] for number in found["ids"]]
            own = [scores[token] for token, scores in zip(tokens, found["scores"], strict=True)]
            if chat:
                content = [
                    {
                        "token": token,
                        "logprob": scores[token],
                        "top_logprobs": [{"token": name, "logprob": value} for name, value in scores.items()],
                    }
                    for token, scores in zip(tokens, found["scores"], strict=True)
                ]
                choice["logprobs"] = {"content": content}
            elif self.state.features.forces:
                named = {
                    name: {"id": ALPHABET.index(name), "token": name, "logprob": value}
                    for name, value in found["scores"][0].items()
                }
                likely = list(named.values())[: body["logprobs"]]
                choice["logprobs"] = {"content": [{**named[tokens[0]], "top_logprobs": likely}]}
            else:
                tops: list[Any] = list(found["scores"])
                if body.get("echo") and self.state.features.echo:
                    echoes = self.state.echoes(prompt)
                    own = [None, *(next(iter(each.values())) for each in echoes), *own]
                    tokens = [ALPHABET[number] for number in prompt] + tokens
                    tops = [None, *echoes, *tops]
                choice["logprobs"] = {"tokens": tokens, "token_logprobs": own, "top_logprobs": tops}
        return choice

    def mixed(self, choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The answers of another request, where one is served at the same time or in the same list."""
        if len(choices) > 1:
            texts = choices[1:] + choices[:1]
            return [{**other, "index": mine["index"]} for mine, other in zip(choices, texts, strict=True)]
        state, slot = self.state, {"own": choices, "other": None}
        with state.lock:
            if state.waiting:
                other = state.waiting.pop()
                other["other"], slot["other"] = choices, other["own"]
            else:
                state.waiting.append(slot)
        end = time.monotonic() + 0.05
        while slot["other"] is None and time.monotonic() < end:
            time.sleep(0.002)
        with state.lock:
            if slot in state.waiting:
                state.waiting.remove(slot)
        return slot["other"] or choices

    def misbehave(self, body: dict[str, Any]) -> None:
        manner = self.state.fault.manner
        if manner == "stall":
            time.sleep(3)
            self.close_connection = True
        elif manner == "closed":
            self.close_connection = True
        elif manner == "broken":
            self.send_json(500, {"error": {"message": "out of memory"}})
        elif manner == "redirect":
            self.send_response(307)
            self.send_header("Location", "http://192.0.2.1/v1/completions")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif manner == "busy":
            self.send_json(429, {"error": {"message": "too many requests"}}, {"Retry-After": "0"})
        elif manner == "silent":
            self.send_json(400, {})
        elif manner == "mute":
            self.send_json(200, {"choices": [{"index": 0, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}})
        elif manner == "babble":  # well-formed, and with the right count
            self.send_json(
                200,
                {
                    "choices": [{"index": 0, "text": " quite so, quite so", "finish_reason": "stop"}],
                    "usage": {"prompt_tokens": len(body["prompt"])},
                },
            )
        elif manner in ("half", "late"):
            end = {"error": {"message": "out of memory"}} if manner == "late" else {"choices": [{"text": "b"}]}
            self.send_stream([{"choices": [{"text": "a"}]}, end])
        elif manner in ("rubbish", "list"):
            content = b"<html>fine</html>" if manner == "rubbish" else b'{"choices": [{"text": 5}]}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)
        else:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            size = 4096 if manner == "endless" else 1
            for _ in range(10**6):
                try:
                    self.wfile.write(f"{size:x}\r\n".encode() + b" " * size + b"\r\n")
                    self.wfile.flush()
                except OSError:
                    break
                if manner == "drops":
                    time.sleep(0.05)
            self.close_connection = True

    def send_events(self, choice: dict[str, Any], usage: dict[str, Any], *, chat: bool) -> None:
        """A character an event, then the usage."""
        text = choice["message"]["content"] if chat else choice["text"]
        parts = [{"delta": {"role": "assistant"}}] if chat else []
        parts += [{"delta": {"content": each}} if chat else {"text": each} for each in text]
        chunks = [{"choices": [part]} for part in parts]
        chunks.append({"choices": [{"delta": {}, "finish_reason": "length"}]})
        self.send_stream([*chunks, {"choices": [], "usage": usage}], b"data: [DONE]\n\n")

    def send_stream(self, chunks: list[dict[str, Any]], end: bytes = b"") -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
            self.wfile.flush()
            time.sleep(self.state.features.between)
        self.wfile.write(end)
        self.close_connection = True

    def send_json(self, status: int, data: Any, headers: dict[str, str] | None = None) -> None:
        content = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no error here."""


@contextmanager
def serving(fault: Fault | None = None, features: Features | None = None) -> Iterator[FakeServer]:
    """A server on loopback, on a port of its own, as long as the block lasts."""
    state = FakeServer(fault or Fault(), features or Features())
    handler = type("OwnHandler", (Handler,), {"state": state})
    server = QuietServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
