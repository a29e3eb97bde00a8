"""Recurrent models in float64 NumPy, one sentence at a time, from the equations.

Nothing here imports seqattn. Weights come as a dictionary of arrays, named as in PyTorch.
"""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def gru(x, h, W_i, W_h, b_i, b_h):
    """One step: r, z, n stacked in this order; r acts after the product."""
    d = len(h)
    xr, xz, xn = (W_i @ x + b_i).reshape(3, d)
    hr, hz, hn = (W_h @ h + b_h).reshape(3, d)
    r, z = sigmoid(xr + hr), sigmoid(xz + hz)
    n = np.tanh(xn + r * hn)
    return (1 - z) * n + z * h


def lstm(x, h, c, W_i, W_h, b_i, b_h):
    """One step: i, f, g, o stacked in this order."""
    i, f, g, o = (W_i @ x + b_i + W_h @ h + b_h).reshape(4, len(h))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def rnn(xs, w, suffix=""):
    """A GRU over one sentence from zero: all states."""
    weights = [w[f"{n}_l0{suffix}"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    h, states = np.zeros(weights[1].shape[1]), []
    for x in xs:
        h = gru(x, h, *weights)
        states.append(h)
    return np.array(states)


def encode(tokens, w):
    """States and summary of one unpadded sentence, one bidirectional GRU layer."""
    xs = w["encoder.embedding.weight"][tokens]
    part = {k.removeprefix("encoder.rnn."): v for k, v in w.items()}
    forward = rnn(xs, part)
    backward = rnn(xs[::-1], part, "_reverse")[::-1]
    return np.concatenate([forward, backward], 1), np.concatenate([forward[-1], backward[0]])


def attend(scores, states):
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return weights @ states, weights


def maxout(w, s, c, e):
    t = w["decoder.readout.W.weight"] @ np.concatenate([s, c, e]) + w["decoder.readout.W.bias"]
    return np.maximum(*t.reshape(2, -1))


def attentional(w, s, c):
    return np.tanh(w["decoder.readout.W_c.weight"] @ np.concatenate([c, s]))


def decode(style, inputs, states, summary, w):
    """Logits and weights of one sentence: additive score before, or general score after."""
    d = {k.removeprefix("decoder."): v for k, v in w.items()}
    cell = [d[f"rnn.{n}_l0"] for n in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]
    s = np.tanh(d["bridge.outputs.0.weight"] @ summary + d["bridge.outputs.0.bias"])
    fed = np.zeros(len(s))
    logits, maps = [], []
    for token in inputs:
        e = d["embedding.weight"][token]
        if style == "bahdanau":
            W_q, W_k, v = (d[f"attention.score.{n}"] for n in ("W_q", "W_k", "v"))
            c, weights = attend(np.array([v @ np.tanh(W_q @ s + W_k @ h) for h in states]), states)
            s = gru(np.concatenate([e, c]), s, *cell)
            features = maxout(w, s, c, e)
        elif style == "luong":
            s = gru(np.concatenate([e, fed]), s, *cell)
            W = d["attention.score.W"]
            c, weights = attend(np.array([s @ W @ h for h in states]), states)
            fed = features = attentional(w, s, c)
        else:  # the fixed vector at every step
            c, weights = summary, np.zeros(len(states))
            s = gru(np.concatenate([e, c]), s, *cell)
            features = maxout(w, s, c, e)
        logits.append(d["vocabulary.weight"] @ features + d["vocabulary.bias"])
        maps.append(weights)
    return np.array(logits), np.array(maps)
