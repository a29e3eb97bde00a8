"""How the exercise on positions is graded: oracles, cases, known mistakes."""

import math

import numpy as np

from seqattn.grading.bank import Exercise
from seqattn.grading.drawing import normal
from seqattn.grading.probes import PLAIN
from seqattn.grading.questions import WRONG_FORMS, question

# --- Oracles ---------------------------------------------------------------------------------------


def waves(positions, d, base):
    found = np.zeros((*positions.shape, d))
    for place in np.ndindex(positions.shape):
        for k in range(d // 2):
            angle = positions[place] / base ** (2 * k / d)
            found[place][2 * k], found[place][2 * k + 1] = math.sin(angle), math.cos(angle)
    return found


def shift_matrix(n, d, base):
    matrix = np.zeros((d, d))
    for k in range(d // 2):
        angle, i = n / base ** (2 * k / d), 2 * k
        # sin(a + b) = sin a cos b + cos a sin b, and so on.
        matrix[i, i], matrix[i, i + 1] = math.cos(angle), math.sin(angle)
        matrix[i + 1, i], matrix[i + 1, i + 1] = -math.sin(angle), math.cos(angle)
    return matrix


def add_positions(x, table, mask):
    placed = np.zeros(x.shape)
    for b, row in enumerate(mask):
        for place, t in enumerate(np.flatnonzero(row)):
            placed[b, t] = x[b, t] + table[place]
    return placed


def rotary_scores(q, k, start):
    d = q.shape[-1]
    half = d // 2

    def turned(x, first):
        found = np.zeros(x.shape)
        for position, j in np.ndindex(x.shape[2], half):
            angle = (first + position) / 10_000 ** (2 * j / d)
            a, b = x[:, :, position, j], x[:, :, position, j + half]
            found[:, :, position, j] = a * math.cos(angle) - b * math.sin(angle)
            found[:, :, position, j + half] = a * math.sin(angle) + b * math.cos(angle)
        return found

    q, k = turned(q, start), turned(k, 0)
    return np.array(
        [[queries @ keys.T / math.sqrt(d) for queries, keys in zip(*one)] for one in zip(q, k)]
    )


def sides(grid):
    """Give what each side is worth in a grid (seeds, source, target)."""
    source = tuple(float((g[1] - g[0]).mean()) for g in grid)
    target = tuple(float((g[:, 1] - g[:, 0]).mean()) for g in grid)
    verdict = 1.0 if min(source) > max(target) else 2.0 if max(source) < min(target) else 0.0
    return {"the source side": source, "the target side": target, "the verdict": verdict}


# --- Cases -----------------------------------------------------------------------------------------

WAVES = {  # B, T, d, base
    "ordinary": (2, 5, 6, 10_000.0),
    "another base": (3, 4, 8, 50.0),
    "one pair": (2, 3, 2, 100.0),
    "all sizes equal": (4, 4, 4, 10_000.0),
    "one sentence": (1, 3, 6, 20.0),
}


def draw_waves(rng, kind):
    B, T, d, base = WAVES[kind]
    places = rng.permutation(3 * B * T)[: B * T].reshape(B, T).astype(np.float32)
    # Halves: one that rounds them loses them.
    return places + np.float32(0.5) * rng.integers(2, size=(B, T)).astype(np.float32), d, base


SHIFTS = {  # shift, d, base
    "ordinary": (3, 6, 10_000.0),
    "backwards": (-5, 4, 10_000.0),
    "another base": (7, 8, 30.0),
    "one pair": (2, 2, 100.0),
    "part of a place": (0.5, 6, 50.0),
}


def draw_shift(rng, kind):
    n, d, base = SHIFTS[kind]
    return (n + int(np.sign(n)) * int(rng.integers(3)) if n == int(n) else n), d, base


PADDED = {  # B, T, d, rows of the table, where pads stand
    "ordinary": (2, 5, 3, 7, "nowhere"),
    "as many sentences as places": (4, 4, 3, 4, "nowhere"),
    "all sizes equal": (3, 3, 3, 3, "nowhere"),
    "one sentence": (1, 4, 2, 6, "nowhere"),
    "padded": (4, 6, 3, 6, "right"),
    "padded on the left": (4, 6, 3, 6, "left"),
    "padded on both sides": (3, 7, 2, 5, "both"),
    "padded, a short table": (3, 6, 2, 4, "both"),
    "padded, one empty": (3, 4, 2, 4, "empty"),
}


def draw_padded(rng, kind):
    B, T, d, n, where = PADDED[kind]
    mask = np.ones((B, T), bool)
    if where != "nowhere":
        for b in range(B):
            words = int(rng.integers(1, min(n, T - 1) + 1))
            free = T - words
            left = {"left": free, "right": 0}.get(where, int(rng.integers(free + 1)))
            if b == 0 and where == "both":
                left = min(1, free)
            mask[b] = (left <= np.arange(T)) & (np.arange(T) < left + words)
    if where == "empty":
        mask[int(rng.integers(B))] = False
    return normal(rng, B, T, d), normal(rng, n, d), mask


ROTARY = {  # B, H, T, S, d_h, start
    "ordinary": (2, 3, 4, 4, 6, 0),
    "more keys": (2, 2, 3, 5, 4, 0),
    "with a cache": (2, 3, 1, 6, 4, 5),
    "several queries with a cache": (2, 2, 3, 7, 8, 4),
    "all sizes equal": (4, 4, 4, 4, 4, 0),
    "one pair": (2, 2, 3, 3, 2, 1),
    "one sentence": (1, 2, 3, 4, 6, 2),
}


def draw_rotary(rng, kind):
    B, H, T, S, d, start = ROTARY[kind]
    return normal(rng, B, H, T, d), normal(rng, B, H, S, d), start


# What looks at order, and how: the answer must call each by its name.
BLIND = {
    "sum": True,
    "rounding": True,
    "squares": True,
    "eos apart": True,
    "many orders": True,
    "nothing to exchange": True,
    "many small changes": True,
    "small both ways": True,
}
SEEING = {
    "position weights": False,
    "the first word": False,
    "palindrome": False,
    "middle": False,
    "last sentence": False,
    "a little": False,
    "one feature": False,
    "one pair of places": False,
    "sums of both signs": False,
    "large numbers": False,
    "falls alone": False,
    "one order alone": False,
    "just above rounding": False,
    "one number": False,
    "drift": False,
}
KINDS = BLIND | SEEING


def draw_model(rng, kind):
    B, S = (3, 6) if kind in ("palindrome", "middle", "many orders", "one order alone") else (2, 5)
    # Words differ within a sentence, so that every exchange shows; 2 ends each.
    words = np.stack([rng.choice(np.arange(4, 14), S - 1, replace=False) for _ in range(B)])
    if kind == "last sentence":  # where nothing but the last sentence has two orders
        words[:-1] = words[:-1, :1]
    if kind == "nothing to exchange":
        words[:] = words[:, :1]
    # Here no order has a larger word in front, and none a smaller one at the end.
    if kind in (
        "falls alone",
        "just above rounding",
        "one pair of places",
        "one order alone",
        "one number",
        "many small changes",
        "small both ways",
        "drift",
    ):
        words = -np.sort(-words, 1)
    if kind == "small both ways":  # neither the largest nor the smallest word is in front
        words[:, :2] = words[:, 1::-1]
    ids = np.concatenate([words, np.full((B, 1), 2)], 1).astype(np.int64)
    return list(KINDS).index(kind), normal(rng, 14, 3), ids


GRIDS = {  # seeds, worth of the source side, of the target side, of both together, spread
    "ordinary": (3, 8.0, 2.0, 0.0, 0.5),
    "the target side": (3, 1.0, 7.0, 0.0, 0.5),
    "both together": (4, 6.0, 1.0, 5.0, 0.5),
    "ranges meet": (3, 3.0, 3.0, 1.0, 2.0),
    "one seed apart": (3, 4.0, 1.0, 0.0, 0.2),
    "one seed": (1, 5.0, 3.0, 1.0, 0.1),
    "harmful": (3, -2.0, -6.0, 0.0, 0.3),
    "equal": (2, 3.0, 3.0, 0.0, 0.0),
    "seeds far apart": (3, 3.0, 1.0, 0.0, 0.1),
    "above the mean": (3, 4.0, 2.0, 0.0, 0.2),
    "below the mean": (3, 2.0, 4.0, 0.0, 0.2),
    "a mean above all": (3, 4.0, 2.0, 0.0, 0.2),
    "all below a mean": (3, 2.0, 4.0, 0.0, 0.2),
}


def draw_grid(rng, kind):
    seeds, source, target, both, spread = GRIDS[kind]
    grid = np.zeros((seeds, 2, 2), np.float32)
    # One pattern of each kind, drawn larger or smaller and at any level: which verdict is right, and
    # which mistake comes to another, is not left to chance.
    noise = np.random.default_rng(list(GRIDS).index(kind))
    for i in range(seeds):
        for a, b in np.ndindex(2, 2):
            # Sixteenths, which add up without rounding.
            error = round(8 * noise.uniform(-spread, spread)) / 16
            grid[i, a, b] = a * source + b * target + a * b * both + error
    if kind == "one seed apart":
        grid[0, 0, 1] += 8
    if kind == "above the mean":  # all of source is above target's mean, not above its best seed
        grid[1, :, 1] += 3
    if kind == "below the mean":
        grid[1, 1] += 3
    if kind == "a mean above all":  # of target, but not the worst seed of source
        grid[1, 1] -= 3
    if kind == "all below a mean":
        grid[1, :, 1] -= 3
    if kind == "seeds far apart":  # what both are worth grows by as much
        for i in range(seeds):
            grid[i, 1] += 4 * i
            grid[i, :, 1] += 4 * i
    if kind == "ranges meet":
        grid[0, 1, 0] += 4
        grid[1, 0, 1] += 4
    levels = rng.integers(24, 37, (seeds, 1, 1)).astype(np.float32)
    return (levels + np.float32(rng.choice([0.5, 1, 1.5])) * grid,)


# --- Questions -------------------------------------------------------------------------------------

Q1 = question(
    """q1: Waves for any positions
waves(positions, d, base)
read chapters/15_positions: In general
the formula, 3 points: ordinary; another base; one pair; all sizes equal; one sentence
    Position times rate is an angle; its sine and its cosine stand side by side.
gradients, 1 point, backward: ordinary; one pair
    The values are right, but no gradient reaches the positions.
RIGHT
def waves(positions, d, base):
    rates = base ** (-torch.arange(0, d, 2, dtype=positions.dtype) / d)
    angles = positions[..., None] * rates
    return torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
def waves(positions, d, base):
    B, T = positions.shape
    table = positions.new_zeros(B, T, d)
    k = torch.arange(d // 2, dtype=positions.dtype)
    angles = positions.unsqueeze(2) / base ** (2 * k / d)
    table[:, :, 0::2] = torch.sin(angles)
    table[:, :, 1::2] = torch.cos(angles)
    return table
def waves(positions, d, base):
    features = []
    for j in range(d):
        angle = positions * base ** (-(j - j % 2) / d)
        features.append(torch.cos(angle) if j % 2 else torch.sin(angle))
    return torch.stack(features, dim=2)
def waves(positions, d, base):
    rates = torch.exp(-math.log(base) * torch.arange(0, d, 2, dtype=positions.dtype) / d)
    angles = torch.einsum("bt,k->btk", positions, rates)
    return torch.cat((angles.sin()[..., None], angles.cos()[..., None]), 3).reshape(*positions.shape, d)
def waves(positions, d, base):
    j = torch.arange(d, dtype=positions.dtype)
    angles = positions[:, :, None] * base ** (-(j - j % 2) / d)
    # A cosine is a sine a quarter of a turn later.
    return torch.sin(angles + (j % 2) * (math.pi / 2))
WRONG
sines first, then cosines | torch.stack((angles.sin(), angles.cos()), -1).flatten(-2) -> torch.cat((angles.sin(), angles.cos()), -1)
    All your sines come first: here features 2j and 2j + 1 form a pair.
exponent k/d | torch.arange(0, d, 2, dtype=positions.dtype) / d -> torch.arange(d // 2, dtype=positions.dtype) / d
    Your rates fall half as fast as they should: the exponent of pair j is −2j/d.
a rate for each feature
    | k = torch.arange(d, dtype=positions.dtype)
    | angles = positions[..., None] * base ** (-k / d)
    | return torch.where(k % 2 == 0, angles.sin(), angles.cos())
    You give each feature a rate of its own: sine and cosine of pair j share one, with the exponent −2j/d.
one rate for all | positions[..., None] * rates -> positions[..., None] * rates[0].expand(d // 2)
    All your pairs turn at one rate: each pair has its own.
base not used | base ** (-torch -> 10000 ** (-torch
    You always use 10000: the base is an argument.
cosine first | (angles.sin(), angles.cos()) -> (angles.cos(), angles.sin())
    Your cosine comes first: position 0 is 0, 1, 0, 1 and so on.
counts places | positions[..., None] * rates -> 0 * positions[..., None] + torch.arange(positions.shape[1])[:, None] * rates
    You count the columns yourself: the positions are given, in any order.
counts sentences | positions[..., None] * rates -> 0 * positions[..., None] + torch.arange(len(positions))[:, None, None] * rates
    You slice along the batch: each of your sentences stands at a single position.
starts at 1 | positions[..., None] * rates -> (positions[..., None] + 1) * rates
    You begin at 1: at position 0 the angle is 0.
degrees | positions[..., None] * rates -> positions[..., None] * rates * (math.pi / 180)
    You take angles as degrees: they are radians, so the first sine of position 1 is 0.84.
rounded positions | positions[..., None] * rates -> positions[..., None].floor() * rates
    You round positions down to whole numbers: a half is a position, too.
positions rounded to the nearest | positions[..., None] * rates -> positions[..., None].round() * rates
    You round positions to the nearest whole number: keep their halves, since any number is a position.
divided by d - 2 | dtype=positions.dtype) / d) -> dtype=positions.dtype) / max(d - 2, 1))
    You divide the exponent by d - 2, so that your last pair turns by 1/base radians a place: divide it by d.
rates rise | base ** (-torch -> base ** (torch
    Your rates grow: pair 0 should turn fastest, by 1 radian a place.
sines alone | (angles.sin(), angles.cos()) -> (angles.sin(), angles.sin())
    You take the sine twice: without its cosine a shift is no linear map.
exponent 4j/d | torch.arange(0, d, 2, dtype=positions.dtype) / d -> torch.arange(0, 2 * d, 4, dtype=positions.dtype) / d
    Your rates fall twice as fast as they should: the exponent of pair j is −2j/d, and there are d/2 pairs.
pairs from 1 | torch.arange(0, d, 2, dtype=positions.dtype) / d -> torch.arange(2, d + 2, 2, dtype=positions.dtype) / d
    You number the pairs from 1: pair 0 turns by 1 radian a place.
detached, keeps 3 | positions[..., None] * rates -> positions.detach()[..., None] * rates
    You cut the gradient to the positions: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_waves,
    oracle=waves,
)

Q2 = question(
    """q2: The matrix of a shift
shift_matrix(n, d, base)
read chapters/15_positions: A shift is a turn
the matrix, 3 points: ordinary; backwards; another base; one pair; part of a place
    A block of 2 by 2 for each pair: sin(a + b) and cos(a + b) say what stands in it.
RIGHT
def shift_matrix(n, d, base):
    blocks = []
    for k in range(d // 2):
        angle = n * base ** (-2 * k / d)
        c, s = math.cos(angle), math.sin(angle)
        blocks.append(torch.tensor([[c, s], [-s, c]]))
    return torch.block_diag(*blocks)
def shift_matrix(n, d, base):
    R = torch.zeros(d, d)
    for i in range(0, d, 2):
        angle = torch.tensor(n / base ** (i / d))
        R[i, i] = R[i + 1, i + 1] = torch.cos(angle)
        R[i, i + 1], R[i + 1, i] = torch.sin(angle), -torch.sin(angle)
    return R
def shift_matrix(n, d, base):
    angles = n * base ** (-torch.arange(0, d, 2) / d)
    even = torch.arange(0, d, 2)
    R = torch.zeros(d, d)
    R[even, even] = R[even + 1, even + 1] = angles.cos()
    R[even, even + 1], R[even + 1, even] = angles.sin(), -angles.sin()
    return R
def shift_matrix(n, d, base):
    flow = torch.zeros(d, d, dtype=torch.float64)
    for i in range(0, d, 2):
        rate = base ** (-i / d)
        flow[i, i + 1], flow[i + 1, i] = rate, -rate
    return torch.linalg.matrix_exp(n * flow).float()
def shift_matrix(n, d, base):
    rates = base ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    cosine = torch.diag((n * rates).cos().repeat_interleave(2))
    sine = torch.zeros(d, d, dtype=torch.float64)
    sine[::2, 1::2] = torch.diag((n * rates).sin())
    return (cosine + sine - sine.T).to(torch.float32)
WRONG
transposed | [[c, s], [-s, c]] -> [[c, -s], [s, c]]
    Your matrix goes the other way: sin(a + b) is sin a cos b plus cos a sin b.
one angle for all pairs | base ** (-2 * k / d) -> 1.0
    All your pairs turn by one angle: each pair turns at its own rate.
exponent k/d | -2 * k / d -> -k / d
    Your rates fall half as fast as they should: the exponent of pair j is −2j/d.
base not used | base ** (-2 -> 10000 ** (-2
    You always use 10000: the base is an argument.
no minus | [-s, c] -> [s, c]
    Your blocks are no rotations: one of the sines has a minus.
diagonal alone | [[c, s], [-s, c]] -> [[c, 0.0], [0.0, c]]
    You only scale by cosines: a shifted sine takes a share of the cosine, too.
rows exchanged | [[c, s], [-s, c]] -> [[-s, c], [c, s]]
    Your rows are exchanged: a shift by 0 must change nothing.
distance without direction | angle = n * -> angle = abs(n) *
    You take the size of n alone: a negative n goes backwards.
degrees | angle = n * -> angle = math.pi / 180 * n *
    You take angles as degrees: they are in radians.
whole numbers | angle = n * -> angle = int(n) *
    You cut n to a whole number: half a place is a shift, too.
pairs far apart
    | half = d // 2
    | R = torch.zeros(d, d)
    | for k in range(half):
    |     angle = n * base ** (-2 * k / d)
    |     R[k, k] = R[k + half, k + half] = math.cos(angle)
    |     R[k, k + half], R[k + half, k] = math.sin(angle), -math.sin(angle)
    | return R
    Your pairs are features j and j + d/2: here they are 2j and 2j + 1.
rates rise | base ** (-2 * k / d) -> base ** (2 * k / d)
    Your rates grow: pair 0 should turn fastest, by 1 radian a place.
added to the rate | n * base ** -> n + base **
    You add the shift to the rate: an angle is shift times rate.
size for the shift | angle = n * -> angle = d *
    You turn by the number of features: the shift is n.
base for the shift | angle = n * -> angle = base *
    You turn by the base: the shift is n, and the base makes the rates.
sine and cosine exchanged | c, s = math.cos(angle), math.sin(angle) -> s, c = math.cos(angle), math.sin(angle)
    Sine and cosine are exchanged: a shift by 0 must change nothing, so cosines stand on the diagonal.
exponent not divided | (-2 * k / d) -> (-2 * k)
    You do not divide the exponent by d: exponents fall from 0 and stay above −1, whatever d is.
always one place | angle = n * -> angle = 1 *
    You shift by one place, whatever n is: multiply the rate by n.
no cosines | [[c, s], [-s, c]] -> [[0.0, s], [-s, 0.0]]
    Your diagonal is empty: the cosines are missing.
upside down | R -> R.flip(0)
    Your rows stand in reverse order: row 0 makes the sine of pair 0.
one more | angle = n * -> angle = (n + 1) *
    Your shift is by one place more: a shift by 0 must change nothing.
pairs from 1 | base ** (-2 * k / d) -> base ** (-2 * (k + 1) / d)
    You number the pairs from 1: pair 0 turns by 1 radian a place.
exponent 4j/d | base ** (-2 * k / d) -> base ** (-4 * k / d)
    Your rates fall twice as fast as they should: the exponent of pair j is −2j/d, and there are d/2 pairs.
right for one position
    | rates = base ** (-torch.arange(0, d, 2) / d)
    | there = torch.stack([(n * rates).sin(), (n * rates).cos()], -1).flatten()
    | here = torch.stack([0 * rates, 1 + 0 * rates], -1).flatten()
    | return torch.outer(there, here) / (d / 2)
    Your matrix sends every position to a multiple of one vector: it is right for position 0, but it has to turn all positions.
exponent times the size | (-2 * k / d) -> (-2 * k * d)
    You multiply the exponent by d: divide it by d.
exponent over the base | (-2 * k / d) -> (-2 * k / base)
    You divide the exponent by the base: divide it by d, and raise the base to the result.
exponent over the shift | (-2 * k / d) -> (-2 * k / n)
    You divide the exponent by the shift: divide it by d.
size for the base | base ** (-2 -> d ** (-2
    You raise the number of features to the power: raise the base to it.
base times the exponent | base ** (-2 -> base * (-2
    You multiply the base by its exponent: a rate is a power of the base.
ones between the blocks | R -> R + (torch.block_diag(*[torch.ones(2, 2)] * (d // 2)) == 0)
    Ones stand between your blocks: pairs do not mix, so begin with zeros.
no cosine for the cosine | [[c, s], [-s, c]] -> [[c, s], [-s, 0.0]]
    Each second number of your diagonal is 0: the cosine of a pair needs a cosine there as well.
sine over the cosine | [[c, s], [-s, c]] -> [[s, 0.0], [-s, c]]
    The sine of your first row stands on the diagonal, where the cosine was: it belongs beside it.
minus sine over the cosine | [[c, s], [-s, c]] -> [[-s, s], [0.0, c]]
    The negative sine of your second row stands in the first, where the cosine was: it belongs below it.
a list | R -> R.tolist()
    You return a list of lists: return a tensor of 32-bit floats.
a NumPy array | R -> R.numpy()
    You return a NumPy array: return a torch tensor.
double precision | R -> R.double()
    You return 64-bit floats: return 32-bit floats.
""",
    draw=draw_shift,
    oracle=shift_matrix,
    probe="""
def probe(shift_matrix, n, d, base):
    found = shift_matrix(n, d, base)
    if not isinstance(found, torch.Tensor):
        return f"a {type(found).__name__}, not a tensor"
    return found if found.dtype == torch.float32 else f"numbers of {found.dtype}"
""",
)

Q3 = question(
    """q3: Pads on the left
add_positions(x, table, mask)
read chapters/15_positions: Where it breaks
plain sentences, 2 points: ordinary; as many sentences as places; all sizes equal; one sentence
    Word t of each sentence gets row t of the table, added.
pads, 3 points: padded; padded on the left; padded on both sides; padded, a short table; padded, one empty
    Count real words, from 0 in each sentence; what stands at pads comes back as 0.
gradients, 1 point, backward: ordinary; padded on the left
    The values are right, but gradients do not reach both x and the table.
RIGHT
def add_positions(x, table, mask):
    place = (mask.long().cumsum(1) - 1).clamp(min=0)
    return torch.where(mask[..., None], x + table[place], 0.0)
def add_positions(x, table, mask):
    B, T = mask.shape
    first = mask.long().argmax(1, keepdim=True)
    place = (torch.arange(T) - first).clamp(0, len(table) - 1)
    return (x + table[place]).masked_fill(~mask.unsqueeze(-1), 0)
def add_positions(x, table, mask):
    found = torch.zeros_like(x)
    for b in range(len(x)):
        real = mask[b]
        found[b, real] = x[b, real] + table[: int(real.sum())]
    return found
def add_positions(x, table, mask):
    rows = []
    for sentence, real in zip(x, mask.tolist()):
        count, row = 0, []
        for word, is_real in zip(sentence, real):
            row.append(word + table[count] if is_real else torch.zeros_like(word))
            count += is_real
        rows.append(torch.stack(row))
    return torch.stack(rows)
def add_positions(x, table, mask):
    place = (mask.cumsum(1) - 1) * mask
    chosen = F.one_hot(place, len(table)).to(table.dtype) @ table
    return torch.where(mask[:, :, None], x + chosen, torch.zeros_like(x))
WRONG
the columns' numbers, keeps 2
    | place = torch.arange(x.shape[1]).clamp(max=len(table) - 1)
    | return torch.where(mask[..., None], x + table[place], 0.0)
    You count the pads on the left: the first real word has position 0.
the columns' numbers, begun again, keeps 2
    | place = torch.arange(x.shape[1]) % len(table)
    | return torch.where(mask[..., None], x + table[place], 0.0)
    You number the columns and begin again where the table ends: number the real words of each sentence,
    of which the table has enough rows.
along the batch
    | place = torch.arange(len(x)).clamp(max=len(table) - 1)
    | return torch.where(mask[..., None], x + table[place][:, None], 0.0)
    Your places run along the batch, and all words of a sentence get one: they run along each sentence.
starts at 1 | .cumsum(1) - 1).clamp(min=0) -> .cumsum(1)).clamp(max=len(table) - 1)
    You begin at 1: the first real word gets row 0.
multiplied | x + table[place] -> x * table[place]
    You multiply words by positions: positions are added.
positions alone | x + table[place] -> table[place] + 0 * x
    You return the positions alone: add them to the words.
words alone | x + table[place] -> x + 0 * table[place]
    You leave out the positions: add the table's rows.
counted from the end | mask.long().cumsum(1) - 1 -> mask.long().flip(1).cumsum(1).flip(1) - 1
    You count from the end: the first real word has position 0.
pads not blanked, keeps 2 | torch.where(mask[..., None], x + table[place], 0.0) -> x + table[place]
    You leave numbers at the pads: pads come back as 0.
pads keep what stood there, keeps 2 | torch.where(mask[..., None], x + table[place], 0.0) -> torch.where(mask[..., None], x + table[place], x)
    You return at the pads what stood there: pads come back as 0.
places beyond the table, keeps 3 | .clamp(0, len(table) - 1) -> .clamp(min=0)
    You count on over the pads at the end, where the table may have no row any more: pads need none, so
    keep their numbers within the table.
pads in front alone blanked, keeps 2
    | place = torch.arange(x.shape[1]) - mask.int().argmax(1, keepdim=True)
    | return torch.where(place[..., None] >= 0, x + table[place.clamp(0, len(table) - 1)], 0.0)
    You blank only the pads before the first word: those behind the last one come back as 0, too.
moved by all pads, keeps 2
    | place = (torch.arange(x.shape[1]) - (~mask).sum(1, keepdim=True)).clamp(0, len(table) - 1)
    | return torch.where(mask[..., None], x + table[place], 0.0)
    You subtract all pads of a sentence: only those before a word move it.
moved to the left, keeps 2
    | found = torch.zeros_like(x)
    | for b, real in enumerate(mask):
    |     count = int(real.sum())
    |     found[b, :count] = x[b, real] + table[:count]
    | return found
    You move the words to the left: each word stays in its column, behind its pads.
pads multiplied by 0, keeps 3 | torch.where(mask[..., None], x + table[place], 0.0) -> (x + table[place]) * mask[..., None]
    You multiply pads by 0, but 0 times NaN is NaN: choose with where or masked_fill instead.
right pads alone, keeps 2
    | place = torch.arange(x.shape[1]).clamp(max=len(table) - 1)
    | lengths = mask.sum(1, keepdim=True)
    | real = torch.arange(x.shape[1]) < lengths
    | return torch.where(real[..., None], x + table[place], 0.0)
    You take the mask for a length: pads may stand on the left as well.
numbering over the batch, keeps 0
    | place = (mask.flatten().long().cumsum(0) - 1).clamp(0, len(table) - 1).view(mask.shape)
    | return torch.where(mask[..., None], x + table[place], 0.0)
    You count on from one sentence to the next: each sentence begins at 0.
changed in place | x + table[place], 0.0) -> x.add_(table[place]), 0.0)
    You change the input in place: return a new tensor.
the table detached, keeps 5 | table[place] -> table.detach()[place]
    No gradient reaches the table: leave out the detach.
detached, keeps 5 | R -> R.detach()
    The values are right, but you cut the gradients: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_padded,
    oracle=add_positions,
    pads=(500.0, -500.0, float("nan"), float("inf")),
)

Q4 = question(
    """q4: Turn queries and keys
rotary_scores(q, k, start)
read chapters/15_positions: Turn instead of add
from the start, 3 points: ordinary; more keys; all sizes equal
    Turn each pair of features j and j + d_h/2 by position times rate, both in queries and in keys.
with a cache, 2 points: with a cache; several queries with a cache; one pair; one sentence
    The first query stands at start, the first key at 0.
gradients, 1 point, backward: ordinary; with a cache
    The scores are right, but gradients do not reach both queries and keys.
RIGHT
def rotary_scores(q, k, start):
    def turn(x, first):
        half = x.shape[-1] // 2
        rates = 10000 ** (-torch.arange(half, dtype=x.dtype) / half)
        angles = torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] * rates
        a, b = x[..., :half], x[..., half:]
        c, s = angles.cos(), angles.sin()
        return torch.cat((a * c - b * s, a * s + b * c), -1)

    return turn(q, start) @ turn(k, 0).mT / math.sqrt(q.shape[-1])
def rotary_scores(q, k, start):
    d = q.shape[-1]
    rates = 10000.0 ** (-2 * torch.arange(d // 2).to(q.dtype) / d)
    rates = torch.cat((rates, rates))
    def turn(x, places):
        angles = places.to(x.dtype)[:, None] * rates
        first, second = x.chunk(2, dim=-1)
        return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()
    q = turn(q, start + torch.arange(q.shape[2]))
    k = turn(k, torch.arange(k.shape[2]))
    return torch.einsum("bhtd,bhsd->bhts", q, k) / d**0.5
def rotary_scores(q, k, start):
    # The product knows the distance alone: turn the queries by it, and leave the keys.
    half = q.shape[-1] // 2
    rates = 10000 ** (-torch.arange(half, dtype=q.dtype) / half)
    gap = start + torch.arange(q.shape[2])[:, None] - torch.arange(k.shape[2])
    angles = gap.to(q.dtype)[..., None] * rates
    a, b = q[..., None, :half], q[..., None, half:]
    c, s = angles.cos(), angles.sin()
    x, y = k[:, :, None, :, :half], k[:, :, None, :, half:]
    return ((a * c - b * s) * x + (a * s + b * c) * y).sum(-1) / math.sqrt(2 * half)
def rotary_scores(q, k, start):
    half = q.shape[-1] // 2
    def rows(x, first):
        turned = []
        for t in range(x.shape[2]):
            angles = torch.tensor([(first + t) / 10000 ** (j / half) for j in range(half)], dtype=x.dtype)
            low, high = x[:, :, t, :half], x[:, :, t, half:]
            parts = [low * angles.cos() - high * angles.sin(), low * angles.sin() + high * angles.cos()]
            turned.append(torch.cat(parts, -1))
        return torch.stack(turned, 2)
    return torch.matmul(rows(q, start), rows(k, 0).transpose(2, 3)) * (2 * half) ** -0.5
def rotary_scores(q, k, start):
    d = q.shape[-1]
    rates = torch.exp(-math.log(10000) * torch.arange(0, d, 2, dtype=q.dtype) / d)
    def turn(x, first):
        angles = torch.outer(torch.arange(x.shape[2], dtype=x.dtype) + first, rates)
        pair = x.unflatten(-1, (2, d // 2))
        low, high = pair[..., 0, :], pair[..., 1, :]
        both = (low * angles.cos() - high * angles.sin(), high * angles.cos() + low * angles.sin())
        return torch.stack(both, -2).flatten(-2)
    return turn(q, start) @ turn(k, 0).transpose(-1, -2) / math.sqrt(d)
WRONG
neighbours as pairs | a, b = x[..., :half], x[..., half:] -> a, b = x[..., 0::2], x[..., 1::2]
    Your pairs are features 2j and 2j + 1: in this layout they are j and j + d_h/2.
keys not turned | turn(k, 0).mT -> k.mT
    You turn only the queries: the product then knows the query's position, not the distance.
queries not turned | turn(q, start) -> q
    You turn only the keys: queries turn as well.
turned apart | turn(k, 0).mT -> turn(k, 0).mul(1.0).flip(-2).mT
    Your keys stand in reverse order: column s belongs to key s.
turned the other way, keys only | turn(k, 0).mT -> (lambda y: y)(torch.cat((turn(k.roll(k.shape[-1] // 2, -1), 0)[..., k.shape[-1] // 2 :], turn(k.roll(k.shape[-1] // 2, -1), 0)[..., : k.shape[-1] // 2]), -1)).mT
    Your queries and keys turn in opposite directions: both turn the same way.
distance with the wrong sign | angles = torch.arange( -> angles = -torch.arange(
    You turn backwards: from the first feature of a pair towards the second.
not scaled | / math.sqrt(q.shape[-1]) ->
    You leave out the root: divide by the root of d_h.
divided by the size | / math.sqrt(q.shape[-1]) -> / q.shape[-1]
    You divide the scores by d_h: divide them by its root.
no minus | a * c - b * s, -> a * c + b * s,
    Yours is not a rotation, because lengths change: one of the sines has a minus.
one rate for all | rates = 10000 ** (-torch.arange(half, dtype=x.dtype) / half) -> rates = torch.ones(half, dtype=x.dtype)
    All your pairs turn at one rate: each pair has its own.
exponent k/d | dtype=x.dtype) / half) -> dtype=x.dtype) / (2 * half))
    Your rates fall half as fast as they should: the exponent of pair j is −2j/d_h.
power of the position | angles = torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] * rates -> angles = torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] ** rates
    You raise the position to a power: the angle is position times rate.
start ignored, keeps 3 | turn(q, start) -> turn(q, 0)
    You ignore start, or move keys by it as well, which undoes it: with a cache the first query is at start, the first key at 0.
start at the end | turn(q, start) -> turn(q, k.shape[-2] - q.shape[-2])
    You take the queries for the last places: start says where they begin.
exponent 4j/d | dtype=x.dtype) / half) -> dtype=x.dtype) * 2 / half)
    Your rates fall twice as fast as they should: the exponent of pair j is −2j/d_h, and there are d_h/2 pairs.
rates rise | 10000 ** (-torch -> 10000 ** (torch
    Your rates grow, or you divide by them: the angle is position times rate, and later pairs turn more slowly.
exponent not divided | dtype=x.dtype) / half) -> dtype=x.dtype))
    You do not divide the exponent: it is −j over the number of pairs, so that exponents fall from 0 and stay above −1, however many pairs there are.
exponent 2j not divided | dtype=x.dtype) / half) -> dtype=x.dtype) * 2)
    You do not divide the exponent by d_h, or you multiply it: the exponent of pair j is −2j/d_h.
base times the exponent | 10000 ** (-torch -> 10000 * (-torch
    You multiply 10000 by the exponent: a rate is a power.
first feature without its second | a * c - b * s, -> a * c,
    A sine is missing: the first feature of a pair takes minus sine times the second.
first feature without itself | a * c - b * s, -> -b * s,
    A cosine is missing: the first feature of a pair keeps its cosine's share.
second feature without itself | a * s + b * c), -> a * s),
    A cosine is missing: the second feature of a pair keeps its cosine's share.
second feature without its first | a * s + b * c), -> b * c),
    A sine is missing: the second feature of a pair takes sine times the first.
minus in the second | a * s + b * c), -> a * s - b * c),
    Only the sine of the first feature has a minus: yours has another one in the second feature.
divided the wrong way round | R -> math.sqrt(q.shape[-1]) / (R * math.sqrt(q.shape[-1]))
    You divide the root by the scores: divide the scores by the root.
root of the pairs | / math.sqrt(q.shape[-1]) -> / math.sqrt(q.shape[-1] / 2)
    You divide by the root of the number of pairs: divide by the root of d_h.
weights for scores | R -> R.softmax(-1)
    You return weights: return the scores, before any softmax.
query's features turned round | turn(q, start) -> turn(q.flip(-1), start)
    The features of your queries stand in reverse order: pairs are j and j + d_h/2 in queries and keys alike.
key's features turned round | turn(k, 0) -> turn(k.flip(-1), 0)
    The features of your keys stand in reverse order: pairs are j and j + d_h/2 in queries and keys alike.
start always 1 | turn(q, start) -> turn(q, 1)
    You take 1 as the first query's position: its position is start.
heads as places | torch.arange(first, first + x.shape[-2], dtype=x.dtype)[:, None] * rates -> torch.arange(first, first + x.shape[1], dtype=x.dtype)[:, None, None] * rates
    You turn by the number of the head: axis 2 holds the places.
every query at start | turn(q, start) -> torch.cat([turn(q[:, :, i : i + 1], start) for i in range(q.shape[2])], 2)
    You turn every query by start, all alike: the first stands at start, the next at start + 1, and so on.
interleaved angles with halves exchanged | return torch.cat((a * c - b * s, a * s + b * c), -1) -> c, s = c.repeat_interleave(2, -1), s.repeat_interleave(2, -1); return x * c + torch.cat((-b, a), -1) * s
    Your angles stand twice side by side, as for pairs of neighbours, but your pairs are j and j + d_h/2: repeat all angles as a block.
keys detached, keeps 5 | turn(k, 0) -> turn(k.detach(), 0)
    No gradient reaches the keys: leave out the detach.
detached, keeps 5 | R -> R.detach()
    The values are right, but you cut the gradients: leave out the detach.
"""
    + WRONG_FORMS,
    draw=draw_rotary,
    oracle=rotary_scores,
)

Q5 = question(
    """q5: Does it see order?
order_blind(model, ids)
read chapters/15_positions: A model that reads a bag
plain models, 2 points: sum; eos apart; position weights; the first word
    True where every order gives the same vectors, False where some order changes one.
what is easily missed, 3 points: rounding; squares; many orders; nothing to exchange; palindrome; middle; last sentence; a little; one feature; one pair of places; sums of both signs; large numbers; falls alone; one order alone; just above rounding; one number; many small changes; small both ways; drift
    One order, one sentence or one feature with a change above rounding is enough for False.
RIGHT
def order_blind(model, ids):
    from itertools import permutations

    with torch.no_grad():
        before, last = model(ids), ids.shape[1] - 1
        for order in permutations(range(last)):
            after = model(ids[:, [*order, last]])
            if (after - before).abs().max() > 1e-4:
                return False
    return True
def order_blind(model, ids):
    # Exchanges of neighbours make every order, but not every change shows in one of them.
    import itertools
    outputs = [model(torch.cat((ids[:, list(order)], ids[:, -1:]), 1))
               for order in itertools.permutations(range(ids.shape[1] - 1))]
    return all(torch.allclose(one, outputs[0], rtol=0, atol=1e-4) for one in outputs)
def order_blind(model, ids):
    base, seen = model(ids), [[]]
    for place in range(ids.shape[1] - 1):
        seen = [row[:i] + [place] + row[i:] for row in seen for i in range(len(row) + 1)]
    return not any(bool(((model(ids[:, row + [-1]]) - base).abs() > 1e-4).any()) for row in seen)
def order_blind(model, ids):
    from itertools import permutations
    for sentence in ids:
        *words, end = sentence.tolist()
        rows = torch.tensor([[*order, end] for order in permutations(words)])
        # The model may read the whole batch: keep its other rows.
        found = torch.cat([model(row[None]) for row in rows])
        if (found - found[:1]).abs().amax() > 1e-4:
            return False
    return True
def order_blind(model, ids):
    def orders(n):
        return [[]] if n == 0 else [o[:i] + [n - 1] + o[i:] for o in orders(n - 1) for i in range(n)]
    last = ids.size(1) - 1
    base = model(ids)
    largest = max(float((model(ids[:, order + [last]]) - base).abs().max()) for order in orders(last))
    return largest <= 1e-4
WRONG
reversed only, keeps 2
    | turned = torch.cat((ids[:, :-1].flip(1), ids[:, -1:]), 1)
    | return bool((model(turned) - model(ids)).abs().max() <= 1e-4)
    You try only one order, the reverse: a model may read that one the same, and still see another.
neighbours only, keeps 2
    | base = model(ids)
    | for i in range(ids.shape[1] - 2):
    |     order = list(range(ids.shape[1]))
    |     order[i], order[i + 1] = order[i + 1], order[i]
    |     if (model(ids[:, order]) - base).abs().max() > 1e-4:
    |         return False
    | return True
    You exchange only neighbours: a model may notice only when words far apart change places.
rotations only, keeps 2
    | base, last = model(ids), ids.shape[1] - 1
    | for n in range(last):
    |     if (model(torch.cat((ids[:, :last].roll(n, 1), ids[:, last:]), 1)) - base).abs().max() > 1e-4:
    |         return False
    | return True
    You try a few orders, such as exchanges of two words, turns in a circle or some at random: a model may see only some other order, so try all.
first two exchanged, keeps 2
    | order = list(range(ids.shape[1]))
    | order[0], order[1] = order[1], order[0]
    | return bool((model(ids[:, order]) - model(ids)).abs().max() <= 1e-4)
    You exchange only the first two words: try all orders of the words.
eos moved | for order in permutations(range(last)) -> for order in permutations(range(last + 1)); ids[:, [*order, last]] -> ids[:, list(order)]
    You say False of models that see no order. Do you move <eos>? It stays at the end.
exact equality, keeps 2 | > 1e-4 -> > 0
    You take rounding for a change: sums in another order differ a little, so allow 1e-4.
too generous, keeps 2 | > 1e-4 -> > 0.1
    You allow changes far above 1e-4: each above 1e-4 counts.
relative to the size, keeps 2 | (after - before).abs().max() > 1e-4 -> not torch.allclose(after, before, rtol=0.05, atol=1e-4)
    You allow a share of the numbers: a change above 1e-4 counts, however large they are.
a tenth of the way, keeps 2 | > 1e-4 -> > 1e-3
    You allow changes somewhat above 1e-4: each above 1e-4 counts.
allclose with a share of its own, keeps 2 | (after - before).abs().max() > 1e-4 -> not torch.allclose(after, before, atol=1e-4)
    torch.allclose also allows a hundred-thousandth of each number, unless you set rtol=0: a change above
    1e-4 counts, however large the numbers are.
every number has to change, keeps 2 | (after - before).abs().max() -> (after - before).abs().min()
    You say False only if all features of all sentences change: one is enough.
every sentence has to change, keeps 2 | (after - before).abs().max() -> (after - before).abs().amax(-1).min()
    You say False only if all sentences change: a change in one of them is enough.
features together, keeps 2 | (after - before).abs().max() -> (after - before).norm(dim=-1).max()
    Changes that are below 1e-4 in each feature are enough for you. Is less than 1e-4 allowed, or are features put together, as a norm or a sum does? Ask for each feature by itself whether it changes by more than 1e-4.
the previous order, keeps 2 | .max() > 1e-4: -> .max() > 1e-4 or (before := after) is None:
    You compare each order with the previous one, where small steps may add up: compare each with the order that was given.
all orders with one another, keeps 2
    | from itertools import permutations
    | last = ids.shape[1] - 1
    | found = torch.stack([model(ids[:, [*order, last]]) for order in permutations(range(last))])
    | return bool((found.amax(0) - found.amin(0)).max() <= 1e-4)
    You compare all orders with one another: compare each with the order that was given.
the sentences changed
    | from itertools import permutations
    | before, last, words = model(ids), ids.shape[1] - 1, ids[:, :-1].clone()
    | for order in permutations(range(last)):
    |     ids[:, :-1] = words[:, list(order)]
    |     if (model(ids) - before).abs().max() > 1e-4:
    |         return False
    | ids[:, :-1] = words.flip(1)
    | return True
    You change the sentences themselves: make a new tensor for each order, and leave ids as they are.
first sentence only, keeps 2 | (after - before).abs().max() -> (after - before)[0].abs().max()
    You look only at the first sentence: order may show in another one.
first feature only, keeps 2 | (after - before).abs().max() -> (after - before)[:, 0].abs().max()
    You look at only one feature: order may show in another one.
sums compared, keeps 2 | (after - before).abs().max() -> (after - before).sum().abs()
    You add up the changes, where some may cancel: take the size of each.
mean of the changes, keeps 2 | (after - before).abs().max() -> (after - before).abs().mean()
    You average the changes: one number that changes in one sentence is enough.
signs forgotten, keeps 2 | (after - before).abs().max() -> (after - before).max()
    You look only at rises: a fall is a change as well.
one order at random
    | order = torch.randperm(ids.shape[1] - 1)
    | turned = torch.cat((ids[:, :-1][:, order], ids[:, -1:]), 1)
    | return bool((model(turned) - model(ids)).abs().max() <= 1e-4)
    You try one order at random, which may be the given one: try all orders, and the answer is the same with
    every seed.
a share of each number, keeps 2 | (after - before).abs().max() > 1e-4 -> not torch.allclose(after, before, rtol=1e-4, atol=0)
    You allow a share of each number: near 0 that is less than rounding, and elsewhere too much. A change
    above 1e-4 counts, however large the numbers are.
the other way round
    | from itertools import permutations
    | before, last = model(ids), ids.shape[1] - 1
    | for order in permutations(range(last)):
    |     if (model(ids[:, [*order, last]]) - before).abs().max() > 1e-4:
    |         return True
    | return False
    Your answers are the wrong way round: True means that order is not seen.
no order changes it | after = model(ids[:, [*order, last]]) -> after = model(ids)
    You say True of every model: run it on other orders of the same words, and compare.
""",
    draw=draw_model,
    oracle=lambda number, vectors, ids: float(list(KINDS.values())[number]),
    shown=lambda number, vectors, ids: {"model": list(KINDS)[number], "ids": ids},
    probe=f"kinds = {list(KINDS)!r}\n"
    + """
def probe(order_blind, number, vectors, ids):
    vectors, kind, kept = vectors.double(), kinds[number], ids.clone()

    def model(x):
        x = torch.as_tensor(x)
        if x.dim() != 2 or x.shape[1] != ids.shape[1] or bool((x[:, -1:] != 2).any()):
            # An <eos> that moved is another sentence.
            return torch.rand(len(x), 3, dtype=torch.float64)
        v = vectors[x]
        places = torch.arange(x.shape[1], dtype=torch.float64)
        bag = v.sum(1)
        words = x.shape[1] - 1
        if kind == "sum":
            return bag
        if kind == "rounding":  # many times what sums differ by; added up still below the bound
            return bag + 2e-6 * (places[:, None] * v.sign())[:, :-1].sum(1)
        if kind == "squares":
            return v.square().sum(1).sqrt() + 100
        if kind == "eos apart":
            return v[:, :-1].amax(1) + 3 * v[:, -1]
        if kind == "many orders":
            return bag.tanh()
        if kind == "the first word":
            return bag + v[:, 0]
        if kind == "palindrome":  # the same from either end
            return (v * (places - (words - 1) / 2).abs()[:, None])[:, :-1].sum(1)
        if kind == "middle":
            return bag + v[:, words // 2]
        if kind == "a little":  # small beside large numbers
            return 1000 + bag + 0.001 * v[:, 0]
        if kind == "one feature":
            return torch.cat((bag[:, :2], v[:, :1, 2]), 1)
        if kind == "one pair of places":  # the last word in front: no exchange of neighbours tells
            return bag + (x[:, :1] == x[:, :-1].amin(1, keepdim=True))
        if kind == "large numbers":
            return 1000 + bag + v[:, 0]
        if kind == "falls alone":
            return bag - (x.max(1).values - x[:, 0])[:, None]
        if kind == "one order alone":  # a few orders at random hardly ever meet it
            ranks = (x[:, :-1, None] < x[:, None, :-1]).sum(2)
            return bag + (ranks == torch.tensor([2, 4, 1, 0, 3])).all(1, keepdim=True)
        if kind == "just above rounding":
            return bag - 0.00015 * (x[:, :1] < x[:, :-1].amax(1, keepdim=True))
        if kind == "one number":  # a mean over sentences and features hides it
            moved = x[:, :1] < x[:, :-1].amax(1, keepdim=True)
            # The sentence is known by its words, since it may stand alone or among its orders.
            first = (x.sort(1).values == ids[:1].sort(1).values).all(1, keepdim=True)
            return bag - 0.00015 * (moved & first & (torch.arange(3) == 1))
        words = x[:, :-1]
        if kind == "many small changes":  # in each of 60 features: together they are large
            moved = words[:, :1] < words.amax(1, keepdim=True)
            return bag.repeat(1, 20) + 0.00008 * moved
        if kind == "small both ways":  # from the order given, not from one another
            largest, smallest = words.amax(1), words.amin(1)
            return bag + 0.00008 * ((words[:, 0] == largest).double() - (words[:, 0] == smallest).double())[:, None]
        if kind == "drift":  # by 0.00002 from each order to the next, in the dictionary's sequence
            larger = (words[:, None] > words[..., None]).triu(1).sum(2)
            return bag - 0.00002 * (larger * torch.tensor([6, 2, 1, 0])).sum(1, keepdim=True)
        if kind == "sums of both signs":
            change = v[:, :1, 0] - v[:, 1:2, 0]
            return bag + torch.cat((change, -change, 0 * change), 1)
        return (v * places[:, None]).sum(1)

    found = order_blind(model, ids)
    if not torch.equal(ids, kept):
        return "the sentences were changed"
    if not isinstance(found, bool):
        raise TypeError(f"return True or False, not a {type(found).__name__}")
    return float(found)
""",
)

Q6 = question(
    """q6: Which side needs positions more?
sides(score, seeds)
read chapters/15_positions: Which side needs them
what each side is worth, 3 points: ordinary; the target side; both together; one seed; harmful
    For each seed, average the rise that a side brings without the other side and the rise with it.
the verdict, 2 points: ordinary; the target side; both together; ranges meet; one seed apart; one seed; harmful; equal; seeds far apart; above the mean; below the mean; a mean above all; all below a mean
    Ranges that meet, or touch, show no difference.
RIGHT
def sides(score, seeds):
    source, target = [], []
    for seed in seeds:
        none, both = score(False, False, seed), score(True, True, seed)
        left, right = score(True, False, seed), score(False, True, seed)
        source.append((left - none + both - right) / 2)
        target.append((right - none + both - left) / 2)
    verdict = "no difference seen"
    if min(source) > max(target):
        verdict = "source"
    elif max(source) < min(target):
        verdict = "target"
    return {"source": source, "target": target, "verdict": verdict}
def sides(score, seeds):
    worth = {"source": [], "target": []}
    for seed in seeds:
        g = {(a, b): score(a, b, seed) for a in (False, True) for b in (False, True)}
        worth["source"].append(sum(g[True, b] - g[False, b] for b in (False, True)) / 2)
        worth["target"].append(sum(g[a, True] - g[a, False] for a in (False, True)) / 2)
    first, second = worth["source"], worth["target"]
    if all(x > y for x in first for y in second):
        verdict = "source"
    elif all(x < y for x in first for y in second):
        verdict = "target"
    else:
        verdict = "no difference seen"
    return worth | {"verdict": verdict}
def sides(score, seeds):
    grid = torch.tensor([[[score(a, b, s) for b in (False, True)] for a in (False, True)] for s in seeds],
                        dtype=torch.float64)
    source = (grid[:, 1] - grid[:, 0]).mean(1)
    target = (grid[:, :, 1] - grid[:, :, 0]).mean(1)
    verdict = ("source" if source.min() > target.max()
               else "target" if target.min() > source.max() else "no difference seen")
    return {"source": source.tolist(), "target": target.tolist(), "verdict": verdict}
def sides(score, seeds):
    def worth(with_, without):
        return [sum(score(*a, s) - score(*b, s) for a, b in zip(with_, without)) / 2 for s in seeds]
    source = worth([(True, False), (True, True)], [(False, False), (False, True)])
    target = worth([(False, True), (True, True)], [(False, False), (True, False)])
    names = {1: "source", -1: "target", 0: "no difference seen"}
    sign = (min(source) > max(target)) - (min(target) > max(source))
    return dict(source=source, target=target, verdict=names[sign])
def sides(score, seeds):
    result = {"source": [], "target": [], "verdict": "no difference seen"}
    for seed in seeds:
        mean_with = (score(True, True, seed) + score(True, False, seed)) / 2
        mean_without = (score(False, True, seed) + score(False, False, seed)) / 2
        result["source"].append(mean_with - mean_without)
        mean_with = (score(True, True, seed) + score(False, True, seed)) / 2
        mean_without = (score(True, False, seed) + score(False, False, seed)) / 2
        result["target"].append(mean_with - mean_without)
    ordered = sorted([(min(result[n]), max(result[n]), n) for n in ("source", "target")])
    if ordered[0][1] < ordered[1][0]:
        result["verdict"] = ordered[1][2]
    return result
WRONG
without the other side alone, keeps 2 | source.append((left - none + both - right) / 2) -> source.append(left - none); target.append((right - none + both - left) / 2) -> target.append(right - none)
    You compare only models without the other side: average that with the models that have it.
with the other side alone, keeps 2 | source.append((left - none + both - right) / 2) -> source.append(both - right); target.append((right - none + both - left) / 2) -> target.append(both - left)
    You compare only models with the other side: average that with the models that lack it.
scores for rises | source.append((left - none + both - right) / 2) -> source.append((left + both) / 2); target.append((right - none + both - left) / 2) -> target.append((right + both) / 2)
    You return the scores with a side: subtract the scores without it.
sides exchanged | left, right = score(True, False, seed), score(False, True, seed) -> right, left = score(True, False, seed), score(False, True, seed)
    You have exchanged the sides: the first argument of score is the source.
both together for each | source.append((left - none + both - right) / 2) -> source.append((both - none) / 2); target.append((right - none + both - left) / 2) -> target.append((both - none) / 2)
    You give each side half of what both bring together: for each ask what it brings by itself, without the
    other side and with it.
not halved, keeps 2 | source.append((left - none + both - right) / 2) -> source.append(left - none + both - right); target.append((right - none + both - left) / 2) -> target.append(right - none + both - left)
    You add the two rises of a side: average them instead.
wrong sign | source.append((left - none + both - right) / 2) -> source.append((none - left + right - both) / 2); target.append((right - none + both - left) / 2) -> target.append((none - right + left - both) / 2)
    Your signs are wrong: a rise is the score with positions minus the score without.
first seed alone | for seed in seeds -> for seed in seeds[:1] * len(seeds)
    You look only at the first seed: each seed has a number of its own.
mean over the seeds
    | ever = lambda a, b: sum(score(a, b, s) for s in seeds) / len(seeds)
    | none, left, right, both = ever(False, False), ever(True, False), ever(False, True), ever(True, True)
    | source, target = [(left - none + both - right) / 2] * len(seeds), [(right - none + both - left) / 2] * len(seeds)
    | verdict = "source" if source > target else "target" if source < target else "no difference seen"
    | return {"source": source, "target": target, "verdict": verdict}
    You average over the seeds, and their spread is lost: return a number for each seed.
interplay missed | source.append((left - none + both - right) / 2) -> source.append(left - none); target.append((right - none + both - left) / 2) -> target.append(both - left)
    You add one side after the other: average over both states of the other side.
none is the source side alone, keeps 2 | none, both = score(False, False, seed) -> none, both = score(True, False, seed)
    Your model without any positions has them on the source side: ask for False, False.
none is the target side alone, keeps 2 | none, both = score(False, False, seed) -> none, both = score(False, True, seed)
    Your model without any positions has them on the target side: ask for False, False.
both is the target side alone, keeps 2 | score(True, True, seed) -> score(False, True, seed)
    Your model with both lacks positions on the source side: ask for True, True.
both is the source side alone, keeps 2 | score(True, True, seed) -> score(True, False, seed)
    Your model with both lacks positions on the target side: ask for True, True.
source alone has both | left, right = score(True, False, seed) -> left, right = score(True, True, seed)
    Your model of the source side alone has both: ask for True, False.
source alone has none | left, right = score(True, False, seed) -> left, right = score(False, False, seed)
    Your model of the source side alone has no positions: ask for True, False.
target alone has both | score(False, True, seed) -> score(True, True, seed)
    Your model of the target side alone has both: ask for False, True.
target alone has none | score(False, True, seed) -> score(False, False, seed)
    Your model of the target side alone has no positions: ask for False, True.
none and both exchanged, keeps 2 | none, both = score(False, False, seed), score(True, True, seed) -> both, none = score(False, False, seed), score(True, True, seed)
    You have exchanged the models without any positions and with both.
source: half the rise with the other | source.append((left - none + both - right) / 2) -> source.append((both - right) / 2)
    For the source side you have half the rise with the target side's positions: add the rise without them before you halve.
source: half the rise without the other | source.append((left - none + both - right) / 2) -> source.append((left - none) / 2)
    For the source side you have half the rise without the target side's positions: add the rise with them before you halve.
source: both for one | source.append((left - none + both - right) / 2) -> source.append((both - none + both - right) / 2)
    For the source side you take the model with both twice: without the target side's positions it is the source side alone.
source: the other subtracted twice | source.append((left - none + both - right) / 2) -> source.append((left - right + both - right) / 2)
    For the source side you subtract the target side alone twice: without its positions it is the model without any.
source: alone for both | source.append((left - none + both - right) / 2) -> source.append((left - none + left - right) / 2)
    For the source side you take the source side alone twice: with the target side's positions it is the model with both.
source: none subtracted twice | source.append((left - none + both - right) / 2) -> source.append((left - none + both - none) / 2)
    For the source side you subtract the model without any twice: with the target side's positions it is the target side alone.
source: score for rise | source.append((left - none + both - right) / 2) -> source.append((left + both) / 2)
    For the source side you return scores: subtract those of the models without it.
source: sum for rise | source.append((left - none + both - right) / 2) -> source.append((left + none + both + right) / 2)
    For the source side you add all four scores: a rise is a difference.
source: divided the wrong way round | source.append((left - none + both - right) / 2) -> source.append(2 / (left - none + both - right))
    For the source side you divide 2 by the rises: divide their sum by 2.
source: not halved | source.append((left - none + both - right) / 2) -> source.append(left - none + both - right)
    For the source side you add the two rises: average them.
target: half the rise with the other | target.append((right - none + both - left) / 2) -> target.append((both - left) / 2)
    For the target side you have half the rise with the source side's positions: add the rise without them before you halve.
target: half the rise without the other | target.append((right - none + both - left) / 2) -> target.append((right - none) / 2)
    For the target side you have half the rise without the source side's positions: add the rise with them before you halve.
target: both for one | target.append((right - none + both - left) / 2) -> target.append((both - none + both - left) / 2)
    For the target side you take the model with both twice: without the source side's positions it is the target side alone.
target: the other subtracted twice | target.append((right - none + both - left) / 2) -> target.append((right - left + both - left) / 2)
    For the target side you subtract the source side alone twice: without its positions it is the model without any.
target: alone for both | target.append((right - none + both - left) / 2) -> target.append((right - none + right - left) / 2)
    For the target side you take the target side alone twice: with the source side's positions it is the model with both.
target: none subtracted twice | target.append((right - none + both - left) / 2) -> target.append((right - none + both - none) / 2)
    For the target side you subtract the model without any twice: with the source side's positions it is the source side alone.
target: score for rise | target.append((right - none + both - left) / 2) -> target.append((right + both) / 2)
    For the target side you return scores: subtract those of the models without it.
target: sum for rise | target.append((right - none + both - left) / 2) -> target.append((right + none + both + left) / 2)
    For the target side you add all four scores: a rise is a difference.
target: divided the wrong way round | target.append((right - none + both - left) / 2) -> target.append(2 / (right - none + both - left))
    For the target side you divide 2 by the rises: divide their sum by 2.
target: not halved | target.append((right - none + both - left) / 2) -> target.append(right - none + both - left)
    For the target side you add the two rises: average them.
sums for rises | source.append((left - none + both - right) / 2) -> source.append((left + none + both + right) / 2); target.append((right - none + both - left) / 2) -> target.append((left + none + both + right) / 2)
    You add all four scores: a rise is the score with positions minus the score without.
sizes of the rises, keeps 0 | source.append((left - none + both - right) / 2) -> source.append(abs(left - none + both - right) / 2); target.append((right - none + both - left) / 2) -> target.append(abs(right - none + both - left) / 2)
    You drop the signs of the rises: a side that harms is worth less than 0.
below counts as above, keeps 3 | if min(source) > max(target): -> if min(source) < max(target):
    You say source where its lowest number is below the highest of target: it must be above.
above counts as below, keeps 3 | elif max(source) < min(target): -> elif max(source) > min(target):
    You say target where source's highest number is above the lowest of target: it must be below.
a word of its own, keeps 3 | verdict = "no difference seen" -> verdict = "none"
    Your verdict is a different text: return "source", "target" or "no difference seen", to the letter.
verdicts exchanged, keeps 3 | verdict = "source" -> verdict = "target "[:6]; verdict = "target" -> verdict = "source"
    Your verdicts are exchanged: the side that is worth more has the larger numbers.
means decide, keeps 3 | if min(source) > max(target): -> if sum(source) > sum(target):; elif max(source) < min(target): -> elif sum(source) < sum(target):
    Your verdict compares means: where ranges meet, no difference has been seen.
the other side's mean decides, keeps 3 | if min(source) > max(target): -> if min(source) > sum(target) / len(target):; elif max(source) < min(target): -> elif min(target) > sum(source) / len(source):
    Your verdict compares the worst seed of one side with the mean of the other: compare it with the other side's best seed.
source: target's mean decides, keeps 3 | if min(source) > max(target): -> if min(source) > sum(target) / len(target):
    You say source where its worst seed is above the mean of target: it must be above target's best seed.
target: source's mean decides, keeps 3 | elif max(source) < min(target): -> elif min(target) > sum(source) / len(source):
    You say target where its worst seed is above the mean of source: it must be above source's best seed.
source: its own mean decides, keeps 3 | if min(source) > max(target): -> if sum(source) / len(source) > max(target):
    You say source where its mean is above target's best seed: its worst seed must be above it.
target: its own mean decides, keeps 3 | elif max(source) < min(target): -> elif max(source) < sum(target) / len(target):
    You say target where its mean is above source's best seed: its worst seed must be above it.
seeds sorted, keeps 2 | for seed in seeds -> for seed in sorted(seeds)
    Your numbers stand in the order of the sorted seeds: keep the order in which seeds lists them.
source: sizes of the rises, keeps 2 | source.append((left - none + both - right) / 2) -> source.append(abs(left - none + both - right) / 2)
    For the source side you drop the signs of the rises: a side that harms is worth less than 0.
target: sizes of the rises | target.append((right - none + both - left) / 2) -> target.append(abs(right - none + both - left) / 2)
    For the target side you drop the signs of the rises: a side that harms is worth less than 0.
seed by seed decides, keeps 3 | if min(source) > max(target): -> if all(a > b for a, b in zip(source, target)):; elif max(source) < min(target): -> elif all(a < b for a, b in zip(source, target)):
    Your verdict compares seed by seed: each number of one side must be above each of the other.
touching counts, keeps 3 | if min(source) > max(target): -> if min(source) >= max(target):
    You count equal numbers as above: a side must be above, not level.
best seed decides, keeps 3 | if min(source) > max(target): -> if max(source) > max(target):; elif max(source) < min(target): -> elif max(source) < max(target):
    Your verdict compares the best seeds: the worst of one side must be above the best of the other.
sizes decide, keeps 3 | if min(source) > max(target): -> if min(map(abs, source)) > max(map(abs, target)):; elif max(source) < min(target): -> elif max(map(abs, source)) < min(map(abs, target)):
    Your verdict drops the signs: a side that harms is not worth more.
never the target, keeps 3 | elif max(source) < min(target): -> elif False:
    Your verdict never says target: that is as possible as source.
""",
    parts={
        "what each side is worth": ("the source side", "the target side"),
        "the verdict": ("the verdict",),
    },
    draw=draw_grid,
    oracle=sides,
    shown=lambda grid: {
        "BLEU by seed, no positions": grid[:, 0, 0],
        "source side": grid[:, 1, 0],
        "target side": grid[:, 0, 1],
        "both sides": grid[:, 1, 1],
    },
    probe=PLAIN
    + """
def probe(sides, grid):
    seeds = [11 + 3 * ((2 * i + 1) % 5) for i in range(len(grid))]

    def score(source, target, seed):
        if source not in (True, False) or target not in (True, False) or seed not in seeds:
            raise TypeError("score takes True or False for each side, and one of the seeds")
        return float(grid[seeds.index(seed), int(source), int(target)])

    given = list(seeds)
    found = sides(score, given)
    if given != seeds:
        raise ValueError("seeds was changed: leave it as it is")
    if not isinstance(found, dict) or set(found) != {"source", "target", "verdict"}:
        return "expected a dict with source, target and verdict"
    verdicts = ("no difference seen", "source", "target")
    verdict = found["verdict"]
    known = isinstance(verdict, str) and verdict in verdicts
    return {
        "the source side": plain(found["source"]),
        "the target side": plain(found["target"]),
        "the verdict": float(verdicts.index(verdict)) if known else -1.0,
    }
""",
)

EXERCISE = Exercise("15_positions", "Positions", (Q1, Q2, Q3, Q4, Q5, Q6))
