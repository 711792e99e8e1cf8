"""The kinds of fault that a server can show from outside."""

from ordinate.audit.kinds.base import Kind

SERVERS = (
    Kind(
        "truncation",
        "A text that does not fit is cut without an error.",
        "Refuse what does not fit, or say which tokens were dropped; count the tokens that were read.",
        ("ollama/ollama#8099", "vllm-project/vllm#1185", "huggingface/sentence-transformers#4060"),
    ),
    Kind(
        "prefix_cache",
        "A server answers the same prompt differently once its beginning is cached.",
        "Reuse a prefix only with the positions, frequencies and adapters that it was computed with.",
        ("waybarrios/vllm-mlx#311", "vllm-project/vllm-metal#144"),
    ),
    Kind(
        "token_count",
        "A server counts other tokens in a prompt than the model's tokenizer.",
        "Use the model's own tokenizer and template, and add special tokens once.",
        ("0xBakeer/inference-atlas#27", "jundot/omlx#1687"),
        "warning",
    ),
    Kind(
        "truncation_head",
        "A server drops the beginning of a prompt that does not fit, and answers the rest as if it were whole.",
        "Refuse what does not fit with HTTP 400, or say in the answer how many tokens were dropped at the beginning.",
        ("ollama/ollama#8099", "ollama/ollama#17427", "EleutherAI/lm-evaluation-harness#2880", "jundot/omlx#2394"),
    ),
    Kind(
        "truncation_middle",
        "A server drops the middle of a prompt that does not fit, and answers the rest as if it were whole.",
        "Refuse what does not fit with HTTP 400, or say in the answer how many tokens were dropped in the middle.",
        ("ollama/ollama#17889", "THUDM/LongBench#25"),
    ),
    Kind(
        "truncation_tail",
        "A server drops the end of a prompt that does not fit, the question with it, and answers the rest.",
        "Refuse what does not fit with HTTP 400, or say in the answer how many tokens were dropped at the end.",
        ("vllm-project/vllm#1185", "huggingface/sentence-transformers#4060", "raullenchai/Rapid-MLX#1381"),
    ),
    Kind(
        "window_refused",
        "A server refuses a prompt that the window it declares would hold.",
        "Declare the window that is served, which scaling and memory may make another than the model's own.",
        ("vllm-project/vllm#2518", "vllm-project/vllm#2565", "huggingface/open-r1#645"),
        "warning",
    ),
    Kind(
        "context_shift",
        "A server drops the oldest tokens while it generates, and goes on past its window.",
        "Stop at the window and say so, unless a shift is wanted: what follows it differs from reading the kept text "
        "anew in every layer but the first.",
        ("ggml-org/llama.cpp#4097", "ggml-org/llama.cpp#3272", "ggml-org/llama.cpp#9383"),
        "warning",
    ),
    Kind(
        "neighbours",
        "A server answers a request differently when others are served beside it.",
        "Give every row of a batch its own positions, lengths and blocks, and each request its own answer.",
        ("scouzi1966/maclocal-api#92", "turboderp/exllama#101", "unslothai/unsloth#3699"),
    ),
    Kind(
        "decoding_path",
        "Tokens that a server generates have other probabilities than the same tokens read in a prompt.",
        "Take the position of a generated token from the number of tokens before it, the prompt's included.",
        ("Blaizzy/mlx-vlm#1983", "microsoft/onnxruntime-genai#2354", "sgl-project/sglang#25015"),
    ),
)
