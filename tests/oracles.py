"""The formulas of the course, written out as float64 NumPy loops: slow, plain and independent.

Nothing here imports seqattn. A score takes one query and one key as vectors; everything else takes
plain arrays and numbers.
"""

import math

import numpy as np


def additive(s, h, W_q, W_k, v, b=None):
    """vᵀ tanh(W_q s + W_k h + b)."""
    bias = np.zeros(len(v)) if b is None else b
    total = 0.0
    for a in range(len(v)):
        inside = bias[a]
        for i in range(len(s)):
            inside += W_q[a, i] * s[i]
        for j in range(len(h)):
            inside += W_k[a, j] * h[j]
        total += v[a] * math.tanh(inside)
    return total


def dot(s, h):
    """sᵀ h."""
    total = 0.0
    for i in range(len(s)):
        total += s[i] * h[i]
    return total


def scaled_dot(s, h):
    """sᵀ h / √d."""
    return dot(s, h) / math.sqrt(len(s))


def general(s, h, W):
    """sᵀ W h."""
    total = 0.0
    for i in range(len(s)):
        for j in range(len(h)):
            total += s[i] * W[i, j] * h[j]
    return total


def concat(s, h, W, v):
    """vᵀ tanh(W [s; h])."""
    joined = [*s, *h]
    total = 0.0
    for a in range(len(v)):
        inside = 0.0
        for i in range(len(joined)):
            inside += W[a, i] * joined[i]
        total += v[a] * math.tanh(inside)
    return total


def reduced_rank(s, h, U, V):
    """(U s)ᵀ (V h)."""
    total = 0.0
    for r in range(len(U)):
        left = sum(U[r, i] * s[i] for i in range(len(s)))
        right = sum(V[r, j] * h[j] for j in range(len(h)))
        total += left * right
    return total


def location(s, i, W):
    """Row i of W s: the position, and not what stands there."""
    total = 0.0
    for j in range(len(s)):
        total += W[i, j] * s[j]
    return total


def score_all(score, queries, keys, **weights):
    """Score all queries against all keys of their sentence, giving (B, Q, K)."""
    out = np.zeros((len(queries), queries.shape[1], keys.shape[1]))
    for b in range(out.shape[0]):
        for t in range(out.shape[1]):
            for i in range(out.shape[2]):
                out[b, t, i] = score(queries[b, t], keys[b, i], **weights)
    return out


def softmax(scores, allowed=None, temperature=1.0):
    """Softmax of one row over its allowed positions; zeros if there are none."""
    places = [i for i in range(len(scores)) if allowed is None or allowed[i]]
    weights = np.zeros(len(scores))
    if not places:
        return weights
    top = max(scores[i] for i in places)
    exponentials = {i: math.exp((scores[i] - top) / temperature) for i in places}
    total = math.fsum(exponentials.values())
    for i in places:
        weights[i] = exponentials[i] / total
    return weights


def attend(scores, values, allowed=None, temperature=1.0):
    """Weights and contexts for (B, Q, K) scores, (B, K, D) values, (B, Q, K) flags."""
    weights = np.zeros(scores.shape)
    context = np.zeros((*scores.shape[:2], values.shape[2]))
    for b in range(scores.shape[0]):
        for t in range(scores.shape[1]):
            row = None if allowed is None else allowed[b, t]
            weights[b, t] = softmax(scores[b, t], row, temperature)
            for i in range(scores.shape[2]):
                for d in range(values.shape[2]):
                    context[b, t, d] += weights[b, t, i] * values[b, i, d]
    return context, weights


def entropy(weights, allowed=None):
    """-Σ α ln α of one row, in nats, over the allowed positions; NaN if all weights are 0."""
    kept = [w for i, w in enumerate(weights) if allowed is None or allowed[i]]
    if sum(kept) == 0:
        return math.nan
    return -math.fsum(w * math.log(w) for w in kept if w > 0) + 0.0


def alignment_error_rate(predicted, sure, possible):
    """Count link by link over the corpus; a sure link is possible too."""
    hit_sure = hit_possible = n_predicted = n_sure = 0
    for a, s, p in zip(predicted, sure, possible, strict=True):
        n_sure += len(set(s))
        for link in set(a):
            n_predicted += 1
            hit_sure += link in s
            hit_possible += link in s or link in p
    return 1 - (hit_sure + hit_possible) / (n_predicted + n_sure)


def online_softmax(query, keys, values, mask, block):
    """Softmax attention of one query, block by block, with a running maximum and running sums."""
    top, total, context = -math.inf, 0.0, np.zeros(values.shape[1])
    for first in range(0, len(keys), block):
        places = [i for i in range(first, min(first + block, len(keys))) if mask[i]]
        if not places:
            continue
        scores = [scaled_dot(query, keys[i]) for i in places]
        higher = max(top, *scores)
        shrink = math.exp(top - higher)
        total, context = shrink * total, shrink * context
        for i, score in zip(places, scores, strict=True):
            total += math.exp(score - higher)
            context = context + math.exp(score - higher) * values[i]
        top = higher
    return context / total if total else context


def linear_attention(query, keys, values, mask):
    """One query with the features elu(x) + 1: every weight by itself, then their average."""

    def features(x):
        return np.array([1 + number if number > 0 else math.exp(number) for number in x])

    total, context = 0.0, np.zeros(values.shape[1])
    for key, value, seen in zip(keys, values, mask, strict=True):
        weight = float(features(query) @ features(key)) if seen else 0.0
        if seen:
            total, context = total + weight, context + weight * value
    return context / total if total else context


def rotated(x, start, base):
    """Turn each pair of neighbouring features by position times rate."""
    turned, d = np.zeros(x.shape), x.shape[-1]
    for place in np.ndindex(x.shape[:-1]):
        for k in range(d // 2):
            angle = (start + place[-1]) / base ** (2 * k / d)
            a, b = x[place][2 * k], x[place][2 * k + 1]
            turned[place][2 * k] = a * np.cos(angle) - b * np.sin(angle)
            turned[place][2 * k + 1] = a * np.sin(angle) + b * np.cos(angle)
    return turned
