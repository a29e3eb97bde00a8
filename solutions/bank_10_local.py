"""How the exercise on local attention and patterns is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal
from seqattn.grading.probes import value_probe
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def window_of(centre, D, length, size):
    return [i for i in range(size) if i < length and centre - D <= i <= centre + D]


def windows(centres, D, lengths, size):
    found = np.zeros((len(centres), size), bool)
    for b, (p, n) in enumerate(zip(centres, lengths)):
        found[b, window_of(p, D, n, size)] = True
    return found


def centre(s, W_p, v_p, lengths):
    found = []
    for row, n in zip(s, lengths):
        hidden = [math.tanh(sum(w * x for w, x in zip(line, row))) for line in W_p]
        found.append(n / (1 + math.exp(-sum(v * x for v, x in zip(v_p, hidden)))))
    return np.array(found)


def weigh(scores, p, D, n):
    """Weights of one sentence; only scores within the window are read."""
    row, seen = np.zeros(len(scores)), window_of(p, D, n, len(scores))
    top = max((scores[i] for i in seen), default=0.0)
    total = sum(math.exp(scores[i] - top) for i in seen)
    for i in seen:
        row[i] = math.exp(scores[i] - top) / total * math.exp(-((i - p) ** 2) / (2 * (D / 2) ** 2))
    return row


def weights(scores, centres, D, lengths):
    return np.array([weigh(row, p, D, n) for row, p, n in zip(scores, centres, lengths)])


def contexts(query, keys, values, centres, D, lengths):
    found = np.zeros((len(query), values.shape[-1]))
    for b, (q, p, n) in enumerate(zip(query, centres, lengths)):
        seen = window_of(p, D, n, keys.shape[1])
        scores = np.zeros(keys.shape[1])
        scores[seen] = keys[b, seen] @ q
        found[b] = weigh(scores, p, D, n)[seen] @ values[b, seen]
    return found


def layers(mask, causal):
    """Longest of all shortest ways, by going from neighbour to neighbour."""
    most = 0
    for start in range(len(mask)):
        steps, front = {start: 0}, [start]
        for here in front:
            for there in range(len(mask)):
                if mask[here][there] and there not in steps:
                    steps[there] = steps[here] + 1
                    front.append(there)
        for other in range(start + 1 if causal else len(mask)):
            if other not in steps:
                return -1.0
            most = max(most, steps[other])
    return float(most)


def least_widths(pairs, share):
    plain = [abs(i - t) for links, S, T in pairs for i, t in links]
    scaled = [abs(i - t * S / T) for links, S, T in pairs for i, t in links]
    return tuple(
        float(next(D for D in range(999) if np.mean([x <= D for x in away]) >= share))
        for away in (plain, scaled)
    )


# --- Cases -----------------------------------------------------------------------------------------

WINDOWS = {  # B, size, D
    "ordinary": (4, 9, 2),
    "wide": (3, 11, 4),
    "narrow": (5, 12, 1),
    "words at the very edge": (4, 10, 2),
    "a hair beside the edge": (4, 10, 2),
    "short sentences": (4, 8, 3),
    "nothing in the window": (3, 6, 1),
    "one sentence": (1, 8, 3),
    "as many sentences as words": (6, 6, 2),
    "far apart": (3, 9, 3),
    "the rest unknown": (3, 7, 2),
    "far below zero": (3, 9, 3),
    "small": (2, 5, 1),
    "long sentences": (2, 300, 2),
}


def draw_places(rng, kind):
    """Draw centres, half-width, lengths and width; no word is by rounding alone inside or not."""
    B, size, D = WINDOWS[kind]
    lengths = rng.integers(3, size + 1, size=B)
    # The longest sentence need not fill the batch.
    lengths[0] = size - (kind in ("wide", "short sentences"))
    # Halves and quarters are exact in every precision; none of these brings a word to the edge.
    centres = rng.integers(0, size, size=B) + rng.choice([0.25, 0.4375, 0.625, 0.8125], size=B)
    if kind == "words at the very edge":
        centres = rng.integers(1, size - 1, size=B) * 1.0
    elif kind == "a hair beside the edge":
        # Less than half precision sees.
        centres = rng.integers(3, size - 3, size=B) + rng.choice([-1, 1], size=B) * 2.0**-12
    elif kind == "short sentences":
        lengths[1:] = rng.integers(1, 4, size=B - 1)
        centres[1:] = lengths[1:] + rng.choice([-0.375, 0.5], size=B - 1)
        centres[0] = size - 1.25
        centres[-1], lengths[-1] = 2.25 + D, 3  # nothing but pads
    elif kind in ("far apart", "the rest unknown", "far below zero"):
        centres[-1], centres[0] = 0.5625, size - 0.75  # the last one beside the last word
        # A window that reaches into the pads.
        centres[1], lengths[1] = size - 2.25, size - 1
    elif kind == "nothing in the window":
        # Not far from the words, where a Gaussian would leave nothing anyway.
        centres[1], centres[2] = size - 0.75 + D, -D - 1.5
    else:
        # One window that reaches beyond the first word, one beyond the last.
        centres[-1] = 0.5625
        centres[0] = size - 1.25
        if kind == "wide":
            centres[1] = size // 2 + 0.25  # the whole window is in the sentence
            lengths[1] = size
        if kind == "ordinary":
            # With centres or lengths of another draw there is a word in every window, too.
            lengths = np.maximum(lengths, size - D + 1)
            centres[1], lengths[1] = 2.25, 3  # words, and pads
    if kind not in ("short sentences", "nothing in the window"):
        # A word in every window: empty ones are another case.
        lengths = np.maximum(lengths, np.ceil(centres - D).astype(int) + 1)
    return centres.astype(np.float32), D, lengths, size


def draw_centre(rng, kind):
    sizes = {"ordinary": (4, 5, 3), "square": (3, 4, 4), "one sentence": (1, 3, 5)}
    B, d, d_p = sizes.get(kind, (5, 2, 7))
    lengths = np.full(B, 9) if kind == "one length" else rng.permutation(np.arange(3, 3 + 4 * B, 4))
    s, W_p, v_p = normal(rng, B, d), normal(rng, d_p, d), normal(rng, d_p)
    if kind == "far from zero":
        # In one sentence alone exp overflows: the others show what else is wrong.
        lengths[:] = 9
        W_p[0], v_p[0] = 0.01 * np.sign(W_p[0]), 150
        s[0] = 100 * np.sign(W_p[0])
    return s, W_p, v_p, lengths


def draw_scores(rng, kind):
    centres, D, lengths, size = draw_places(rng, kind)
    scores = normal(rng, len(centres), size, scale=1.5)
    outside = ~windows(centres, D, lengths, size)
    # What is outside would win every softmax.
    scores[outside] += 4
    if kind == "far apart":
        scores[outside] = rng.choice([np.nan, np.inf, -np.inf, 1e30], size=int(outside.sum()))
        # In reach of a mask of -10000, and whole numbers, which every precision holds; all differ, so
        # that the logarithm of the sum is one as well.
        places = np.tile(np.arange(size), (len(scores), 1))
        scores[~outside] = rng.permuted(places, axis=1)[~outside] * 16 - 2.0**15
    if kind == "far below zero":
        # In reach of a mask of -100, and next to nothing after exp.
        scores -= 95
    if kind == "the rest unknown":
        scores[outside] = rng.choice([np.nan, np.inf], size=int(outside.sum()))
    return scores, centres, D, lengths


def draw_states(rng, kind):
    centres, D, lengths, size = draw_places(rng, kind)
    d, d_v = (2, 2) if kind == "as many sentences as words" else (3, 2)
    B = len(centres)
    query, keys = normal(rng, B, d), normal(rng, B, size, d)
    values = normal(rng, B, size, d_v)
    if kind in ("far apart", "the rest unknown"):
        outside = ~windows(centres, D, lengths, size)
        keys[outside] = values[outside] = np.nan
    return query, keys, values, centres, D, lengths


def short_ways(mask):
    """Tell whether more layers are needed than a look at some of the pairs says."""
    reach = np.eye(len(mask), dtype=bool)
    far, step = np.where(reach, 0, len(mask)), mask | reach
    for layers in range(1, len(mask)):
        reach = step @ reach
        far[reach & (far > layers)] = layers
    most = far.max()
    looks = far[0], far[-1], far[:, 0], np.minimum(far, far.T), np.tril(far)
    return all(look.max() < most for look in looks)


def draw_pattern(rng, kind):
    """Draw a pattern; one by chance is such that no shortcut finds its number."""
    while kind == "a chance pattern":
        mask = (rng.random((12, 12)) < 0.15) | np.eye(12, k=1, dtype=bool)
        mask[-1, 0] = True
        if short_ways(mask):
            return mask, False
    n = {"large": 54, "one position": 1, "few words": 5}.get(kind, 12)
    causal = kind.startswith("causal")
    places = np.arange(n)
    away = np.abs(places[:, None] - places)
    w = int(rng.integers(1, 4))
    if kind == "causal, one step":
        w = 1  # as many layers as there can be
    elif kind == "nobody sees itself":
        w = 1  # without itself a word hears only every other one
    elif kind == "a word that nobody hears":
        w = 2  # the others hear one another
    mask = away <= w
    if kind in ("global word", "causal with a global word"):
        mask[:, 4] = mask[4] = True
        mask &= away > -1
    elif kind == "blocks":
        mask = places[:, None] // 4 == places // 4
    elif kind == "nobody sees itself":
        mask &= away > 0
    elif kind == "one way round":
        mask = (places - places[:, None]) % n == 1
    elif kind == "all pairs":
        mask[:] = True
    elif kind == "a word that nobody hears":
        mask[:, 3] = False
    elif kind == "looking back, but not causal":
        mask = places <= places[:, None]
    elif kind == "few words":
        mask = away <= 1
    elif kind == "large":
        # A crowd of 16 and a queue of 38: before the last has heard of the crowd, the ways within
        # the crowd are more than 32 bits can count.
        mask = away <= 1
        mask[:16, :16] = True
    elif kind == "a shortcut":
        mask = away <= 1
        mask[0, 2] = mask[2, 0] = True
    if causal:
        mask &= places <= places[:, None]
        if kind == "causal, cut":
            mask[7:, :7] = False
        elif kind == "causal, one neighbour unheard":
            mask = places <= places[:, None]
            mask[6, 5] = False
    return mask, causal


# By kind: wrong ways to the widths that show in every draw, not by luck in some.
SHOWN = {
    "ordinary": ("another ratio", "distances rounded"),
    "one long pair": ("mean of the pairs", "between two distances"),
    "one pair": ("centre rounded", "centre rounded up", "centre cut"),
    "exactly reached": ("mean of the pairs", "between two distances", "centre rounded up"),
    "all of them": ("another ratio", "distances rounded", "centre rounded", "centre cut"),
}
# And wrong ways that differ from one another, so that each is told from the others.
APART = {
    "ordinary": (("distances rounded", "centre cut"),),
    "one long pair": (("distances cut", "centre rounded"),),
    "exactly reached": (
        ("more than the share", "between two distances"),
        ("more than the share", "mean of the pairs"),
    ),
}


def wrong_widths(way, pairs, share):
    plain = [(links, T, T) for links, _, T in pairs]
    return tuple(float(wrong_width(way, side, share)) for side in (plain, pairs))


def wrong_width(way, pairs, share):
    away = {
        "another ratio": lambda i, t, S, T: abs(i - t * (S - 1) / max(T - 1, 1)),
        "distances cut": lambda i, t, S, T: int(abs(i - t * S / T)),
        "distances rounded": lambda i, t, S, T: round(abs(i - t * S / T)),
        "centre rounded": lambda i, t, S, T: abs(i - round(t * S / T)),
        "centre rounded up": lambda i, t, S, T: abs(i - math.ceil(t * S / T)),
        "centre cut": lambda i, t, S, T: abs(i - t * S // T),
    }.get(way, lambda i, t, S, T: abs(i - t * S / T))
    found = [[away(i, t, S, T) for i, t in links] for links, S, T in pairs]
    if way == "between two distances":
        return math.ceil(np.quantile(np.concatenate(found), share))
    if way != "mean of the pairs":
        found = [np.concatenate(found)]
    enough = np.greater if way == "more than the share" else np.greater_equal
    inside = (np.mean([np.mean(np.array(x) <= D) for x in found]) for D in range(999))
    return next(D for D, part in enumerate(inside) if enough(part, share))


def draw_links(rng, kind):
    while True:
        pairs, count = [], {"one pair": 1}.get(kind, 4)
        sizes = rng.integers(2, 9, size=count)
        if kind == "exactly reached":
            # Sixteen links, of which quarters and halves are whole numbers.
            sizes = 2 + rng.multinomial(16 - 2 * count, [1 / count] * count)
        for size in sizes:
            S, T = (int(x) for x in rng.integers(4, 12, size=2))
            if kind == "equal lengths":
                T = S
            places = rng.integers(0, [S, T], size=(int(size), 2))
            if kind == "equal lengths":
                places[1:, 1] = places[1:, 0]  # few words move: a window of one word is enough
            if kind == "one long pair" and not pairs:
                places = np.concatenate([places, rng.integers(0, [S, T], size=(14, 2))])
            pairs.append(([(int(i), int(t)) for i, t in places], S, T))
        total = sum(len(links) for links, _, _ in pairs)
        # Whoever multiplies first must find the same, to the last digit.
        if any(t * (S / T) != t * S / T for links, S, T in pairs for _, t in links):
            continue
        share = float(rng.choice([0.35, 0.55, 0.8, 0.95]))
        if kind == "exactly reached":
            share = float(rng.choice([0.25, 0.5, 0.75]))
        elif kind == "all of them":
            share = 1.0
        if (
            kind != "exactly reached"
            and share < 1
            and abs(share * total - round(share * total)) < 0.02
        ):
            continue
        found = least_widths(pairs, share)
        if kind == "exactly reached":
            away = [abs(i - t) for links, _, _ in pairs for i, t in links]
            if np.mean([x <= found[0] for x in away]) != share:
                continue
        # Whoever never tries a window of one word loses the first stage, and that alone.
        if (min(found) == 0) != (kind == "equal lengths"):
            continue
        if kind != "equal lengths" and found[0] == found[1]:
            continue
        if any(wrong_widths(way, pairs, share) == found for way in SHOWN.get(kind, ())):
            continue
        # Whoever rounds, be it the centre or the distance, hears the same.
        rounded = [wrong_width(f"{what} rounded", pairs, share) for what in ("centre", "distances")]
        if rounded[0] != rounded[1]:
            continue
        ways = [[wrong_widths(way, pairs, share) for way in two] for two in APART.get(kind, ())]
        if all(one != other for one, other in ways):
            return pairs, share


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Which words are in the window?
in_window(centres, D, lengths, size)
read chapters/10_local: One step a line
the window, 1 point: ordinary; wide; narrow; one sentence; as many sentences as words
    A word is in the window if its distance to the centre, a real number, is at most D.
the edges, 1 point: words at the very edge; a hair beside the edge; ordinary
    A word exactly D away is inside.
the sentence's end, 1 point: short sentences; nothing in the window; ordinary
    The window ends with the sentence, since pads are no words, and there are none before the first:
    where the centre lies outside, fewer words are in the window, or none.
    read chapters/10_local: Where it breaks
RIGHT
def in_window(centres, D, lengths, size):
    places = torch.arange(size)
    near = (places - centres[:, None]).abs() <= D
    return near & (places < lengths[:, None])
def in_window(centres, D, lengths, size):
    found = torch.zeros(len(centres), size, dtype=torch.bool)
    for b, (p, n) in enumerate(zip(centres.tolist(), lengths.tolist())):
        first, last = math.ceil(p - D), math.floor(p + D)
        found[b, max(first, 0):max(min(last + 1, n), 0)] = True
    return found
def in_window(centres, D, lengths, size):
    places = torch.arange(size).expand(len(centres), size)
    low = torch.ceil(centres - D).unsqueeze(1)
    high = torch.minimum(torch.floor(centres + D), lengths - 1).unsqueeze(1)
    return torch.logical_and(places >= low, places <= high)
def in_window(centres, D, lengths, size):
    rows = [[abs(i - p) <= D and i < n for i in range(size)] for p, n in zip(centres.tolist(), lengths.tolist())]
    return torch.tensor(rows)
def in_window(centres, D, lengths, size):
    away = (torch.arange(size)[None] - centres.unsqueeze(-1)).square()
    real = torch.arange(size)[None] < lengths.unsqueeze(-1)
    return (away <= D * D) * real
WRONG
centre rounded first | centres[:, None] -> centres.round()[:, None]
    You round the centre first: cut at p - D and p + D themselves.
centre cut to a whole number | centres[:, None] -> centres.floor()[:, None]
    You drop the digits of the centre: it is a real number.
strictly less, keeps 2 | <= D -> < D
    You leave out a word exactly D away: it is inside.
D as the whole width | <= D -> <= D / 2
    You take D for the whole width: it is D to each side.
to the right alone | (places - centres[:, None]).abs() <= D -> (places >= centres[:, None]) & (places <= centres[:, None] + D)
    Your window lies only to the right of the centre: it reaches D to each side.
to the left alone | (places - centres[:, None]).abs() <= D -> (places <= centres[:, None]) & (places >= centres[:, None] - D)
    Your window lies only to the left of the centre: it reaches D to each side.
length forgotten | & (places < lengths[:, None]) -> & (places >= 0)
    You let the window reach into the pads: it ends with the sentence.
one pad too many | places < lengths[:, None] -> places <= lengths[:, None]
    You count the first pad as a word: the last word is at length - 1.
centre moved to the first word, keeps 2 | centres[:, None] -> centres.clamp(min=0)[:, None]
    You move a centre that lies before the first word: leave it there, and its window holds fewer words,
    or none.
centre moved into the sentence | centres[:, None] -> torch.minimum(centres.clamp(min=0), lengths - 1)[:, None]
    You move the centre into the sentence: it may lie beside the words, and then its window holds fewer
    of them, or none.
longest sentence for all | lengths[:, None] -> lengths.max()
    You take one length for all sentences: each has its own.
counted from 1 | torch.arange(size) -> torch.arange(1, size + 1)
    You count the words from 1: the first is at position 0.
words outside | return near & (places < lengths[:, None]) -> return ~(near & (places < lengths[:, None]))
    You mark the words outside: True means that a word is in the window.
whole numbers for flags | R -> R.long()
    You return 0 and 1: a mask is boolean, True or False.
2D words always, keeps 2 | near = (places - centres[:, None]).abs() <= D -> first = torch.ceil(centres - D)[:, None]; near = (places >= first) & (places < first + 2 * D)
    You always take 2D words: if the centre is a whole number there are 2D + 1.
first sentence for all | places - centres[:, None] -> places - centres[:1, None]
    You use the first sentence's centre for all: each sentence has its own.
a slice that begins before the first word
    | found = torch.zeros(len(centres), size, dtype=torch.bool)
    | for b, (p, n) in enumerate(zip(centres.tolist(), lengths.tolist())):
    |     found[b, math.ceil(p - D):math.floor(p + D) + 1] = True
    |     found[b, n:] = False
    | return found
    Where your slice begins before the first word its beginning is negative, and PyTorch counts that from
    the end of the row: begin no lower than 0.
places before the first word
    | found = torch.zeros(len(centres), size, dtype=torch.bool)
    | for b, (p, n) in enumerate(zip(centres.tolist(), lengths.tolist())):
    |     for i in range(math.ceil(p - D), min(math.floor(p + D) + 1, n)):
    |         found[b, i] = True
    | return found
    You mark places before the first word, too, and PyTorch counts these from the end of the row: begin at 0.
""",
    draw=draw_places,
    oracle=windows,
)

