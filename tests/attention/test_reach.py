"""What a pattern carries over layers: against shortest paths, which know nothing of matrices."""

from collections import deque

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqattn import block_mask, causal_mask, global_mask, strided_mask, window_mask
from seqattn.attention import layers_to_connect, reach_of


def distances(mask):
    """Fewest steps from each position to each that it can hear of; positions out of reach lack."""
    found = []
    for start in range(len(mask)):
        steps, queue = {start: 0}, deque([start])
        while queue:
            here = queue.popleft()
            for there, open_ in enumerate(mask[here]):
                if open_ and there not in steps:
                    steps[there] = steps[here] + 1
                    queue.append(there)
        found.append(steps)
    return found


@given(st.integers(0, 10**6), st.integers(1, 11), st.floats(0, 0.5), st.booleans())
def test_reach_is_the_shortest_path(seed, size, share, causal):
    mask = torch.rand(size, size, generator=torch.Generator().manual_seed(seed)) < share
    if causal:
        mask &= causal_mask(size)
    steps = distances(mask.tolist())
    for layers in (0, 1, 2, 5):
        reach = reach_of(mask, layers).tolist()
        for i in range(size):
            heard = [j for j in range(size) if steps[i].get(j, 99) <= layers]
            assert [j for j in range(size) if reach[i][j]] == heard
    wanted = [(i, j) for i in range(size) for j in range(size) if j <= i or not causal]
    needed = [steps[i].get(j) for i, j in wanted]
    expected = None if None in needed else max(needed)
    assert layers_to_connect(mask, causal=causal) == expected


def test_what_the_patterns_need():
    size = 64
    for window in (1, 2, 4, 8):
        assert layers_to_connect(window_mask(size, window)) == -(-(size - 1) // window)
    one = window_mask(size, 4) | global_mask(size, [0])
    assert layers_to_connect(one) == 2
    assert layers_to_connect(block_mask(size, 8)) is None
    assert layers_to_connect(block_mask(size, 8) | strided_mask(size, 8)) == 2
    back = causal_mask(size)
    assert layers_to_connect(window_mask(size, 8) & back, causal=True) == 8
    assert (
        layers_to_connect((window_mask(size, 8) | strided_mask(size, 8)) & back, causal=True) == 2
    )
    # A later word never reaches an earlier one: without `causal` that is asked for, too.
    assert layers_to_connect(window_mask(size, 8) & back) is None


def test_errors_name_what_was_wrong(unchecked):
    with pytest.raises(ValueError, match=r"mask has shape \(2, 3\); expected \(size, size\)"):
        reach_of(torch.ones(2, 3, dtype=torch.bool), 1)
    with pytest.raises(ValueError, match="layers is -1; expected at least 0"):
        reach_of(window_mask(3, 1), -1)
    with pytest.raises(ValueError, match=r"mask has shape \(4,\)"):
        layers_to_connect(torch.ones(4, dtype=torch.bool))


@pytest.mark.parametrize("of", [layers_to_connect, lambda mask: reach_of(mask, 2)])
@pytest.mark.parametrize("kind", [torch.int32, torch.float32])
def test_a_pattern_that_is_not_boolean_is_refused(of, kind, unchecked):
    with pytest.raises(TypeError, match=f"mask has dtype {kind}; expected torch.bool"):
        of(window_mask(5, 1).to(kind))
