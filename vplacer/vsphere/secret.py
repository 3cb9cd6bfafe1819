"""A value that must not be seen."""

from __future__ import annotations

from typing import NoReturn


class Secret:
    """Holds a password or a token; every way to print it prints ``***``.

    Two secrets are equal when their values are. It is not hashable, not copied into pickles, and has
    no attribute that debuggers list. `reveal` is the only way out.
    """

    __slots__ = ("__value",)

    def __init__(self, value: str) -> None:
        self.__value = value

    def reveal(self) -> str:
        """Return the value. Call it where it is used, never store the result."""
        return self.__value

    def __bool__(self) -> bool:
        return bool(self.__value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self.__value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "Secret(***)"

    def __str__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")
