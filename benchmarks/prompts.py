"""How many prompts of 4096 tokens are built in a second on one core: python benchmarks/prompts.py [count]."""

import sys
import time

from ordinate.models import find
from ordinate.validate.builder import Builder, verify
from ordinate.validate.fillers import names
from ordinate.validate.instances import Demonstration, Instance, Record
from ordinate.validate.streams import stream
from ordinate.validate.tokenizers import HuggingFaceTokenizer
from ordinate.validate.words import Words

LENGTH = 4096
RECORDS = 12


def instance(words: Words, index: int) -> Instance:
    """Twelve keys, one of which is asked for."""
    generator = stream(1, "benchmark", index)
    names, numbers = words.names(generator, RECORDS + 1), words.numbers(generator, RECORDS + 1, 5)
    sentences = [f"The key of {name} is {number}." for name, number in zip(names, numbers, strict=True)]
    return Instance(
        task="benchmark",
        index=index,
        seed=1,
        records=tuple(
            Record(sentence, "decoy" if place else "evidence", str(place))
            for place, sentence in enumerate(sentences[:-1])
        ),
        question=f"What is the key of {names[0]}?",
        answer=numbers[:1],
        demonstrations=(Demonstration(tuple(sentences[-1:]), f"What is the key of {names[-1]}?", numbers[-1]),),
        forms=("The key of {name} is {number:5}.",),
    )


def main(count: int) -> None:
    """Build, and print processor time: with the filler's first encoding, and of the second half alone."""
    tokenizer = HuggingFaceTokenizer.read(find("smollm2").path)
    words = Words(tokenizer)
    instances = [instance(words, index) for index in range(count)]
    for filler in (name for name in names() if name != "file"):
        builder = Builder(tokenizer, filler=filler)
        times, prompts = [time.process_time()], []
        for half in (instances[: count // 2], instances[count // 2 :]):
            prompts += [builder.build(one, LENGTH, places="start") for one in half]
            times.append(time.process_time())
        for one, prompt in list(zip(instances, prompts, strict=True))[:: max(1, count // 20)]:
            verify(prompt, tokenizer, one)
        whole, half = count / (times[2] - times[0]), (count - count // 2) / (times[2] - times[1])
        print(f"{filler}: {whole:.0f} prompts/s from the first on, {half:.0f} prompts/s in the second half")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 600)
