"""How the exercise on evaluation is graded: oracles, cases, known mistakes."""

import itertools
import math
import re

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.probes import PLAIN, value_probe
from seqattn.grading.questions import question

LEFT = "the arguments are left as they are"
# They score and test: the exercise asks to write that.
SCORERS = ("the package sacrebleu", "the package nltk", "the package scipy")

# --- Oracles ---------------------------------------------------------------------------------------


def grams_of(text, n):
    words = text.split()
    return [" ".join(words[i : i + n]) for i in range(len(words) - n + 1)]


def counts_of(written, references):
    """Sum what BLEU is made of: right and all n-grams, and both lengths."""
    right, total, c, r = [0] * 4, [0] * 4, 0, 0
    for text, row in zip(written, references, strict=True):
        length = len(text.split())
        c += length
        r += sorted((len(x.split()) for x in row), key=lambda k: (abs(k - length), k))[0]
        for n in range(1, 5):
            found = grams_of(text, n)
            total[n - 1] += len(found)
            for gram in set(found):
                most = max(grams_of(x, n).count(gram) for x in row)
                right[n - 1] += min(found.count(gram), most)
    return right, total, c, r


def bleu(written, references):
    right, total, c, r = counts_of(written, references)
    if 0 in right:
        return 0.0
    logs = [math.log(a / b) for a, b in zip(right, total)]
    return 100 * math.exp(min(0.0, 1 - r / c)) * math.exp(sum(logs) / 4)


def difference(a, b):
    n = len(a)
    off = [float(y) - float(x) for x, y in zip(a, b)]
    d = sum(off) / n
    variance = sum((x - d) ** 2 for x in off) / n
    p, q = sum(map(float, a)) / n, sum(map(float, b)) / n
    return {
        "the difference": d,
        "paired": 1.96 * math.sqrt(variance / n),
        "on sentences of their own": 1.96 * math.sqrt((p * (1 - p) + q * (1 - q)) / n),
        LEFT: True,
    }


def f_score(rows):
    right, drawn, wanted = (sum(int(row[k]) for row in rows) for k in range(3))
    return 200 * right / (drawn + wanted)


def bootstrap(a, b, draws):
    seen = f_score(b) - f_score(a)
    drawn = [f_score(b[row]) - f_score(a[row]) for row in draws]
    return seen, drawn


def compare(a, b, draws):
    seen, drawn = bootstrap(a, b, draws)
    far = sum(abs(x - seen) >= abs(seen) for x in drawn)
    return {"the difference": seen, "p": (1 + far) / (1 + len(draws)), LEFT: True}


def deal_out(a, b):
    scores, n = [*a, *b], len(a)

    def size(flags):
        groups = [[x for x, flag in zip(scores, flags) if flag == which] for which in (1, 0)]
        return abs(sum(groups[0]) / len(groups[0]) - sum(groups[1]) / len(groups[1]))

    seen = size([1] * n + [0] * len(b))
    ways = [f for f in itertools.product((0, 1), repeat=len(scores)) if sum(f) == n]
    far = sum(size(flags) >= seen - 1e-9 for flags in ways)
    smallest = (1 + (n == len(b))) / len(ways)
    return {"p": far / len(ways), "the smallest p": smallest, LEFT: True}


def may_say(a, b, interval):
    if any(a[name] != b[name] for name in ("signature", "sentences")):
        return "not comparable"
    if any(x["chosen on"] == x["sentences"] for x in (a, b)):
        return "flattered"
    if not (interval[0] > 0 or interval[1] < 0):
        return "no difference seen"
    if min(len(a["scores"]), len(b["scores"])) == 1:
        return "two trainings"
    signs = {(x > y) - (x < y) for x in a["scores"] for y in b["scores"]}
    return {(1,): "a is better", (-1,): "b is better"}.get((*signs,), "no difference seen")


VERDICTS = ("too few", "as promised", "too many")


def study(different, same, trials):
    found, alarms = (
        [sum(p < 0.05 for p in row[:trials]) / trials for row in table.tolist()]
        for table in (different, same)
    )
    from_here = [all(share >= 0.8 for share in found[i:]) for i in range(len(found))]
    place = from_here.index(True) if True in from_here else -1
    off, width = alarms[place] - 0.05, 1.96 * math.sqrt(0.05 * 0.95 / trials)
    return {
        "found": tuple(found),
        "alarms": tuple(alarms),
        "enough": float(place),
        "verdict": VERDICTS[1 + (off > width) - (off < -width)],
    }


# --- Cases -----------------------------------------------------------------------------------------

WORDS = ("le", "la", "Le", "chat", "chien", "voit", "mange", "et", "dort", "sur", "tapis", "mer")


def some_words(rng, count):
    return [str(word) for word in rng.choice(WORDS, size=count)]


def one_entry(rng, kind, place):
    """Draw what was written, and its references: written no shorter than any of them."""
    first = some_words(rng, int(rng.integers(7, 10)))
    cut = len(first) // 2
    other = [*some_words(rng, cut - 1 - place % 2), *first[cut:]]
    # The beginning is the first reference's, the end the other's, and one word stands too often.
    written = [*first[:cut], *some_words(rng, 1), *other[-4:], "le", "le", "le"]
    rows = [[*first[: cut + 1], *some_words(rng, 2)], other]
    if kind == "more references":
        rows.append(some_words(rng, int(rng.integers(5, 8))))
    if kind == "one reference":
        rows = [[*first[: cut + 1], *other[-4:]]]
    if kind == "a word in both":  # once in each: it counts once
        rows = [["le", *row[1:]] for row in rows]
    if kind != "one reference" and place % 2:
        rows = rows[::-1]
    while len(written) < max(map(len, rows)):
        written += some_words(rng, 1)
    return written, rows


# Some words as texts have them, beside others that are the same but for their punctuation.
PUNCTUATED = {
    "la": "l'eau",
    "chien": "chat,",
    "voit": "s'est",
    "et": "est",
    "mange": "dort.",
    "sur": "c'est",
}


def otherwise_split(text):
    """Give a text as those read it who do not split it at its spaces alone."""
    marked = re.sub(r"([.,'])", r" \1 ", text)
    return (
        re.sub(r"[.,']", " ", text),
        marked,
        re.sub(r"([.,])", r" \1", text),
        re.sub(r"[.,]", "", text),
        text.replace("'", "' "),
    )


def punctuated(rng):
    while True:
        entries = [one_entry(rng, "", place) for place in range(5)]
        written, references = _texts(
            [
                (
                    [PUNCTUATED.get(x, x) for x in words],
                    [[PUNCTUATED.get(x, x) for x in r] for r in rows],
                )
                for words, rows in entries
            ]
        )
        right = bleu(written, references)
        others = [
            bleu(
                [otherwise_split(x)[way] for x in written],
                [[otherwise_split(x)[way] for x in row] for row in references],
            )
            for way in range(5)
        ]
        # Each way to split them gives another score.
        if right and all(abs(other - right) > 0.1 for other in others):
            return written, references


def draw_bleu(rng, kind):
    if kind == "punctuation":
        return punctuated(rng)
    if kind in ("ordinary", "more references", "one reference", "a word in both", "one sentence"):
        number = 1 if kind == "one sentence" else int(rng.integers(3, 6))
        while True:
            entries = [one_entry(rng, kind, place) for place in range(number)]
            found = _texts(entries)
            if 0 not in counts_of(*found)[0]:
                return found
    rows = [some_words(rng, length) for length in (9, 12, 10)]
    if kind == "short":
        entries = [(row[:5], [row, [*row, *some_words(rng, 3)]]) for row in rows]
    elif kind == "between":  # the closest is not the shortest
        entries = [
            (row[:-2], [row, some_words(rng, 4), [*row, *some_words(rng, 5)]]) for row in rows
        ]
    elif kind == "equally close":
        entries = [(row[:-1], [row, row[:-2]][:: 1 - 2 * (n % 2)]) for n, row in enumerate(rows)]
        entries.append((rows[0][:4], [rows[0]]))
    elif kind == "short and long":
        entries = [(row[:4], [row]) for row in rows[:2]]
        entries.append(([*rows[2], *rows[2]][:13], [rows[2]]))
    elif kind == "an empty one":
        entries = [(row[:7], [row]) for row in rows[:2]] + [([], [rows[2], some_words(rng, 5)])]
    elif kind == "no four":
        rows = [[str(word) for word in rng.permutation(WORDS) if word != "Le"] for _ in rows]
        entries = [([*row[:3], *row[8:], *row[3:6]], [row]) for row in rows]
    elif kind == "too short":
        entries = [(row[:3], [row[:3]]) for row in rows]
    else:  # all empty
        entries = [([], [row, row[:5]]) for row in rows]
    return _texts(entries)


def _texts(entries):
    written = [" ".join(words) for words, _ in entries]
    return written, [[" ".join(map(str, row)) for row in rows] for _, rows in entries]


def draw_pairs(rng, kind):
    # Where they agree, shares of a power of two are exact in any order: no variance below 0.
    n = {"ordinary": 40, "other sizes": 13, "few": 5, "one sentence": 1, "they agree": 32}
    n = n.get(kind, 30)
    while True:
        a = rng.random(n) < rng.uniform(0.3, 0.8)
        b = np.where(rng.random(n) < 0.75, a, rng.random(n) < 0.6)
        if kind == "never both":
            b = ~a & (rng.random(n) < 0.7)
        if kind == "they agree":
            b = a.copy()
        if kind == "all right":
            b = np.ones(n, bool)
        # Shares that differ, and pairs that matter.
        if n == 1 or kind in ("they agree", "all right") or (a.mean() != b.mean() and a.any()):
            if n > 1 and (a.all() or not a.any()):
                continue
            return a, b


LINKS = {  # sentences, draws
    "ordinary": (9, 40),
    "other sizes": (6, 25),
    "few draws": (7, 4),
    "one far off": (8, 60),
    "as many": (8, 8),
    "the same output": (7, 12),
    "draws with nothing right": (6, 12),
    "worse": (9, 40),
}


def draw_links(rng, kind):
    n, K = LINKS[kind]
    while True:
        wanted = rng.integers(2, 9, n)
        tables = []
        for share in (0.55, 0.7):
            drawn = wanted + rng.integers(-1, 4, n)
            right = rng.binomial(np.minimum(drawn, wanted), share)
            tables.append(np.stack([right, drawn, wanted], 1))
        a, b = tables if kind != "worse" else tables[::-1]
        if kind == "draws with nothing right":
            a[2:, 0] = 0
        if kind == "the same output":
            b = a.copy()
        draws = rng.integers(0, n, (K, n))
        if kind == "draws with nothing right":
            draws[:2] = rng.integers(2, n, (2, n))
        seen, found = bootstrap(a, b, draws)
        if kind == "the same output":
            return a, b, draws
        sign = -1 if kind == "worse" else 1
        off = np.array(found) - seen
        far = (np.abs(off) >= abs(seen)).mean()
        # No draw is as far as what is seen to the last digit, and some are farther, on both sides.
        near = np.abs(np.abs(off) - abs(seen)).min()
        sides = (off >= abs(seen)).any() and (off <= -abs(seen)).any()
        if near > 1e-3 and seen * sign > 0.2 and 0 < far < 0.9 and (sides or K < 20):
            return a, b, draws


