"""What must hold wherever a model computes: on the CPU, and on a GPU where there is one.

Numbers are held against those of the same modules on the CPU, of attention and models in 64 bits.
There that is a test of 32 bits; on a GPU it finds tensors that were left behind, and kernels that
compute something else.
"""

import copy

import pytest
import torch

from seqattn.data import Batches, Example
from seqattn.decoding import beam_search, greedy, sample
from seqattn.dropout import Dropout
from seqattn.evaluation import evaluate, examine
from seqattn.models import ModelConfig, build_model
from seqattn.precision import autocast
from seqattn.training import fit, make_optimizer, new_run, resumed_run, update
from seqattn.training.graphs import GraphedUpdates, repeat
from seqattn.training.losses import attention_penalty
from seqattn.translator import Translator
from seqattn.translator.run_folder import load_model
from tests.attention.test_every_kind import KINDS, a_mask, look
from tests.attention.test_every_kind import build as build_attention
from tests.attention.test_every_kind import inputs as attention_inputs
from tests.models.families import PLAIN, SPECIAL, STEPS, batch, each
from tests.training.corpus import TINY, corpus, numbers, settings

pytestmark = [
    pytest.mark.device,
    pytest.mark.usefixtures("whole_products"),
    pytest.mark.filterwarnings("default"),  # what kernels and compilers advise is no fault of ours
]
TRANSFORMER = ModelConfig("transformer", d_hidden=8, d_feedforward=12, heads=2, dropout=0.0)
MODELS = {
    "bahdanau": ModelConfig("bahdanau", d_embed=7, d_hidden=11, dropout=0.0),
    "luong, lstm, 2 layers": ModelConfig(
        "luong", cell="lstm", layers=2, d_embed=7, d_hidden=11, dropout=0.0
    ),
    "luong, not fed": ModelConfig(
        "luong", input_feeding=False, d_embed=7, d_hidden=11, dropout=0.0
    ),
    "coverage": ModelConfig("bahdanau", attention="coverage", d_embed=7, d_hidden=11, dropout=0.0),
    "copying": ModelConfig("bahdanau", readout="linear", copy=True, d_embed=7, d_hidden=11),
    "transformer": TRANSFORMER,
}
EXAMPLES = [Example([4 + n % 5] * n + [2], [5 + n % 4] * (n % 7) + [7, 2]) for n in range(1, 30)]


