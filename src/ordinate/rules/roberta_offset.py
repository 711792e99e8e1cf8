"""A tokenizer that counts the rows before RoBERTa's first position."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._numbers import shown
from ordinate.rules._settings import number
from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule
from ordinate.schemes.learned import LearnedPositions


class RobertaOffset(Rule):
    name = "roberta_offset"
    explanation = (
        "The tokenizer lets through as many tokens as the table has rows, but the first rows are not positions."
    )
    why = "RoBERTa counts from pad_token_id + 1 (OPT and BART from 2): the last tokens are past the table."
    remedy = "Subtract the rows before the first position: 514 - 2 = 512 for padding 1, 510 for padding 3."
    reports = (
        *("huggingface/transformers#14243", "huggingface/transformers#1363", "huggingface/transformers#9116"),
        "rinnakk/japanese-pretrained-models#3",
    )
    example: ClassVar = {
        "config.json": {"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1},
        "tokenizer_config.json": {"model_max_length": 514},
    }

    def find(self, subject: Subject) -> Iterator[Finding]:
        tokenizer = subject.files.values("tokenizer_config.json") or {}
        longest = number(tokenizer.get("model_max_length"))
        for group in () if subject.spec is None else subject.spec.groups.values():
            scheme = group.encoding
            if not isinstance(scheme, LearnedPositions) or not scheme.offset or longest is None:
                continue
            if scheme.length < longest <= scheme.length + scheme.offset:
                yield self.finding(
                    subject,
                    "model_max_length",
                    f"model_max_length is {shown(longest)}, and of {scheme.length + scheme.offset} rows "
                    f"{scheme.offset} stand "
                    f"before the first position: {scheme.length} tokens fit",
                    f'"model_max_length": {scheme.length}',
                    file="tokenizer_config.json",
                    fit=scheme.length,
                    offset=scheme.offset,
                )
