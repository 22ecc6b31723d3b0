"""How the records refuse bad input."""


def require(condition: object, message: str, kind: type[Exception] = ValueError) -> None:
    """Refuse bad input: raise an error with this message unless the condition holds.

    Args:
        condition: anything that is true or false.
        message: names the thing and the remedy. It is made in either case, so what costs time or would fail
            where all is well, such as a search for near names, stands in an ``if`` instead.
        kind: of the error.
    """
    if not condition:
        raise kind(message)
