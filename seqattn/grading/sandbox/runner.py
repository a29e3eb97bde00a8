"""Runs one job in the child: defines an answer, calls it on each case, sends what comes back.

There is nothing here to decide and nothing to compare with: whoever takes over this process can
change the outputs of their own answer, which writing another answer does too.
"""

import __future__

import ast
import builtins
import contextlib
import functools
import gc
import linecache
import sys
import traceback
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from . import wire

ANSWER = "<answer>"
# With it begins, among what is forbidden, the name of a package.
_PACKAGE = "the package "
Send = Callable[[Any], None]


class Hidden:
    """Refuses to import the course's package, the answer key, and what a question forbids."""

    def __init__(self, packages: Sequence[str] = ()):
        self._packages = packages

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Say so if that is what is wanted."""
        package = name.partition(".")[0]
        if package == "seqattn":
            raise ModuleNotFoundError("seqattn cannot be imported while grading", name="seqattn")
        if package in self._packages:
            raise ForbiddenError(f"{_PACKAGE}{package}")


def run(job: dict, send: Send) -> None:
    """Run a job and send one message for each thing that happened.

    Parameters
    ----------
    job : dict
        ``prelude``: code that comes before any answer; ``context``: statements that may fail;
        ``answers``: dicts with ``id``, ``code`` and ``name`` (what the question asks for, and the
        code defines); ``probe``: code that defines ``probe(answer, *inputs)``,
        or "" to call the answer itself; ``cases``: dicts with ``inputs``, ``upstream`` (weights of
        the outputs whose gradients are asked for, or None), ``twice`` (whether to call again),
        ``count`` (whether to count calls of PyTorch), ``reads`` (inputs with more numbers are long:
        count what is computed from them), ``watched`` (whether to look out for ``forbidden``,
        operators that raise when they are called, and packages that do when they are imported) and
        ``wanted`` (for a probe: the entries of its result that count, or None for all that it can
        see); ``arguments``: names of the inputs, "" for those of which no gradients are asked for;
        ``check``: the visible check, as what comes before it and the check itself, or nothing.
        ``preload``, for the worker: modules to import before the fork.
    send : callable
        Takes the messages, plain data.
    """
    names = job.get("forbidden", ())
    packages = [name.removeprefix(_PACKAGE) for name in names if name.startswith(_PACKAGE)]
    for name in [name for name in sys.modules if name.partition(".")[0] in packages]:
        del sys.modules[name]
    sys.meta_path.insert(0, Hidden(packages))
    # Python starts without `site`, which defines these.
    builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    forbidden = _Forbidden([name for name in names if not name.startswith(_PACKAGE)])
    for answer in job["answers"]:
        send({"answer": answer["id"], "event": "start"})
        call = _define(job, answer, send)
        if call is not None:
            for number, case in enumerate(job["cases"]):
                with _watch(forbidden) if case.get("watched") else contextlib.nullcontext():
                    result = _try(call, case)
                if answer.get("noted"):
                    result["form"] = answer["noted"][-1]
                _send_result(send, {"answer": answer["id"], "case": number}, result)
            if job.get("check"):
                _check(job, answer, send)
    send({"event": "done"})


class ForbiddenError(Exception):
    """A function was used that the question asks to write."""


class _Forbidden:
    """Which operators may not run. A variable may be called like one of them.

    Decided where operators are called, below every name that leads to them: PyTorch's own functions
    and methods on the way in, its kernels (``aten``) on the way down.
    """

    def __init__(self, names: Sequence[str]):
        # The family of fused attention kernels carries the beginning of the name alone.
        self.names = {_bare(name).removesuffix("attention") or _bare(name): name for name in names}
        self._free: set[str] = set()

    def check(self, operator: str) -> None:
        """Raise ForbiddenError if an operator is one of them, or is made of one."""
        # The same few are called again and again.
        if operator in self._free:
            return
        for bare, name in self.names.items():
            if bare in _bare(operator):
                raise ForbiddenError(name)
        self._free.add(operator)


def _bare(name: str) -> str:
    return name.rpartition("::")[2].replace("_", "").lower()


class _WatchFunctions(TorchFunctionMode):
    def __init__(self, forbidden: _Forbidden):
        super().__init__()
        self._forbidden = forbidden

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._forbidden.check(getattr(func, "__name__", ""))
        return func(*args, **(kwargs or {}))


class _WatchKernels(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else PyTorch's compiler is loaded, which no confined process can

    def __init__(self, forbidden: _Forbidden):
        super().__init__()
        self._forbidden = forbidden

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self._forbidden.check(func._schema.name)
        return func(*args, **(kwargs or {}))


def _watch(forbidden: _Forbidden) -> contextlib.ExitStack:
    """Enter a block in which these operators may not run."""
    stack = contextlib.ExitStack()
    if forbidden.names:
        stack.enter_context(_WatchFunctions(forbidden))
        stack.enter_context(_WatchKernels(forbidden))
    return stack


def _define(job: dict, answer: dict, send: Send) -> Callable[..., Any] | None:
    """Execute the code of an answer; return what takes a case and calls it."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(job["prelude"], "<prelude>", "exec"), space)
    refused: dict[str, BaseException] = {}
    for statement in job["context"]:
        try:
            exec(compile(statement, "<context>", "exec"), space)
        except ForbiddenError as error:
            refused |= {name: error for node in ast.parse(statement).body for name in _bound(node)}
        except BaseException:
            continue
    lines = answer["code"].splitlines(keepends=True)
    linecache.cache[ANSWER] = (len(answer["code"]), None, lines, ANSWER)
    try:
        failed = _execute(answer["code"], answer["name"], space)
        if answer["name"] not in space and failed:
            raise next(iter(failed.values()))
        entry = space[answer["name"]]
    except BaseException as error:
        send({"answer": answer["id"], "event": "undefined", "error": describe(error)})
        return None
    space[answer["name"]] = answer["made"] = entry
    if not job["probe"]:

        def call(case: dict) -> dict:
            return _call(entry, {**case, "arguments": job.get("arguments", ())})

    else:
        # The probe sees the prelude's names and none of the answer's.
        probe_space: dict[str, Any] = {"__name__": "probe"}
        exec(compile(job["prelude"] + "\n" + job["probe"], "<probe>", "exec"), probe_space)
        probe = probe_space["probe"]
        noted: list[list] = []
        answer["noted"] = noted
        tried = _noting(entry, noted)

        def call(case: dict) -> dict:
            noted.clear()
            probe_space["wanted"] = case.get("wanted")
            return {"value": probe(tried, *_to_torch(case["inputs"]))}

    def called(case: dict) -> dict:
        try:
            return call(case)
        except NameError as error:
            # The name is missing because the line that defines it failed: say that instead.
            raise {**refused, **failed}.get(error.name or "", error) from None

    return called


