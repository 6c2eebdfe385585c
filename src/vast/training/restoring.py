"""A checkpoint whose content does not fit, in one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vast.errors import UserError


@contextmanager
def fitting(folder: Path) -> Iterator[None]:
    """Turn what goes wrong while a state is loaded into one line."""
    try:
        yield
    except UserError:
        raise
    except KeyError as error:
        raise UserError(f"checkpoint {folder}: {error.args[0]!r} is missing") from error
    except (ValueError, TypeError) as error:
        raise UserError(f"checkpoint {folder} does not fit: {error}") from error