Q2 = question(
    """q2: Where is the centre?
predicted_centre(s, W_p, v_p, lengths)
read chapters/10_local: One step a line
the formula, 1 point: one length; one sentence
    The centre is S times the logistic function of v_p · tanh(W_p s).
large numbers, 1 point: far from zero
    Far from zero the logistic function comes near 0 or 1, but a quotient of exponentials can become
    infinity over infinity: torch.sigmoid takes care of it.
    read chapters/02_soft_addressing: Derive: from one value to a mixture
each sentence's own length, 1 point: ordinary; square; other sizes
    S is the number of words of that sentence, not of the batch.
    read chapters/10_local: Where it breaks
gradients, 1 point, backward: ordinary; other sizes
    The centre must pass a gradient to s, W_p and v_p.
RIGHT
def predicted_centre(s, W_p, v_p, lengths):
    z = torch.tanh(s @ W_p.T) @ v_p
    return lengths * torch.sigmoid(z)
def predicted_centre(s, W_p, v_p, lengths):
    return F.linear(F.linear(s, W_p).tanh(), v_p[None])[:, 0].sigmoid().mul(lengths)
def predicted_centre(s, W_p, v_p, lengths):
    hidden = torch.einsum('bd,pd->bp', s, W_p).tanh()
    return lengths / (1 + torch.exp(-(hidden * v_p).sum(-1)))
def predicted_centre(s, W_p, v_p, lengths):
    return torch.stack([n * torch.sigmoid(v_p.dot(torch.tanh(W_p.mv(x)))) for x, n in zip(s, lengths)])
def predicted_centre(s, W_p, v_p, lengths):
    z = (torch.tanh(W_p @ s.T) * v_p[:, None]).sum(0)
    return (z / 2).tanh().add(1).mul(lengths).div(2)
WRONG
longest sentence for S, keeps 2 | lengths * torch.sigmoid(z) -> lengths.max() * torch.sigmoid(z)
    You take the width of the batch for S: each sentence has its own number of words.
S - 1 | lengths * torch.sigmoid(z) -> (lengths - 1) * torch.sigmoid(z)
    You multiply by S - 1: Luong et al. multiply by S.
tanh forgotten | torch.tanh(s @ W_p.T) -> (s @ W_p.T)
    You leave out the tanh between W_p and v_p.
matrix transposed | s @ W_p.T -> s @ (W_p if W_p.shape[0] == W_p.shape[1] else W_p.flatten().reshape(W_p.shape[1], W_p.shape[0]))
    You multiply by the transposed matrix: W_p s for each state, which is s @ W_p.T for rows.
tanh of the sum | torch.tanh(s @ W_p.T) @ v_p -> torch.tanh(s @ W_p.T @ v_p)
    You take the tanh last: it comes before v_p, on each feature by itself.
softmax for tanh | torch.tanh(s @ W_p.T) -> torch.softmax(s @ W_p.T, -1)
    You take a softmax over the features: a tanh belongs there.
mean length for S, keeps 2 | lengths * torch.sigmoid(z) -> lengths.to(z.dtype).mean() * torch.sigmoid(z)
    You multiply by the mean length of the batch: each sentence has its own number of words.
number of sentences for S | lengths * torch.sigmoid(z) -> len(lengths) * torch.sigmoid(z)
    You multiply by the number of sentences: S is the number of words of a sentence.
sigmoid forgotten | torch.sigmoid(z) -> z
    You leave out the logistic function: the centre could lie anywhere.
softmax over the batch | torch.sigmoid(z) -> torch.softmax(z, 0)
    You take a softmax over the batch: the logistic function gives each sentence a centre of its own.
logistic function from exponentials, keeps 3 | torch.sigmoid(z) -> (z.exp() / (1 + z.exp()))
    You divide exp(z) by 1 + exp(z): for a large z both are infinite, and the quotient is NaN. Take
    torch.sigmoid, or 1 / (1 + exp(-z)).
tanh for sigmoid | torch.sigmoid(z) -> torch.tanh(z)
    You take a tanh at the end, which may be negative: a logistic function lies between 0 and 1.
length forgotten | return lengths * torch.sigmoid(z) -> return torch.sigmoid(z)
    You forget to multiply by the length: a centre is a position.
sigmoid for tanh | torch.tanh(s @ W_p.T) -> torch.sigmoid(s @ W_p.T)
    You use a logistic function inside: a tanh belongs there.
rounded centre | R -> R.round()
    You round the centre: it is a real number, and a rounded one passes no gradient.
detached, keeps 3 | R -> R.detach()
    Your centre is detached: the values are right, but W_p and v_p learn nothing.
sum without v_p | torch.tanh(s @ W_p.T) @ v_p -> torch.tanh(s @ W_p.T).sum(1)
    You add up the features: weigh them with v_p.
sign turned | torch.sigmoid(z) -> torch.sigmoid(-z)
    You flip the sign: your centre is counted from the end of the sentence.
a column | R -> R[:, None]
    You return a column: return one number for each sentence, (B,).
"""
    + WRONG_FORMS,
    draw=draw_centre,
    oracle=centre,
)

