"""llama.cpp's server on loopback until standard input ends; a program of its own, which `LlamaCpp` starts.

It takes one argument, JSON: the model's file, the window of each request, how many requests are served at a time, and
threads. It prints its address once it is ready. Nothing of Ordinate is imported here.
"""

import importlib
import json
import os
import sys
from typing import Any


def parameters(
    module: Any, model: str, window: int, parallel: int, threads: int, batch: int, template: str | None
) -> Any:
    """The server's parameters: no graphics card, no warming up, no moving of the context, nothing kept but its slots'
    contents."""
    found = module.CommonParams()
    found.model.path = model
    found.n_ctx, found.n_parallel, found.n_gpu_layers = window * parallel, parallel, 0
    found.n_batch = found.n_ubatch = batch
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = threads
    found.warmup, found.fit_params, found.ui, found.verbosity = False, False, False, -1
    found.hostnames, found.port, found.ctx_shift = ["127.0.0.1"], 0, False
    found.cache_ram_mib = 0
    if template is not None:
        found.chat_template = template
    return found


if __name__ == "__main__":
    module: Any = importlib.import_module("xllamacpp")
    server = module.Server(parameters(module, **json.loads(sys.argv[1])))
    print(server.listening_address, flush=True)
    # The pipe closes when whoever holds it ends it or dies.
    sys.stdin.read()
    os._exit(0)
