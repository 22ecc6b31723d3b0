"""Makes the recognition backbone of the embedded world: ``python -m tools.scene_world.pretrain_backbone``.

A network learns to name what lies where: for each of 12 x 12 cells of a scene which thing covers the cell's
middle, its colour, size and pattern, and which backdrop the scene has. It learns from the places and looks of
the things alone; it reads no caption and no relation. Each training scene is seen once; the scenes are those
of the ``train`` split with another seed, so that no scene that is matched later has been seen.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, cast

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from safetensors.torch import save_file
from scene_world import SIZES as COUNTS
from scene_world import placements
from scene_world.drawing import DEPTH, draw_scene
from scene_world.placement import Scene
from scene_world.recognition import FINER, GRID, SIDE, Recognition, backbone
from scene_world.vocabulary import BACKDROPS, COLOURS, NOUNS, PATTERNS, SIZES
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import trange

from workbench.encoders.backbones import Backbone
from workbench.io import replacing
from workbench.training.settings import seed_everything

CELLS = GRID * FINER
# Answer 0 of the first four is that nothing covers the cell.
LOOKS: dict[str, Iterable[str]] = {"noun": NOUNS, "colour": COLOURS, "size": SIZES, "pattern": PATTERNS}
ANSWERS = {"backdrop": tuple(BACKDROPS)} | {name: ("", *known) for name, known in LOOKS.items()}
EMPTY, SEED = 0.2, 1


def targets(scene: Scene) -> NDArray[np.int64]:
    """What lies where.

    Args:
        scene: its backdrop and its things are read; its links are not.

    Returns:
        ``(5, 12, 12)``: for each question of ``ANSWERS`` the number of the answer, by row and column. A
        thing covers the boxes of its items (what is inside another: the upper 70 percent, the rest is
        hidden), and what is drawn later covers what is drawn earlier.
    """
    found = np.zeros((len(ANSWERS), CELLS, CELLS), dtype=np.int64)
    found[0] = ANSWERS["backdrop"].index(scene.backdrop)
    middles = (np.arange(CELLS) + 0.5) * 1000 / CELLS
    for thing in sorted(scene.things, key=lambda thing: DEPTH[thing.row]):
        width, height = thing.item()
        looks = np.array([ANSWERS[name].index(getattr(thing, name)) for name in LOOKS])
        for x, y in thing.offsets():
            across, down = middles - thing.box[0] - x, middles - thing.box[1] - y
            seen = height * 70 // 100 if thing.row == "inside" else height
            rows, columns = (down >= 0) & (down < seen), (across >= 0) & (across < width)
            found[1:, rows[:, None] & columns] = looks[:, None]
    return found


def batch(scenes: Iterable[Scene]) -> tuple[Tensor, Tensor]:
    """Pixels ``(n, 3, 192, 192)`` uint8 and targets ``(n, 5, 12, 12)``."""
    pairs = [(np.asarray(draw_scene(scene, SIDE)), targets(scene)) for scene in scenes]
    pixels, wanted = (torch.from_numpy(np.stack(side)) for side in zip(*pairs, strict=True))
    return pixels.permute(0, 3, 1, 2), wanted


def answers(network: Recognition, features: Tensor) -> tuple[Tensor, ...]:
    """Logits ``(n, answers, 12, 12)`` of each question of ``ANSWERS``."""
    return torch.split(network.logits(features), [len(known) for known in ANSWERS.values()], dim=1)


def accuracy(backbone: Backbone, count: int) -> dict[str, float]:
    """Share of right answers about the first scenes of the ``test`` split: of each question over the cells
    that a thing covers, ``"backdrop"`` over all cells, and ``"nothing"`` = share of the empty cells that are
    called so.
    """
    pixels, wanted = batch(placements("test", range(count)))
    with torch.inference_mode():
        features = torch.cat([backbone.features(some) for some in torch.split(pixels, 20)])
        said = zip(ANSWERS, answers(cast(Recognition, backbone.network), features), strict=True)
    covered = wanted[:, 1] > 0
    hits = {name: logits.argmax(1) == wanted[:, n] for n, (name, logits) in enumerate(said)}
    counted = {name: hit[covered] for name, hit in hits.items()}
    counted |= {"backdrop": hits["backdrop"], "nothing": hits["noun"][~covered]}
    return {name: float(hit.float().mean()) for name, hit in counted.items()}


def learn(steps: int, size: int, lr: float, bf16: bool = False) -> Recognition:
    """Train on ``steps`` batches of ``size`` new scenes; the learning rate rises to ``lr`` and falls to 0."""
    seed_everything(SEED)
    network = Recognition(sum(map(len, ANSWERS.values())))
    network.to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), weight_decay=0.05)
    rates = torch.optim.lr_scheduler.OneCycleLR(optimiser, lr, steps, pct_start=0.15)
    weights = [torch.tensor([EMPTY if word == "" else 1.0 for word in known]) for known in ANSWERS.values()]
    with trange(steps, desc="scenes_backbone", unit=" steps", mininterval=10) as bar:
        for step in bar:
            pixels, wanted = batch(placements("train", range(step * size, (step + 1) * size), SEED))
            ready = (pixels / 127.5 - 1).contiguous(memory_format=torch.channels_last)
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                said = answers(network, network(ready))
            losses = [
                cross_entropy(s.float(), wanted[:, n], w) for n, (s, w) in enumerate(zip(said, weights))
            ]
            loss = torch.stack(losses).sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            rates.step()
            bar.set_postfix(loss=loss.item(), refresh=False)
    return network


def make(
    out: Annotated[Path, typer.Option(help="Folder for the weights and their accuracy.")],
    steps: Annotated[int, typer.Option(help="Batches of new scenes.")] = 2200,
    size: Annotated[int, typer.Option(help="Scenes in a batch.")] = 32,
    lr: Annotated[float, typer.Option(help="Largest learning rate.")] = 2.5e-3,
    bf16: Annotated[bool, typer.Option(help="Half precision, faster where the processor has it.")] = False,
) -> None:
    """Train the recognition backbone of the embedded world and measure it on the test split."""
    out.mkdir(parents=True, exist_ok=True)
    state = learn(steps, size, lr, bf16).state_dict()
    kept = {name: v.half().contiguous() if v.is_floating_point() else v for name, v in state.items()}
    with replacing(out / "model.safetensors") as file:
        save_file(kept, file)
    trained = backbone(out / "model.safetensors")
    made: dict[str, Any] = {"steps": steps, "size": size, "lr": lr, "bf16": bf16, "seed": SEED}
    made["test_scenes"] = COUNTS["test"]
    made["accuracy"] = accuracy(trained, COUNTS["test"])
    (out / "recognition.json").write_text(json.dumps(made, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(make)