def _noting(entry: Any, noted: list) -> Any:
    """Wrap a function so that the form of what it returns is noted before a probe looks at it."""
    if not isinstance(entry, types.FunctionType):
        return entry

    @functools.wraps(entry)
    def calling(*args: Any, **kwargs: Any) -> Any:
        value = entry(*args, **kwargs)
        noted[:] = [_form(value)]
        return value

    return calling


# Of so many things in a row each is looked at, and so deep.
_MOST_LOOKED_AT, _DEEP = 12, 4


def _form(value: Any, deep: int = _DEEP) -> list:
    """Describe what a result consists of: types, counts and the names of entries, no values."""
    kind = type(value)
    if value is None:
        return ["None"]
    if kind is dict and deep:
        items = list(value.items())[:_MOST_LOOKED_AT]
        return ["dict", {str(name)[:80]: _form(v, deep - 1) for name, v in items}]
    if kind in (list, tuple) and deep:
        inside = [_form(v, deep - 1) for v in value[:_MOST_LOOKED_AT]]
        return [kind.__name__, len(value), inside]
    if kind in (torch.Tensor, torch.nn.Parameter):
        return ["tensor", [*value.shape]]
    if kind is np.ndarray:
        return ["array", [*value.shape]]
    if isinstance(value, bool | int | float | np.bool_ | np.integer | np.floating):
        return ["number"]
    return ["text"] if kind is str else [kind.__name__[:80]]


