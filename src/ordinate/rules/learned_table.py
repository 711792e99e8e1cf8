"""A learned table with other rows than the file declares."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.schemes.learned import LearnedPositions

NAMES = (
    *("wpe.weight", "position_embeddings.weight", "embed_positions.weight", "position_embedding.weight"),
    *("position_embd.weight", "pos_embed", "positional_embedding"),
)


class LearnedTable(Rule):
    name = "learned_table"
    severity = "error"
    explanation = "The stored table of learned positions has other rows than the configuration declares."
    why = "Past the last row there is an index error, an assertion on the device, or somebody else's memory."
    remedy = "Declare what the table has, or stretch the table."
    reports = (
        "huggingface/transformers#530",
        "minimaxir/gpt-2-simple#72",
        "hpcaitech/ColossalAI#2606",
        "openai/CLIP#110",
    )
    example: ClassVar = {
        "config.json": {"model_type": "gpt2", "n_positions": 2048, "n_embd": 768},
        "tensors": {"wpe.weight": ["F32", [1024, 768]]},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        groups = () if subject.spec is None else subject.spec.groups.values()
        schemes = [g.encoding for g in groups if isinstance(g.encoding, LearnedPositions)]
        tables = {n: t for n, t in subject.files.tensors().items() if n.endswith(NAMES)} if len(schemes) == 1 else {}
        for name, table in tables.items():
            if len(table.shape) != 2 or table.shape[1] != schemes[0].dim:
                continue
            needed, rows = schemes[0].length + schemes[0].offset, table.shape[0]
            if rows == needed:
                continue
            yield self.finding(
                subject,
                subject.key("max_position_embeddings"),
                f"tensor {name} has {rows} rows, and {schemes[0].length} positions with {schemes[0].offset} "
                "rows before them "
                f"need {needed}",
                f'"{subject.key("max_position_embeddings").rpartition(".")[2]}": {rows} as the table has it',
                severity="error" if rows < needed else "warning",
                rows=rows,
                needed=needed,
            )
