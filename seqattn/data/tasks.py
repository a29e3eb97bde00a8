"""Letters to letters: tasks of which we know which letter each written one comes from."""

from collections.abc import Callable
from random import Random
from string import ascii_lowercase

from seqattn.data.pairs import TextPair

__all__ = ["LETTER_TASKS", "letter_pairs"]

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
        If there is no such task, or a number is out of its limits.

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
    if not 1 <= shortest <= longest:
        raise ValueError(f"lengths are {shortest} to {longest}; expected at least 1, in this order")
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
