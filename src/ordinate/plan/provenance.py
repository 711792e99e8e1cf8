"""Where each number of a plan is from, and what to know of it."""

from ordinate.describe.words import number
from ordinate.plan.planner import Planner
from ordinate.plan.tables import rotates

_CACHE = "computed: layers * tokens * heads * (key channels + value channels), in the format of the cache"


def provenance(planner: Planner) -> dict[str, str]:
    """The source of each number, by its name in the plan."""
    spec, asked = planner.subject.spec, planner.request
    keys, values = planner.formats
    found = {
        "window.trained": spec.sources.get("window.trained", "not in the files"),
        "window.declared": spec.sources.get("window.declared", "not in the files"),
        "window.extended": "the scaling method in the files, with the declared window",
        "contexts": "asked for" if asked.contexts else "assumed: the declared window",
        "kv": f"{keys.name}: {keys.about}" + ("" if keys == values else f"; {values.name}: {values.about}"),
        "kv.chosen": f"the model's own floats, by {planner.dtype_source}" if asked.kv == "auto" else "asked for",
        "dtype": planner.dtype_source,
        "cells.cache_bytes": _CACHE,
        "cells.tables_bytes": "computed: cos and sin in float32, one row a position, half width; one table for all "
        "layers that turn alike",
        "cells.scratch_bytes": f"computed: what {asked.attention} makes in one layer",
        "cells.waste_bytes": "computed: pages are whole, and what slides may begin anywhere in one",
        "cells.ranks_cache_bytes": "computed: the cache of all ranks, with the copies that they have",
        "cells.dense_bias_bytes": "computed: heads * queries * context * bytes of the model's floats",
        "token_bytes": "computed: the sum over layers that see all tokens",
        "sequence_bytes": "computed: windows filled, states, and an encoder's tokens",
        "tables": "computed by the scheme's own cost; learned numbers are counted in the weights",
        "largest": "computed: doubling, then bisection, on the rank that needs most",
        "cells.state_bytes": "computed: the numbers of recurrent and convolutional layers, in their floats",
        "cells.cross_bytes": "computed: layers * the encoder's tokens * heads * (key channels + value channels)",
        "cells.weights_bytes": "the share of weights on the rank that needs most",
        "cells.reserve_bytes": "asked for" if asked.reserve else "none was asked for",
        "cells.total_bytes": "computed: cache, tables, scratch, weights and reserve",
        "ways.memory": "computed: as cells; lighter weights are without what their scales take",
        "ways.position": "computed: the target by the trained length, or the declared one; where a model is stretched, "
        "its own factor * target / declared",
        "weights": "not known" if planner.weights is None else planner.weights.source,
    }
    for name, group in spec.groups.items():
        if group.layers == ():
            continue
        for field in ("heads", "sliding_window"):
            source = spec.sources.get(f"{name}.{field}")
            if source is not None:
                found[f"layers.{name}.{field}"] = source
    if "layers" in spec.sources:
        found["layers"] = spec.sources["layers"]
    if planner.kept.crosses:
        said = planner.kept.encoder_source or "assumed: as many as the context"
        found["encoder_tokens"] = "asked for" if asked.encoder_tokens is not None else said
    if planner.subject.values is not None:
        found |= {f"config.{key}": source for key, source in sorted(planner.subject.values.sources.items())}
    if planner.subject.published is not None:
        found["config"] = planner.subject.published.source
    return found


def notes(planner: Planner) -> tuple[str, ...]:
    """What to know of a plan."""
    spec, asked = planner.subject.spec, planner.request
    found = [*planner.kept.notes, *spec.warnings]
    declared = spec.window.declared
    over = [context for context in planner.contexts if declared is not None and context > declared]
    if over:
        found.append(f"{number(max(over))} tokens are more than the {number(declared or 0)} that the files declare")
    names = {form.name for form in planner.formats}
    if "fp8" in names:
        found.append("fp8 has a scale in float32 for each 32 numbers; engines with one for a tensor have fp8_e4m3")
    if planner.dtype_source.startswith("assumed") and planner.subject.spec.container != "gguf":
        found.append(f"the files do not say in which floats the model is: {planner.dtype} is assumed")
    if planner.layers and rotates(spec):
        found.append("keys that are kept unrotated take what rotated ones take: nothing more")
    if any(cached.kind == "latent" for cached in planner.layers) and asked.ranks.tensor > 1:
        found.append(f"MLA's latent has no heads to share: each of {asked.ranks.tensor} tensor-parallel ranks keeps it")
    if any(cached.kind == "state" for cached in planner.layers):
        found.append("layers without attention keep a state that no token adds to")
    if asked.ranks.context > 1 and any(cached.kind in ("state", "cross") for cached in planner.layers):
        found.append("states and an encoder's tokens are taken to stand whole on every context-parallel rank")
    if any(group.scheme == "learned" and group.layers != () for group in spec.groups.values()):
        found.append("positions end with the learned table, and so does the longest context")
    by_shapes = planner.weights is not None and planner.weights.source.startswith("the shapes")
    if planner.subject.values is not None and planner.subject.values.keys.prefix and by_shapes:
        found.append("the configuration is of several parts; weights by shapes are of the language model alone")
    if any(cached.window is not None for cached in planner.layers) and asked.allocator == "full":
        found.append("layers with a window have memory for the whole length, of which they read the window alone")
    if asked.shared_prefix and asked.page_size is None:
        found.append("a prefix is shared to the token; with pages only whole ones are")
    if asked.memory is not None and asked.target is None and not all(planner.fits(c, b) for c, b in planner.asked):
        found.append(
            "a target (--target) lists what else fits: lighter caches and weights, fewer sequences, more devices"
        )
    if not asked.reserve:
        found.append("activations, logits and what an engine keeps for itself are not counted: give a reserve for them")
    return tuple(dict.fromkeys(found))
