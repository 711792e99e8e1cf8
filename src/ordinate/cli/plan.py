"""`ordinate plan`: what a window costs before anything runs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ordinate.cli.out_file import Out


def command(
    source: Annotated[
        str,
        typer.Argument(help="A Hugging Face directory or config.json, a GGUF file, a params.json, or a model's name."),
    ],
    context: Annotated[
        str | None,
        typer.Option(help="Tokens of each sequence, several with commas: 4k,32k. Default: what is declared."),
    ] = None,
    batch: Annotated[str, typer.Option(help="Sequences at once, several with commas.")] = "1",
    memory: Annotated[
        str | None, typer.Option(help="Of one device: 80GiB. Then the exit code is 1 where anything does not fit.")
    ] = None,
    reserve: Annotated[
        str | None, typer.Option(help="Of the memory, kept free for activations and what an engine keeps: 4GiB.")
    ] = None,
    kv: Annotated[
        str,
        typer.Option(
            help="Format of the cache: float32, float16, bfloat16; fp8, int8, int4 in blocks of 32 with a scale, or "
            "int8:64:bfloat16 for other blocks; fp8_e4m3, fp8_e5m2 with one scale a tensor; q8_0, q5_1, q5_0, q4_1, "
            "q4_0, iq4_nl of llama.cpp. Values after a slash. Default: the model's own floats."
        ),
    ] = "auto",
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"] | None,
        typer.Option(
            help="The model's own floats. Default: what its configuration says. For weights in fewer bits: --weights."
        ),
    ] = None,
    tensor_parallel: Annotated[int, typer.Option(help="Devices that share the heads of a layer.")] = 1,
    pipeline_parallel: Annotated[int, typer.Option(help="Devices that share the layers.")] = 1,
    context_parallel: Annotated[int, typer.Option(help="Devices that share the tokens of a sequence.")] = 1,
    allocator: Annotated[
        Literal["window", "full"],
        typer.Option(help="Layers with a window keep the window, or have memory for the full length."),
    ] = "window",
    page_size: Annotated[int | None, typer.Option(help="Tokens of a page. Default: as many as there are.")] = None,
    shared_prefix: Annotated[str | None, typer.Option(help="Tokens that all sequences share and keep once.")] = None,
    keep_recent: Annotated[str | None, typer.Option(help="Eviction: keep the last so many tokens.")] = None,
    keep_sinks: Annotated[int, typer.Option(help="Eviction: keep the first so many tokens besides.")] = 0,
    attention: Annotated[
        Literal["attend", "dense", "eager"],
        typer.Option(help="What computes it: ordinate's attend, a dense mask of biases, or eager with all scores."),
    ] = "attend",
    queries: Annotated[str | None, typer.Option(help="Tokens computed at once. Default: the whole context.")] = None,
    encoder_tokens: Annotated[
        str | None,
        typer.Option(help="That a decoder attends to. Default: what its architecture fixes, else the context."),
    ] = None,
    expand_latent: Annotated[
        bool, typer.Option("--expand-latent", help="MLA keeps keys and values of all heads instead of the latent.")
    ] = False,
    weights: Annotated[
        str | None, typer.Option(help="What the weights take: 13.5GB. Default: from headers, else from the shapes.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="A length to reach: lists the ways, and what each costs.")] = None,
    run: Annotated[
        Path | None, typer.Option(help="The folder of a validation run of this model, for its effective length.")
    ] = None,
    sources: Annotated[
        bool, typer.Option("--sources", help="Say where each number is from (JSON always does).")
    ] = False,
    format: Annotated[
        Literal["text", "json"] | None,
        typer.Option(help="What to write. Default: as --out ends, else text.", show_default=False),
    ] = None,
    out: Out = None,
) -> int:
    """Say what a model's cache, tables, scratch and weights take, and what fits.

    Reads configurations and headers alone: no weights are loaded, nothing is downloaded. An architecture whose cache is
    not known is refused. Sizes are of the device that needs most.
    """
    from ordinate.cli.amounts import bytes_of, counts_of, length_of, lengths_of
    from ordinate.cli.out_file import form_of, put
    from ordinate.errors import InputError
    from ordinate.plan import Ranks, Request, plan

    form = form_of(format, out, ("text", "json"))
    if sources and form != "text":
        raise InputError("--sources belongs to the text; --format json always has them")

    def length(text: str | None) -> int | None:
        return None if text is None else length_of(text)

    request = Request(
        contexts=() if context is None else lengths_of(context, "--context"),
        batches=counts_of(batch),
        memory=None if memory is None else bytes_of(memory),
        reserve=0 if reserve is None else bytes_of(reserve),
        kv=kv,
        ranks=Ranks(tensor_parallel, pipeline_parallel, context_parallel),
        allocator=allocator,
        page_size=page_size,
        shared_prefix=length(shared_prefix) or 0,
        sinks=keep_sinks,
        recent=length(keep_recent),
        attention=attention,
        queries=length(queries),
        encoder_tokens=length(encoder_tokens),
        expand_latent=expand_latent,
        weights=None if weights is None else bytes_of(weights),
        dtype=dtype,
        target=length(target),
    )
    found = plan(source, request, run=run)
    if form == "json":
        import json

        put(json.dumps(found.to_dict(), indent=2, allow_nan=False), out)
    else:
        from ordinate.plan.text import to_text

        put(to_text(found, sources=sources), out)
    return int(found.fits is False)
