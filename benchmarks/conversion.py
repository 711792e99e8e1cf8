"""Conversion of a model of 1 GB beside `cp`: seconds, bytes read and written, and memory.

    python benchmarks/conversion.py [--rounds 3] [--gigabytes 1.0]

Each round copies and converts the same files, in turn, in processes of their own. A conversion ends only once the new
files are on the disk (fsync), so `cp` is timed without and with `sync`. Bytes are those of /proc/self/io: what the
process asked of the system, from the cache or from the disk.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np

from ordinate.files.safetensors import read_header
from ordinate.weights.safetensors import encode_header

CONFIG = {
    "model_type": "llama",
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 64,
    "max_position_embeddings": 4096,
    "vocab_size": 32000,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}

CHILD = """
import json, resource, sys, time
from ordinate.weights.convert import convert

def counted():
    return {line.split(":")[0]: int(line.split(":")[1]) for line in open("/proc/self/io")}

before, start = counted(), time.perf_counter()
convert(sys.argv[1], sys.argv[2], "interleaved")
seconds, after = time.perf_counter() - start, counted()
print(json.dumps({
    "seconds": seconds,
    "read": after["rchar"] - before["rchar"],
    "written": after["wchar"] - before["wchar"],
    "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
}))
"""


def write_model(directory: Path, size: float) -> int:
    """Write a Llama in BF16 of about `size` bytes, random bytes throughout; return the file's length."""
    width, inner, keys = 2048, 5632, 256
    layer = {
        "self_attn.q_proj": (width, width),
        "self_attn.k_proj": (keys, width),
        "self_attn.v_proj": (keys, width),
        "self_attn.o_proj": (width, width),
        "mlp.gate_proj": (inner, width),
        "mlp.up_proj": (inner, width),
        "mlp.down_proj": (width, inner),
    }
    shapes = {"model.embed_tokens.weight": (32000, width)}
    count = max(1, round((size - 2 * 32000 * width) / (2 * sum(rows * columns for rows, columns in layer.values()))))
    for number in range(count):
        shapes |= {f"model.layers.{number}.{name}.weight": shape for name, shape in layer.items()}
    header, place = {}, 0
    for name, (rows, columns) in shapes.items():
        header[name] = {"dtype": "BF16", "shape": [rows, columns], "data_offsets": [place, place + 2 * rows * columns]}
        place += 2 * rows * columns
    generator = np.random.default_rng(0)
    with (directory / "model.safetensors").open("wb") as handle:
        handle.write(encode_header({"__metadata__": {"format": "pt"}, **header}))
        for start in range(0, place, 2**24):
            handle.write(generator.bytes(min(2**24, place - start)))
    (directory / "config.json").write_text(json.dumps(CONFIG | {"num_hidden_layers": count}))
    return (directory / "model.safetensors").stat().st_size


def timed(*commands: list[str]) -> float:
    """Seconds that commands take one after another."""
    start = time.perf_counter()
    for command in commands:
        subprocess.run(command, check=True)
    return time.perf_counter() - start


def main(rounds: int, size: float, place: str | None) -> None:
    """Measure, and print a JSON object."""
    copied, synced, runs = [], [], []
    with tempfile.TemporaryDirectory(dir=place) as made:
        directory, copy, out = Path(made) / "model", Path(made) / "copy", Path(made) / "out"
        directory.mkdir()
        length = write_model(directory, size)
        os.sync()
        for _ in range(rounds):
            file = str(directory / "model.safetensors")
            copied.append(timed(["cp", file, str(copy)]))
            copy.unlink()
            synced.append(timed(["cp", file, str(copy)], ["sync", str(copy)]))
            copy.unlink()
            done = subprocess.run(
                [sys.executable, "-c", CHILD, str(directory), str(out)], check=True, capture_output=True, text=True
            )
            runs.append(json.loads(done.stdout))
            kept, moved = (read_header(where / "model.safetensors") for where in (directory, out))
            if kept.tensors.keys() != moved.tensors.keys():
                raise RuntimeError("the converted file has other tensors")
            shutil.rmtree(out)
    seconds = median(run["seconds"] for run in runs)
    figures = {
        "bytes of the file": length,
        "rounds": rounds,
        "cp [s]": round(median(copied), 3),
        "cp and sync [s]": round(median(synced), 3),
        "convert, synced [s]": round(seconds, 3),
        "convert / cp and sync": round(seconds / median(synced), 3),
        "bytes read / bytes of the file": round(max(run["read"] for run in runs) / length, 5),
        "bytes written / bytes of the file": round(max(run["written"] for run in runs) / length, 5),
        "peak memory of the process [MiB]": round(max(run["peak"] for run in runs) / 2**20, 1),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--place", help="where the files are made; the system's directory for such where not given")
    given = parser.parse_args()
    main(given.rounds, given.gigabytes * 1e9, given.place)