Q3 = question(
    """q3: The weights
local_weights(scores, centres, D, lengths)
read chapters/10_local: One step a line
softmax and Gaussian, 2 points: ordinary; wide; narrow; words at the very edge; one sentence; as many sentences as words
    A softmax over the words in the window alone, times the Gaussian with sigma D/2.
ends and nothing, 1 point: short sentences; nothing in the window; ordinary
    The window ends with the sentence, and a row with nothing to see is all zeros.
    read chapters/10_local: Where it breaks
numbers that mean nothing, 1 point: far apart; far below zero
    Scores outside the window may be NaN or infinite, and those inside far below zero.
gradients, 1 point, backward: ordinary; short sentences; the rest unknown; nothing in the window
    Gradients flow to the scores in the window and to the centres, and are numbers whatever stands outside.
RIGHT
def local_weights(scores, centres, D, lengths):
    places = torch.arange(scores.shape[1])
    away = places - centres[:, None]
    seen = (away.abs() <= D) & (places < lengths[:, None])
    lowest = torch.finfo(scores.dtype).min
    weights = scores.masked_fill(~seen, lowest).softmax(1)
    near = torch.exp(-(away**2) / (2 * (D / 2) ** 2))
    return (weights * near).masked_fill(~seen, 0.0)
def local_weights(scores, centres, D, lengths):
    rows = []
    for row, p, n in zip(scores, centres, lengths.tolist()):
        inside = [i for i in range(min(n, len(row))) if abs(i - p.item()) <= D]
        out = row.new_zeros(len(row))
        if inside:
            at = torch.tensor(inside)
            near = torch.exp(-2 * ((at - p) / D) ** 2)
            out = out.index_put((at,), row[at].softmax(0) * near)
        rows.append(out)
    return torch.stack(rows)
def local_weights(scores, centres, D, lengths):
    i = torch.arange(scores.size(1)).expand_as(scores)
    p = centres.unsqueeze(1)
    closed = (i < p - D) | (i > p + D) | (i >= lengths.unsqueeze(1))
    clean = scores.masked_fill(closed, 0.0)
    top = clean.detach().masked_fill(closed, -3e38).amax(1, keepdim=True)
    raised = torch.where(closed, 0.0, (clean - top).masked_fill(closed, 0.0).exp())
    total = raised.sum(1, keepdim=True)
    return raised / total.masked_fill(total == 0, 1.0) * ((i - p).square() * (-2 / D**2)).exp()
def local_weights(scores, centres, D, lengths):
    places = torch.arange(scores.shape[1], dtype=scores.dtype)
    distance = (places[None] - centres[:, None]).abs()
    seen = torch.logical_and(distance <= D, places[None] < lengths[:, None])
    logs = torch.where(seen, scores, scores.new_tensor(-1e30)).log_softmax(-1)
    gauss = -0.5 * (distance / (D / 2)).pow(2)
    return torch.where(seen, (logs + gauss).exp(), scores.new_zeros(()))
def local_weights(scores, centres, D, lengths):
    S, sigma = scores.shape[1], D / 2
    grid = torch.arange(S).repeat(len(scores), 1)
    offset = grid - centres.view(-1, 1)
    ok = offset.pow(2).le(D**2) * grid.lt(lengths.view(-1, 1))
    a = torch.softmax(scores.where(ok, torch.full_like(scores, -1e35)), dim=-1)
    g = torch.exp(offset.pow(2) / (-2 * sigma**2))
    return a.mul(g).where(ok, torch.zeros_like(a))
WRONG
softmax over all, then cut | weights = scores.masked_fill(~seen, lowest).softmax(1) -> weights = scores.softmax(1)
    Words outside share your denominator: mask them before the softmax.
softmax over the sentence | scores.masked_fill(~seen, lowest) -> scores.masked_fill(places >= lengths[:, None], lowest)
    Your softmax runs over the whole sentence, and is cut afterwards: words outside must not share the
    denominator.
not cut at all | seen = (away.abs() <= D) & (places < lengths[:, None]) -> seen = places < lengths[:, None]
    You do not cut at D: the Gaussian is no window, since it fades but does not end.
D for sigma | (D / 2) ** 2 -> D ** 2
    Your Gaussian is too wide: its sigma is half of D.
half of D cut to a whole number | (D / 2) ** 2 -> (D // 2) ** 2
    You cut half of D to a whole number, which for D = 1 is 0: sigma is D / 2, a real number.
half of D cut, but not to 0 | (D / 2) ** 2 -> max(1, D // 2) ** 2
    You cut half of D to a whole number: sigma is D / 2, a real number.
exponentials by their sum, keeps 4
    | weights = scores.masked_fill(~seen, lowest).softmax(1) -> up = scores.masked_fill(~seen, lowest).masked_fill(~seen.any(1, keepdim=True), 0.0).exp(); weights = up / up.sum(1, keepdim=True)
    You divide exponentials by their sum: for scores far below zero both are 0, and the quotient is NaN.
    softmax subtracts the maximum first.
exponentials by a small number, keeps 4
    | weights = scores.masked_fill(~seen, lowest).softmax(1) -> up = scores.masked_fill(~seen, lowest).exp(); weights = up / up.sum(1, keepdim=True).clamp(min=1e-30)
    You divide exponentials by their sum: for scores far below zero nothing is left of them. softmax
    subtracts the maximum first.
sigma not squared | (2 * (D / 2) ** 2) -> (2 * (D / 2))
    You forget to square sigma: the exponent is divided by two times its square.
the two forgotten | (2 * (D / 2) ** 2) -> ((D / 2) ** 2)
    You forget the 2 in front of the squared sigma.
brackets forgotten | / (2 * (D / 2) ** 2) -> / 2 * (D / 2) ** 2
    You divide by 2 and then multiply by the squared sigma: divide by all of it, in brackets.
brackets forgotten with the constant worked out | / (2 * (D / 2) ** 2) -> / 2 / 2 * D**2
    You divide by one part of two sigma squared and multiply by the other: divide by all of it, in brackets.
pads in the softmax | scores.masked_fill(~seen, lowest) -> scores.masked_fill(away.abs() > D, lowest)
    Pads in the window share your denominator, though you remove them afterwards: mask them before the
    softmax, as you mask what is outside.
distance not squared | (away**2) -> away.abs()
    You forget to square the distance: that is no Gaussian.
rows made to sum to 1 | R -> R / R.sum(1, keepdim=True).clamp(min=1e-30)
    You make rows sum to 1 again, as the Gaussian's logarithm, added to the scores, would: in the paper it multiplies the
    weights and leaves rows below 1.
Gaussian forgotten | (weights * near).masked_fill -> weights.masked_fill
    You leave out the Gaussian, by which words near the centre count for more.
length forgotten | (away.abs() <= D) & (places < lengths[:, None]) -> away.abs() <= D
    You let the window reach into the pads: it ends with the sentence.
strictly inside, keeps 2 | (away.abs() <= D) -> (away.abs() < D)
    You leave out a word exactly D away: it is inside.
centre rounded | centres[:, None] -> centres.round()[:, None]
    You round the centre: it is a real number, and learns in small steps.
Gaussian about the rounded centre | near = torch.exp(-(away**2) -> near = torch.exp(-((places - centres.round()[:, None])**2)
    Your Gaussian lies about the rounded centre: its distances are from the centre itself, a real number.
NaN for an empty window, keeps 3 | scores.masked_fill(~seen, lowest) -> scores.masked_fill(~seen, -math.inf); .masked_fill(~seen, 0.0) -> * 1.0
    A window without words gives NaN: that row has to be all zeros.
NaN on the way back from an empty window, keeps 4 | scores.masked_fill(~seen, lowest) -> scores.masked_fill(~seen, -math.inf)
    A row of minus infinity alone makes the softmax NaN. You hide that in the weights, but on the way back 0
    times NaN is NaN, and the centre gets it: fill with the lowest number there is.
over the sentences | softmax(1) -> softmax(0)
    Your softmax runs over the sentences of the batch: it runs over the words of each.
first sentence's centre for all | away = places - centres[:, None] -> away = (places - centres[0]).expand_as(scores)
    You use the first sentence's centre for all: each sentence has its own.
one length for all | places < lengths[:, None] -> places < lengths.max()
    You take one length for all sentences: each has its own.
uniform for an empty window, keeps 3 | return (weights * near).masked_fill(~seen, 0.0) -> return weights * near
    Where no word is in the window all words have a weight in yours: each gets exactly 0.
centre detached, keeps 4 | away = places - centres[:, None] -> away = places - centres.detach()[:, None]
    Your centre is detached: it must learn from the Gaussian.
NaN hidden too late, keeps 4
    | weights = scores.masked_fill(~seen, lowest).softmax(1) -> top = scores.masked_fill(~seen, lowest).amax(1, keepdim=True).detach(); up = torch.where(seen, (scores - top).exp(), 0.0); weights = up / up.sum(1, keepdim=True).clamp(min=1e-30)
    Your values are right, but you take the exponential of what is outside and hide it afterwards: on the way
    back 0 times NaN is NaN. Fill the scores first.
normalised Gaussian | return (weights * near) -> near = near / (D / 2 * math.sqrt(2 * math.pi)); return (weights * near)
    Your Gaussian is a density, divided by sigma and the root of 2 pi: here it is 1 at the centre.
multiplied by zero, keeps 3 | scores.masked_fill(~seen, lowest) -> (scores * seen + lowest * ~seen)
    You multiply what is outside by zero, and NaN times zero is NaN: fill it instead.
a mask of -100, keeps 4 | scores.masked_fill(~seen, lowest) -> scores.masked_fill(~seen, -100.0)
    You mask with a number that real scores can fall below: fill with the lowest number there is.
"""
    + WRONG_FORMS,
    draw=draw_scores,
    oracle=weights,
)

