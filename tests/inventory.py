"""What a user can name: verbs, members of shelves, notebooks and their parameters, settings, presets, grids.
``python -m tests.inventory`` writes it anew.
"""

import json
from pathlib import Path
from typing import Any

from typer.main import get_command

from workbench import data, encoders, metrics, objectives, text
from workbench.assets import annexes
from workbench.cli import app
from workbench.execution import library, parameters
from workbench.runs.config import FIELDS

SHELVES = {"objectives": objectives, "encoders": encoders, "data": data, "text": text, "metrics": metrics}
KEPT = Path(__file__).with_name("inventory.json")


def inventory() -> dict[str, Any]:
    root = library.shipped()
    places = [root, *annexes()]
    command: Any = get_command(app)
    books = sorted(root.glob("*.ipynb"))
    return {
        "verbs": {
            name: sorted(option for one in verb.params for option in one.opts if option.startswith("--"))
            for name, verb in sorted(command.commands.items())
        },
        "shelves": {name: shelf.names() for name, shelf in SHELVES.items()},
        "notebooks": {book.stem: sorted(parameters.inspect(book)) for book in books},
        "settings": sorted(FIELDS),
        "presets": sorted(path.stem for path in (root / "configs").iterdir()),
        "grids": sorted(path.stem for place in places for path in (place / "grids").glob("*.yaml")),
        "parameter files": sorted(path.stem for path in (root / "parameters").glob("*.yaml")),
    }


if __name__ == "__main__":
    KEPT.write_text(json.dumps(inventory(), indent=1) + "\n", encoding="utf-8")
