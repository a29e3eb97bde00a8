"""Half precision: only where asked for, and only where a machine has it."""

import pytest
import torch

from seqattn.precision import autocast, computes_bf16, ready_for_products

CPU = torch.device("cpu")


@pytest.mark.parametrize(("bf16", "dtype"), [(False, torch.float32), (True, torch.bfloat16)])
def test_matrix_products_have_the_precision_that_was_asked_for(bf16, dtype):
    a = torch.randn(3, 5)
    with autocast(CPU, bf16):
        assert (a @ a.T).dtype == dtype
    assert (a @ a.T).dtype == torch.float32


@pytest.mark.parametrize("amx", [False, True])
@pytest.mark.parametrize("avx512", [False, True])
def test_a_cpu_has_it_if_either_kind_of_unit_is_there(monkeypatch, amx, avx512):
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx, raising=False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: avx512, raising=False)
    assert computes_bf16(CPU) == (amx or avx512)


def test_devices_that_we_know_nothing_of_compute_in_32_bits():
    assert not computes_bf16(torch.device("meta"))


def test_what_many_products_read_is_cast_once():
    x, exact = torch.ones(2, 3), torch.ones(2, 3, dtype=torch.float64)
    assert ready_for_products(x) is x
    with autocast(CPU, bf16=True):
        assert ready_for_products(x).dtype == torch.bfloat16
        assert ready_for_products(exact) is exact