def _check(job: dict, answer: dict, send: Send) -> None:
    """Run the visible check on an answer, in names of its own; send what it raised."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(job["prelude"], "<prelude>", "exec"), space)
    space |= {"checking": contextlib.nullcontext, answer["name"]: answer["made"]}
    try:
        for code in job["check"]:
            exec(compile(code, "<check>", "exec"), space)
    except BaseException as error:
        send({"answer": answer["id"], "event": "check", "error": describe(error)})


# What defines names. Everything else acts: prints, draws, tries the answer out.
_DEFINES = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
)


def _execute(code: str, entry: str, space: dict[str, Any]) -> dict[str, BaseException]:
    """Execute an answer statement by statement, as far as it defines what was asked for.

    A print, a plot or a call around the answer does it no harm: an error there is passed over, and
    what acts behind the answer without defining anything is not executed at all.

    Returns
    -------
    dict of str to exception
        By name: why a statement that should define it failed.
    """
    body = ast.parse(code, ANSWER).body
    flags = 0
    for statement in body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= getattr(__future__, alias.name).compiler_flag
    last = max(
        (n for n, statement in enumerate(body) if entry in _bound(statement)), default=len(body)
    )
    used = {n.id for n in ast.walk(ast.Module(body, [])) if isinstance(n, ast.Name)}
    failed: dict[str, BaseException] = {}
    for number, statement in enumerate(body):
        if number > last and not (isinstance(statement, _DEFINES) or _bound(statement) & used):
            continue
        try:
            module = ast.Module([statement], [])
            exec(compile(module, ANSWER, "exec", flags=flags, dont_inherit=True), space)
        except BaseException as error:
            failed |= dict.fromkeys(_bound(statement) or {""}, error)
        else:
            for name in _bound(statement):
                failed.pop(name, None)
    return failed


def _bound(statement: ast.stmt) -> set[str]:
    """Name what a statement binds at the top of a module."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {(a.asname or a.name).partition(".")[0] for a in statement.names}
    if isinstance(statement, ast.Expr):
        return set()
    return {
        n.name if isinstance(n, ast.FunctionDef | ast.ClassDef) else n.id
        for n in ast.walk(statement)
        if isinstance(n, ast.FunctionDef | ast.ClassDef)
        or (isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    }


def _send_result(send: Send, which: dict, result: dict) -> None:
    try:
        send({**which, **result})
    except wire.TooMuchError as error:
        send({**which, "error": describe(error)})


def _try(call: Callable[[dict], dict], case: dict) -> dict:
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    # torch.manual_seed would also note where it was called from, for each kind of device.
    torch.default_generator.manual_seed(0)
    try:
        result = call(case)
        return {"result": {name: _to_plain(value) for name, value in result.items()}}
    except BaseException as error:
        return {"error": describe(error)}


def _call(entry: Callable, case: dict) -> dict:
    """Call a function twice, and report its inputs as they are afterwards."""
    inputs = _to_torch(case["inputs"])
    if case["upstream"] is not None:
        return _gradients(entry, inputs, _to_torch(case["upstream"]), case["arguments"])
    counted = _CountCalls([x for x in _tensors(inputs) if x.numel() > case.get("reads", 0)])
    with counted if case.get("count") else contextlib.nullcontext():
        value = entry(*inputs)
    # Encoded at once: a later call cannot change it any more.
    result = {"value": _to_plain(value), "inputs": _to_plain(inputs)}
    result |= {"calls": counted.calls, "read": counted.read}
    if case["twice"]:
        result["again"] = _to_plain(entry(*_to_torch(case["inputs"])))
    return result


class _CountCalls(TorchFunctionMode):
    """Counts calls of PyTorch: a loop over words makes as many as there are words.

    And how many numbers are computed straight from long inputs. Views of these compute nothing;
    what is computed from a result is no longer read from the inputs.
    """

    calls = read = 0

    def __init__(self, long: Sequence[torch.Tensor]):
        super().__init__()
        self._long = {x.untyped_storage().data_ptr() for x in long}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls += 1
        result = func(*args, **(kwargs or {}))
        if any(map(self._is_long, _tensors([*args, *(kwargs or {}).values()]))):
            made = [x for x in _tensors([result]) if not self._is_long(x)]
            self.read += sum(_bare_tensor(x).numel() for x in made)
        return result

    def _is_long(self, x: torch.Tensor) -> bool:
        try:
            return _bare_tensor(x).untyped_storage().data_ptr() in self._long
        except NotImplementedError:  # sparse ones have no storage of their own
            return False


def _bare_tensor(x: torch.Tensor) -> torch.Tensor:
    """Take a tensor out of what torch.vmap and torch.func put around it: all of the batch."""
    functorch = torch._C._functorch
    while functorch.is_functorch_wrapped_tensor(x):
        x = functorch.get_unwrapped(x)
    return x


def _gradients(entry: Callable, inputs: tuple, upstream: Any, names: Sequence[str]) -> dict:
    """Return the gradients of the outputs' weighted sum with respect to each float input."""
    leaves = {
        name: x
        for name, x in zip(names, inputs)
        if name and isinstance(x, torch.Tensor) and x.is_floating_point()
    }
    for leaf in leaves.values():
        leaf.requires_grad_()
    outputs = entry(*inputs)
    pairs = zip(_tensors(outputs), _tensors(upstream))
    # What has no weight may be infinite, and its product with 0 would be NaN.
    total = sum((out.masked_fill(weight == 0, 0) * weight).sum() for out, weight in pairs)
    if not (isinstance(total, torch.Tensor) and total.requires_grad):
        return {"value": None, "gradients": None}
    gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    return {"value": None, "gradients": dict(zip(leaves, gradients))}


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in _tensors(v)] if isinstance(value, list | tuple) else []