SEEDS = {
    "ordinary": (3, 4),
    "as many": (3, 3),
    "one": (1, 4),
    "many": (5, 4),
    "more": (2, 5),
    "two each": (2, 2),
    "one each": (1, 1),
}


def rounding_shows(a, b):
    """Ask whether ways that are equal count, by each way to compute them, only with a tolerance."""
    scores, n, m = [*a, *b], len(a), len(b)
    one, two = [], []
    for places in itertools.combinations(range(n + m), n):
        first = [scores[i] for i in places]
        rest = [x for i, x in enumerate(scores) if i not in places]
        one.append(abs(sum(first) / n - sum(rest) / m))
        two.append(abs(sum(first) / n - (sum(scores) - sum(first)) / m))
    seen = abs(sum(a) / n - sum(b) / m)
    return all(
        sum(way >= its for way in ways) < sum(way >= its - 1e-9 for way in ways)
        for ways, its in ((one, seen), (two, two[0]), (two, seen))
    )


def far_ways(middle, a, b):
    """Count the ways that are as far apart as the one seen, by means or by medians."""
    scores, sizes = np.array([*a, *b]), []
    for places in itertools.combinations(range(len(scores)), len(a)):
        inside = np.isin(np.arange(len(scores)), places)
        sizes.append(abs(middle(scores[inside]) - middle(scores[~inside])))
    return sum(size >= sizes[0] - 1e-9 for size in sizes)


def draw_seeds(rng, kind):
    n, m = SEEDS.get(kind, (4, 3))
    if kind in ("apart", "apart, upside down"):
        n = m = 3
    while True:
        scores = np.round(4 * rng.normal(30, 1.5, n + m)) / 4
        a, b = scores[:n], scores[n:] + (0.75 if kind != "lower" else -1)
        if kind == "apart":
            b = scores[n:] + 9
        if kind == "apart, upside down":
            b = scores[n:] - 9
        if kind == "equal":
            b = rng.permutation(np.resize(a, m))
        if kind in ("tenths", "equal"):  # many ways are equal but for rounding
            a, b = rng.integers(1, 5, n) / 10, rng.integers(1, 5, m) / 10
        if kind == "one outlier":
            a[0] = a[0] - 15
        if kind == "nearly equal":
            # The first of each, exchanged, make a difference that is smaller by 1.2e-6.
            a = np.array([31 + 2e-6, 28, 34, 20]) + rng.integers(9)
            b = np.array([31, 22, 29.5]) + np.floor(a[3] - 20)
        a, b = ([round(float(x), 6) for x in row] for row in (a, b))
        if kind == "tenths" and not rounding_shows(a, b):
            continue
        if kind == "tenths" and far_ways(np.mean, a, b) == far_ways(np.median, a, b):
            continue
        # Two of six ways are the most extreme ones: here the one seen is no such way.
        if kind == "two each" and (max(a) - min(b)) * (max(b) - min(a)) <= 0.1:
            continue
        if kind == "equal" and sum(a) / n != sum(b) / m:
            b = a[:m] if sum(a) == n * a[0] else [a[0]] * m
            a = [a[0]] * n
        return a, b


RANGES = "ranges meet", "ranges meet far", "ranges touch", "one seed within"


def draw_claim(rng, kind):
    low = float(np.round(rng.uniform(20, 35), 1))

    def seeds(count, above):
        return [round(low + above + float(x), 1) for x in rng.uniform(0, 2, count)]

    a = {"signature": "tok:13a", "sentences": "test", "chosen on": "valid"}
    b = a | {"scores": [*seeds(int(rng.integers(1, 4)), 2.4), low + 2.3]}
    a["scores"] = [*seeds(1, 0), low + 2, *seeds(1, 0)]
    interval = (0.2, 3.8)
    first, *second = kind.split(", ")
    if first == "a above":
        a["scores"], b["scores"], interval = b["scores"], a["scores"], (-3.8, -0.2)
    if "signature" in second:
        b["signature"] = "tok:intl"
    if "capitals in the signature" in second:
        b["signature"] = "tok:13A"
    if "end of the signature" in second:
        a["signature"], b["signature"] = "nrefs:1|tok:13a", "nrefs:1|tok:intl"
    if "scored on news" in second:
        a["sentences"] = b["sentences"] = "news"
    if "sentences" in second:
        b |= {"sentences": "news", "chosen on": "valid"}
    if "chosen a" in second:
        a["chosen on"] = a["sentences"]
    if "chosen b" in second:
        b["chosen on"] = b["sentences"]
    if "chosen on the test" in second:
        a["chosen on"] = b["chosen on"] = "test"
    if "nothing chosen" in second:
        a["chosen on"] = b["chosen on"] = ""
    if "chosen on other news" in second:
        a["chosen on"], b["chosen on"] = "news", "valid"
    if "interval" in second:
        interval = (-0.4, 3.9)
    if "interval ends at 0" in second:
        interval = (0.0, 3.9) if first == "b above" else (-3.9, 0.0)
    if "one seed a" in second:
        a["scores"] = a["scores"][:1]
    if "one seed b" in second:
        b["scores"] = b["scores"][:1]
    if "ranges meet" in second:
        a["scores"], b["scores"] = [low, low + 1.2, low + 3], [low + 2.4, low + 4.4, low + 5]
    if "ranges meet far" in second:  # one seed of five lies among the others
        a["scores"], b["scores"] = [low, low + 2, low + 1], [low + 9, low + 1.5, low + 8, low + 7]
    if "ranges touch" in second:
        a["scores"], b["scores"] = [low + 2, low], [low + 4, low + 2]
    if "one seed within" in second:  # the range of the others
        a["scores"], b["scores"] = [low, low + 2, low + 3], [low + 1.5]
    if "lucky" in second:  # its best seed is the best of all
        a["scores"], b["scores"] = [low + 5.5, low, low + 1], [low + 4, low + 4.4, low + 5]
    if "unlucky" in second:  # its worst seed is the worst of all
        a["scores"], b["scores"] = [low + 1, low + 2, low + 2.5], [low, low + 6, low + 5]
    if "other seeds say otherwise" in second:  # than those whose sentences were drawn
        a["scores"], b["scores"] = [low + 3, low + 4, low + 5], [low + 3.5, low + 2, low + 1]
    if first == "a above" and {*second} & {"lucky", "unlucky", *RANGES}:
        a["scores"], b["scores"] = b["scores"], a["scores"]
    for system in (a, b):
        system["scores"] = [round(x, 1) for x in system["scores"]]
    return a, b, interval


def draw_study(rng, kind):
    sizes = [int(n) for n in np.cumsum(rng.integers(3, 30, 4))]
    trials = {"few trials": 10, "many trials": 120}.get(kind, 40)
    shares = [0.15, 0.5, 0.85, 0.95]
    alarms = [0.05, 0.4, 0.05, 0.4]
    if kind == "never":
        shares, alarms = [0.1, 0.2, 0.4, 0.6], [0.3, 0.05, 0.3, 0.05]
    if kind == "always":
        shares, alarms = [0.9, 0.95, 1.0, 1.0], [0.05, 0.4, 0.4, 0.4]
    if kind == "falls again":
        shares, alarms = [0.3, 0.9, 0.6, 0.95], [0.3, 0.05, 0.05, 0.3]
    if kind == "falls at the end":
        shares, alarms = [0.3, 0.9, 0.9, 0.6], [0.05, 0.05, 0.05, 0.4]
    if kind == "exactly":
        shares, alarms = [0.5, 0.7, 0.8, 0.9], [0.4, 0.4, 0.1, 0.4]
    if kind == "too many":
        shares, alarms = [0.5, 0.7, 0.9, 0.9], [0.05, 0.05, 0.2, 0.05]
    if kind == "many trials":  # 0.1 in 120 trials are too many, 0 are too few
        shares, alarms = [0.5, 0.9, 0.9, 0.9], [0.05, 0.1, 0.05, 0.05]
    if kind == "too few":
        trials, alarms = 120, [0.05, 0.1, 0.0, 0.05]
    if kind == "just inside":  # between the half-widths that other formulas give
        trials, alarms = 120, [0.4, 0.4, 10 / 120, 0.4]
    # Of a share of 0.05 the variance is 0.05 times 0.95, which is not quite 0.05.
    if kind == "barely too many":
        trials, alarms = 82, [0.05, 0.05, 8 / 82, 0.05]
    if kind == "barely too few":
        trials, alarms = 110, [0.05, 0.05, 1 / 110, 0.05]
    if kind == "barely as promised":
        trials, alarms = 83, [0.4, 0.4, 8 / 83, 0.4]
    if kind == "a little few":
        trials, alarms = 110, [0.4, 0.4, 2 / 110, 0.4]
    if kind == "many sentences":
        sizes, alarms = [20 * n for n in sizes], [0.4, 0.4, 0.1, 0.4]

    def table(row):
        rows = []
        for share in row:
            small = round(share * trials)
            p = np.where(np.arange(trials) < small, 0.01, 0.3)
            p[small:] += rng.uniform(0, 0.6, trials - small)
            if small < trials:
                p[-1] = 0.05  # not below
            # Samples that nobody should look at.
            rows.append([*rng.permutation(p), *[0.01] * 7])
        return np.round(np.array(rows), 4)

    return table(shares), table(alarms), sizes, trials


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Several references
bleu(written, references)
read chapters/17_evaluation: BLEU, by hand
what is right, 3 points, within 0.001 or 1e-4: ordinary; more references; one reference; a word in both; one sentence; punctuation
    Sums over the corpus, for each length of n-grams; each n-gram is clipped by the reference that has it most often.
what is too short, 2 points, within 0.001 or 1e-4: short; between; equally close; short and long; an empty one
    One penalty for the corpus, from the words written and the lengths of the closest references.
nothing right, 1 point, within 0.001 or 1e-4: no four; too short; all empty
    Where no n-gram of some length is right, BLEU is 0, and nothing is divided by 0.
RIGHT
def bleu(written, references):
    from collections import Counter

    def grams(words, n):
        return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))

    right, total, c, r = [0] * 4, [0] * 4, 0, 0
    for text, row in zip(written, references):
        words, known = text.split(), [reference.split() for reference in row]
        c += len(words)
        r += min((abs(len(k) - len(words)), len(k)) for k in known)[1]
        for n in range(4):
            most = Counter()
            for k in known:
                most |= grams(k, n + 1)
            found = grams(words, n + 1)
            right[n] += (found & most).total()
            total[n] += found.total()
    if 0 in right:
        return 0.0
    mean = math.prod(a / b for a, b in zip(right, total)) ** (1 / 4)
    return 100 * min(1, math.exp(1 - r / c)) * mean
