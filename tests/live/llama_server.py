"""Run llama.cpp's server in this process on a list of jobs, and write what it says; called as a program by the tests.

Each job has a model file, settings as `ordinate.dialects.llama_cpp` spells flags, and prompts as token ids; the answer
has, for each prompt, the log-probabilities of the likeliest next tokens: {token id: log-probability}.
"""

import json
import sys
from pathlib import Path
from typing import Any

TYPES = {"none": 0, "linear": 1, "yarn": 2}
FIELDS = {
    "rope-freq-base": "rope_freq_base",
    "yarn-orig-ctx": "yarn_orig_ctx",
    "yarn-ext-factor": "yarn_ext_factor",
    "yarn-attn-factor": "yarn_attn_factor",
    "yarn-beta-fast": "yarn_beta_fast",
    "yarn-beta-slow": "yarn_beta_slow",
    "ctx-size": "n_ctx",
}


def parameters(job: dict[str, Any]) -> Any:
    """The server's parameters, as llama.cpp's command line sets them: one thread, no warming up, no graphics card."""
    import xllamacpp

    found = xllamacpp.CommonParams()
    found.model.path = job["model"]
    found.n_parallel, found.n_gpu_layers = 1, 0
    found.cpuparams.n_threads = found.cpuparams_batch.n_threads = 1
    found.warmup, found.fit_params, found.ui, found.verbosity = False, False, False, -1
    for flag, value in job["settings"].items():
        if flag == "rope-scaling":
            found.rope_scaling_type = TYPES[value]
        elif flag == "rope-scale":
            found.rope_freq_scale = 1 / value
        else:
            setattr(found, FIELDS[flag], value)
    return found


def answer(job: dict[str, Any]) -> list[dict[str, float]]:
    import xllamacpp

    server = xllamacpp.Server(parameters(job))
    answers = []
    for prompt in job["prompts"]:
        request = {"prompt": prompt, "n_predict": 1, "n_probs": job["count"], "temperature": 0, "cache_prompt": False}
        reply = server.handle_completions(request)
        (token,) = reply["choices"][0]["logprobs"]["content"]
        assert reply["usage"]["prompt_tokens"] == len(prompt)
        answers.append({str(entry["id"]): entry["logprob"] for entry in token["top_logprobs"]})
    return answers


if __name__ == "__main__":
    jobs = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    Path(sys.argv[2]).write_text(json.dumps([answer(job) for job in jobs]), encoding="utf-8")
