"""Why a derivative is refused, each kind with what it names.

In: nothing. Out: `Refusal` and its kinds. May not know: how a derivative is found.
"""

from __future__ import annotations

from logosnb.language.errors import LocatedError, LogosError, LogosSyntaxError


class Refusal(LogosError):
    """A derivative that is not given, since it would be wrong, or does not exist."""


class NoGradient(Refusal):
    """The op is a step function of its inputs."""

    def __init__(self, op: str, why: str) -> None:
        super().__init__(f"{op} has no gradient: {why}")
        self.op = op
        self.why = why


class NotDerived(Refusal):
    """The op has a derivative, and its rule is not written."""

    def __init__(self, op: str) -> None:
        super().__init__(
            f"the rule of {op} is not written yet, so nothing before it gets a gradient"
        )
        self.op = op


class NotDifferentiated(Refusal):
    """The loss reaches `tensor` through an operand that the rule of `op` leaves alone."""

    def __init__(self, tensor: str, op: str) -> None:
        super().__init__(
            f"the loss reaches `{tensor}` through an operand of {op} that its rule does not "
            f"differentiate: leave `{tensor}` out of wrt"
        )
        self.tensor = tensor
        self.op = op


class Shapeless(Refusal):
    """A tensor that the derivation needs is declared nowhere."""

    def __init__(self, tensor: str) -> None:
        super().__init__(
            f"`{tensor}` has no shape: declare it, `Let {tensor} be a … by … tensor of Real.`"
        )
        self.tensor = tensor


class Overwritten(Refusal):
    """A rule needs a value that the forward has overwritten by then, and that cannot be recomputed."""

    def __init__(self, tensor: str, line: int) -> None:
        super().__init__(
            f"line {line} overwrites `{tensor}`, whose earlier value a rule needs and nothing can "
            "recompute: write into another tensor"
        )
        self.tensor = tensor
        self.line = line


class Unrecognized(Refusal):
    """The forward has statements that are no stages."""

    def __init__(self, statements: tuple[tuple[int, str], ...]) -> None:
        listed = "\n".join(f"    line {line}: {text}" for line, text in statements)
        super().__init__(f"these statements are not tensor stages, so have no rule:\n{listed}")
        self.statements = statements


class UnknownOutput(Refusal):
    """No stage computes the output and no declaration names it."""

    def __init__(self, tensor: str) -> None:
        super().__init__(f"no stage computes `{tensor}` and nothing declares it")
        self.tensor = tensor


class ParseRefusal(Refusal):
    """The source does not parse."""

    def __init__(self, error: LogosSyntaxError | LocatedError) -> None:
        super().__init__(str(error))
        self.message = error.message
        self.line = error.line
        self.column = error.column