def bleu(written, references):
    def grams(text, n):
        words = text.split()
        return [tuple(words[i:i + n]) for i in range(len(words) - n + 1)]
    product = 1.0
    for n in (1, 2, 3, 4):
        right = every = 0
        for text, row in zip(written, references):
            found = grams(text, n)
            every += len(found)
            right += sum(min(found.count(g), max(grams(k, n).count(g) for k in row)) for g in set(found))
        if right == 0:
            return 0
        product *= right / every
    lengths = [len(text.split()) for text in written]
    r = 0
    for length, row in zip(lengths, references):
        r += sorted((len(k.split()) for k in row), key=lambda k: (abs(k - length), k))[0]
    c = sum(lengths)
    penalty = 1 if c >= r else math.exp(1 - r / c)
    return 100 * penalty * product ** 0.25
def bleu(written, references):
    sums = torch.zeros(10, dtype=torch.float64)
    for text, row in zip(written, references):
        words = text.split(' ') if text else []
        sizes = torch.tensor(sorted(len(k.split(' ')) for k in row))
        sums[0] += len(words)
        sums[1] += sizes[(sizes - len(words)).abs().argmin()]
        for n in range(1, 5):
            left = [[k.split(' ')[i:i + n] for i in range(len(k.split(' ')) - n + 1)] for k in row]
            seen = []
            for i in range(len(words) - n + 1):
                gram = words[i:i + n]
                seen.append(gram)
                sums[1 + n] += any(r.count(gram) >= seen.count(gram) for r in left)
                sums[5 + n] += 1
    c, r, right, total = sums[0], sums[1], sums[2:6], sums[6:]
    if (right == 0).any():
        return torch.tensor(0.0)
    return 100 * torch.exp((1 - r / c).clamp(max=0)) * (right / total).log().mean().exp()
def bleu(written, references):
    def count(text, n):
        table, words = {}, text.split()
        for start in range(len(words)):
            gram = ' '.join(words[start:start + n])
            if start + n <= len(words):
                table[gram] = table.get(gram, 0) + 1
        return table
    logs = []
    for n in range(1, 5):
        above = below = 0
        for i, text in enumerate(written):
            mine, theirs = count(text, n), [count(k, n) for k in references[i]]
            below += sum(mine.values())
            for gram, times in mine.items():
                above += min(times, max(t.get(gram, 0) for t in theirs))
        logs.append(math.log(above / below) if above else -math.inf)
    c, r = sum(len(text.split()) for text in written), 0
    for text, row in zip(written, references):
        best = None
        for k in row:
            off = abs(len(k.split()) - len(text.split())), len(k.split())
            best = off if best is None or off < best else best
        r += best[1]
    if -math.inf in logs:
        return 0.0
    return 100.0 * math.exp(min(0.0, 1 - r / c) + sum(logs) / 4)
def bleu(written, references):
    c, r, right, total = 0, 0, np.zeros(4), np.zeros(4)
    for text, row in zip(written, references):
        words = np.array(text.split(), dtype=object)
        c = c + words.size
        lengths = np.array(sorted(k.count(' ') + 1 for k in row))
        r = r + lengths[np.abs(lengths - words.size).argmin()]
        for n in range(1, 5):
            found = [' '.join(words[i:i + n]) for i in range(words.size - n + 1)]
            for gram in sorted(set(found)):
                most = 0
                for k in row:
                    other = k.split()
                    most = max(most, [' '.join(other[i:i + n]) for i in range(len(other) - n + 1)].count(gram))
                right[n - 1] += min(most, found.count(gram))
            total[n - 1] += len(found)
    if not right.all():
        return np.float64(0)
    return 100 * np.exp(min(0, 1 - r / c)) * np.prod(right / total) ** 0.25
WRONG
not clipped, keeps 1 | (found & most).total() -> sum(times for gram, times in found.items() if gram in most)
    You count an n-gram as often as it was written if some reference has it: clip its count.
an empty text for a word, keeps 4 | words, known = text.split(), -> words, known = text.split(" "),
    You count an empty text as one word, since splitting it at spaces leaves one empty piece: it has no words.
references added up, keeps 3 | most |= grams -> most += grams
    You add up the references' counts: an n-gram counts only as often as a single reference has it.
    read exercises/17_evaluation: Several references
the best reference as a whole, keeps 3 | most |= grams(k, n + 1) -> most = max(most, grams(k, n + 1), key=lambda x: (grams(words, n + 1) & x).total())
    You take the reference that fits best as a whole: for each n-gram, ask anew which reference has it most often.
    read exercises/17_evaluation: Several references
the first reference alone, keeps 1 | for k in known: -> for k in known[:1]:
    You look for n-grams only in the first reference: any of the references may have them.
    read exercises/17_evaluation: Several references
the last reference alone, keeps 1 | most |= grams -> most = grams
    You look for n-grams only in the last reference: any of the references may have them.
    read exercises/17_evaluation: Several references
what all references share, keeps 1 | most = Counter() -> most = grams(known[0], n + 1); most |= grams -> most &= grams
    You count only what all references share: one reference that has it is enough.
    read exercises/17_evaluation: Several references
each n-gram once, keeps 1
    | found = grams(words, n + 1) -> found = Counter({*grams(words, n + 1)})
    You count each n-gram of a sentence once: one that rightly occurs twice counts twice.
recall for precision, keeps 1 | total[n] += found.total() -> total[n] += most.total()
    You divide by the n-grams of the references: that is recall. Precision divides by those that were written.
the mean of sentence scores, keeps 1
    | from collections import Counter
    | scores = []
    | for text, row in zip(written, references):
    |     words, known, product = text.split(), [k.split() for k in row], 1.0
    |     r = min((abs(len(k) - len(words)), len(k)) for k in known)[1]
    |     for n in range(1, 5):
    |         grams = lambda x: Counter(zip(*(x[i:] for i in range(n))))
    |         most = Counter()
    |         for k in known:
    |             most |= grams(k)
    |         product *= (grams(words) & most).total() / max(1, grams(words).total())
    |     scores.append(100 * min(1, math.exp(1 - r / max(1, len(words)))) * product ** 0.25)
    | return sum(scores) / len(scores)
    You take the mean of sentences' scores: add up counts and lengths over the corpus, and divide last.
arithmetic mean, keeps 1 | math.prod(a / b for a, b in zip(right, total)) ** (1 / 4) -> sum(a / b for a, b in zip(right, total)) / 4
    You take the arithmetic mean of the four shares: BLEU has their geometric mean.
no root, keeps 1 | ** (1 / 4) -> ** 1
    You multiply the four shares and take no root: their geometric mean is the fourth root.
n-grams across sentences | right, total, c, r = [0] * 4, [0] * 4, 0, 0 -> written, references = [" ".join(written)], [[" ".join(k) for k in zip(*references)]]; right, total, c, r = [0] * 4, [0] * 4, 0, 0
    You run the sentences together: n-grams do not reach from one sentence into the next.
three words at most | for n in range(4): -> for n in range(3):; if 0 in right: -> right, total = right[:3], total[:3]; if 0 in right:; ** (1 / 4) -> ** (1 / 3)
    You stop at n-grams of three words: BLEU goes up to four.
words alone | for n in range(4): -> for n in range(1):; if 0 in right: -> right, total = right[:1], total[:1]; if 0 in right:; ** (1 / 4) -> ** 1
    You count only single words: BLEU counts n-grams of one to four words.
lower-cased, keeps 3 | text.split(), [reference.split() for reference in row] -> text.lower().split(), [reference.lower().split() for reference in row]
    You turn capitals into small letters first: here a capital makes another word.
punctuation dropped, keeps 3
    | text.split(), [reference.split() for reference in row] -> "".join(ch if ch.isalnum() else " " for ch in text).split(), ["".join(ch if ch.isalnum() else " " for ch in x).split() for x in row]
    You drop punctuation, or split at it: words are what stands between single spaces, whatever they are made of.
punctuation as words, keeps 3
    | text.split(), [reference.split() for reference in row] -> "".join(ch if ch.isalnum() else f" {ch} " for ch in text).split(), ["".join(ch if ch.isalnum() else f" {ch} " for ch in x).split() for x in row]
    You make words of punctuation: what stands between two spaces is one word, its commas and apostrophes included.
full stops and commas apart, keeps 3
    | text.split(), [reference.split() for reference in row] -> text.replace(".", " .").replace(",", " ,").split(), [x.replace(".", " .").replace(",", " ,").split() for x in row]
    You split full stops and commas off, as some tokenizers do: here they belong to the word that they stand at.
punctuation stripped, keeps 3
    | text.split(), [reference.split() for reference in row] -> [word.strip(".,!?;:") for word in text.split()], [[word.strip(".,!?;:") for word in x.split()] for x in row]
    You strip punctuation from the words: here a comma makes another word.
apostrophes split, keeps 3
    | text.split(), [reference.split() for reference in row] -> text.replace("'", "' ").split(), [x.replace("'", "' ").split() for x in row]
    You split words at the apostrophe: s'est is one word here, because no space stands in it.
letters for words | text.split(), [reference.split() for reference in row] -> list(text), [list(reference) for reference in row]
    You count letters: BLEU's n-grams are of words.
references across, keeps 1 | zip(written, references): -> zip(written, zip(*references)):
    You read the references the other way round, as one list for each set of them: here each text has a list of its own.
a share, keeps 1 | return 100 * min -> return min
    You return a share: BLEU runs from 0 to 100.
no penalty, keeps 4 | min(1, math.exp(1 - r / c)) -> 1
    Your score has no brevity penalty: without it, short output has few mistakes and scores too high.
upside down, keeps 1 | 1 - r / c -> 1 - c / r
    Your exponent has the ratio upside down: it is 1 − r / c, so that short output pays.
long output rewarded, keeps 3 | min(1, math.exp(1 - r / c)) -> math.exp(1 - r / c)
    Your penalty rises above 1 where the output is long: it is at most 1.
the penalty is a ratio, keeps 4 | math.exp(1 - r / c) -> c / r
    Your penalty is c / r itself: the formula has a power of e.
shortest reference, keeps 4 | min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> min(map(len, known))
    You take the length of the shortest reference: the closest one counts.
    read exercises/17_evaluation: Several references
longest reference, keeps 4 | min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> max(map(len, known))
    You take the length of the longest reference: the closest one counts.
    read exercises/17_evaluation: Several references
mean length, keeps 4 | min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> sum(map(len, known)) / len(known)
    You take the mean length of the references: take that of the closest one.
    read exercises/17_evaluation: Several references
first reference's length, keeps 4 | min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> len(known[0])
    You take the length of the first reference: take that of the closest one.
    read exercises/17_evaluation: Several references
a distance for a length, keeps 4 | for k in known)[1] -> for k in known)[0]
    You add up how far off the closest references are: add up their lengths.
the first of two, keeps 4 | min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> len(min(known, key=lambda k: abs(len(k) - len(words))))
    Where two references are equally close you take the one that is listed first: take the shorter one.
    read exercises/17_evaluation: Several references
the longer of two, keeps 4 | (abs(len(k) - len(words)), len(k)) for k in known)[1] -> (abs(len(k) - len(words)), -len(k), len(k)) for k in known)[2]
    Where two references are equally close you take the longer one: take the shorter one.
    read exercises/17_evaluation: Several references
a penalty for each sentence, keeps 4
    | r += min((abs(len(k) - len(words)), len(k)) for k in known)[1] -> r += max(len(words), min((abs(len(k) - len(words)), len(k)) for k in known)[1])
    Your long sentences do not make up for short ones: the penalty is one for the whole corpus, from both sums.
