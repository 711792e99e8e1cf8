"""Answers without reading: what a score must stay above to mean anything."""

from ordinate.validate.readers.shortcuts.chains import ChainOfTheFirst, FirstNames
from ordinate.validate.readers.shortcuts.constant import Always, Majority
from ordinate.validate.readers.shortcuts.distances import Adjacent, Alone, Crowded, Middle, Remote
from ordinate.validate.readers.shortcuts.frequency import DumpAll, MostFrequent, Rarest
from ordinate.validate.readers.shortcuts.mentions import AllMentions, FirstMention, LastMention
from ordinate.validate.readers.shortcuts.numbers import LargestNumber, SmallestNumber
from ordinate.validate.readers.shortcuts.slots import AnyCandidate, First, FixedSlot, NearestToTheQuestion

SHORTCUTS = (
    Always("no"),
    Always("yes"),
    First(),
    NearestToTheQuestion(),
    FixedSlot(1),
    FixedSlot(2),
    AnyCandidate(),
    MostFrequent(),
    Rarest(),
    DumpAll(),
    Adjacent(),
    Remote(),
    Crowded(),
    Alone(),
    Middle(),
    FirstNames(),
    ChainOfTheFirst(),
    FirstMention(),
    LastMention(),
    AllMentions(),
    LargestNumber(),
    SmallestNumber(),
)
"""All but `Majority`, which must be told the answers of other instances."""

__all__ = [
    "SHORTCUTS",
    "Adjacent",
    "AllMentions",
    "Alone",
    "Always",
    "AnyCandidate",
    "ChainOfTheFirst",
    "Crowded",
    "DumpAll",
    "First",
    "FirstMention",
    "FirstNames",
    "FixedSlot",
    "LargestNumber",
    "LastMention",
    "Majority",
    "Middle",
    "MostFrequent",
    "NearestToTheQuestion",
    "Rarest",
    "Remote",
    "SmallestNumber",
]
