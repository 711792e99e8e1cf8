"""A small causal transformer with transformers' interface, written for these tests: rotary, ALiBi or learned."""

from dataclasses import replace

import torch
from audit.mutants import passes
from audit.mutants.attention import Attention
from audit.mutants.cache import Cache, Layer
from audit.mutants.rotation import RotaryEmbedding, frequencies_of, rotate
from torch import nn
from transformers import GenerationMixin, PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

# Of q and k: scores of standard deviation 2, so that it matters where a token stands.
_SHARPNESS = 1.4


class Shape:
    """What a configuration of transformers says, in one spelling."""

    def __init__(self, config):
        self.config = config
        self.kind = {"bloom": "alibi", "opt": "learned"}.get(config.model_type, "rope")
        self.width, self.heads = config.hidden_size, config.num_attention_heads
        self.key_heads = config.num_key_value_heads if self.kind == "rope" else self.heads
        self.head_dim = self.width // self.heads
        self.window = getattr(config, "sliding_window", None) if self.kind == "rope" else None
        method = config.rope_parameters["rope_type"] if self.kind == "rope" else None
        self.by_length, self.one_switch = method in ("dynamic", "longrope"), method == "longrope"
        if self.by_length:
            settings = config.rope_parameters
            self.switch = settings.get("original_max_position_embeddings", config.max_position_embeddings)
            if method == "dynamic":
                self.switch = config.max_position_embeddings
        self.slopes = None
        if self.kind == "alibi":
            self.slopes = 2.0 ** (-8.0 * torch.arange(1, self.heads + 1, device="cpu") / self.heads)


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.weight


class Block(nn.Module):
    def __init__(self, shape, index, fault, scope, rotary):
        super().__init__()
        self.before, self.behind = Norm(shape.width), Norm(shape.width)
        self.attention = Attention(shape, index, fault, scope, rotary)
        self.up, self.down = nn.Linear(shape.width, 96, bias=False), nn.Linear(96, shape.width, bias=False)

    def forward(self, hidden, call, visible, layer, lengths):
        hidden = hidden + self.attention(self.before(hidden), call, visible, layer, lengths)
        return hidden + self.down(nn.functional.silu(self.up(self.behind(hidden))))


class Model(PreTrainedModel, GenerationMixin):
    config_class = PreTrainedConfig
    base_model_prefix = "model"
    main_input_name = "input_ids"

    def __init__(self, config, fault=None, scope=None):
        super().__init__(config)
        self.fault, self.scope, self.shape = fault, scope, Shape(config)
        table = fault.name if fault is not None and fault.site == "table" else None
        self.rotary_emb = RotaryEmbedding(config, table) if self.shape.kind == "rope" else None
        self.embed_tokens = nn.Embedding(config.vocab_size, self.shape.width)
        self.embed_positions = (
            nn.Embedding(config.max_position_embeddings + 2, self.shape.width) if self.shape.kind == "learned" else None
        )
        blocks = (Block(self.shape, i, fault, scope, self.rotary_emb) for i in range(config.num_hidden_layers))
        self.layers = nn.ModuleList(blocks)
        self.norm = Norm(self.shape.width)
        self.lm_head = nn.Linear(self.shape.width, config.vocab_size, bias=False)
        self._longest, self._before = 0, None
        self.post_init()

    def _init_weights(self, module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=1.0)
        elif isinstance(module, Norm):
            nn.init.ones_(module.weight)
        if isinstance(module, Attention):
            for projection in (module.q_proj, module.k_proj):
                nn.init.normal_(projection.weight, std=_SHARPNESS * self.shape.width**-0.5)

    def get_input_embeddings(self):
        return self.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    @property
    def magnitude(self):
        return frequencies_of(self.config)[1] if self.shape.kind == "rope" else 1.0

    def new_layers(self):
        fault = self.fault.name if self.fault is not None and self.fault.site == "cache" else None
        return [Layer(fault, self.scope, i) for i in range(self.config.num_hidden_layers)]

    def turner(self, tokens):
        """What turns keys back by so many tokens."""

        def turn(keys, positions):
            if self.rotary_emb is None or self.shape.by_length:
                return keys
            angles = torch.full(positions.shape, -tokens)[..., None].double() * frequencies_of(self.config)[0]
            return rotate(keys, *(torch.cat([t, t], -1).float() for t in (angles.cos(), angles.sin())))

        return turn

    def forward(
        self,
        input_ids,
        attention_mask=None,
        position_ids=None,
        cache=None,
        use_cache=None,
        logits_to_keep=0,
        return_dict=True,
    ):
        if cache is None and use_cache:
            cache = Cache(self)
        past = 0 if cache is None else cache.get_seq_length()
        if cache is not None and past == 0 and not (cache.layers and isinstance(cache.layers[0], Layer)):
            cache.layers = self.new_layers()
            cache.layer_class_to_replicate = None
        rows, tokens = input_ids.shape
        seen = past if cache is None or past == 0 else getattr(cache, "seen", past)
        call = self._with_the_pass_before(passes.right((rows, tokens), past, attention_mask, position_ids, seen))
        hidden = self._embedded(input_ids, call)
        visible, lengths = self._visible(call, attention_mask), self._lengths(call)
        for index, block in enumerate(self.layers):
            hidden = block(hidden, call, visible, None if cache is None else cache.layers[index], lengths)
        if cache is not None:
            cache.seen = seen + tokens
        self._longest = max(self._longest, int(call.positions.max()) + 1)
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(self.norm(hidden)[:, kept])
        made = CausalLMOutputWithPast(logits=logits, cache=cache)
        return made if return_dict else made.to_tuple()

    def _with_the_pass_before(self, call):
        """The call, with the positions of the first pass of its shape, which stay until another shape comes."""
        if call.past:
            return call
        if self._before is None or self._before.shape != call.positions.shape:
            self._before = call.positions
        return replace(call, before=self._before)

    def _embedded(self, input_ids, call):
        hidden = self.embed_tokens(input_ids)
        if self.embed_positions is None:
            return hidden
        positions = call.positions
        if self.fault is not None and self.fault.site == "positions":
            inside = self.scope.mask(1, 1, positions)[:, 0]
            positions = torch.where(inside, self.fault.position(call), positions)
        return hidden + self.embed_positions(positions + 2)

    def _visible(self, call, attention_mask):
        slots = call.past + call.tokens
        behind = call.past + torch.arange(call.tokens)[:, None] - torch.arange(slots)
        seen = (behind >= 0) & (behind < (self.shape.window or slots))
        if attention_mask is not None and attention_mask.dim() == 4:
            return attention_mask if attention_mask.dtype == torch.bool else attention_mask > -1
        visible = seen.expand(call.positions.shape[0], 1, -1, -1)
        if call.present is not None:
            return visible & call.present[:, None, None, :]
        if not call.past:
            documents = (call.positions == 0).cumsum(1)
            visible = visible & (documents[:, :, None] == documents[:, None, :])[:, None]
        return visible

    def _lengths(self, call):
        """The wrong lengths of each row, [rows, tokens], where frequencies depend on one."""
        own = call.positions + 1
        if self.fault is None or self.fault.site != "lengths":
            return own
        if self.fault.name == "batch_longest":
            return own.amax(0, keepdim=True).expand_as(own)
        return own.clamp(min=self._longest)