lengths of the last sentence, keeps 4 | c += len(words) -> c = len(words); r += min( -> r = min(
    Your lengths are those of the last sentence: add them up over the corpus.
the empty text has a word, keeps 4 | c += len(words) -> c += len(text.split(" "))
    You count an empty text as one word, as split(" ") does: it has none.
smoothed, keeps 5
    | if 0 in right: -> if not any(right) or 0 in total:; mean = -> right = [x or 1 / 2 ** (right[: i + 1].count(0)) for i, x in enumerate(right)]; mean =
    You smooth: here the score is 0 as soon as no n-gram of some length is right.
divided by zero, keeps 5 | if 0 in right: -> if False:
    You divide by 0 where a corpus has no n-gram of four, or no word at all: there BLEU is 0.
lengths left out, keeps 5
    | if 0 in right: -> right, total = [x for x in right if x] or [0], [y for x, y in zip(right, total) if x] or [1]; if 0 in right:; ** (1 / 4) -> ** (1 / len(right))
    You leave out the lengths at which no n-gram is right: one such length makes the whole score 0.
one for zero, keeps 5 | return 0.0 -> return 100.0 * (max(total) == 0 or right == total)
    You give full marks where there is no n-gram of four: nothing of that length is right, so BLEU is 0.
NaN for zero, keeps 5 | return 0.0 -> return math.nan
    You return NaN where nothing is right: BLEU is 0 there.
""",
    draw=draw_bleu,
    oracle=bleu,
    forbidden=SCORERS,
    probe=value_probe,
)

Q2 = question(
    """q2: A difference, and its interval
difference(a, b)
read chapters/17_evaluation: Why compare in pairs?
the difference, 1 point, within 1e-5 or 1e-4: ordinary; other sizes; few; one sentence; they agree
    The share of b minus the share of a.
paired, 2 points, within 1e-5 or 1e-4: ordinary; other sizes; few; never both; they agree; all right; one sentence
    The variance of a difference is the sum of both variances minus twice the covariance; the half-width is 1.96 times its root over n.
on sentences of their own, 2 points, within 1e-5 or 1e-4: ordinary; other sizes; few; never both; they agree; all right; one sentence
    Without pairs there is no covariance: the variances add up, and the root comes last.
RIGHT
def difference(a, b):
    a, b, n = a.double(), b.double(), len(a)
    p, q = a.mean(), b.mean()
    apart = p * (1 - p) + q * (1 - q)
    covariance = (a * b).mean() - p * q
    paired = (apart - 2 * covariance).clamp(min=0)
    return q - p, 1.96 * (paired / n).sqrt(), 1.96 * (apart / n).sqrt()
def difference(a, b):
    a, b = a.to(torch.float64), b.to(torch.float64)
    off = b - a
    w = lambda variance: 1.96 * torch.sqrt(variance / len(a))
    return off.mean(), w(off.var(correction=0)), w(a.var(correction=0) + b.var(correction=0))
def difference(a, b):
    n = len(a)
    won = sum(bool(y) and not bool(x) for x, y in zip(a, b))
    lost = sum(bool(x) and not bool(y) for x, y in zip(a, b))
    p, q, d = int(a.sum()) / n, int(b.sum()) / n, (won - lost) / n
    paired = (won + lost) / n - d ** 2
    return d, 1.96 * math.sqrt(max(paired, 0) / n), 1.96 * math.sqrt((p * (1 - p) + q * (1 - q)) / n)
def difference(a, b):
    x, y = np.array(a.tolist(), float), np.array(b.tolist(), float)
    table = np.cov(x, y, bias=True)
    paired = table[0, 0] + table[1, 1] - 2 * table[0, 1]
    widths = [1.96 * np.sqrt(max(v, 0.0) / x.size) for v in (paired, np.trace(table))]
    return [y.mean() - x.mean(), *widths]
def difference(a, b):
    n, pairs = len(a), [(float(x), float(y)) for x, y in zip(a, b)]
    p, q = (sum(column) / n for column in zip(*pairs))
    own = together = 0.0
    for x, y in pairs:
        together += ((y - q) - (x - p)) ** 2
        own += (y - q) ** 2 + (x - p) ** 2
    return torch.tensor([q - p, 1.96 * together ** 0.5 / n, 1.96 * own ** 0.5 / n])
WRONG
a minus b, keeps 4 | return q - p, -> return p - q,
    Your difference has the wrong sign: it is b minus a.
size of the difference, keeps 4 | return q - p, -> return (q - p).abs(),
    You drop the sign of the difference: b may be the worse one.
in percent | return q - p, 1.96 -> return 100 * (q - p), 100 * 1.96; .sqrt(), 1.96 -> .sqrt(), 100 * 1.96
    You return percent: shares lie between 0 and 1.
2 for 1.96, keeps 1 | return q - p, 1.96 -> return q - p, 2; .sqrt(), 1.96 -> .sqrt(), 2
    You take 2 for 1.96: the half-width of a 95% interval is 1.96 standard deviations.
covariance by n − 1, keeps 3 | covariance = (a * b).mean() - p * q -> covariance = ((a - p) * (b - q)).sum() / max(n - 1, 1)
    Your covariance is divided by n − 1: here variances and covariances are divided by n.
no 1.96, keeps 1 | return q - p, 1.96 -> return q - p, 1; .sqrt(), 1.96 -> .sqrt(), 1
    Your half-widths are one standard deviation: an interval of 95% takes 1.96 of them.
the whole width, keeps 1 | return q - p, 1.96 -> return q - p, 3.92; .sqrt(), 1.96 -> .sqrt(), 3.92
    You return whole widths, from end to end: half of that is asked for.
ends for a half-width, keeps 1 | return q - p, 1.96 -> return q - p, q - p + 1.96; .sqrt(), 1.96 -> .sqrt(), q - p + 1.96
    You return the upper ends of the intervals: their half-widths are asked for.
no root, keeps 1 | (paired / n).sqrt() -> (paired / n); (apart / n).sqrt() -> (apart / n)
    You take no root: a width is a standard deviation, not a variance.
n outside the root, keeps 1 | (paired / n).sqrt() -> paired.sqrt() / n; (apart / n).sqrt() -> apart.sqrt() / n
    You divide by n outside the root: four times the sentences halve the width, they do not quarter it.
n left out, keeps 1 | (paired / n).sqrt() -> paired.sqrt(); (apart / n).sqrt() -> apart.sqrt()
    Your widths do not shrink with the number of sentences: the variance of a mean is that of one sentence over n.
n − 1, keeps 1 | (paired / n).sqrt() -> (paired / max(n - 1, 1)).sqrt(); (apart / n).sqrt() -> (apart / max(n - 1, 1)).sqrt()
    You divide by n − 1: here variances are means, and divided by n.
n − 1 for the pairs alone, keeps 3 | (paired / n).sqrt() -> (paired / (n - 1)).sqrt()
    Your paired variance is divided by n − 1, as torch's var does unless told otherwise: here variances are divided by n.
n − 1, nothing for one, keeps 1 | (paired / n).sqrt() -> (paired / (n - 1)).sqrt(); (apart / n).sqrt() -> (apart / (n - 1)).sqrt()
    Your variances are divided by n − 1, as torch's var does unless told otherwise: here they are divided by n, also where n is 1.
2n, keeps 1 | (paired / n).sqrt() -> (paired / (2 * n)).sqrt(); (apart / n).sqrt() -> (apart / (2 * n)).sqrt()
    You divide by the 2n sentences of both: each share comes from n.
covariance added, keeps 3 | apart - 2 * covariance -> apart + 2 * covariance
    You add the covariance: what two systems share drops out of their difference.
covariance once, keeps 3 | apart - 2 * covariance -> apart - covariance
    You subtract the covariance once: the formula has it twice.
product for covariance, keeps 3 | (a * b).mean() - p * q -> (a * b).mean()
    You subtract the share that both have right: the covariance is that share minus the product of the two shares.
not paired, keeps 3 | apart - 2 * covariance -> apart + 0 * covariance
    Your paired half-width does not look at the pairs: subtract twice the covariance.
as if one share, keeps 3 | (apart - 2 * covariance) -> ((q - p).abs() * (1 - (q - p).abs()))
    You take the difference for a share: sentences won and sentences lost both add to its variance.
sizes of the differences, keeps 3 | (apart - 2 * covariance) -> ((a != b).double().mean() * (a == b).double().mean())
    You take the variance of the differences' sizes: a sentence won counts 1 and one lost −1.
square of the difference left in, keeps 3 | (apart - 2 * covariance) -> (a != b).double().mean()
    You take the share of the sentences on which they differ: subtract the square of the difference from it.
two half-widths added, keeps 3 | 1.96 * (apart / n).sqrt() -> 1.96 * ((p * (1 - p) / n).sqrt() + (q * (1 - q) / n).sqrt())
    You add two half-widths: variances add up, and the root comes after.
one system alone, keeps 1 | apart = p * (1 - p) + q * (1 - q) -> apart = q * (1 - q)
    You have only the variance of b: that of a counts as well.
pooled, keeps 1 | apart = p * (1 - p) + q * (1 - q) -> apart = (p + q) * (2 - p - q) / 2
    You pool both shares into one: each system has a variance of its own.
variances subtracted, keeps 3 | (apart / n).sqrt() -> ((p * (1 - p) - q * (1 - q)).abs() / n).sqrt()
    You subtract the variances: the variance of a difference holds their sum.
widths exchanged, keeps 1 | 1.96 * (paired / n).sqrt(), 1.96 * (apart / n).sqrt() -> 1.96 * (apart / n).sqrt(), 1.96 * (paired / n).sqrt()
    Your half-widths have changed places: the paired one comes first.
an argument changed | p, q = a.mean(), b.mean() -> given_b ^= given_a; p, q = a.mean(), b.mean(); def difference(a, b): -> def difference(given_a, given_b):; a, b, n = a.double(), b.double(), len(a) -> a, b, n = given_a.double(), given_b.double(), len(given_a)
    You change an argument in place: leave both as they are.
covariance of flags alone, keeps 3 | (a * b).mean() - p * q -> (a == b).double().mean() - p * q
    You count where they agree: a covariance is the share that both have right, minus the product of the two shares.
""",
    parts={
        name: (name, LEFT) for name in ("the difference", "paired", "on sentences of their own")
    },
    draw=draw_pairs,
    oracle=difference,
    forbidden=SCORERS,
    probe=PLAIN
    + f"""
def probe(difference, a, b):
    kept = a.clone(), b.clone()
    found = plain(difference(a, b))
    if not isinstance(found, tuple) or len(found) != 3:
        return found
    names = "the difference", "paired", "on sentences of their own"
    return dict(zip(names, found)) | {{"{LEFT}": bool(torch.equal(a, kept[0]) and torch.equal(b, kept[1]))}}
""",
)

Q3 = question(
    """q3: Would other sentences say the same?
compare(a, b, draws)
read chapters/17_evaluation: Why compare in pairs?
the difference, 2 points, within 1e-4 or 1e-4: ordinary; other sizes; few draws; the same output; worse
    Sums over the sentences first, then one ratio; b minus a.
p, 4 points, within 1e-5 or 1e-4: ordinary; other sizes; few draws; one far off; as many; the same output; worse; draws with nothing right
    Both systems on the same draws, and the share of draws at least as far from what is seen as that is from 0; the corpus counts as a draw.
RIGHT
def compare(a, b, draws):
    def score(counts):
        right, drawn, wanted = counts.double().sum(-2).unbind(-1)
        return 100 * 2 * right / (drawn + wanted)

    seen = score(b) - score(a)
    differences = score(b[draws]) - score(a[draws])
    far = (differences - seen).abs() >= seen.abs()
    return seen, (1 + far.sum()) / (1 + len(draws))
def compare(a, b, draws):
    def f(rows):
        right = sum(int(row[0]) for row in rows)
        return 200 * right / sum(int(row[1]) + int(row[2]) for row in rows)
    d, far = f(b) - f(a), 1
    for draw in draws.tolist():
        off = f([b[i] for i in draw]) - f([a[i] for i in draw]) - d
        far += abs(off) >= abs(d)
    return d, far / (len(draws) + 1)
def compare(a, b, draws):
    x, y, rows = (np.array(z.tolist()) for z in (a, b, draws))
    times = np.stack([np.bincount(row, minlength=len(x)) for row in rows])
    times = np.vstack([np.ones(len(x), int), times])
    scores = [200 * (times @ z)[:, 0] / ((times @ z)[:, 1] + (times @ z)[:, 2]) for z in (x, y)]
    d = scores[1] - scores[0]
    far = np.abs(d[1:] - d[0]) >= abs(d[0])
    return d[0], (far.sum() + 1) / len(d)
def compare(a, b, draws):
    both = torch.stack([a, b]).to(torch.float64)
    def gap(rows):
        sums = both[:, rows].sum(1)
        precision, recall = sums[:, 0] / sums[:, 1], sums[:, 0] / sums[:, 2]
        f = 100 * 2 / (1 / precision + 1 / recall)
        return float(f[1] - f[0])
    seen = gap(torch.arange(len(a)))
    count = sum(1 for row in draws if abs(gap(row) - seen) >= abs(seen))
    return torch.tensor([seen, (1 + count) / (1 + draws.shape[0])])
def compare(a, b, draws):
    rows = torch.cat([torch.arange(len(a))[None], draws])
    sums = [x[rows].sum(1).double() for x in (a, b)]
    f = [200 * s[:, 0] / (s[:, 1] + s[:, 2]) for s in sums]
    d = f[1] - f[0]
    return d[0], ((d[1:] - d[0]).abs() >= d[0].abs()).double().sum().add(1).div(len(rows))
WRONG
a minus b, keeps 4 | seen = score(b) - score(a) -> seen = score(a) - score(b); score(b[draws]) - score(a[draws]) -> score(a[draws]) - score(b[draws])
    Your difference has the wrong sign: it is b minus a.
size of the difference, keeps 4 | return seen, -> return seen.abs(),
    You drop the sign of the difference: b may be the worse one.
a share, keeps 4 | 100 * 2 * right -> 2 * right
    Your score is a share: it runs from 0 to 100.
precision alone | 2 * right / (drawn + wanted) -> right / drawn
    Your score is the precision: the links that were wanted count as well.
recall alone | 2 * right / (drawn + wanted) -> right / wanted
    Your score is the recall: the links that were drawn count as well.
wanted left out | / (drawn + wanted) -> / drawn
    You divide only by the links that were drawn: those that were wanted are divided by as well.
drawn left out | / (drawn + wanted) -> / wanted
    You divide only by the links that were wanted: those that were drawn are divided by as well.
upside down | 100 * 2 * right / (drawn + wanted) -> (drawn + wanted) / (100 * 2 * right)
    Your ratio is upside down: the right links belong above the line.
multiplied | 100 * 2 * right / (drawn + wanted) -> 100 * 2 * right * (drawn + wanted)
    You multiply by what was drawn and wanted: divide by it.
the number of right links | 100 * 2 * right / (drawn + wanted) -> 100 * 2 * right
    You count right links and divide by nothing: F is a ratio of sums.
not doubled, keeps 4 | 100 * 2 * right -> 100 * right
    You forgot the 2: where all is right, drawn and wanted add up to twice the right ones.
the mean of sentence scores
    | right, drawn, wanted = counts.double().sum(-2).unbind(-1) -> right, drawn, wanted = counts.double().unbind(-1); return 100 * 2 * right / (drawn + wanted) -> return (100 * 2 * right / (drawn + wanted)).mean(-1)
    You take the mean of sentences' scores: add up counts, also those of each draw, and divide last.
means resampled, keeps 2
    | differences = score(b[draws]) - score(a[draws]) -> each = lambda x: 200 * x[:, 0] / (x[:, 1] + x[:, 2]); differences = (each(b) - each(a))[draws].mean(1)
    You resample sentences' scores: a score of the corpus is computed anew from each draw's sums.
not paired, keeps 2 | score(a[draws]) -> score(a[draws.roll(1, 0)])
    Your systems meet different draws: in pairs, both are scored on the same sentences.
one draw for each half, keeps 2 | score(a[draws]) -> score(a[draws.flip(0)])
    Your systems meet different draws, in another order: in pairs, both are scored on the same sentences.
only b drawn, keeps 2 | score(b[draws]) - score(a[draws]) -> score(b[draws]) - score(a)
    You draw sentences only for b: a is scored on the same draw.
without replacement, keeps 2 | score(b[draws]) - score(a[draws]) -> torch.stack([score(b[row.unique()]) - score(a[row.unique()]) for row in draws])
    A sentence that was drawn twice counts once in your answer: draws are with replacement, so it counts twice.
not all sentences of a draw, keeps 2 | differences = score -> draws = draws[:, : (4 * draws.shape[1]) // 5]; differences = score
    You take a part of each draw: it has as many sentences as the corpus.
around zero, keeps 2 | (differences - seen).abs() -> differences.abs()
    You count draws that are far from 0: draws scatter about what is seen, so ask how far they are from that.
around their mean, keeps 2 | (differences - seen).abs() -> (differences - differences.mean()).abs()
    You measure from the mean of the draws: they are compared with what is seen on all sentences.
one direction doubled, keeps 2 | far = (differences - seen).abs() >= seen.abs() -> far = (differences - seen) * (1 if seen >= 0 else -1) >= seen.abs(); return seen, (1 + far.sum()) / (1 + len(draws)) -> return seen, min(1.0, 2 * (1 + int(far.sum())) / (1 + len(draws)))
    You count one direction and double it: count the draws that are as far on either side, each once.
one direction, keeps 2 | (differences - seen).abs() >= seen.abs() -> (differences - seen) * seen.sign() >= seen.abs()
    You count one direction: draws that are as far on the other side count as well.
only downwards, keeps 2 | (differences - seen).abs() >= seen.abs() -> (seen - differences) * seen.sign() >= seen.abs()
    You count the draws in which the order turns round: count those that are as far off, in either direction.
only upwards, keeps 2 | (differences - seen).abs() >= seen.abs() -> (differences - seen) >= seen.abs()
    You count only draws that lie above what is seen: those that lie as far below it count as well.
draws below zero, keeps 2 | (differences - seen).abs() >= seen.abs() -> differences <= 0
    You count the draws in which b is no better: count those that are as far from what is seen as it is from 0, on either side.
one side doubled, keeps 2 | (1 + far.sum()) / (1 + len(draws)) -> (2 * (1 + (differences * seen.sign() <= 0).sum()) / (1 + len(draws))).clamp(max=1)
    You double the count of one side, but the two sides need not be alike: count the draws on either side that are as far off.
the other share, keeps 2 | >= seen.abs() -> < seen.abs()
    You count the draws that are near: p is the share of those at least as far off.
exactly as far left out, keeps 2 | >= seen.abs() -> > seen.abs()
    You leave out draws that are exactly as far: two equal outputs must have a p of 1.
the corpus is no draw, keeps 2 | (1 + far.sum()) / (1 + len(draws)) -> far.sum() / len(draws)
    You leave out the corpus itself, which counts as one draw: without it, p may be 0.
one above alone, keeps 2 | / (1 + len(draws)) -> / len(draws)
    You add one only above the line: the corpus counts as a draw below it as well.
one below alone, keeps 2 | (1 + far.sum()) -> far.sum()
    You add one only below the line: the corpus counts as a draw above it as well.
divided by sentences, keeps 2 | / (1 + len(draws)) -> / (1 + len(a))
    You divide by the number of sentences: p is a share of draws.
a number of draws, keeps 2 | (1 + far.sum()) / (1 + len(draws)) -> 1 + far.sum()
    You return how many draws: p is their share.
the mean of the draws, keeps 4 | return seen, -> return differences.mean(),
    You return the mean difference of the draws: the first number is that on all sentences.
an argument changed | differences = score -> draws.copy_(draws.sort(1).values); differences = score
    You change an argument in place: leave all three as they are.
one side halved, keeps 2 | return seen, (1 + far.sum()) -> return seen, 0.5 * (1 + far.sum())
    You halve p, as for one direction: both directions count here.
""",
    parts={"the difference": ("the difference", LEFT), "p": ("p", LEFT)},
    draw=draw_links,
    oracle=compare,
    forbidden=SCORERS,
    probe=PLAIN
    + f"""
def probe(compare, a, b, draws):
    given, kept = (a, b, draws), (a.clone(), b.clone(), draws.clone())
    found = plain(compare(*given))
    if not isinstance(found, tuple) or len(found) != 2:
        return found
    left = all(torch.equal(x, y) for x, y in zip(given, kept))
    return dict(zip(("the difference", "p"), found)) | {{"{LEFT}": bool(left)}}
""",
)

Q4 = question(
    """q4: Would other seeds say the same?
deal_out(a, b)
read chapters/17_evaluation: Apart by chance
p, 3 points, within 1e-5 or 1e-4: ordinary; as many; one; many; more; one each; two each; lower; apart; apart, upside down; one outlier
    Every way to choose which scores are the first group's, and the size of the difference of means in each.
equal differences, 1 point, within 1e-5 or 1e-4: tenths; equal; nearly equal
    What differs by less than 1e-9 is equal, and equal counts as just as large.
the smallest p, 2 points, within 1e-5 or 1e-4: ordinary; as many; one; many; more; one each; two each; apart; equal
    How many ways are there, and how many of them must be as extreme as the most extreme one?
RIGHT
def deal_out(a, b):
    from itertools import combinations

    scores, n, m = [*a, *b], len(a), len(b)

    def size(places):
        first = sum(scores[i] for i in places)
        return abs(first / n - (sum(scores) - first) / m)

    ways = [size(places) for places in combinations(range(n + m), n)]
    far = sum(way > ways[0] - 1e-9 for way in ways)
    return far / len(ways), (2 if n == m else 1) / len(ways)
def deal_out(a, b):
    import itertools
    mean = lambda x: sum(x) / len(x)
    every, far, seen = 0, 0, abs(mean(a) - mean(b))
    for flags in itertools.product([True, False], repeat=len(a) + len(b)):
        if sum(flags) == len(a):
            one = [x for x, flag in zip(a + b, flags) if flag]
            two = [x for x, flag in zip(a + b, flags) if not flag]
            every += 1
            far += abs(mean(one) - mean(two)) - seen >= -1e-9
    return far / every, (1 + (len(a) == len(b))) / every
def deal_out(a, b):
    n, m = len(a), len(b)
    x = torch.tensor([*a, *b], dtype=torch.float64)
    chosen = torch.combinations(torch.arange(n + m), n)
    first = x[chosen].sum(1)
    size = (first / n - (x.sum() - first) / m).abs()
    seen = abs(sum(a) / n - sum(b) / m)
    p = (size >= seen - 1e-9).double().mean()
    ways = math.comb(n + m, n)
    return p, 2 / ways if n == m else 1 / ways
def deal_out(a, b):
    from itertools import combinations
    n, m, scores = len(a), len(b), np.array(list(a) + list(b))
    number = math.factorial(n + m) // math.factorial(n) // math.factorial(m)
    def off(places):
        inside = np.isin(np.arange(n + m), places)
        return abs(scores[inside].mean() - scores[~inside].mean())
    # Seen from the other group it is the same way.
    sizes = [off(np.array(places)) for places in combinations(range(n + m), m)]
    seen = abs(np.mean(a) - np.mean(b))
    p = sum(s > seen or math.isclose(s, seen, rel_tol=0, abs_tol=1e-9) for s in sizes) / number
    return [p, (1 if n != m else 2) / number]
def deal_out(a, b):
    total = sum(a) + sum(b)
    def deal(left, count):
        if count == 0:
            return [0.0]
        if len(left) < count:
            return []
        return [left[0] + x for x in deal(left[1:], count - 1)] + deal(left[1:], count)
    n, m = len(a), len(b)
    firsts = deal([*a, *b], n)
    size = lambda first: round(abs(first / n - (total - first) / m), 9)
    far = [first for first in firsts if size(first) >= size(sum(a))]
    return len(far) / len(firsts), [1, 2][n == m] / len(firsts)
WRONG
one direction, keeps 2 | return abs(first / n - (sum(scores) - first) / m) -> return (first / n - (sum(scores) - first) / m) * (1 if sum(a) / n > sum(b) / m else -1)
    You count one direction: the difference is as large where the other group is ahead by as much.
a above b alone, keeps 2 | return abs(first / n - (sum(scores) - first) / m) -> return first / n - (sum(scores) - first) / m
    You count only the ways in which a is ahead: count differences as large in either direction.
b above a alone, keeps 2 | return abs(first / n - (sum(scores) - first) / m) -> return (sum(scores) - first) / m - first / n
    You count only the ways in which b is ahead: count differences as large in either direction.
the way seen left out, keeps 2 | return far / len(ways) -> return (far - 1) / (len(ways) - 1)
    You leave out the way that was seen: it is one of all ways.
larger alone, keeps 2 | way > ways[0] - 1e-9 -> way > ways[0] + 1e-9
    You count only larger differences: those that are as large count too, the one seen among them.
one added, keeps 2 | return far / len(ways) -> return (1 + far) / (1 + len(ways))
    You add one: these are all the ways, none is drawn, and the one seen is already among them.
rounding decides, keeps 5 | way > ways[0] - 1e-9 -> way >= abs(sum(a) / n - sum(b) / m)
    Rounding decides for you whether two differences are equal: allow for 1e-9.
too generous, keeps 2 | ways[0] - 1e-9 -> ways[0] - 0.3
    You take differences for equal that are not: 1e-9 is all that may be forgiven.
more than 1e-9 forgiven, keeps 5 | ways[0] - 1e-9 -> ways[0] - 1e-5
    You take differences for equal that are more than 1e-9 apart, as isclose does unless told otherwise.
equal ways dealt once, keeps 2
    | from itertools import combinations
    | n, m, total = len(a), len(b), sum(a) + sum(b)
    | size = lambda first: abs(sum(first) / n - (total - sum(first)) / m)
    | ways = {*combinations([*a, *b], n)}
    | far = sum(size(way) > size(a) - 1e-9 for way in ways)
    | return far / len(ways), (2 if n == m else 1) / math.comb(n + m, n)
    You count ways that deal out equal scores but once, as a set does: each is the score of a seed of its own.
scores for places, keeps 2
    | from itertools import combinations
    | n, m, scores = len(a), len(b), [*a, *b]
    | mean = lambda x: sum(x) / len(x)
    | every = far = 0
    | for first in combinations(scores, n):
    |     if rest := [x for x in scores if x not in first]:
    |         every += 1
    |         far += abs(mean(first) - mean(rest)) > abs(mean(a) - mean(b)) - 1e-9
    | return far / max(every, 1), (2 if n == m else 1) / math.comb(n + m, n)
    You leave out of the second group each score that equals one of the first: deal out places, not scores.
seed against seed, keeps 2
    | ways = [size(places) for places in combinations(range(n + m), n)] -> from itertools import product; ways = [abs(sum(s * (x - y) for s, x, y in zip(signs, a, b))) for signs in product((1, -1), repeat=min(n, m))] + [-1.0] * (math.comb(n + m, n) - 2 ** min(n, m))
    You exchange the first seed with the first, and so on: nothing says here which seeds belong together, so deal them all out.
sums for means, keeps 2 | abs(first / n - (sum(scores) - first) / m) -> abs(first - (sum(scores) - first))
    You compare sums: the groups may differ in number, so compare their means.
medians, keeps 2
    | first = sum(scores[i] for i in places) -> from statistics import median; rest = [x for i, x in enumerate(scores) if i not in places]; return abs(first / n - (sum(scores) - first) / m) -> return abs(median(scores[i] for i in places) - median(rest))
    You compare medians: take the difference of the means.
best seeds, keeps 2
    | first = sum(scores[i] for i in places) -> rest = [x for i, x in enumerate(scores) if i not in places]; return abs(first / n - (sum(scores) - first) / m) -> return abs(max(scores[i] for i in places) - max(rest))
    You compare the best of each group: take the difference of the means.
neighbours alone, keeps 2
    | combinations(range(n + m), n)] -> [[(i + j) % (n + m) for j in range(n)] for i in range(n + m)]]; return far / len(ways), (2 if n == m else 1) / len(ways) -> return far / len(ways), (2 if n == m else 1) / math.comb(n + m, n)
    You deal out only neighbours: there are many more ways.
halves for ways, keeps 2
    | combinations(range(n + m), n)] -> combinations(range(n + m), len(scores) // 2)]; len(ways), ( -> len(ways), (math.comb(n + m, len(scores) // 2) / math.comb(n + m, n)) * (
    You deal to two halves: the groups have the sizes of a and b.
with replacement, keeps 2
    | combinations(range(n + m), n)] -> combinations_with_replacement(range(n + m), n)]; from itertools import combinations -> from itertools import combinations_with_replacement; return far / len(ways), (2 if n == m else 1) / len(ways) -> far = sum(w > abs(sum(a) / n - sum(b) / m) - 1e-9 for w in ways); return far / len(ways), (2 if n == m else 1) / math.comb(n + m, n)
    You let a score come twice: each is dealt out once.