Q4 = question(
    """q4: The context, and nothing else touched
gathered_context(query, keys, values, centres, D, lengths)
read chapters/10_local: A few lines that touch nothing else
the context, 2 points: ordinary; wide; narrow; words at the very edge; one sentence; as many sentences as words
    Scores, weights and sum over the words in each sentence's own window.
ends and nothing, 1 point: short sentences; nothing in the window; ordinary
    Windows end with the sentence, and an empty one gives zeros.
nothing else touched, 1 point: far apart
    What stands outside may be NaN, and a weight of 0 times NaN is NaN: do not read it.
gathered, 1 point, 100 numbers read: long sentences
    Choose the positions first, and gather their rows: rows outside are not scored, and not cleaned.
gradients, 1 point, backward: small; the rest unknown
    Gradients flow to query, keys, values and centres.
RIGHT
def gathered_context(query, keys, values, centres, D, lengths):
    first = torch.ceil(centres.detach() - D).long()
    places = first[:, None] + torch.arange(2 * D + 1)
    away = places - centres[:, None]
    seen = (places >= 0) & (places < lengths[:, None]) & (away <= D)
    last = torch.floor(centres.detach() + D).long()
    held = torch.minimum(places, torch.minimum(last, lengths - 1)[:, None]).clamp(min=0)
    rows = torch.arange(len(query))[:, None]
    near_keys = keys[rows, held].masked_fill(~seen[..., None], 0.0)
    near_values = values[rows, held].masked_fill(~seen[..., None], 0.0)
    scores = (near_keys * query[:, None]).sum(-1)
    weights = scores.masked_fill(~seen, torch.finfo(scores.dtype).min).softmax(1)
    weights = weights * torch.exp(-(away**2) / (2 * (D / 2) ** 2)) * seen
    return (weights[..., None] * near_values).sum(1)
def gathered_context(query, keys, values, centres, D, lengths):
    found = []
    for q, K, V, p, n in zip(query, keys, values, centres, lengths.tolist()):
        low, high = max(math.ceil(p.item() - D), 0), min(math.floor(p.item() + D), n - 1)
        if high < low:
            found.append(V[0].detach().new_zeros(V.shape[1]))
            continue
        i = torch.arange(low, high + 1)
        a = (K[low:high + 1] @ q).softmax(0) * torch.exp(-2 * ((i - p) / D) ** 2)
        found.append(a @ V[low:high + 1])
    return torch.stack(found)
def gathered_context(query, keys, values, centres, D, lengths):
    B, S, d = keys.shape
    k = torch.arange(-D - 1, D + 2)
    i = centres.detach().round().long().unsqueeze(1) + k
    g = i - centres.unsqueeze(1)
    ok = (g.abs() <= D) & (i >= 0) & (i < lengths.unsqueeze(1))
    flat = (i.clamp(0, S - 1) + S * torch.arange(B).unsqueeze(1)).flatten()
    K = keys.reshape(B * S, d).index_select(0, flat).view(B, -1, d)
    V = values.reshape(B * S, -1).index_select(0, flat).view(B, len(k), -1)
    K, V = (torch.where(ok.unsqueeze(-1), x, torch.zeros_like(x)) for x in (K, V))
    e = torch.einsum('bkd,bd->bk', K, query)
    a = torch.where(ok, e, torch.full_like(e, -1e30)).softmax(-1)
    a = torch.where(ok, a * (g.square() * (-2 / D**2)).exp(), torch.zeros_like(a))
    return torch.einsum('bk,bkv->bv', a, V)
def gathered_context(query, keys, values, centres, D, lengths):
    out = []
    for b in range(query.shape[0]):
        p, n = centres[b], int(lengths[b])
        inside = [i for i in range(int(p) - D - 1, int(p) + D + 2) if 0 <= i < n and abs(i - float(p)) <= D]
        if not inside:
            out.append(0.0 * query[b, :1].detach().expand(values.shape[2]))
            continue
        score = torch.stack([keys[b, i].dot(query[b]) for i in inside])
        gauss = torch.stack([torch.exp(-0.5 * ((i - p) / (D / 2)) ** 2) for i in inside])
        weight = torch.softmax(score, 0) * gauss
        out.append(sum(w * values[b, i] for w, i in zip(weight, inside)))
    return torch.stack(out)
def gathered_context(query, keys, values, centres, D, lengths):
    low = (centres.detach() - D).ceil().clamp(min=0).long()
    high = torch.minimum((centres.detach() + D).floor().long(), lengths - 1)
    offsets = torch.arange(2 * D + 1).expand(len(low), -1)
    i = low[:, None] + offsets
    out = i > high[:, None]
    i = torch.minimum(i, high[:, None]).clamp(min=0)
    pick = lambda x: torch.gather(x, 1, i[..., None].expand(-1, -1, x.shape[-1])).masked_fill(out[..., None], 0)
    K, V = pick(keys), pick(values)
    e = torch.bmm(K, query[..., None])[..., 0].masked_fill(out, -1e30)
    gauss = (-(i - centres[:, None]) ** 2 * 2 / D**2).exp().masked_fill(out, 0)
    return torch.bmm((e.softmax(1) * gauss)[:, None], V)[:, 0]
WRONG
words at the ends taken again
    | def gathered_context(query, keys, values, centres, D, lengths):
    |     held = centres.detach().floor().long()[:, None] + torch.arange(-D, D + 1)
    |     held = torch.minimum(held.clamp(min=0), (lengths - 1).clamp(min=0)[:, None])
    |     away = held - centres[:, None]
    |     seen, rows = away.abs() <= D, torch.arange(len(query))[:, None]
    |     scores = (keys[rows, held] * query[:, None]).sum(-1).masked_fill(~seen, -1e30)
    |     weights = torch.where(seen, scores.softmax(1) * torch.exp(-2 * (away / D) ** 2), 0.0)
    |     return (weights[..., None] * values[rows, held]).sum(1)
    Where the window reaches beyond the sentence you move its positions back to the last word, or to the
    first, which then counts several times: mark such positions as no words, and give them no weight.
computes all, then masks, keeps 3
    | def gathered_context(query, keys, values, centres, D, lengths):
    |     places = torch.arange(keys.shape[1])
    |     away = places - centres[:, None]
    |     seen = (away.abs() <= D) & (places < lengths[:, None])
    |     scores = (keys @ query[..., None])[..., 0]
    |     weights = scores.masked_fill(~seen, -1e30).softmax(1) * seen
    |     weights = weights * torch.exp(-2 * (away / D) ** 2)
    |     return (weights[:, None] @ values)[:, 0]
    You score every word and mask afterwards: a weight of 0 does not remove a NaN, and nothing is saved.
cleans all, then masks, keeps 5
    | def gathered_context(query, keys, values, centres, D, lengths):
    |     places = torch.arange(keys.shape[1])
    |     away = places - centres[:, None]
    |     seen = (away.abs() <= D) & (places < lengths[:, None])
    |     keys, values = (x.masked_fill(~seen[..., None], 0.0) for x in (keys, values))
    |     scores = (keys @ query[..., None])[..., 0]
    |     weights = scores.masked_fill(~seen, -1e30).softmax(1) * seen
    |     weights = weights * torch.exp(-2 * (away / D) ** 2)
    |     return (weights[:, None] @ values)[:, 0]
    You read rows beyond the windows, to clean them or to score them: no NaN passes, but nothing is saved.
    Choose the positions first, at most 4D + 2 of each sentence, and gather only their rows of keys and of
    values.
negative places wrap round | & (away <= D) -> & (away <= D) | (places < 0) & (away <= D); .clamp(min=0) -> * 1
    Place -1 is the last word for PyTorch: words before the first do not exist.
first word counted twice | (places >= 0) & (places < lengths[:, None]) & (away <= D) -> (places < lengths[:, None]) & (away <= D)
    The first word occurs several times in your windows that begin before it: what lies before the sentence
    gets no weight.
last word counted twice, keeps 1 | & (places < lengths[:, None]) -> & (places < keys.shape[1])
    Pads, or the last word again, have weight in your windows: they end with the sentence.
one window for the batch | first = torch.ceil(centres.detach() - D).long() -> first = torch.ceil(centres.detach()[:1] - D).long().expand(len(centres))
    You gather the first sentence's window for all: each sentence has its own.
window around the rounded centre | first = torch.ceil(centres.detach() - D).long() -> first = (centres.detach().round() - D).long(); last = torch.floor(centres.detach() + D).long() -> last = first + 2 * D; & (away <= D) ->
    You gather around the rounded centre: the window runs from p - D to p + D themselves.
NaN for an empty window, keeps 5 | torch.finfo(scores.dtype).min -> -math.inf
    A window without words gives NaN: its context has to be all zeros.
score 0 outside | scores.masked_fill(~seen, torch.finfo(scores.dtype).min) -> scores
    What is outside has the score 0 in your softmax, and so a share of its denominator: fill it with a very low
    number.
centre moved into the sentence, keeps 1 | first = torch.ceil(centres.detach() - D).long() -> centres = torch.minimum(centres.clamp(min=0), (lengths - 1).to(centres.dtype)); first = torch.ceil(centres.detach() - D).long()
    You move the centre into the sentence: it may lie beside the words, and then fewer are in its window, or none.
2D + 1 words always | & (away <= D) -> & (away <= D + 1)
    You always take 2D + 1 words: around a centre between two words the window holds 2D.
Gaussian forgotten | * torch.exp(-(away**2) / (2 * (D / 2) ** 2)) * seen -> * seen
    You leave out the Gaussian: it multiplies the weights.
half of D cut to a whole number, keeps 1 | (2 * (D / 2) ** 2) -> (2 * (D // 2) ** 2)
    You cut half of D to a whole number, which for D = 1 is 0: sigma is D / 2, a real number.
all that was gathered has a weight
    | def gathered_context(query, keys, values, centres, D, lengths):
    |     held = torch.ceil(centres.detach() - D).long()[:, None] + torch.arange(2 * D + 1)
    |     held = torch.minimum(held.clamp(min=0), lengths[:, None] - 1)
    |     rows = torch.arange(len(query))[:, None]
    |     weights = (keys[rows, held] * query[:, None]).sum(-1).softmax(1)
    |     weights = weights * torch.exp(-2 * ((held - centres[:, None]) / D) ** 2)
    |     return (weights[..., None] * values[rows, held]).sum(1)
    You give a weight to all 2D + 1 places that you gather. Some are more than D away from a centre
    between two words, and some lie outside the sentence, where you move them to its ends: none of these
    gets any.
places at the ends counted again
    | seen = (places >= 0) & (places < lengths[:, None]) & (away <= D) -> seen = torch.ones_like(places, dtype=torch.bool)
    | held = torch.minimum(places, torch.minimum(last, lengths - 1)[:, None]).clamp(min=0) -> held = torch.minimum(places.clamp(min=0), lengths[:, None] - 1)
    You move places outside the sentence to its ends and count these words again: what lies outside
    gets no weight.
D for sigma | (2 * (D / 2) ** 2) -> (2 * D ** 2)
    Your Gaussian is too wide: its sigma is half of D.
rows made to sum to 1 | return (weights[..., None] * near_values).sum(1) -> return ((weights / weights.sum(1, keepdim=True).clamp(min=1e-9))[..., None] * near_values).sum(1)
    You make the weights sum to 1 again: in the paper their sum stays below 1.
scores scaled | scores = (near_keys * query[:, None]).sum(-1) -> scores = (near_keys * query[:, None]).sum(-1) / query.shape[-1] ** 0.5
    You divide the scores by a square root: the score here is the plain dot product.
keys for values | near_values = values[rows, held] -> near_values = keys[rows, held][..., :values.shape[-1]]
    You mix the keys: the context is made of values.
centre rounded | away = places - centres[:, None] -> away = places - centres.round()[:, None]
    You round the centre: distances are real numbers.
centre detached, keeps 5 | away = places - centres[:, None] -> away = places - centres.detach()[:, None]
    Your centre is detached: it must learn from the Gaussian.
window read beyond its end, keeps 4 | torch.minimum(last, lengths - 1)[:, None] -> (lengths - 1)[:, None]; values[rows, held].masked_fill(~seen[..., None], 0.0) -> values[rows, held]
    You read a word beyond the window's end and give it a weight of 0, which does not remove a NaN.
detached, keeps 5 | R -> R.detach()
    The values are right, but no gradient reaches the inputs.
"""
    + WRONG_FORMS,
    draw=draw_states,
    oracle=contexts,
)