def _to_torch(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        with torch._C.DisableTorchFunction():
            return torch.from_numpy(value.copy())
    if isinstance(value, dict):
        return {name: _to_torch(v) for name, v in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_to_torch(v) for v in value)
    return value


def _to_plain(value: Any) -> Any:
    """Replace tensors by what :mod:`wire` sends. Subclasses could compare as they like: refused."""
    if type(value) in (torch.Tensor, torch.nn.Parameter):
        return _plain_tensor(value)
    if type(value) is dict:
        return {name: _to_plain(v) for name, v in value.items()}
    if type(value) in (wire.Tensor, wire.Other):
        return value
    if type(value) is list:
        return [_to_plain(v) for v in value]
    if isinstance(value, np.bool_ | np.integer | np.floating):
        return value.item()
    if isinstance(value, tuple):
        return tuple(_to_plain(v) for v in value)
    return value


def _plain_tensor(value: torch.Tensor) -> wire.Tensor | wire.Other:
    # It is ours to look at it, and nothing of the answer's runs: whoever watches may look away.
    with torch._C.DisableTorchFunction():
        name = str(value.dtype).removeprefix("torch.")
        if value.device.type != "cpu" or value.layout != torch.strided:
            return wire.Other(f"tensor on {value.device.type}, {value.layout}")
        if value.numel() * value.element_size() > wire.MAX_BYTES:
            raise wire.TooMuchError(f"a tensor of shape {tuple(value.shape)}")
        if name not in wire.DTYPES:
            if not value.is_floating_point():
                return wire.Other(f"tensor of {name}")
            value = value.float()
        # A copy of its own, in which an expand() is undone.
        return wire.Tensor(value.detach().resolve_neg().numpy().copy(), name)


def describe(error: BaseException) -> dict:
    """Say what was raised, where in the answer, and whether the answer raised it itself."""
    line, raised = 0, False
    if isinstance(error, SyntaxError) and error.filename == ANSWER:
        line = error.lineno or 0
    frames = traceback.extract_tb(error.__traceback__, limit=-200)
    for position, frame in enumerate(frames):
        if frame.filename == ANSWER:
            line = frame.lineno or 0
            text = (frame.line or "").strip()
            raised = position == len(frames) - 1 and text.startswith(("raise", "assert"))
    try:
        message = str(error)[:1000]
    except BaseException:
        message = ""
    name = getattr(error, "name", None)
    if isinstance(error, MemoryError | RecursionError):
        gc.collect()
    return {
        "type": type(error).__name__[:80],
        "message": message,
        "line": line,
        "raised": raised,
        "name": name if isinstance(name, str) else None,
    }