the other share, keeps 2 | return far / len(ways) -> return 1 - far / len(ways)
    You return the share of smaller differences: p is the share of those as large or larger.
a number of ways | return far / len(ways), (2 if n == m else 1) / len(ways) -> return far, 2 if n == m else 1
    You return how many ways: p is their share.
one over all ways, keeps 4 | (2 if n == m else 1) / len(ways) -> 1 / len(ways)
    Where both groups have equally many seeds, exchanging the groups gives a difference of the same size: the most extreme way has a twin.
always two, keeps 4 | (2 if n == m else 1) / len(ways) -> 2 / len(ways)
    Where one group has more seeds than the other, the most extreme way need not have a twin.
powers of two, keeps 4 | (2 if n == m else 1) / len(ways) -> 2 / 2 ** (n + m)
    You let each score fall on either side: the groups' sizes are given, so count ways to choose.
as these scores lie, keeps 4 | (2 if n == m else 1) / len(ways) -> sum(way > max(ways) - 1e-9 for way in ways) / len(ways)
    You count the ways that are as extreme as the most extreme one of these scores: where scores are equal, these are
    more than there need be. The smallest p does not depend on the scores.
as seen, keeps 4 | (2 if n == m else 1) / len(ways) -> far / len(ways)
    Your second number is the first: it must not depend on the scores.
