"""Three tables of the papers on Flickr8k, as a page of the docs: what a user's commands made and cost.

Run: ``python -m tools.benchmarks.record_tables FOLDER``, the root of the runs that the page's commands made;
writes ``docs/tables_flickr8k.md``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from workbench.formatting import format_count, format_number

PAGE = Path(__file__).parents[2] / "docs/tables_flickr8k.md"
BUDGET = "-p data=flickr8k -p train_images=1000 -p epochs=4"
# what is said behind the budget: one seed where all would cost hours
GRIDS = {
    "ditm_table4": "",
    "cora_table3_layers": "-p seed=0",
    "cora_table3_structure": "-p seed=0",
    "cora_table3_losses": "-p seed=0",
    "aahr_table4": "-p seed=0",
}
HEAD = """# Three tables on Flickr8k

Three papers' tables on Flickr8k; CORA's Table 3 takes three grids. The command above each table makes
it. The data lie below the folder that `WORKBENCH_DATA` names: Flickr8k, and HierarCaps for DITM's table.
Training reads frozen features of photographs and words, a thousand images, for four epochs. So small a
budget shows the cost and does not rank the rows. Compare differences with the intervals where there are
several seeds. The features of the photographs had been extracted before. `python -m
tools.benchmarks.record_tables FOLDER` writes this page.
"""


def cost(name: str, root: Path) -> str:
    """How many runs a grid took and how long, in a sentence."""
    runs = [path.parent for path in root.glob("*/*/arms.json") if name in json.loads(path.read_text())]
    seconds = [json.loads((run / "env.json").read_text())["seconds"] for run in runs]
    return (
        f"{format_count(len(runs), 'run')}, {format_number(sum(seconds) / 60, 0)} minutes in all on "
        "one of two cores, "
        f"other work beside; the longest took {format_number(max(seconds), 0)} s."
    )


def main(root: str) -> None:
    """Write the page."""
    parts = [HEAD]
    for name, more in GRIDS.items():
        (page,) = (Path(root) / "tables").glob(f"{name}_flickr8k_*.md")
        made = page.read_text(encoding="utf-8")
        title, rest = made.strip().split("\n", 1)
        command = f"workbench grid 03_train {name} {BUDGET} {more}".rstrip()
        parts.append(f"#{title}\n\n```bash\n{command}\n```\n\n{cost(name, Path(root))}\n{rest}\n")
    PAGE.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