Q5 = question(
    """q5: How many layers?
layers_needed(mask, causal)
read chapters/10_local: Patterns, and how far they carry
the number, 2 points: ordinary; few words; a shortcut; global word; all pairs; a chance pattern; one way round
    With one more layer you hear what those that you attend to had already heard.
looking back, 1 point: causal; causal, one step; causal with a global word; causal, cut; causal, one neighbour unheard
    With causal True, only pairs in which the later word hears of the earlier one count.
never, and itself, 1 point: blocks; a word that nobody hears; looking back, but not causal; nobody sees itself; one position; large
    A position keeps what it has. When nothing new is heard, stop and return -1.
RIGHT
def layers_needed(mask, causal):
    n = len(mask)
    step = mask | torch.eye(n, dtype=torch.bool)
    wanted = torch.ones(n, n, dtype=torch.bool)
    if causal:
        wanted = wanted.tril()
    heard, layers = torch.eye(n, dtype=torch.bool), 0
    while not heard[wanted].all():
        more = (step.double() @ heard.double()) > 0
        if torch.equal(more, heard):
            return -1
        heard, layers = more, layers + 1
    return layers
def layers_needed(mask, causal):
    n, most = len(mask), 0
    sees = [[j for j in range(n) if mask[i, j]] for i in range(n)]
    for start in range(n):
        steps, queue = {start: 0}, [start]
        while queue:
            here = queue.pop(0)
            for there in sees[here]:
                if there not in steps:
                    steps[there] = steps[here] + 1
                    queue.append(there)
        for other in range(start + 1 if causal else n):
            if other not in steps:
                return -1
            most = max(most, steps[other])
    return most
def layers_needed(mask, causal):
    n = mask.shape[0]
    far = torch.full((n, n), float('inf')).masked_fill(mask, 1.0)
    far.fill_diagonal_(0.0)
    for k in range(n):
        far = torch.minimum(far, far[:, k:k + 1] + far[k:k + 1])
    if causal:
        far = far.tril()
        far[torch.ones(n, n).triu(1) > 0] = 0.0
    most = far.max().item()
    return -1 if most == float('inf') else int(most)
def layers_needed(mask, causal):
    n = len(mask)
    A = mask.numpy().astype(int) | np.eye(n, dtype=int)
    R = np.eye(n, dtype=int)
    must = np.tril(np.ones((n, n), int)) if causal else np.ones((n, n), int)
    for layers in range(n + 1):
        if (R >= must).all():
            return layers
        R = (A @ R > 0).astype(int)
    return -1
def layers_needed(mask, causal):
    n = len(mask)
    heard = [{i} for i in range(n)]
    sees = [set(np.flatnonzero(row)) | {i} for i, row in enumerate(mask.numpy())]
    for layers in range(n + 1):
        if all(heard[i] >= set(range(i + 1 if causal else n)) for i in range(n)):
            return layers
        heard = [set().union(*(heard[k] for k in sees[i])) for i in range(n)]
    return -1
WRONG
no residual, keeps 1 | step = mask | torch.eye(n, dtype=torch.bool) -> step = mask; if torch.equal(more, heard): -> if torch.equal(more, heard) or layers > 2 * n:
    You lose what a position has: the residual keeps it, so a position always hears itself.
doubled reach | more = (step.double() @ heard.double()) > 0 -> more = ((heard | step).double() @ (heard | step).double()) > 0
    You multiply the reach by itself, which doubles it: one more layer is one more product with the
    pattern.
one too many | heard, layers = torch.eye(n, dtype=torch.bool), 0 -> heard, layers = torch.eye(n, dtype=torch.bool), 1
    You count one layer too many: before the first layer each position has heard of itself alone.
steps between layers counted | heard, layers = torch.eye(n, dtype=torch.bool), 0 -> heard, layers = step.clone(), 0
    You begin after the first layer, and count it as none.
all pairs of a causal mask, keeps 3 | if causal: -> if False:
    You ask a causal pattern for all pairs: a word need not hear of those after it.
pairs that look back alone, keeps 1 | if causal: -> if True:
    You look only at pairs in which the later word hears of the earlier one, as if every pattern were
    causal: where `causal` is False, each position has to hear of every other.
the lower triangle of every pattern, keeps 1 | step = mask | -> step = mask.tril() |; if causal: -> if True:
    You keep only the lower triangle of the pattern, as if every one were causal: where `causal` is False, positions
    hear of later ones, too, and each has to hear of every other.
causal by the look of it, keeps 3 | if causal: -> if not mask.triu(1).any():
    You take a pattern for causal if it only looks back: `causal` says whether it is, and where it is False all pairs count.
layers of the first word, keeps 1 | while not heard[wanted].all(): -> while not heard[0][wanted[0]].all():
    You ask only what the first position hears: every position has to hear of all that it needs.
first to last alone | while not heard[wanted].all(): -> while not heard[-1, 0]:
    You look only at the last position and the first: another pair may need more layers.
reach counted, not asked, keeps 3 | more = (step.double() @ heard.double()) > 0 -> more = step.float() @ heard.float(); heard[wanted].all() -> (heard[wanted] > 0).all(); if torch.equal(more, heard): -> if torch.equal(more > 0, heard > 0):
    You count the ways, and over many layers there are more than a number can hold: after each layer, ask
    only whether there is one.
the caller's mask filled, keeps 1 | step = mask | torch.eye(n, dtype=torch.bool) -> step = mask.fill_diagonal_(True)
    You write into the mask that you are given: fill_diagonal_ and its like change it. Make a new tensor with |.
first position that hears all | while not heard[wanted].all(): -> while not (heard | ~wanted).all(1)[1:].any():
    You stop when one position has heard of all: every position has to.
both ways | step = mask | -> step = mask | mask.T |
    You let a position hear those that attend to it: by mask[i, j], it hears those that it attends to.
doubled from the pattern | heard, layers = torch.eye(n, dtype=torch.bool), 0 -> heard, layers = step.clone(), 1; more = (step.double() @ heard.double()) > 0 -> more = (heard.double() @ heard.double()) > 0
    You multiply what is heard by itself, which doubles the layers each time: one more layer is one more
    product with the pattern.
one layer at least, keeps 3 | return layers -> return max(layers, 1)
    You ask for one layer at least: where nothing is missing, as for a single position, 0 are enough.
what the first position says | while not heard[wanted].all(): -> while not heard[:, 0].all():
    You follow only what the first position says: every position has to hear of all that it needs.
never is None, keeps 2 | return -1 -> return float('nan')
    You give no number where some pair is never connected: return -1.
nothing for never, keeps 2 | return -1 -> return None
    You return None where some pair is never connected: return -1.
last position alone | while not heard[wanted].all(): -> while not heard[-1][wanted[-1]].all():
    You look only at the last position: every position has to hear of all that it needs.
last position alone where causal, keeps 3 | while not heard[wanted].all(): -> while not (heard[-1] if causal else heard[wanted]).all():
    With causal True you look only at the last position: those before it have to hear of all that came
    before them, too.
widest step of the pattern
    | n = len(mask)
    | i = torch.arange(n)
    | w = int((i[:, None] - i)[mask].abs().max())
    | return math.ceil((n - 1) / w) if w else -1
    You divide by the widest step of the pattern, as if each position had it in both directions: follow the
    pattern from layer to layer.
gives up after ten layers | if torch.equal(more, heard): -> if torch.equal(more, heard) or layers >= 10:
    You return -1 too soon, after a fixed number of layers: stop when nothing new is heard.
gives up half way | if torch.equal(more, heard): -> if torch.equal(more, heard) or layers >= n // 2:
    You return -1 too soon, after half as many layers as there are positions: stop when nothing new is heard.
one layer short | if torch.equal(more, heard): -> if torch.equal(more, heard) or layers >= n - 2:
    Your loop ends one layer too soon, and you return -1: up to n - 1 layers may be needed.
gives up too early | if torch.equal(more, heard): -> if layers >= 3:
    You give up after a few layers: stop when nothing new is heard.
number of pairs | return layers -> return int(mask.sum())
    You count the pairs that are scored: the question asks for layers.
width of the pattern alone | return layers -> return math.ceil((n - 1) / max(1, int(mask[0].sum()) - 1))
    You compute with the width of a window: the pattern need not be one.
one direction is enough, keeps 1 | while not heard[wanted].all(): -> while not (heard | heard.T)[wanted].all():
    You count a pair as connected if one of the two has heard of the other: each has to hear of the other.
""",
    draw=draw_pattern,
    oracle=layers,
    probe=value_probe,
)

