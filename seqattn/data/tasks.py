"""Tasks of which we know the answer and where it stands: letters to letters, and two clauses."""

from collections.abc import Callable
from itertools import product
from random import Random
from string import ascii_lowercase
from typing import NamedTuple

from seqattn.data.pairs import TextPair
from seqattn.settings import check_whole

__all__ = ["LETTER_TASKS", "TwoClauses", "letter_pairs", "which_clause"]

# Where each letter of the target comes from, for a source of n letters.
LETTER_TASKS: dict[str, Callable[[int], list[int]]] = {
    "substitute": lambda n: list(range(n)),
    "reverse": lambda n: list(range(n))[::-1],
    "double": lambda n: [t // 2 for t in range(2 * n)],
}


def letter_pairs(
    task: str,
    count: int,
    shortest: int,
    longest: int | None = None,
    *,
    letters: int = 12,
    seed: int = 0,
) -> list[TextPair]:
    """Draw sentences of single letters and what a task makes of them, with gold links.

    Every letter is written in a code, the one half an alphabet further on; what differs is the
    order:

    - ``"substitute"``: target letter t comes from source letter t;
    - ``"reverse"``: the last letter comes first;
    - ``"double"``: each letter comes twice, so that target letter t comes from source letter t/2,
      rounded down.

    Parameters
    ----------
    task : {"substitute", "reverse", "double"}
        What to do with the letters.
    count : int
        How many pairs.
    shortest, longest : int
        Fewest and most letters of a source; ``shortest`` alone for one length.
    letters : int
        Size of the alphabet, an even number from 2 to 26. Letters may occur more than once.
    seed : int
        Of the draw. The sources are the same for all tasks.

    Returns
    -------
    list of TextPair
        With spaces between the letters.

    Raises
    ------
    ValueError
        If there is no such task, or a number is out of its limits or no whole one.

    Examples
    --------
    >>> pair = letter_pairs("reverse", 1, 3, letters=4)[0]
    >>> pair.source, pair.target
    ('d a c', 'a c b')
    >>> sorted(pair.links)
    [(0, 2), (1, 1), (2, 0)]
    """
    longest = shortest if longest is None else longest
    if task not in LETTER_TASKS:
        raise ValueError(f"task is {task!r}; expected one of {', '.join(LETTER_TASKS)}")
    check_whole("count", count, least=0)
    check_whole("shortest", shortest)
    check_whole("longest", longest)
    if not 1 <= shortest <= longest:
        raise ValueError(f"lengths are {shortest} to {longest}; expected at least 1, in this order")
    check_whole("letters", letters)
    if letters % 2 or not 2 <= letters <= len(ascii_lowercase):
        raise ValueError(f"letters is {letters}; expected an even number from 2 to 26")
    draw = Random(seed)
    pairs = []
    for _ in range(count):
        size = draw.randint(shortest, longest)
        source = [draw.randrange(letters) for _ in range(size)]
        places = LETTER_TASKS[task](size)
        target = [(source[place] + letters // 2) % letters for place in places]
        asked, answer = (" ".join(ascii_lowercase[x] for x in ids) for ids in (source, target))
        pairs.append(TextPair(asked, answer, frozenset((i, t) for t, i in enumerate(places))))
    return pairs


GOOD = ("good", "fine", "great", "lovely", "superb", "pleasant", "brilliant", "charming")
BAD = ("bad", "poor", "awful", "dull", "dreadful", "boring", "terrible", "ugly")
ASKED = "film"
OTHERS = ("hat", "soup", "song", "coat", "garden", "hotel")


class TwoClauses(NamedTuple):
    """A sentence of two clauses, one that praises and one that blames.

    Attributes
    ----------
    text : str
        Words with spaces between them.
    positive : bool
        Gold label: whether the clause on the film praises it.
    noun, adjective : int
        Where *film* stands, and where what is said of it stands; counted from 0.
    """

    text: str
    positive: bool
    noun: int
    adjective: int


def which_clause(count: int, *, seed: int = 0) -> list[TwoClauses]:
    """Draw sentences such as "the film was not good but the hat was fine".

    The label is what is said of the film. The other clause always says the opposite, either
    clause may come first, and *not* stands in each clause or does not. So for every sentence there
    is another one of exactly the same words with the other label: who only counts words, in
    whatever way, cannot be right more often than not.

    Parameters
    ----------
    count : int
        How many, from 1 to 6,144, which is all there are.
    seed : int
        Of the draw.

    Returns
    -------
    list of TwoClauses
        All different: slices of it are splits that share no sentence.

    Raises
    ------
    ValueError
        If there are not so many.

    Examples
    --------
    >>> one = which_clause(1, seed=1)[0]
    >>> one.text, one.positive
    ('the hotel was superb but the film was not fine', False)
    >>> one.text.split()[one.noun], one.text.split()[one.adjective]
    ('film', 'fine')
    """
    flags = (False, True)
    every = list(product(flags, flags, flags, flags, OTHERS, range(len(GOOD)), range(len(BAD))))
    check_whole("count", count)
    if not 1 <= count <= len(every):
        raise ValueError(f"count is {count}; expected 1 to {len(every)}, which is all there are")
    drawn = []
    for first, positive, *nots, other, here, there in Random(seed).sample(every, count):
        clauses = []
        for noun, praise, negated, at in zip(
            (ASKED, other), (positive, not positive), nots, (here, there), strict=True
        ):
            # What is not bad is praised.
            adjective = (GOOD if praise != negated else BAD)[at]
            clauses.append(["the", noun, "was", *["not"] * negated, adjective])
        asked, spoken = clauses[0], clauses if first else clauses[::-1]
        text = [*spoken[0], "but", *spoken[1]]
        noun_at = text.index(ASKED)
        drawn.append(TwoClauses(" ".join(text), positive, noun_at, noun_at + len(asked) - 2))
    return drawn
