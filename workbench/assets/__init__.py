"""Files that come with the package: the embedded world's small pre-trained model, and the configuration that
made it.
"""

from pathlib import Path


def path(name: str) -> Path:
    """Where a shipped file or folder lies.

    Args:
        name: relative to this folder, e.g. ``"scenes"`` or ``"scenes/pretrain.json"``.

    Returns:
        The path, which exists.

    Raises:
        FileNotFoundError: nothing of that name is shipped.

    >>> path("scenes").is_dir()
    True
    """
    folder = Path(__file__).parent
    found = (folder / name).resolve()
    if not found.exists() or not found.is_relative_to(folder.resolve()):
        shipped = sorted(
            p.relative_to(folder).as_posix() for p in folder.rglob("*") if "__" not in p.as_posix()
        )
        raise FileNotFoundError(f"no shipped file {name!r}; there are {', '.join(shipped)}")
    return found