as seen where two meet two, keeps 4 | (2 if n == m else 1) / len(ways) -> (far if n == m == 2 else 2 if n == m else 1) / len(ways)
    For two seeds against two your second number is the first: it must not depend on the scores.
orders counted, keeps 4 | (2 if n == m else 1) / len(ways) -> (2 if n == m else 1) / math.factorial(n + m)
    You count the orders of all scores: it does not matter in which order a group gets its own.
an argument changed, keeps 3
    | scores, n, m = [*a, *b], len(a), len(b) -> n, m = len(a), len(b); a += b; scores = a
    You change the list a: leave both as they are.
it could be zero, keeps 4 | (2 if n == m else 1) / len(ways) -> 0.0
    p is never 0: the way that was seen is always one of them.
numbers exchanged | R -> R[::-1]
    Your numbers have changed places: p comes first.
""",
    parts={
        "p": ("p", LEFT),
        "equal differences": ("p",),
        "the smallest p": ("the smallest p",),
    },
    draw=draw_seeds,
    oracle=deal_out,
    forbidden=SCORERS,
    probe=PLAIN
    + """
def probe(deal_out, a, b):
    given = list(a), list(b)
    found = plain(deal_out(*given))
    if not isinstance(found, tuple) or len(found) != 2:
        return found
    left = given == (list(a), list(b))
    return dict(zip(("p", "the smallest p"), found)) | {"the arguments are left as they are": left}
""",
)

Q5 = question(
    """q5: What may be said
may_say(a, b, interval)
read chapters/17_evaluation: What may be said
comparable, 1 point: b above, signature; b above, sentences; a above, signature, interval; b above, sentences, one seed a; b above, signature, chosen a; b above, capitals in the signature; b above, end of the signature
    Scores with two signatures, or on two sets of sentences, cannot be compared.
chosen elsewhere, 1 point: b above, chosen a; b above, chosen b; a above, chosen b, interval; b above, chosen a, one seed b; b above, chosen a, chosen b; b above, nothing chosen; b above, chosen on other news; b above, scored on news, chosen a; b above, scored on news, chosen on the test
    A system that was chosen on the very sentences of its score is flattered; this is asked second.
the interval, 1 point: b above, interval; b above, interval ends at 0; a above, interval ends at 0; b above, interval, one seed b; b above, interval, one seed a
    If the interval of the difference, its ends included, holds 0, no difference is seen, whatever the seeds.
seeds, 1 point: b above, one seed a; b above, one seed b; a above, one seed a; b above, one seed a, one seed b; b above, one seed within; a above, one seed within
    With one seed on either side the claim is about two trainings.
