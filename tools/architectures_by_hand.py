"""What transformers' code says about position that `make_architectures.py` cannot find out by running it."""

from typing import Any

# What no call shows: each line is read from the model's own code, and held against it by the tests.
BY_HAND: tuple[tuple[str, dict[str, Any]], ...] = (
    # Their code has no number of key and value heads: each query head has its own.
    (
        "biogpt bloom codegen ctrl gpt2 gpt_neo gpt_neox gpt_neox_japanese gptj modernbert-decoder openai-gpt opt "
        "persimmon xglm",
        {"grouped": False},
    ),
    # Keys of old files, which the configuration's class takes in place of those of today.
    ("bloom falcon", {"old_names": {"hidden_size": "n_embed"}}),
    ("dots3_note_vision_encoder", {"old_names": {"hidden_size": "embed_dim", "num_attention_heads": "num_heads"}}),
    (
        "step3p5_vision",
        {"old_names": {"hidden_size": "width", "num_attention_heads": "heads", "num_hidden_layers": "layers"}},
    ),
    # Multimodal RoPE: how the axes lie is in the rotary class, and sections where the configuration leaves them out.
    (
        "qwen2_vl_text qwen2_5_vl_text qwen2_5_omni_text qwen2_5_omni_talker paddleocr_vl_text",
        {"scheme": "multimodal", "layout": "chunked", "sections": [16, 24, 24]},
    ),
    (
        "glm4v_text glm4v_moe_text glm_image_text glm_ocr_text",
        {"scheme": "multimodal", "layout": "chunked", "sections": [8, 12, 12]},
    ),
    (
        "qwen3_vl_text qwen3_vl_moe_text qwen3_omni_moe_text cosmos3_edge_text cohere_compass_text hy_v4_vl_text",
        {"scheme": "multimodal", "layout": "interleaved", "sections": [24, 20, 20]},
    ),
    (
        "qwen3_5_text qwen3_5_moe_text qwen4_exp_text",
        {"scheme": "multimodal", "layout": "interleaved", "sections": [11, 11, 10]},
    ),
    ("ernie4_5_vl_moe_text", {"scheme": "multimodal", "layout": "time-last", "sections": [22, 22, 20]}),
    # Two axes, row and column, take turns over the pairs.
    ("neomme", {"scheme": "multimodal", "layout": "interleaved", "sections": "halves"}),
    # Image towers whose configurations name no type, or whose axes do not lie in blocks.
    (
        "dinov3_vit eomt_dinov3 sapiens2",
        {"scheme": "axial", "note": "coordinates are 2 pi times a patch's centre, which runs from -1 to 1"},
    ),
    ("pixtral", {"scheme": "axial", "spectrum": "split"}),
    ("kimi_k25_vision", {"scheme": "axial", "layout": "alternating", "note": "the width is the first axis"}),
    ("step3p5_vision", {"scheme": "axial", "note": "the width is the first axis"}),
    ("minimax_m3_vl_vision", {"scheme": "axial", "axes": 3}),
    (
        "gemma4_vision",
        {
            "scheme": "axial",
            "pairing": "unknown",
            "note": "channels pair within each axis' half of the head, which no pairing here says",
        },
    ),
    # Heads cut from another width than `hidden_size`.
    (
        "qwen2_vl_vision",
        {"names": {"hidden_size": "embed_dim", "num_attention_heads": "num_heads", "num_hidden_layers": "depth"}},
    ),
    (
        "edgetam_video sam2_video sam3_tracker_video",
        {
            "names": {
                "hidden_size": "memory_attention_hidden_size",
                "num_attention_heads": "memory_attention_num_attention_heads",
                "num_hidden_layers": "memory_attention_num_layers",
            }
        },
    ),
    # Rotation in complex numbers, or with a base that is a constant of the code.
    ("llama4_text", {"pairing": "interleaved", "temperature": "llama4", "rotates": "no_rope_layers"}),
    ("deepseek_v2", {"pairing": "interleaved"}),
    ("gptj codegen roformer", {"pairing": "interleaved", "theta": 10000.0}),
    ("llama4_vision_model", {"scheme": "axial", "pairing": "interleaved", "note": "the width is the first axis"}),
    # Its frequencies are for the time of sounds; the language model is a part of its own.
    ("musicflamingo", {"theta": None, "pairing": None, "partial": 1.0}),
    # Which layers rotate.
    ("afmoe cohere2 cohere2_moe flint lara_mini", {"rotates": "sliding"}),
    ("exaone4 exaone_moe kolibri1", {"rotates": "sliding if any"}),
    ("smollm3 mistral_large4_text", {"rotates": "no_rope_layers"}),
    ("granite_swa granitemoe_swa", {"rotates": "layer_rope_theta"}),
    ("muse_glimmer_text muse_spark_text", {"rotates": "layer_rope_theta", "nope_from_end": True}),
    ("zamba2", {"rotates": "use_mem_rope"}),
    ("esm granitemoehybrid", {"rotates": "position_embedding_type"}),
    ("falcon", {"rotates": "alibi"}),
    # Evolla's protein encoder has no model type; no other configuration without one rotates.
    ("", {"rotates": "position_embedding_type", "marks": ["emb_layer_norm_before", "token_dropout"]}),
    (
        "deepseek_v4",
        {
            "part": "last",
            "flat": ["compress"],
            "labels": {
                "main": ["sliding_attention"],
                "compress": ["compressed_sparse_attention", "heavily_compressed_attention"],
            },
        },
    ),
    # Which layer types a scaling that names none is for: all, where nothing is said here.
    ("gemma3_text gemma3n_text t5gemma2_text t5gemma2_decoder olmo3", {"flat": ["full_attention"]}),
    ("gemma3_text", {"counts_after": True}),
    ("ministral3 mistral4", {"temperature": "ministral3"}),
    # q k is not divided, because q and k are normed or the weights make up for it.
    (
        "gemma3n_text gemma4_text gemma4_unified_text gemma4_vision embedding_gemma2_text diffusion_gemma_text "
        "dia_encoder dia_decoder gpt_neo t5 mt5 umt5 longt5 switch_transformers pop2piano udop",
        {"scale": 1.0},
    ),
    ("phimoe", {"magnitudes": True}),
    ("phi3 phi4_multimodal", {"legacy_types": {"su": "longrope", "yarn": "longrope"}}),
    ("hunyuan_v1_dense hunyuan_v1_moe hunyuan_vl_text", {"alpha": True, "legacy_types": {"xdrope": "dynamic"}}),
    # Those that do not rotate. A learned table with a row a position:
    (
        "albert aimv2_text_model align_text_model bert bert-generation bigbird_pegasus big_bird blenderbot "
        "blenderbot-small blip_text_model bros chinese_clip_text_model clip_text_model clipseg_text_model convbert "
        "decision_transformer distilbert electra ernie fnet git gpt2 gpt_bigcode groupvit_text_model imagegpt "
        "layoutlm layoutlmv2 lxmert megatron-bert mobilebert openai-gpt owlvit_text_model owlv2_text_model rembert "
        "roc_bert siglip_text_model siglip2_text_model splinter squeezebert tapas vilt visual_bert",
        {"unrotated": "plain"},
    ),
    # `padding_idx` + 1 rows stand before the first position's, and count among `max_position_embeddings`;
    (
        "altclip_text_model bridgetower_text_model camembert clap_text_model data2vec-text ibert layoutlmv3 lilt "
        "longformer luke markuplm roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl xmod",
        {"unrotated": "after_padding"},
    ),
    # two rows stand before it, in addition to `max_position_embeddings`.
    ("bart biogpt mbart mra mvp nystromformer opt plbart trocr yoso", {"unrotated": "after_two"}),
    ("xlm flaubert", {"unrotated": "either"}),
    ("ctrl marian pegasus", {"unrotated": "concatenated"}),
    ("fsmt m2m_100 nllb-moe speech_to_text xglm", {"unrotated": "tensor2tensor"}),
    ("whisper", {"unrotated": "whisper"}),
    # Local layers, every other one where nothing is said, and their window.
    (
        "gpt_neo",
        {
            "unrotated": "gpt_neo",
            "layers": ["full_attention", "sliding_attention"] * 12,
            "names": {
                "num_attention_heads": "num_heads",
                "num_hidden_layers": "num_layers",
                "sliding_window": "window_size",
            },
            "defaults": {
                "hidden_size": 2048,
                "max_position_embeddings": 2048,
                "num_heads": 16,
                "num_layers": 24,
                "window_size": 256,
            },
        },
    ),
    # A learned table, and T5's buckets besides.
    ("mpnet", {"unrotated": "mpnet"}),
    # A table for each of its two stacks.
    (
        "led",
        {
            "unrotated": "led",
            "names": {
                "hidden_size": "d_model",
                "max_position_embeddings": "max_decoder_position_embeddings",
                "num_attention_heads": "encoder_attention_heads",
                "num_hidden_layers": "encoder_layers",
            },
            "defaults": {
                "d_model": 1024,
                "encoder_attention_heads": 16,
                "encoder_layers": 12,
                "max_decoder_position_embeddings": 1024,
                "max_encoder_position_embeddings": 16384,
                "pad_token_id": 1,
            },
        },
    ),
    ("bloom", {"unrotated": "alibi"}),
    ("mpt", {"unrotated": "mpt"}),
    ("longt5 mt5 pop2piano switch_transformers t5 udop umt5", {"unrotated": "t5"}),
    ("deberta deberta-v2", {"unrotated": "deberta"}),
    ("xlnet", {"unrotated": "transformer_xl"}),
    ("jamba kimi_linear nemotron_h zamba", {"unrotated": "none"}),
    ("falcon_mamba mamba mamba2 rwkv xlstm", {"unrotated": "recurrent"}),
)
