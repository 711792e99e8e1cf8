"""A file that cannot be read, or says something impossible about position."""

from collections.abc import Iterator
from typing import ClassVar

from ordinate.rules._subject import Subject
from ordinate.rules.base import Finding, Rule


class Unreadable(Rule):
    name = "unreadable"
    severity = "error"
    gives_way = True
    explanation = "The files cannot be read as a model's positional settings."
    why = "What one reader refuses another guesses at: a default base, a type that falls through, a list cut short."
    remedy = "Correct the value that the message names; the requirement stands beside it."
    reports = ("vllm-project/vllm#1956", "NVIDIA-NeMo/Automodel#2825", "hiyouga/LlamaFactory#4984")
    example: ClassVar = {"model_type": "llama", "num_attention_heads": "thirty-two"}

    def find(self, subject: Subject) -> Iterator[Finding]:
        if subject.error is not None:
            label, _, message = subject.error.partition(": ")
            key = message.split(" ")[0] if label == str(subject.values.get("model_type", "config")) else ""
            key = key if key.replace(".", "").replace("_", "").isalnum() and "_" in key else ""
            yield self.finding(subject, key, subject.error, "Correct this value; nothing else can be said before that")
        for group in subject.rotating:
            # Whatever cannot be computed stops every engine, or ought to.
            _ = group.frequencies(), group.attention_factor()
        for name in ("generation_config.json", "tokenizer_config.json", "adapter_config.json"):
            subject.files.values(name)
        subject.files.tensors()
        for name, reason in subject.files.errors.items():
            yield self.finding(
                subject,
                "",
                f"{name} cannot be read: {reason}",
                f"Repair or remove {name}",
                severity="warning",
                file=name,
            )