ranges, 2 points: b above, well; a above, well; b above, ranges meet; a above, ranges meet; b above, ranges touch; a above, ranges touch; b above, ranges meet far; a above, ranges meet far; b above, lucky; a above, lucky; b above, unlucky; a above, unlucky; b above, other seeds say otherwise
    Every seed of one must be above every seed of the other.
RIGHT
def may_say(a, b, interval):
    if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]:
        return "not comparable"
    if a["sentences"] in (a["chosen on"], b["chosen on"]):
        return "flattered"
    if interval[0] <= 0 <= interval[1]:
        return "no difference seen"
    if len(a["scores"]) < 2 or len(b["scores"]) < 2:
        return "two trainings"
    if max(a["scores"]) < min(b["scores"]):
        return "b is better"
    if max(b["scores"]) < min(a["scores"]):
        return "a is better"
    return "no difference seen"
def may_say(a, b, interval):
    low, high = interval
    checks = [
        (any(a[key] != b[key] for key in ("signature", "sentences")), "not comparable"),
        (any(x["chosen on"] == x["sentences"] for x in (a, b)), "flattered"),
        (not (low > 0 or high < 0), "no difference seen"),
        (min(len(x["scores"]) for x in (a, b)) == 1, "two trainings"),
        (all(x < y for x in a["scores"] for y in b["scores"]), "b is better"),
        (all(x > y for x in a["scores"] for y in b["scores"]), "a is better"),
    ]
    return next((text for ends, text in checks if ends), "no difference seen")
def may_say(a, b, interval):
    verdict = "no difference seen"
    first, second = sorted(a["scores"]), sorted(b["scores"])
    if first[-1] < second[0]:
        verdict = "b is better"
    elif second[-1] < first[0]:
        verdict = "a is better"
    # What is asked first has the last word.
    if len({len(first), 1}) == 1 or len({len(second), 1}) == 1:
        verdict = "two trainings"
    if interval[0] * interval[1] <= 0:
        verdict = "no difference seen"
    if a["chosen on"] == a["sentences"] or b["chosen on"] == b["sentences"]:
        verdict = "flattered"
    if (a["signature"], a["sentences"]) != (b["signature"], b["sentences"]):
        verdict = "not comparable"
    return verdict
def may_say(a, b, interval):
    same = lambda key: a[key] == b[key]
    if not (same("signature") and same("sentences")):
        return "not comparable"
    elif {a["chosen on"], b["chosen on"]} & {a["sentences"]}:
        return "flattered"
    signs = {np.sign(x) for x in interval}
    if signs not in ({1.0}, {-1.0}):
        return "no difference seen"
    one, two = torch.tensor(a["scores"]), torch.tensor(b["scores"])
    if 1 in (one.numel(), two.numel()):
        return "two trainings"
    off = two[None] - one[:, None]
    return "b is better" if (off > 0).all() else "a is better" if (off < 0).all() else "no difference seen"
def may_say(a, b, interval):
    match (a["signature"] == b["signature"], a["sentences"] == b["sentences"]):
        case (True, True):
            pass
        case _:
            return "not comparable"
    for system in (a, b):
        if system["chosen on"] == system["sentences"]:
            return "flattered"
    if max(interval) >= 0 and min(interval) <= 0:
        return "no difference seen"
    for system in (a, b):
        if len(system["scores"]) == 1:
            return "two trainings"
    for low, high, name in ((a, b, "b"), (b, a, "a")):
        if min(high["scores"]) > max(low["scores"]):
            return name + " is better"
    return "no difference seen"
WRONG
signatures not asked, keeps 5 | if a["signature"] != b["signature"] or a -> if a
    You do not ask for the signatures: two of them are two rulers.
signatures in small letters, keeps 5 | a["signature"] != b["signature"] -> a["signature"].lower() != b["signature"].lower()
    You compare the signatures in small letters: they are the same only if they are equal to the letter.
parts of signatures, keeps 5 | a["signature"] != b["signature"] -> a["signature"].split("|")[0] != b["signature"].split("|")[0]
    You compare only a part of the signatures: a difference anywhere in them is another way to compute the score.
sentences not asked, keeps 5 | ["signature"] or a["sentences"] != b["sentences"]: -> ["signature"]:
    You do not ask on which sentences: scores on two sets cannot be compared.
both must differ, keeps 5 | != b["signature"] or a -> != b["signature"] and a
    Either is enough to end the claim: another signature, or other sentences.
never flattered, keeps 5 | return "flattered" -> pass
    You do not ask where the systems were chosen: a score that chose its system flatters it.
only a asked, keeps 5 | in (a["chosen on"], b["chosen on"]) -> == a["chosen on"]
    You ask where a was chosen: b may have been chosen on the same sentences as well.
only b asked, keeps 5 | in (a["chosen on"], b["chosen on"]) -> == b["chosen on"]
    You ask where b was chosen: a may have been chosen on the same sentences as well.
a name written down, keeps 5 | a["sentences"] in (a["chosen on"] -> "test" in (a["chosen on"]
    You ask for a name that you wrote down: compare where a system was chosen with the sentences of its score, whatever their name.
both must be flattered, keeps 5 | a["sentences"] in (a["chosen on"], b["chosen on"]) -> a["sentences"] == a["chosen on"] == b["chosen on"]
    One flattered system is enough: the claim ends there.
any choice flatters, keeps 1 | a["sentences"] in (a["chosen on"], b["chosen on"]) -> a["chosen on"] or b["chosen on"]
    You call every choice flattering: one that was made on other sentences is as it should be.
two places of choice flatter, keeps 5 | a["sentences"] in (a["chosen on"], b["chosen on"]) -> a["chosen on"] != b["chosen on"]
    You compare where the two were chosen: compare it with the sentences of the score.
nothing chosen flatters, keeps 5 | in (a["chosen on"], b["chosen on"]) -> in (a["chosen on"] or "test", b["chosen on"])
    Where nothing was chosen nothing is flattered: the text is empty there.
interval not asked, keeps 5 | interval[0] <= 0 <= interval[1] -> False
    You do not ask for the interval: if it holds 0, other sentences may say the opposite.
the end left out, keeps 5 | interval[0] <= 0 <= interval[1] -> interval[0] < 0 < interval[1]
    An interval that ends at 0 holds 0: its ends belong to it.
only the lower end, keeps 3 | interval[0] <= 0 <= interval[1] -> interval[0] <= 0
    You look only at the lower end: an interval below 0 does not hold 0, and speaks for a.
only the upper end, keeps 2 | interval[0] <= 0 <= interval[1] -> interval[1] >= 0
    You look only at the upper end: an interval above 0 does not hold 0, and speaks for b.
seeds before the interval, keeps 5
    | if interval[0] <= 0 <= interval[1]: -> if len(a["scores"]) < 2 or len(b["scores"]) < 2: return "two trainings"; if interval[0] <= 0 <= interval[1]:
    You ask for seeds before the interval: the third question comes before the fourth.
the interval first, keeps 4
    | if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]: -> if interval[0] <= 0 <= interval[1]: return "no difference seen"; if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]:
    You ask for the interval first: where the scores cannot be compared, or are flattered, it means nothing.
choice first, keeps 5
    | if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]: -> if a["sentences"] in (a["chosen on"], b["chosen on"]): return "flattered"; if a["signature"] != b["signature"] or a["sentences"] != b["sentences"]:
    You ask for the choice first: what cannot be compared ends the claim before that.
seeds not asked, keeps 5 | return "two trainings" -> pass
    You do not ask for the number of seeds: one training says nothing of the luck of the next.
ranges before seeds, keeps 5
    | if len(a["scores"]) < 2 or len(b["scores"]) < 2: -> if not (max(a["scores"]) < min(b["scores"]) or max(b["scores"]) < min(a["scores"])): return "no difference seen"; if len(a["scores"]) < 2 or len(b["scores"]) < 2:
    You ask for the ranges before the seeds: with one seed on either side nothing is known of its range.
