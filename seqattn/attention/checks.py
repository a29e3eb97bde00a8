"""Refusals that the score functions and their modules share: what came, what was expected."""

from torch import Tensor

__all__ = ["check_pair", "check_size"]


def check_pair(query: Tensor, keys: Tensor) -> None:
    """Refuse queries and keys that are not one batch of each."""
    if keys.dim() != 3 or query.dim() not in (2, 3) or query.shape[0] != keys.shape[0]:
        raise ValueError(
            f"query has shape {tuple(query.shape)} and keys have shape {tuple(keys.shape)}; "
            "expected (batch, [queries,] d_query) and (batch, keys, d_key) with the same batch"
        )


def check_size(name: str, x: Tensor, weight_name: str, weight: Tensor) -> None:
    """Refuse an input whose size is not the one that its weight takes."""
    if x.shape[-1] != weight.shape[1]:
        raise ValueError(
            f"{name} of size {x.shape[-1]} cannot meet {weight_name} of shape "
            f"{tuple(weight.shape)}, which takes size {weight.shape[1]}"
        )
