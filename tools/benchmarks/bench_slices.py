"""Whether planted failures are found, and how often slices are reported where there is none:
``python -m tools.benchmarks.bench_slices``.

Ten plants are ours, ten are drawn by a seed, and ten more by a seed that was first used after the search was
finished: a field of the scenes, one of its values, a damage and its
strength. Each damages images or captions of one slice; the shipped encoder reads them, and the model is
compared with itself on undamaged data. A plant is found where a slice that the search reports overlaps it
(intersection over union) by at least 0.6; its place is written down. Two equal models are simulated by 0/1
values that agree with a given chance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageEnhance, ImageFilter
from slice_search.candidates import Candidates, candidates_of, combine, conditions_of_fields
from slice_search.contrasts import adjust, contrast
from slice_search.search import search_slices

import workbench as wb
from tools.benchmarks.recorded import record
from workbench.metrics.intervals import Draws, clustered_wilson
from workbench.records import Embedding, Field, Split, Values
from workbench.runs.result import Result
from workbench.text.words import words

IMAGES = 1000
# of the simulations
SMALL = 200
SEED = 7
SEED_AFTERWARDS = 2026
OVERLAP = 0.6
SIMULATIONS = 200
LANGUAGES = ("en", "de", "fr", "cs")
SOURCES = ("a", "b", "c", "d", "e", "f")
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Plant:
    """One planted failure.

    Args:
        name: what is damaged, and how.
        mask: ``(T,)`` captions that it is about.
        image, text: ``(N, D)`` unit vectors of the damaged data.
    """

    name: str
    mask: Mask
    image: torch.Tensor
    text: torch.Tensor


class World:
    """Scenes with fields, read by the shipped encoder."""

    def __init__(self, images: int = IMAGES) -> None:
        self.run: Result = wb.open_runs("", images=images)[0]
        self.split: Split = self.run.split
        self.image, self.text = self.run.image.mean, self.run.text.mean
        self.rng = np.random.default_rng(SEED)
        self.fields = self._fields()

    def _fields(self) -> dict[str, Field]:
        split = self.split
        images = range(len(split.image_ids))
        language = self.rng.choice(np.array(LANGUAGES, dtype=object), len(split.captions))
        source = self.rng.choice(np.array(SOURCES, dtype=object), len(split.image_ids))
        numbers = [len(words(caption)) for caption in split.captions]
        bright = [np.asarray(split.open_image(row).convert("L")).mean() for row in images]
        fields = [
            Field("language", language),
            Field("source", source, "image"),
            Field("words", np.array(numbers, np.float64), kind="number"),
            Field("level", np.asarray(split.level, np.float64), kind="number"),
            Field("brightness", np.array(bright), "image", "number"),
        ]
        return {field.name: field for field in fields}

    @cached_property
    def candidates(self) -> Candidates:
        """What is searched."""
        return candidates_of(self.split, "t2i", fields=self.fields)

    def hits(self, image: torch.Tensor, text: torch.Tensor) -> Values:
        """``(T,)`` whether the annotated image comes first."""
        scores = (text @ image.T).numpy()
        own = scores[np.arange(len(scores)), self.split.own]
        scores[np.arange(len(scores)), self.split.own] = -np.inf
        return np.asarray(own > scores.max(axis=1), dtype=np.float64)

    def holds(self, word: str) -> Mask:
        """``(T,)`` which captions hold a word."""
        return np.array([word in words(caption) for caption in self.split.captions])

    def shows(self, name: str) -> Mask:
        """``(I,)`` which images show a thing, a look or a backdrop."""
        graphs = self.split.image_graphs or ()
        looks = [{*graph.objects, *(look for _, look in graph.attributes)} for graph in graphs]
        return np.array([name in shown for shown in looks])

    def reworded(self, name: str, mask: Mask, change: Callable[[str], str]) -> Plant:
        """Return a plant that changes the texts of some captions."""
        rows = np.flatnonzero(mask)
        changed = [change(self.split.captions[row]) for row in rows]
        text = self.text.clone()
        text[rows] = self.run.model.embed_texts(changed).mean
        return Plant(name, mask, self.image, text)

    def repainted(self, name: str, mask: Mask, change: Callable[[Image.Image], Image.Image]) -> Plant:
        """Return a plant that changes some images."""
        rows = np.flatnonzero(mask)
        changed = [change(self.split.open_image(row)) for row in rows.tolist()]
        image = self.image.clone()
        embedded: Embedding = self.run.model.embed_images(changed)
        image[rows] = embedded.mean
        return Plant(name, mask[self.split.own], image, self.text)

    def blurred_captions(self, name: str, mask: Mask, amount: float) -> Plant:
        """Return a plant that adds noise of a length to the vectors of some captions."""
        return Plant(name, mask, self.image, self._with_noise(self.text, mask, amount))

    def blurred_images(self, name: str, mask: Mask, amount: float) -> Plant:
        """Return a plant that adds noise of a length to the vectors of some images."""
        return Plant(name, mask[self.split.own], self._with_noise(self.image, mask, amount), self.text)

    def exchanged(self, name: str, mask: Mask, share: float = 1.0) -> Plant:
        """Return a plant in which a share of some captions belong to other images of the same slice."""
        rows = np.flatnonzero(mask & (self.rng.random(len(mask)) < share))
        text = self.text.clone()
        text[rows] = self.text[self.rng.permutation(rows)]
        return Plant(name, mask, self.image, text)

    def _with_noise(self, vectors: torch.Tensor, mask: Mask, amount: float) -> torch.Tensor:
        noise = torch.from_numpy(self.rng.normal(size=vectors.shape)).float()
        noise *= amount / noise.norm(dim=1, keepdim=True)
        noise[torch.from_numpy(~mask)] = 0
        return torch.nn.functional.normalize(vectors + noise, dim=1)


def _exchange(text: str, first: str, second: str) -> str:
    mark = "\0"
    return text.replace(first, mark).replace(second, first).replace(mark, second)


def own_plants(world: World) -> list[Plant]:
    """Return our ten plants."""
    fields, split = world.fields, world.split
    language, source, level = (fields[name].values for name in ("language", "source", "level"))
    long = fields["words"].values > 20
    dark = fields["brightness"].values <= np.quantile(fields["brightness"].values, 0.2)
    of_source = source[split.own]
    return [
        world.repainted(
            "snow scenes are blurred",
            world.shows("snow"),
            lambda image: image.filter(ImageFilter.GaussianBlur(8)),
        ),
        world.reworded(
            "red and blue are exchanged where red is",
            world.holds("red"),
            lambda text: _exchange(text, "red", "blue"),
        ),
        world.blurred_captions("German is damaged", language == "de", 1.0),
        world.reworded("captions are cut at 20 words", long, lambda text: " ".join(text.split()[:20])),
        world.exchanged("labels of source c are exchanged", of_source == "c"),
        world.reworded(
            "after on, captions that hold it are not read",
            world.holds("on"),
            lambda text: text.split(" on ")[0],
        ),
        world.repainted(
            "dark images are darkened", dark, lambda image: ImageEnhance.Brightness(image).enhance(0.2)
        ),
        world.blurred_captions("French at level 5 is damaged", (language == "fr") & (level == 5), 1.2),
        world.repainted(
            "source e is in black and white",
            source == "e",
            lambda image: image.convert("L").convert("RGB"),
        ),
        world.reworded(
            "spotted is read as striped",
            world.holds("spotted"),
            lambda text: text.replace("spotted", "striped"),
        ),
    ]


def drawn_plants(world: World, count: int = 10, seed: int = SEED) -> list[Plant]:
    """Draw plants: a condition of a field, word or thing of the scenes, a damage and its strength."""
    rng = np.random.default_rng(seed)
    plants: list[Plant] = []
    conditions = [*conditions_of_fields(world.split, "t2i", world.fields, [*world.fields])]
    pool = combine(conditions, world.split.own, minimum=40, pairs=False)
    known = candidates_of(world.split, "t2i", fields={}, minimum=40, pairs=False)
    labels = [*pool.labels, *known.labels]
    masks = np.concatenate([pool.masks, known.masks])
    for row in rng.permutation(len(labels)).tolist():
        share = float(masks[row].mean())
        if share > 0.5 or len(plants) == count:
            continue
        damage = str(rng.choice(["noise", "exchange", "part of the captions"]))
        strength = round(float(rng.uniform(0.6, 1.4)), 2)
        name = f"{labels[row][0]}: {damage}, {strength}"
        if damage == "noise":
            plants.append(world.blurred_captions(name, masks[row], strength))
        elif damage == "exchange":
            plants.append(world.exchanged(name, masks[row], strength / 1.4))
        else:
            plants.append(
                world.reworded(
                    name, masks[row], lambda text: " ".join(text.split()[: len(text.split()) // 2 + 1])
                )
            )
    return plants


def place_of(world: World, plant: Plant, *, alone: bool = False) -> tuple[int, list[str]]:
    """Return the place at which a plant is found, 0 = not at all, and the labels of what is reported.

    Args:
        world: the scenes.
        plant: the failure.
        alone: search the damaged model alone, and not its difference from the undamaged one.
    """
    values = world.hits(plant.image, plant.text)
    if not alone:
        values = values - world.hits(world.image, world.text)
    findings = search_slices(values, world.split.own, world.candidates, worse=-1)
    overlaps = [
        float((part.mask & plant.mask).sum() / (part.mask | plant.mask).sum()) for part in findings.slices
    ]
    places = [place for place, overlap in enumerate(overlaps, 1) if overlap >= OVERLAP]
    return min(places, default=0), [part.label for part in findings.slices]


def false_alarms(
    candidates: Candidates, own: NDArray[np.int64], share: float, simulations: int
) -> dict[str, float]:
    """Simulate equal models: the share of simulations that report any slice, and how often an interval holds
    the true effect, which is zero.

    Args:
        candidates: what is searched.
        own: image of each query.
        share: of the queries that each model answers right.
        simulations: how many.
    """
    rng = np.random.default_rng(SEED)
    reported, covered = [], []
    images = int(own.max()) + 1
    for _ in range(simulations):
        # an image is easy or hard for both models
        ease = np.clip(rng.normal(share, 0.1, images), 0, 1)[own]
        values = (rng.random(len(own)) < ease).astype(float) - (rng.random(len(own)) < ease)
        parts = contrast(values, own, candidates.masks)
        reported.append(bool((adjust(parts.p, "holm") <= 0.05).any()))
        covered.append(float(((parts.low <= 0) & (parts.high >= 0)).mean()))
    return {"reported": float(np.mean(reported)), "coverage": float(np.mean(covered))}


def coverage_of_tables(images: int, ease: tuple[float, float], simulations: int = 2000) -> float:
    """Return how often the interval of a number by slice holds the true share.

    Args:
        images: of the slice, with five captions each, whose hits have an intraclass correlation of 0.2.
        ease: ends of the true shares.
        simulations: how many.
    """
    rng, covered = np.random.default_rng(SEED), []
    draws = Draws(np.repeat(np.arange(images), 5), images)
    for share in rng.uniform(*ease, simulations):
        of_images = rng.beta(share * 4, (1 - share) * 4, images)
        hits = (rng.random((images, 5)) < of_images[:, None]).astype(float).ravel()
        value, moved, there = draws.influence(hits, "t2i")
        low, high = clustered_wilson(value, float((moved**2).sum()), int(there.sum()))
        covered.append(low <= share <= high)
    return float(np.mean(covered))


def main(images: Sequence[str] = ()) -> None:
    """Plant, search, simulate and record."""
    world = World(int(images[0]) if images else IMAGES)
    rows = []
    sets = {"ours": own_plants(world), "drawn": drawn_plants(world)}
    sets["drawn afterwards"] = drawn_plants(world, seed=SEED_AFTERWARDS)
    for origin, plants in sets.items():
        for plant in plants:
            place, labels = place_of(world, plant)
            row = {"plant": plant.name, "from": origin, "place": place, "first": labels[:2]}
            changed = world.hits(plant.image, plant.text) - world.hits(world.image, world.text)
            row["change"] = round(float(changed[plant.mask].mean()), 3)
            row["place alone"] = place_of(world, plant, alone=True)[0]
            row["captions"] = int(plant.mask.sum())
            # of a test of the planted slice alone: no search, and nothing to correct for
            row["p of the slice"] = float(f"{contrast(changed, world.split.own, plant.mask[None]).p[0]:.4g}")
            rows.append(row)
            sys.stdout.write(f"{row}\n")
    early = sum(row["place"] in (1, 2) for row in rows)
    for origin in sets:
        of_set = [row["place"] in (1, 2) for row in rows if row["from"] == origin]
        sys.stdout.write(f"{origin}: {sum(of_set)} of {len(of_set)}\n")
    figures = {"images": len(world.split.image_ids), "searched": len(world.candidates.labels)}
    figures |= {"plants": len(rows), "found": early, "simulations": SIMULATIONS}
    small = World(SMALL)
    figures["searched in simulations"] = len(small.candidates.labels)
    for share in (0.1, 0.3, 0.6):
        alarms = false_alarms(small.candidates, small.split.own, share, SIMULATIONS)
        figures |= {f"{name} at {share}": value for name, value in alarms.items()}
    for ease in ((0.01, 0.06), (0.06, 0.15), (0.2, 0.8)):
        for size in (20, 30, 60, 200):
            figures[f"coverage of tables, {size} images, {ease}"] = coverage_of_tables(size, ease)
    record("slices", figures | {"by plant": rows})
    sys.stdout.write(f"{figures}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