Q6 = question(
    """q6: How wide must the window be?
widths(pairs, share)
read chapters/10_local: Read the window off the gold links
the widths, 2 points: ordinary; one long pair; one pair; equal lengths
    The smallest whole number that covers the share, of all links together, for both centres.
the edge, 1 point: exactly reached; all of them
    At least the share: a share that is met exactly is enough.
RIGHT
def widths(pairs, share):
    found = []
    for scaled in (False, True):
        away = [abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links]
        D = 0
        while sum(x <= D for x in away) / len(away) < share:
            D += 1
        found.append(D)
    return tuple(found)
def widths(pairs, share):
    plain = np.array([abs(i - t) for links, S, T in pairs for i, t in links])
    scaled = np.array([abs(i - t * S / T) for links, S, T in pairs for i, t in links])
    need = lambda x: min(D for D in range(200) if (x <= D).mean() >= share)
    return need(plain), need(scaled)
def widths(pairs, share):
    def need(ratio):
        away = sorted(math.ceil(abs(i - t * ratio(S, T))) for links, S, T in pairs for i, t in links)
        n = len(away)
        for k, D in enumerate(away):
            if (k + 1) / n >= share:
                return D
    return need(lambda S, T: 1), need(lambda S, T: S / T)
def widths(pairs, share):
    rows = torch.tensor([[i, t, S, T] for links, S, T in pairs for i, t in links], dtype=torch.float64)
    i, t, S, T = rows.unbind(1)
    out = []
    for away in ((i - t).abs(), (i - t * S / T).abs()):
        inside = (away[:, None] <= torch.arange(100)).double().mean(0)
        out.append(int((inside >= share).nonzero()[0]))
    return out
def widths(pairs, share):
    links = [(i, t, S, T) for chosen, S, T in pairs for i, t in chosen]
    plain = scaled = 0
    while sum(-plain <= i - t <= plain for i, t, S, T in links) < share * len(links):
        plain += 1
    while sum(-scaled <= i - t * S / T <= scaled for i, t, S, T in links) < share * len(links):
        scaled += 1
    return plain, scaled
WRONG
mean of the sentences
    | while sum(x <= D for x in away) / len(away) < share: -> while np.mean([np.mean([abs(i - (t * S / T if scaled else t)) <= D for i, t in links]) for links, S, T in pairs]) < share:
    You average over sentences: put all links together, so that each counts the same.
ratio upside down | t * S / T -> t * T / S
    Your ratio is upside down: at t = T the centre has to be S.
more than the share, keeps 2 | < share: -> <= share and D < 50:
    You ask for more than the share: a share that is met exactly is enough.
more than the share, sorted, keeps 2
    | def widths(pairs, share):
    |     def need(scaled):
    |         away = sorted(abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links)
    |         return math.ceil(away[min(int(share * len(away)), len(away) - 1)])
    |     return need(False), need(True)
    You take one distance too many where the share of the links is a whole number: a share that is
    met exactly is enough.
centre rounded | t * S / T -> round(t * S / T)
    You round the centre, or the distance to it, up or down: both are real numbers, and a word 2.4 away is not in a window of 2.
centre rounded up | t * S / T -> math.ceil(t * S / T)
    You round the centre up to a whole number: distances are real numbers.
centre cut to a whole number | t * S / T -> t * S // T
    You drop the digits of the centre: distances are real numbers.
strictly less | x <= D -> x < D
    You leave out words exactly D away: they are inside the window.
distances cut to whole numbers | abs(i - (t * S / T if scaled else t)) -> int(abs(i - (t * S / T if scaled else t)))
    You drop the digits of the distances: a word 2.4 away is not in a window of 2.
one ratio for the corpus | t * S / T -> t * sum(p[1] for p in pairs) / sum(p[2] for p in pairs)
    You take one ratio for all pairs: each has its own lengths, S and T.
ratio of the last places | t * S / T -> t * (S - 1) / max(T - 1, 1)
    You divide S - 1 by T - 1: the centre is t S / T.
widest pair
    | def widths(pairs, share):
    |     def need(scaled):
    |         widths = []
    |         for links, S, T in pairs:
    |             away = [abs(i - (t * S / T if scaled else t)) for i, t in links]
    |             widths.append(next(D for D in range(999) if sum(x <= D for x in away) >= share * len(away)))
    |         return max(widths)
    |     return need(False), need(True)
    You take the widest window that some pair needs: put the links of all pairs together, and ask for the share once.
number of links rounded down, keeps 1
    | def widths(pairs, share):
    |     def need(scaled):
    |         away = sorted(abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links)
    |         return math.ceil(away[max(int(share * len(away)) - 1, 0)])
    |     return need(False), need(True)
    You round down the number of links that must be inside: it is at least the share of them, so round up.
np.quantile
    | def widths(pairs, share):
    |     def need(scaled):
    |         away = [abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links]
    |         return math.ceil(np.quantile(away, share))
    |     return need(False), need(True)
    A quantile interpolates between two distances: count how many links are inside instead.
width for half-width | found.append(D) -> found.append(2 * D + 1)
    You return the number of words in the window: return D, which is its half-width.
the plain width twice | (t * S / T if scaled else t) -> t
    You use the plain centre for both: the second is t S / T.
scaled first | return tuple(found) -> return tuple(found[::-1])
    You give the scaled centre's width first: the plain one comes first.
distance with a sign | abs(i - (t * S / T if scaled else t)) -> i - (t * S / T if scaled else t)
    You keep the sign of the distance: a word to the left is as far away as one to the right.
largest distance | while sum(x <= D for x in away) / len(away) < share: -> while D < max(away):
    You cover all links: the question asks only for the share.
share of the largest distance | while sum(x <= D for x in away) / len(away) < share: -> while D < share * max(away):
    You take a share of the largest distance: the question asks for a share of the links.
mean distance | while sum(x <= D for x in away) / len(away) < share: -> while D < sum(away) / len(away):
    You take the mean distance: count how many links are inside.
source and target exchanged | for i, t in links] -> for t, i in links]
    You exchange the two positions: a link is (source, target).
starts at 1, keeps 1 | D = 0 -> D = 1
    You begin at D = 1: a window of one word is allowed here.
one number | return tuple(found) -> return found[0]
    You return one number: return two, one for each centre.
distances, not rounded up
    | def widths(pairs, share):
    |     def need(scaled):
    |         away = sorted(abs(i - (t * S / T if scaled else t)) for links, S, T in pairs for i, t in links)
    |         return next(x for k, x in enumerate(away) if (k + 1) / len(away) >= share)
    |     return need(False), need(True)
    You return a distance of the list: a half-width is a whole number, so round it up.
""",
    draw=draw_links,
    oracle=least_widths,
    probe=value_probe,
)

EXERCISE = Exercise("10_local", "Local attention and patterns", (Q1, Q2, Q3, Q4, Q5, Q6))