@pytest.fixture
def whole_products():
    """Leave 32 bits their bits: a GPU may be told to multiply with 19 of them."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    yield
    torch.set_float32_matmul_precision(before[0])
    torch.backends.cudnn.allow_tf32 = before[1]


def on(device, *tensors, dtype=None):
    return [x.to(device, dtype if x.is_floating_point() else None) for x in tensors]


def close(found, expected, tolerance=2e-4):
    """Equal but for 32 bits; and it was this device that computed."""
    torch.testing.assert_close(found.cpu().double(), expected, rtol=tolerance, atol=tolerance)


def built(name, device, dtype=torch.float32):
    torch.manual_seed(3)
    return build_model(MODELS[name], 12, 12).to(device, dtype)


def some_batches():
    return Batches(EXAMPLES, tokens=64)


# --- attention and models ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_mechanism_gives_the_same_context_weights_and_gradients(kind, device):
    exact, given = build_attention(kind).eval(), attention_inputs(kind)
    module = copy.deepcopy(exact).to(device, torch.float32)

    def results(attention, given, mask):
        given = [x.clone().requires_grad_() for x in given]
        context, weights = look(attention, *given, mask)
        wanted = [*given, *attention.parameters()]
        return (
            context,
            weights,
            *torch.autograd.grad(
                context.square().sum(), wanted, allow_unused=True, materialize_grads=True
            ),
        )

    expected = results(exact, given, a_mask())
    found = results(module, on(device, *given, dtype=torch.float32), a_mask().to(device))
    for a, b in zip(found, expected, strict=True):
        assert a.device.type == device.type
        close(a, b.detach(), 1e-3)


@each(PLAIN + SPECIAL[::4])
def test_a_decoder_scores_the_same_at_once_and_step_by_step(family, device):
    exact, given = family.build().eval(), batch()
    expected = exact(*given)
    model = copy.deepcopy(exact).to(device, torch.float32)
    source, lengths, inputs = on(device, *given)
    with torch.no_grad():
        found = model(source, lengths, inputs)
        close(found.logits, expected.logits.detach(), 1e-3)
        state, memory = model.begin(source, lengths)
        for t in range(STEPS):
            step = model.step(inputs[:, t], state, memory)
            close(step.logits, expected.logits[:, t].detach(), 1e-3)
            state = step.state


@pytest.mark.parametrize("name", MODELS)
def test_searches_write_the_same_sentences(name, device):
    exact = built(name, "cpu", torch.float64)
    model = copy.deepcopy(exact).to(device)
    first = some_batches().take([3, 9, 20])
    given = on(device, first.source, first.lengths)
    for search, options in ((greedy, {}), (beam_search, {"beam": 3, "n_best": 2})):
        expected = search(exact, first.source, first.lengths, max_len=6, **options)
        found = search(model, *given, max_len=6, **options)
        assert found.tokens.device.type == device.type
        assert found.tokens.tolist() == expected.tokens.tolist()
        close(found.scores, expected.scores, 1e-6)  # positions are made in 32 bits, on each device
    generator = torch.Generator(device).manual_seed(5)
    drawn = sample(model, *given, max_len=6, top_k=5, generator=generator)
    again = sample(model, *given, max_len=6, top_k=5, generator=generator.manual_seed(5))
    assert drawn.tokens.tolist() == again.tokens.tolist()


# --- training ------------------------------------------------------------------------------------


def trained(name, device, *, plan=None, called=lambda model: model, **options):
    """A few updates; their losses and norms, and the model."""
    model = built(name, device)
    optimizer, program = make_optimizer(model), called(model)
    told, options = [], {"smoothing": 0.1, **options}
    for rows in plan or some_batches().plan(0)[:3]:
        part = some_batches().take(rows).to(device)
        made = update(program, optimizer, part, lr=1e-3, **options)
        told.append((made.loss.mean.item(), made.norm.item()))
    return torch.tensor(told), model


@pytest.mark.parametrize("name", [name for name in MODELS if name != "copying"])
def test_updates_are_the_same(name, device):
    expected, _ = trained(name, "cpu")
    found, model = trained(name, device)
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=2e-3)
    assert {p.device.type for p in model.parameters()} == {device.type}


def test_sums_of_weights_may_be_asked_for(device):
    penalty = attention_penalty(settings(doubly_stochastic_penalty=0.5, coverage_loss=0.5))
    expected, _ = trained("coverage", "cpu", penalty=penalty)
    torch.testing.assert_close(
        trained("coverage", device, penalty=penalty)[0], expected, rtol=2e-3, atol=2e-3
    )


@pytest.mark.parametrize("name", MODELS)
def test_mixed_precision_keeps_weights_and_losses_in_32_bits(name, device):
    exact, _ = trained(name, device)
    found, model = trained(name, device, bf16=True)
    # 8 bits of precision: near, and not the same.
    torch.testing.assert_close(found[:, 0], exact[:, 0], rtol=0.05, atol=0.05)
    assert not torch.equal(found, exact)
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float32}


@pytest.mark.parametrize("name", ["bahdanau", "luong, lstm, 2 layers"])
def test_mixed_precision_reads_sentences_in_32_bits(name, device):
    # cuDNN would compute in float16, in which half of the bits of small gradients are lost.
    model, first = built(name, device).eval(), some_batches().take([3, 9, 20]).to(device)
    with torch.no_grad():
        expected = model.encoder(first.source, first.lengths).states
        with autocast(device, True):
            found = model.encoder(first.source, first.lengths).states
    assert found.dtype == torch.float32
    # On a CPU its products are those of bfloat16, and its sums are not.
    tolerance = 1e-5 if device.type == "cuda" else 1e-2
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.slow
@pytest.mark.sampled(6)
@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("name", ["bahdanau", "luong, not fed", "transformer"])
def test_a_compiled_model_learns_the_same(name, bf16, device, unchecked):
    torch.compiler.reset()
    # A CPU would ask for a C++ compiler; what comes before that is the same.
    backend = "inductor" if device.type == "cuda" else "aot_eager"
    same = {"plan": [[2, 1]], "bf16": bf16}  # short: loops are written out
    expected, _ = trained(name, device, **same)
    found, _ = trained(name, device, called=lambda m: torch.compile(m, backend=backend), **same)
    tolerance = 0.05 if bf16 else 2e-3
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


def recorded(model, device, **options):
    """Updates from CUDA graphs; on a CPU, which has none, done anew."""
    recorder = None if device.type == "cuda" else repeat
    return GraphedUpdates(model, make_optimizer(model), recorder=recorder, **options)


@pytest.mark.parametrize("bf16", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_recorded_updates_are_the_same(name, bf16, device, caplog):
    plan = some_batches().plan(0)[:2] * 3
    model = built(name, device)
    for module in model.modules():
        if isinstance(module, Dropout):  # which draws other masks for packed sentences
            module.p = 0.0
    same = copy.deepcopy(model)
    options = {"smoothing": 0.0 if name == "copying" else 0.1, "bf16": bf16}
    make, optimizer = recorded(model, device, **options), make_optimizer(same)
    for number, rows in enumerate(plan):
        part, rate = some_batches().take(rows).to(device), 1e-3 * (1 + number)
        found, expected = make(part, lr=rate), update(same, optimizer, part, lr=rate, **options)
        tolerance = 0.05 if bf16 else 2e-3
        for a, b in ((found.loss.mean, expected.loss.mean), (found.norm, expected.norm)):
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)
        assert int(found.loss.tokens) == part.tokens
    assert len(make._recorded) == 2
    assert not caplog.records


def test_recorded_updates_draw_anew(device):
    torch.manual_seed(3)
    config = ModelConfig("transformer", d_hidden=8, d_feedforward=12, heads=2, dropout=0.5)
    make = recorded(build_model(config, 12, 12).to(device).train(), device)
    part = some_batches().take([3, 9, 20]).to(device)
    losses = {make(part, lr=0.0).loss.total.item() for _ in range(6)}
    assert len(losses) == 6


def test_dropout_drops_the_share_that_it_is_told(device):
    model = build_model(ModelConfig(d_embed=7, d_hidden=11, dropout=0.5), 12, 12).to(device)
    x = torch.ones(20_000, device=device)
    kept = (model.decoder.dropout(x) > 0).double().mean().item()
    assert abs(kept - 0.5) < 5 * (0.25 / 20_000) ** 0.5
    assert torch.equal(model.eval().decoder.dropout(x), x)


def test_learning_goes_on_from_what_it_drew_and_leaves_the_callers_numbers(device):
    losses = []
    for _ in range(2):
        torch.manual_seed(7)
        before = torch.rand(3, device=device)
        model = build_model(ModelConfig(d_embed=7, d_hidden=11, dropout=0.3), 12, 12).to(device)
        losses.append(fit(model, some_batches(), steps=3, seed=4).losses)
        torch.manual_seed(7)
        assert torch.equal(torch.rand(3, device=device), before)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_a_batch_in_pinned_memory_is_the_same_batch(device):
    if device.type != "cuda":
        pytest.skip("only what goes to a GPU is pinned")
    plain = some_batches().take([3, 9, 20])
    pinned = plain._replace(**{n: getattr(plain, n).pin_memory() for n in plain._fields[:4]})
    moved = [x.to(device, non_blocking=True) for x in pinned[:4]]
    torch.cuda.synchronize()
    assert all(torch.equal(a.cpu(), b) for a, b in zip(moved, plain[:4], strict=True))
    assert all(torch.equal(a.cpu(), b) for a, b in zip(pinned.to(device)[:4], plain[:4]))


# --- whole runs ----------------------------------------------------------------------------------


def run(folder, device, **changes):
    trainer = new_run(
        folder / "run", corpus(folder), model=TINY, training=settings(**changes), subwords=0,
        device=device, quiet=True,
    )  # fmt: skip
    trainer.run()
    return trainer


@pytest.mark.parametrize("bf16", [False, True])
def test_a_checkpoint_is_read_on_the_cpu_and_goes_on_there(bf16, device, tmp_path):
    trainer = run(tmp_path, device, steps=6, bf16=bf16, sampling=None)
    model, _, _ = load_model(trainer.run_folder.last, "cpu")
    for a, b in zip(model.state_dict().values(), trainer.model.state_dict().values(), strict=True):
        assert a.device.type == "cpu"
        assert torch.equal(a, b.cpu())
    on_cpu = Translator.load(trainer.run_folder.path, device="cpu")
    there = Translator.load(trainer.run_folder.path, device=device)
    pairs = numbers(12, seed=1)
    if not bf16:
        assert evaluate(on_cpu, pairs).perplexity == pytest.approx(
            evaluate(there, pairs).perplexity, rel=1e-3
        )
    assert resumed_run(trainer.run_folder.path, steps=8, quiet=True).run().state.step == 8


def test_a_resumed_run_equals_one_that_never_stopped(device, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder in (one, two):
        folder.mkdir()
    whole = run(one, device, steps=8, schedule="constant")
    run(two, device, steps=5, schedule="constant", validate_every=5)
    again = resumed_run(two / "run", steps=8, device=device, quiet=True)
    again.run()
    assert whole.state.tokens == again.state.tokens
    if device.type == "cpu":
        pairs = zip(whole.model.parameters(), again.model.parameters(), strict=True)
        assert all(torch.equal(a, b) for a, b in pairs)
    else:  # sums may be taken in another order from run to run
        found = [evaluate(t.translator, numbers(12, seed=1)).perplexity for t in (whole, again)]
        assert found[0] == pytest.approx(found[1], rel=0.05)


def test_a_training_records_its_updates_on_a_gpu(device, tmp_path):
    trainer = run(tmp_path, device, steps=40, sampling=None)
    if device.type == "cuda":
        assert trainer._graphed.records()
        assert trainer._graphed._recorded
    else:
        assert trainer._graphed is None


def test_a_recording_that_fails_leaves_the_training_as_it_was(device, caplog):
    if device.type != "cuda":
        pytest.skip("only a GPU records")
    config = ModelConfig("transformer", d_hidden=8, d_feedforward=12, heads=2, dropout=0.5)
    model = build_model(config, 12, 12).to(device).train()
    model.encoder_norm.register_forward_hook(lambda *_: print(model.vocabulary.bias.sum().item()))
    make, part = recorded(model, device), some_batches().take([3, 9, 20]).to(device)
    losses = {make(part, lr=0.0).loss.total.item() for _ in range(4)}
    assert len(losses) == 4  # it draws as before
    assert not make.records()
    assert "without CUDA graphs" in caplog.text


def test_a_doctor_finds_nothing_wrong(device, tmp_path):
    trainer = run(tmp_path, device, steps=4)
    findings = examine(trainer.translator)
    assert findings
    assert [str(finding) for finding in findings if finding.sound is False] == []
