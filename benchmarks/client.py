"""What the client of servers adds to a server's time, at 16 requests at a time.

    python benchmarks/client.py [--rounds 12] [--delay 2.0] [--write]

A server in a process of its own takes `delay` seconds for each request, as one does that reads 16 prompts of 4096
tokens at a time at 30,000 tokens a second and generates 16 of each: nine tenths before the first token, the rest
between the tokens, which it streams. It sends with each answer how long it took itself, from the last byte of the
request to the last of the answer. 16 threads, each begun a sixteenth of the delay after the one before, ask
`ordinate.validate.backends.server.Server` for so many rounds. What the client adds is the sum of the times that the
threads waited less the sum of what the server took, as a share of the latter: building the request, sending it,
waiting for turns, reading the stream, parsing. Beside it stands the CPU time of the client's process for each
request, which other work on the machine does not lengthen as it lengthens waiting.
"""

import argparse
import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from ordinate.bench import machine
from ordinate.validate.backends.server import Server
from ordinate.validate.builder import Prompt
from ordinate.validate.tokenizers import ByteTokenizer

RESULT = Path(__file__).resolve().parent / "results" / "client.json"
CONCURRENCY, TOKENS, ANSWER = 16, 4096, 16
BAR = 1.02


async def serve(delay: float) -> None:
    """Answer completions until standard input ends; the port is printed."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
                length = next((int(line[15:]) for line in head.split("\r\n") if line.startswith("content-length:")), 0)
                body = json.loads(await reader.readexactly(length)) if length else {}
                await answer(writer, head, body, time.perf_counter())
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(writer: asyncio.StreamWriter, head: str, body: dict[str, Any], began: float) -> None:
        prompt = body.get("prompt", "")
        long, count = len(prompt) >= TOKENS, body.get("max_tokens", 1)
        if long:
            await asyncio.sleep(0.9 * delay)
        if " /v1/completions " not in head:
            await send(writer, 404, b"{}")
            return
        usage = {"prompt_tokens": len(prompt), "completion_tokens": count}
        if not body.get("stream"):
            choice = {"text": "a" * count, "finish_reason": "length"}
            await send(writer, 200, json.dumps({"choices": [choice], "usage": usage}).encode())
            return
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        for number in range(count):
            choice = {"text": "a", "finish_reason": "length" if number == count - 1 else None}
            await part(writer, b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
            if long:
                await asyncio.sleep(0.1 * delay / count)
        # What the server took stands where the answer says that nothing was cached.
        usage["prompt_tokens_details"] = {"cached_tokens": round(1e6 * (time.perf_counter() - began)) if long else 0}
        await part(writer, b"data: " + json.dumps({"choices": [], "usage": usage}).encode() + b"\n\n")
        await part(writer, b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def part(writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        await writer.drain()

    async def send(writer: asyncio.StreamWriter, status: int, data: bytes) -> None:
        head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        writer.write(head.encode() + data)
        await writer.drain()

    server = await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**22)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def prompt(number: int) -> Prompt:
    draw = random.Random(number)  # noqa: S311 - nothing secret
    ids = tuple(draw.randrange(97, 122) for _ in range(TOKENS))
    settings = dict.fromkeys(("head", "tail", "filler_tokens", "index", "seed"), 0)
    return Prompt(
        ids=ids,
        text=ByteTokenizer().decode(ids),
        placed={},
        context=(0, 0),
        question=(0, TOKENS),
        mode="base",
        nonce=None,
        filler="prose",
        places="spread",
        length=TOKENS,
        reserve=ANSWER,
        task="passkey",
        **settings,
    )


def measured(url: str, rounds: int, delay: float) -> tuple[np.ndarray, np.ndarray, float]:
    """What each of 16 threads waited and the server took, [threads, rounds], [s]; and CPU time for a request, [s]."""
    prompts = [[prompt(1000 * thread + number) for number in range(rounds)] for thread in range(CONCURRENCY)]
    waited, took = np.zeros((2, CONCURRENCY, rounds))
    with Server(url, "delay", ByteTokenizer(), concurrency=CONCURRENCY) as backend:
        together = threading.Barrier(CONCURRENCY + 1)

        def ask(thread: int) -> None:
            together.wait()
            time.sleep(thread * delay / CONCURRENCY)
            for number, one in enumerate(prompts[thread]):
                began = time.perf_counter()
                reply = backend.answer(one, ANSWER, stop=("\n",))
                waited[thread, number] = time.perf_counter() - began
                took[thread, number] = (reply.cached_tokens or 0) / 1e6

        threads = [threading.Thread(target=ask, args=(thread,)) for thread in range(CONCURRENCY)]
        for thread in threads:
            thread.start()
        before = resource.getrusage(resource.RUSAGE_SELF)
        together.wait()
        for thread in threads:
            thread.join()
        after = resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return waited, took, cpu / waited.size


def measurement(waited: np.ndarray, took: np.ndarray, cpu: float) -> dict[str, Any]:
    """As `make bench` writes it."""
    ratios = waited.sum(0) / took.sum(0)
    draws = np.random.default_rng(0).choice(ratios, (2000, len(ratios)))
    low, high = np.percentile(np.median(draws, 1), [2.5, 97.5])

    def spread(seconds: np.ndarray) -> dict[str, Any]:
        values = [float(f(seconds)) for f in (np.min, np.median, np.max)]
        return {"threads": CONCURRENCY, "seconds, minimum, median and maximum": values}

    return {
        "case": "A server's client: 16 requests at a time of 4096 tokens, 16 generated and streamed",
        "method": " ".join((__doc__ or "").split("\n\n")[-1].split()),
        "clock": "wall time",
        "rounds": len(ratios),
        "contenders": {"client": spread(waited), "server": spread(took)},
        "figures": [
            {
                "name": "time that a thread waits, of what the server takes",
                "unit": "x",
                "median": float(np.median(ratios)),
                "interval": [float(low), float(high)],
                "at most": BAR,
                "bar": "met" if low < BAR else "not met",
            },
            {
                "name": "CPU time of the client for a request",
                "unit": "us",
                "median": 1e6 * cpu,
                "interval": [1e6 * cpu] * 2,
            },
        ],
        "load of the machine, of its cores": os.getloadavg()[0] / (os.cpu_count() or 1),
        **machine(),
    }


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--delay", type=float, default=2.0)
    options.add_argument("--write", action="store_true")
    options.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve(given.delay))
        return 0
    command = [sys.executable, __file__, "--serve", "--delay", str(given.delay)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None  # noqa: S101 - pipes were asked for
        assert process.stdout is not None  # noqa: S101
        url = f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        found = measurement(*measured(url, given.rounds, given.delay))
        process.stdin.close()
    text = json.dumps({"name": "client", "measurements": [found]}, indent=2)
    print(text)
    if given.write:
        RESULT.write_text(text + "\n", encoding="utf-8")
    return 0 if found["figures"][0]["bar"] == "met" else 1


if __name__ == "__main__":
    sys.exit(main())
