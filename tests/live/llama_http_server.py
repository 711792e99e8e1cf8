"""llama.cpp's OpenAI-compatible server on loopback, until standard input ends; called as a program by the tests.

Arguments: the model's file, its window for each request, how many requests are served at a time, and "shift" where an
answer may go on past the window. The address is printed once it is ready.
"""

import sys
from typing import Any


def parameters(model: str, window: int, parallel: int, *, shift: bool) -> Any:
    import xllamacpp

    found = xllamacpp.CommonParams()
    found.model.path = model
    found.n_ctx, found.n_parallel, found.n_gpu_layers = window * parallel, parallel, 0
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = 1
    found.warmup, found.fit_params, found.ui, found.verbosity = False, False, False, -1
    found.hostnames, found.port, found.ctx_shift = ["127.0.0.1"], 0, shift
    found.cache_ram_mib = 0  # nothing is kept but what the slots hold
    return found


if __name__ == "__main__":
    import xllamacpp

    model, window, parallel, *rest = sys.argv[1:]
    server = xllamacpp.Server(parameters(model, int(window), int(parallel), shift="shift" in rest))
    print(server.listening_address, flush=True)
    sys.stdin.read()
