"""The shapes in the annotations of `ordinate.torch` are those of what goes in and comes out.

jaxtyping and beartype check every call in a process of its own: with their hook, wrong input is refused before our
own checks are reached, so the other tests run without it.
"""

import subprocess
import sys
import textwrap

HOOK = """
from jaxtyping import install_import_hook
with install_import_hook({modules!r}, "beartype.beartype"):
    import {package}
"""


ANNOTATED = [f"ordinate.torch.{name}" for name in ("adapters", "additive", "bias", "rotary", "temperature")]


def run(
    script: str, package: str = "ordinate.torch", modules: list[str] = ANNOTATED, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path.insert(0, {path!r})\n" if path else ""
    code = start + HOOK.format(package=package, modules=modules) + textwrap.dedent(script)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_every_module_keeps_to_its_annotations():
    done = run(
        """
        import torch
        import ordinate
        from ordinate.schemes.base import Additive, Bias, Rotary
        from ordinate.temperature import QueryTemperature
        from ordinate.torch import AdditiveEncoding, PositionBias, RotaryEmbedding
        from ordinate.torch import QueryTemperature as Temperature

        checked = []
        for name in ordinate.schemes():
            scheme = ordinate.scheme(name).example()
            if isinstance(scheme, Rotary):
                axes = getattr(scheme, "axes", 3 if name == "multimodal" else 1)
                for lead in ((), (2,)):
                    ids = torch.arange(5).expand(*((axes,) if axes > 1 else ()), *lead, 5)
                    module = RotaryEmbedding(scheme)
                    q, k = torch.randn(*lead, 5, 4, scheme.head_dim), torch.randn(*lead, 5, 2, scheme.head_dim)
                    module.rotate(q, k, ids), module.rotate(None, k, ids)
                    if name != "xpos":
                        module.table(ids), module(q, ids)
            elif isinstance(scheme, Additive):
                AdditiveEncoding(scheme)(torch.randn(2, 5, scheme.dim))
                AdditiveEncoding(scheme)(torch.randn(5, scheme.dim), torch.tensor([4, 0, 1, 1, 3]))
            elif isinstance(scheme, Bias):
                q, k = torch.arange(4, 7), torch.arange(7)
                content = {}
                if scheme.needs == "content":
                    content = {"q": torch.randn(2, 3, scheme.heads, scheme.head_dim)}
                    content["k"] = torch.randn(2, 7, scheme.heads, scheme.head_dim)
                PositionBias(scheme)(q, k, **content)
            checked.append(name)
        Temperature(QueryTemperature("ministral3", 0.1, 4.0))(torch.randn(2, 5, 3, 8))
        print(len(checked), len(ordinate.schemes()))
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["16", "16"]


def test_the_check_can_see_a_wrong_shape(tmp_path):
    (tmp_path / "made_up_shapes.py").write_text(
        "from jaxtyping import Float\nfrom torch import Tensor\n\n"
        'def halved(x: Float[Tensor, "n"]) -> Float[Tensor, "n"]:\n    return x[: len(x) // 2]\n'
    )
    done = run(
        "import torch\nmade_up_shapes.halved(torch.zeros(4))", "made_up_shapes", ["made_up_shapes"], str(tmp_path)
    )
    assert done.returncode == 1
    assert "halved" in done.stderr
