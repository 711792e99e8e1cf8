"""The page of pictures: each drawn by the very command that stands above it."""

import contextlib
import io
import shlex
import tempfile
from pathlib import Path

from ordinate.cli import run
from ordinate.plots import facts, plots

FOLDER = "docs/pictures"
PLAN = "plan llama-2-7b --context 4k,8k,32k,128k --batch 1,4,16 --memory 80GiB --format json"

INTRODUCTION = """# Pictures

`ordinate plot KIND SOURCE --out FILE` draws one picture as SVG, PDF or PNG, by the file's suffix, and says in words
what it shows; the words are in the file too. `ordinate list plots` names the kinds. It needs the extra `[plots]`
(matplotlib). A SOURCE is, by kind, a model as `ordinate describe` takes it, a scheme with its numbers
(`alibi:heads=12`), the JSON of another command, or the folder of a run of `ordinate validate`.

In a notebook each is a function that returns the figure, and draws into `ax` where one is given:

```python
import ordinate
from ordinate.plots import caption, plot

figure = plot("wavelengths")(ordinate.read("llama-3.1-8b"), target=262144)
print(caption(figure))  # the words
```

`ordinate.plots.save(figure, file)` writes the same bytes for the same figure, and `with ordinate.plots.plain():` draws
with matplotlib's own settings, whatever a machine's are. Nothing of pyplot is touched. Lines differ in dash and marker
as well as in colour (Okabe and Ito's), heat maps are in cividis, and what is undecided is hatched.

The pictures below are drawn from published configurations, and from results that the commands themselves wrote
(tests/golden/).

"""

PICTURES = (
    ("Sinusoids", ("sinusoid_matrix sinusoidal:dim=128", "sinusoid_curves sinusoidal:dim=128")),
    ("How alike positions are", ("similarity sinusoidal:dim=128",)),
    ("Rotation", ("rotation llama-2-7b --positions 3,11", "wavelengths llama-3.1-8b --to 262144")),
    ("Scaling", ("scaling_bands llama-2-7b --to 16384", "attention_decay llama-2-7b --to 16384 --method yarn")),
    (
        "Biases",
        (
            "alibi_slopes alibi:heads=12",
            "alibi_penalties alibi:heads=12",
            "t5_buckets t5-large --group encoder",
            "kerple kerple:heads=4",
        ),
    ),
    ("Learned and relative terms", ("fire fire:heads=4", "transformer_xl transformer_xl:heads=2,head_dim=16")),
    (
        "One model against another, and in several engines",
        (
            "spec_difference llama-3-8b llama-3.1-8b",
            "engines gpt-oss-20b --group full_attention",
        ),
    ),
    ("Caches", ("stale_keys llama-2-7b --base 500000", "memory plan.json")),
    (
        "Results",
        (
            "loss_by_position tests/golden/prove_smollm2.json",
            "loss_by_position tests/golden/validate_suffix.json",
            "depth_by_length tests/golden/validate_window.json",
        ),
    ),
)


def pages() -> dict[str, str]:
    """The page, and each picture, by their paths from the root, where this must be called."""
    text, files, drawn = INTRODUCTION, {}, set()
    with tempfile.TemporaryDirectory() as folder:
        plan = Path(folder) / "plan.json"
        plan.write_text(_said(PLAN), encoding="utf-8")
        for title, commands in PICTURES:
            text += f"## {title}\n\n"
            for command in commands:
                kind = command.split()[0]
                name = f"{kind}_2" if kind in drawn else kind
                file = Path(folder) / f"{name}.svg"
                said = _said(f"plot {command.replace('plan.json', str(plan))} --out {shlex.quote(str(file))}")
                words = said.splitlines()[0]
                before = f"ordinate {PLAN} > plan.json\n" if "plan.json" in command else ""
                if kind not in drawn:
                    text += f"### {facts(kind).shows[0].upper()}{facts(kind).shows[1:]}\n\n"
                text += f"```\n{before}ordinate plot {command} --out {name}.svg\n```\n\n"
                text += f"![{words}](pictures/{name}.svg)\n\n{words}\n\n"
                files[f"{FOLDER}/{name}.svg"] = file.read_text(encoding="utf-8")
                drawn.add(kind)
    missing = set(plots()) - drawn
    if missing:
        raise LookupError(f"no picture of {', '.join(sorted(missing))}")
    return {"docs/plots.md": text.rstrip() + "\n", **files}


def _said(command: str) -> str:
    """What a command of ours prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = run(shlex.split(command))
    if code not in (0, 1):
        raise RuntimeError(f"ordinate {command} ended with {code}")
    return out.getvalue()