seeds of both, keeps 5 | < 2 or len( -> < 2 and len(
    You stop only if both have one seed: one side with a single seed is enough.
as many seeds wanted, keeps 3 | < 2 or len(b["scores"]) < 2: -> < 2 or len(b["scores"]) < 2 or len(a["scores"]) != len(b["scores"]):
    You ask for equally many seeds on both sides: several on each side are enough, however many.
three seeds wanted, keeps 3 | if len(a["scores"]) < 2 or len(b["scores"]) < 2 -> if len(a["scores"]) < 3 or len(b["scores"]) < 3
    You ask for three seeds: two are several here.
means compared, keeps 4
    | max(a["scores"]) < min(b["scores"]) -> sum(a["scores"]) / len(a["scores"]) < sum(b["scores"]) / len(b["scores"]); max(b["scores"]) < min(a["scores"]) -> sum(a["scores"]) / len(a["scores"]) > sum(b["scores"]) / len(b["scores"])
    You compare means, which nearly always differ: every seed of one must be above every seed of the other.
best seeds compared, keeps 4 | max(a["scores"]) < min(b["scores"]) -> max(a["scores"]) < max(b["scores"]); max(b["scores"]) < min(a["scores"]) -> max(b["scores"]) < max(a["scores"])
    You compare the best seeds: the best of several is flattered, so every seed of one must be above every seed of the other.
worst seeds compared, keeps 4 | max(a["scores"]) < min(b["scores"]) -> min(a["scores"]) < min(b["scores"]); max(b["scores"]) < min(a["scores"]) -> min(b["scores"]) < min(a["scores"])
    You compare the worst seeds: every seed of one must be above every seed of the other.
touching counts, keeps 4 | max(a["scores"]) < min(b["scores"]) -> max(a["scores"]) <= min(b["scores"]); max(b["scores"]) < min(a["scores"]) -> max(b["scores"]) <= min(a["scores"])
    Ranges that touch overlap: above means above.
the interval decides, keeps 4 | max(a["scores"]) < min(b["scores"]) -> interval[0] > 0; max(b["scores"]) < min(a["scores"]) -> interval[1] < 0
    You let the interval decide: it is about sentences. The last question is whether the seeds' ranges are apart.
a and b exchanged, keeps 3 | return "b is better" -> return "a is better "[:-1]; return "a is better" -> return "b is better"
    Your verdicts are exchanged: a higher score is better.
never a, keeps 4 | return "a is better" -> return "no difference seen"
    You never say that a is better: it may be.
never b, keeps 3 | return "b is better" -> return "no difference seen"
    You never say that b is better: it may be.
always somebody, keeps 4 | max(b["scores"]) < min(a["scores"]) -> True
    Not above does not mean below: where ranges overlap, no difference is seen.
""",
    draw=draw_claim,
    oracle=may_say,
    forbidden=SCORERS,
    probe="""
def probe(may_say, a, b, interval):
    copy = lambda x: {name: [*v] if isinstance(v, list) else v for name, v in x.items()}
    given = copy(a), copy(b)
    found = may_say(*given, tuple(interval))
    if given != (copy(a), copy(b)):
        return "the dicts were changed"
    return found if isinstance(found, str) else "expected one of the texts"
""",
)

Q6 = question(
    """q6: Measured: how many sentences does it take?
study(different, same, sizes, trials)
read chapters/17_evaluation: How many sentences?
shares, 2 points, within 1e-5 or 1e-4: ordinary; few trials; many trials; never; always
    For each size the share of samples whose p is below 0.05, of both functions.
enough, 2 points, within 1e-5 or 1e-4: ordinary; few trials; never; always; falls again; falls at the end; exactly
    The smallest size from which on at least 0.8 are found, there and at every larger one.
the verdict, 2 points: ordinary; many trials; never; falls again; falls at the end; exactly; too many; too few; just inside; many sentences; barely too many; barely too few; barely as promised; a little few
    The alarms at that size, less 0.05, beside 1.96 standard deviations of a share of 0.05.
RIGHT
def study(different, same, sizes, trials):
    def shares(p):
        return [sum(bool(p(n, k) < 0.05) for k in range(trials)) / trials for n in sizes]

    found, alarms = shares(different), shares(same)
    enough = None
    for n, share in zip(reversed(sizes), reversed(found)):
        if share < 0.8:
            break
        enough = n
    off = alarms[-1 if enough is None else sizes.index(enough)] - 0.05
    verdict = "as promised"
    if abs(off) > 1.96 * math.sqrt(0.05 * 0.95 / trials):
        verdict = "too many" if off > 0 else "too few"
    return {"found": found, "alarms": alarms, "enough": enough, "verdict": verdict}
def study(different, same, sizes, trials):
    table = torch.tensor([[[p(n, k) for k in range(trials)] for n in sizes] for p in (different, same)],
                         dtype=torch.float64)
    found, alarms = (table < 0.05).double().mean(-1)
    well = (found >= 0.8).long().flip(0).cumprod(0).flip(0)
    place = int(well.argmax()) if well.any() else len(sizes) - 1
    width = 1.96 * (0.05 * 0.95 / trials) ** 0.5
    low, high = bool(alarms[place] < 0.05 - width), bool(alarms[place] > 0.05 + width)
    return {
        "found": found,
        "alarms": alarms,
        "enough": sizes[place] if well.any() else None,
        "verdict": "too few" if low else "too many" if high else "as promised",
    }
def study(different, same, sizes, trials):
    result = {"found": [], "alarms": [], "enough": None, "verdict": "as promised"}
    for n in sizes:
        for name, p in (("found", different), ("alarms", same)):
            significant = [k for k in range(trials) if p(n, k) < 0.05]
            result[name].append(len(significant) / trials)
    for i, n in enumerate(sizes):
        if all(share >= 0.8 for share in result["found"][i:]):
            result["enough"] = n
            break
    alarm = result["alarms"][sizes.index(result["enough"] or sizes[-1])]
    z = (alarm - 0.05) / math.sqrt(0.05 * 0.95 / trials)
    if z > 1.96:
        result["verdict"] = "too many"
    if z < -1.96:
        result["verdict"] = "too few"
    return result
def study(different, same, sizes, trials):
    def share(p, n):
        return np.mean([p(n, k) < 0.05 for k in range(trials)])
    found = np.array([share(different, n) for n in sizes])
    alarms = np.array([share(same, n) for n in sizes])
    bad = np.flatnonzero(found < 0.8)
    first = bad[-1] + 1 if len(bad) else 0
    enough = sizes[first] if first < len(sizes) else None
    far = alarms[min(first, len(sizes) - 1)] - 0.05
    half = 1.96 * np.sqrt(0.05 * (1 - 0.05) / trials)
    verdict = ["too few", "as promised", "too many"][1 + int(far > half) - int(far < -half)]
    return dict(found=found, alarms=alarms, enough=enough, verdict=verdict)
def study(different, same, sizes, trials):
    found = {n: sum(1 for k in range(trials) if different(n, k) < 0.05) / trials for n in sizes}
    alarms = {n: sum(1 for k in range(trials) if same(n, k) < 0.05) / trials for n in sizes}
    good = [n for n in sizes if min(found[m] for m in sizes if m >= n) >= 0.8]
    at = min(good) if good else max(sizes)
    w = 1.96 * math.sqrt(0.0475 / trials)
    verdict = "as promised"
    if not 0.05 - w <= alarms[at] <= 0.05 + w:
        verdict = "too few" if alarms[at] < 0.05 else "too many"
    return {"found": [found[n] for n in sizes], "alarms": tuple(alarms.values()),
            "enough": at if good else None, "verdict": verdict}
WRONG
mean p, keeps 0 | sum(bool(p(n, k) < 0.05) for -> sum(float(p(n, k)) for
    You average p: return the share of samples in which it is below 0.05.
    read chapters/17_evaluation: Why compare in pairs?
number for share | for k in range(trials)) / trials for -> for k in range(trials)) for
    You return how many samples: their share is asked for.
above for below | p(n, k) < 0.05 -> p(n, k) > 0.05
    You count samples with a large p: a difference is significant where p is small.
    read chapters/17_evaluation: Why compare in pairs?
0.05 counts, keeps 2 | p(n, k) < 0.05 -> p(n, k) <= 0.05
    You count p = 0.05 as significant: it must be below.
    read chapters/17_evaluation: Why compare in pairs?
0.1 for 0.05 | p(n, k) < 0.05 -> p(n, k) < 0.5
    You call far too much significant: p must be below 0.05.
    read chapters/17_evaluation: Why compare in pairs?
samples from one on, keeps 2 | for k in range(trials)) -> for k in range(1, trials + 1))
    You number the samples from 1: the first one is number 0.
all samples at one size | bool(p(n, k) < 0.05) -> bool(p(sizes[-1], k) < 0.05)
    You look only at the largest size: each size has samples of its own.
one sample, keeps 0 | bool(p(n, k) < 0.05) -> bool(p(n, 0) < 0.05)
    You look at one sample again and again: each k is another one.
functions exchanged | found, alarms = shares(different), shares(same) -> alarms, found = shares(different), shares(same)
    You have exchanged the two: what is found are true differences, alarms are false ones.
alarms left over, keeps 2 | shares(same) -> [1 - share for share in shares(different)]
    You take what is not found for alarms: alarms are significant differences between systems that are the same.
first that is enough, keeps 2 | for n, share in zip(reversed(sizes), reversed(found)): -> for n, share in zip(sizes, found):; if share < 0.8: -> if enough is not None:; enough = n -> enough = n if share >= 0.8 else None
    You take the first size with 0.8: at every larger one as many must be found.
largest for smallest, keeps 2 | enough = n -> enough = enough or n
    You return the largest size: the smallest is asked for from which on enough are found.
above 0.8, keeps 2 | share < 0.8 -> share <= 0.8
    You ask for more than 0.8: at least 0.8 are enough.
0.95 for 0.8, keeps 2 | share < 0.8 -> share < 0.95
    You ask for more than is asked: at least 0.8 must be found.
a half for 0.8, keeps 2 | share < 0.8 -> share < 0.5
    You are content with less than is asked: at least 0.8 must be found.
the place, keeps 4 | "enough": enough -> "enough": None if enough is None else sizes.index(enough)
    You return where the size stands: return the size itself.
largest for none, keeps 4 | "enough": enough -> "enough": enough or sizes[-1]
    Where no size is enough, say None: the largest may not be.
0 for none, keeps 4 | "enough": enough -> "enough": enough or 0
    Where no size is enough, say None: 0 sentences are not enough.
alarms at the largest, keeps 4 | alarms[-1 if enough is None else sizes.index(enough)] -> alarms[-1]
    You judge the alarms at the largest size: look at the size that is enough.
alarms at the smallest, keeps 4 | alarms[-1 if enough is None else sizes.index(enough)] -> alarms[0]
    You judge the alarms at the smallest size: look at the size that is enough.
mean alarms, keeps 4 | alarms[-1 if enough is None else sizes.index(enough)] -> sum(alarms) / len(alarms)
    You average the alarms over the sizes: look at the size that is enough.
smallest for none, keeps 4 | alarms[-1 if enough is None -> alarms[0 if enough is None
    Where no size is enough you judge the smallest: judge the largest.
found judged, keeps 4 | off = alarms[ -> off = found[
    You judge what was found: the verdict is on the alarms.
0.05 for its variance, keeps 4 | 0.05 * 0.95 / trials -> 0.05 / trials
    The variance of a share p is p times 1 − p: you left out the second factor.
width of the share seen, keeps 4 | 0.05 * 0.95 / trials -> (off + 0.05) * (0.95 - off) / trials
    Your half-width is that of the share that you saw: take that of the promised share, 0.05.
no 1.96, keeps 4 | 1.96 * math.sqrt(0.05 -> math.sqrt(0.05
    Your half-width is one standard deviation: 95% take 1.96.
no root, keeps 4 | 1.96 * math.sqrt(0.05 * 0.95 / trials) -> 1.96 * (0.05 * 0.95 / trials)
    You allow next to no deviation: the half-width has the root of the variance, which is wider.
0.05 for a half-width, keeps 4 | 1.96 * math.sqrt(0.05 * 0.95 / trials) -> 0.0500001
    You allow too much. How far a share may be off depends on the number of trials: 1.96 standard deviations of a share of 0.05.
sentences for trials, keeps 4 | 0.05 * 0.95 / trials -> 0.05 * 0.95 / (enough or sizes[-1])
    You divide by the number of sentences: it is the trials that make up the share.
too many alone, keeps 4 | if abs(off) > -> if off >
    You never say "too few": a test with too few alarms is not as promised either.
verdicts exchanged, keeps 4 | if off > 0 -> if off < 0
    Your verdicts are exchanged: a share above 0.05 means too many.
""",
    parts={
        "shares": ("found", "alarms"),
        "enough": ("enough",),
        "the verdict": ("verdict",),
    },
    draw=draw_study,
    oracle=lambda different, same, sizes, trials: study(different, same, trials),
    shown=lambda different, same, sizes, trials: {
        "p of different": different[:, :trials],
        "p of same": same[:, :trials],
        "sizes": sizes,
        "trials": trials,
    },
    forbidden=SCORERS,
    probe=PLAIN
    + """
def probe(study, different, same, sizes, trials):
    tables, given = (different.tolist(), same.tolist()), [int(n) for n in sizes]

    def reader(table):
        def p(n, k):
            if n not in sizes or not 0 <= k < len(table[0]):
                raise ValueError("p takes one of the sizes and the number of a sample")
            return table[sizes.index(n)][int(k)]
        return p

    found = study(*map(reader, tables), given, int(trials))
    if not isinstance(found, dict) or set(found) != {"found", "alarms", "enough", "verdict"}:
        return "expected a dict with found, alarms, enough and verdict"
    if given != [int(n) for n in sizes]:
        return "the list of sizes was changed"
    enough = found["enough"]
    if enough is not None and float(enough) not in map(float, sizes):
        return {"found": plain(found["found"]), "alarms": plain(found["alarms"]),
                "enough": -2.0, "verdict": found["verdict"]}
    return {
        "found": plain(found["found"]),
        "alarms": plain(found["alarms"]),
        "enough": -1.0 if enough is None else float(sizes.index(int(enough))),
        "verdict": found["verdict"],
    }
""",
)

EXERCISE = Exercise("17_evaluation", "Is it any good?", (Q1, Q2, Q3, Q4, Q5, Q6))
