"""The kinds of fault that a model can show."""

from ordinate.audit.kinds.base import Kind

MODELS = (
    Kind(
        "restart",
        "Positions start again at 0 in a pass that follows others.",
        "Give each pass positions that go on from the number of tokens in the cache, not arange(tokens of this pass).",
        ("huggingface/transformers#43082", "Blaizzy/mlx-vlm#1983", "Blaizzy/mlx-vlm#1621", "RobertCsordas/moeut#6"),
    ),
    Kind(
        "offset",
        "Positions that follow a cached prefix are off by a constant.",
        "Take the next position from the tokens that the cache holds, counted before this pass's own are appended.",
        (
            "waybarrios/vllm-mlx#311",
            "vllm-project/vllm-metal#144",
            "microsoft/onnxruntime-genai#2354",
            "sgl-project/sglang#25015",
        ),
    ),
    Kind(
        "shared_position",
        "Tokens that are computed in one pass all get one position.",
        "Give each token of a window its own position: the start plus its place in the window.",
        ("jundot/omlx#2363", "sgl-project/sglang#25015"),
    ),
    Kind(
        "query_position",
        "Queries are turned by other positions than their own keys.",
        "Turn q and k of a token by one and the same position: queries stand at the end of the keys, not at 0.",
        ("lucidrains/rotary-embedding-torch#2", "lucidrains/rotary-embedding-torch#27", "RobertCsordas/moeut#6"),
    ),
    Kind(
        "padding",
        "Padding counts as tokens: a padded row differs from the same row alone.",
        "Count positions from the attention mask, real tokens only (`ordinate.positions.from_mask`), and mask padding "
        "in every layer.",
        (
            "unslothai/unsloth#3699",
            "huggingface/transformers#22161",
            "ndif-team/nnsight#673",
            "TransformerLensOrg/TransformerLens#1610",
            "huggingface/transformers#26380",
        ),
    ),
    Kind(
        "rows",
        "Rows of a batch get positions that are another row's, or count on across the batch.",
        "Hand positions of shape [batch, tokens] to every layer, and index tables by row.",
        (
            "unslothai/unsloth#3699",
            "turboderp/exllama#101",
            "linkedin/Liger-Kernel#477",
            "scouzi1966/maclocal-api#92",
        ),
    ),
    Kind(
        "packing",
        "Documents packed into one row keep counting, or see each other.",
        "Start positions at 0 in each document (`ordinate.positions.from_lengths`), and mask across documents.",
        (
            "allenai/OLMo-core#591",
            "pytorch/torchtitan#2559",
            "huggingface/nanoVLM#201",
            "hiyouga/LlamaFactory#7754",
        ),
    ),
    Kind(
        "length_switch",
        "Frequencies change as the text grows, and cached keys keep those of their time.",
        "Hold one regime for the life of a sequence: `ordinate.transformers.use_cache(model, regime=...)` with "
        '"frozen", "per_row" or "recompute".',
        (
            "vllm-project/vllm#27414",
            "vllm-project/vllm#19489",
            "unslothai/unsloth#1199",
            "huggingface/transformers#25104",
        ),
    ),
    Kind(
        "batch_length",
        "A long row changes what is computed for the short rows beside it.",
        "Take the length that frequencies depend on from each row, not from the batch: "
        '`ordinate.transformers.use_cache(model, regime="per_row")`.',
        ("vllm-project/vllm#27414", "huggingface/transformers#25104"),
        "warning",
    ),
    Kind(
        "state_kept",
        "What is computed depends on what was asked before.",
        "Keep no table, frequency or offset in a module between calls: compute them from positions and length.",
        (
            "huggingface/transformers#43952",
            "huggingface/transformers#40490",
            "lucidrains/rotary-embedding-torch#11",
            "ModelTC/LightX2V#1132",
        ),
    ),
    Kind(
        "base",
        "Keys in the cache were turned with another base, or other frequencies, than the queries that meet them.",
        "Stamp a cache with the frequencies that it was made with, and turn keys on when these change "
        "(`ordinate.caches`).",
        ("ggml-org/llama.cpp#2060", "huggingface/transformers#25104", "karpathy/llama2.c#356"),
    ),
    Kind(
        "magnitude",
        "The magnitude of YaRN or LongRoPE is applied a second time, or not at all.",
        "Multiply cos and sin by attention_factor once; a shift turns keys by a pure rotation.",
        ("ggml-org/llama.cpp#4097",),
    ),
    Kind(
        "pairing",
        "Channels are paired in another way than in the first pass, or than the configuration says.",
        "Use one pair layout, half or interleaved, in every code path; the layout belongs to the weights.",
        ("NVIDIA/TensorRT-LLM#16378", "NeuraLegion/shainet#111", "ml-explore/mlx-lm#512", "karpathy/llama2.c#286"),
    ),
    Kind(
        "rotation_count",
        "Keys are turned twice, the wrong way, or not at all, in one of the code paths.",
        "Turn each key once, before or after it is stored, the same in every path.",
        ("NVIDIA/TensorRT-LLM#16378", "sgl-project/sglang#19636"),
    ),
    Kind(
        "ring_index",
        "The slot in a ring is taken for the position of its token.",
        "Keep the position beside the slot: slot = position mod window, the rotation takes the position.",
        ("huggingface/transformers#37574", "ml-explore/mlx-lm#1437", "EricLBuehler/mistral.rs#246"),
    ),
    Kind(
        "window",
        "A sliding window sees other tokens with a cache than without.",
        "Keep exactly the window's tokens, the query's own among them, and mask by position rather than by slot.",
        ("huggingface/transformers#37574", "ml-explore/mlx-lm#1437"),
    ),
    Kind(
        "eviction",
        "Keys keep their old positions after others were evicted or the text was shifted.",
        "Either leave all positions as they were and go on counting, or turn every kept key by the shift.",
        (
            "huggingface/transformers#33691",
            "huggingface/transformers#35350",
            "NVIDIA/kvpress#31",
            "rajveer43/VeloxQuant-MLX#175",
            "ggml-org/llama.cpp#3272",
        ),
    ),
    Kind(
        "crop",
        "After a rewind the next tokens do not stand where the cropped text ends, or see what was cropped.",
        "Take positions from the tokens that remain, and remove or mask all entries behind them in every layer.",
        ("microsoft/onnxruntime-genai#2354", "jundot/omlx#2363", "ndif-team/nnsight#673"),
    ),
    Kind(
        "reorder",
        "After beams are reordered a row reads keys or positions of another.",
        "Reorder keys, values and positions of every layer by the same indices.",
        ("turboderp/exllama#101", "scouzi1966/maclocal-api#92"),
    ),
    Kind(
        "clamped",
        "Positions past the end of a table are clamped, wrapped or left unturned without an error.",
        "Raise an error that names the table's length and the position asked for.",
        (
            "microsoft/onnxruntime#28205",
            "huggingface/transformers#530",
            "vllm-project/vllm#55910",
            "minimaxir/gpt-2-simple#72",
        ),
    ),
    Kind(
        "position_precision",
        "Positions are rounded to a low precision, so that neighbours share one.",
        "Keep positions as integers until they are multiplied by frequencies, in float32 at least.",
        ("deepspeedai/DeepSpeed#4932", "EleutherAI/gpt-neox#1016", "huggingface/candle#3520"),
    ),
    Kind(
        "table_precision",
        "Frequencies, or cos and sin, are held in a low precision: angles are wrong at far positions.",
        "Keep frequencies and tables in float32 whatever the model's dtype, under autocast too.",
        (
            "huggingface/transformers#29496",
            "sgl-project/sglang-jax#1472",
            "Modalities/modalities#462",
            "vllm-project/vllm#1004",
        ),
    ),
    Kind(
        "table_cast",
        "A cast of the module rounds its frequencies: angles are wrong at far positions once it is cast back.",
        "Load the model in the dtype that is wanted instead of casting it, or keep frequencies out of reach of casts.",
        ("NVIDIA/Megatron-LM#744", "EleutherAI/gpt-neox#1016", "huggingface/transformers#29496"),
        "note",
    ),
    Kind(
        "table_lost",
        "Frequencies or tables are not what the configuration says, once the model was loaded or moved.",
        "Compute them anew after a meta-device load, and keep them in a buffer that moves with the module.",
        (
            "huggingface/transformers#45902",
            "Synthyra/FastPLMs#47",
            "macwiatrak/Bacformer#33",
            "NovaSky-AI/SkyRL#1725",
            "huggingface/transformers#25555",
        ),
    ),
    Kind(
        "shift",
        "Adding the same number to all positions changes the output, which this scheme promises it does not.",
        "Let attention depend on the difference of positions alone: same table, same precision, at every position.",
        ("huggingface/transformers#29419", "huggingface/transformers#22683"),
    ),
    Kind(
        "positions_ignored",
        "Positions that are given are not used.",
        "Hand position_ids to the embedding or rotation of every layer.",
        ("stanford-cs336/assignment1-basics#28", "huggingface/transformers#22161"),
    ),
    Kind(
        "shards",
        "Ranks of a context-parallel group count from their own start.",
        "Give each rank the global positions of its tokens (`ordinate.positions.shard`).",
        (
            "NVIDIA/Megatron-LM#560",
            "ByteDance-Seed/VeOmni#448",
            "deepspeedai/Megatron-DeepSpeed#392",
            "NVIDIA/TransformerEngine#1046",
        ),
    ),
    Kind(
        "compiled",
        "The compiled model differs from the same model uncompiled.",
        "Build tables without branches on data or length, and pass positions as an argument of the compiled function.",
        ("huggingface/transformers#35716", "meta-pytorch/torchtune#1544", "neuralmagic/sparseml#1826"),
    ),
    Kind(
        "bias_offset",
        "The bias on attention logits ignores how many tokens the cache holds.",
        "Index the bias by the positions of queries and keys: a query's index starts at the cache's length.",
        ("huggingface/candle#899", "NVIDIA/TensorRT-LLM#13870", "Dao-AILab/flash-attention#907"),
    ),
    Kind(
        "mask",
        "Queries see other tokens than in one pass, although every query and key is turned alike.",
        "Build the mask from positions and padding, for the queries of this pass against all keys of the cache.",
        ("huggingface/transformers#37574", "RobertCsordas/moeut#6"),
    ),
    Kind(
        "state",
        "A recurrent or convolutional layer does not go on from the state that the tokens before left.",
        "Read the state from the cache at the start of each pass, one of several tokens too, and write it back at its "
        "end.",
        ("huggingface/transformers#46741", "huggingface/transformers#46032", "vllm-project/vllm#34587"),
    ),
)

UNEXPLAINED = Kind(
    "unexplained",
    "The same text gives another output, and no one rule says how.",
    "Look at the layer and token named: the two ways of computing part there first.",
    (),
)
"""What fits none of them."""
