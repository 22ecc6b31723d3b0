"""The package ``eccv-caption`` as an oracle: its positives as a split, its numbers and ours by the same
keys."""

import json
import warnings
from dataclasses import replace

import numpy as np

from tests.metrics.families import crossed, ranking, recall
from workbench import data
from workbench.data import eccv_caption
from workbench.metrics.ranks import Ranked

TARGETS = ("coco_1k_recalls", "coco_5k_recalls", "cxc_recalls", "eccv_map_at_r", "eccv_rprecision", "eccv_r1")
DISTINCT = 2**22
LETTERS = str.maketrans("0123456789", "abcdefghij")


def word(number):
    """A word for a number: the loader looks whether captions of one image share words."""
    return f"w{number}".translate(LETTERS)


def whole_split(folder):
    """The Karpathy test split by the package's ids; its captions only name their image."""
    own = eccv_caption._read_positives(eccv_caption._package_folder(), "original")[1]
    ids = np.load(eccv_caption._package_folder() / "coco_test_ids.npy").reshape(-1, 5).tolist()
    records = [
        {
            "filepath": "val2014",
            "filename": f"COCO_val2014_{own[row[0]][0]:012}.jpg",
            "imgid": n, "split": "test",
            "sentids": row, "sentences": [{"raw": word(n), "imgid": n, "sentid": i} for i in row],
        }
        for n, row in enumerate(ids)
    ]  # fmt: skip
    (folder / "dataset_coco.json").write_text(json.dumps({"images": records}))
    return data.load("eccv_caption", root=str(folder), source="captions")


def ids_of(split):
    """Numbers of the images and of the captions."""
    images = np.array([int(image[-16:-4]) for image in split.image_ids])
    return images, np.array([int(caption) for caption in split.caption_ids])


def package(split):
    """The package's ``Metrics``, its positives cut to the images of a split that may be smaller than the
    whole."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from eccv_caption import Metrics

        metrics = Metrics()
    images, captions = (set(ids.tolist()) for ids in ids_of(split))
    every_caption = set(metrics.coco_ids.tolist())
    for positives in (metrics.coco_gts, metrics.cxc_gts, metrics.eccv_gts):
        # a caption that no gallery holds stays among the positives
        kept = {
            i: [c for c in items if c in captions or c not in every_caption]
            for i, items in positives["i2t"].items()
        }
        positives["i2t"] = {image: items for image, items in kept.items() if image in images and items}
        kept = {c: [i for i in items if i in images] for c, items in positives["t2i"].items()}
        positives["t2i"] = {
            caption: items for caption, items in kept.items() if caption in captions and items
        }
    metrics.coco_ids = np.array([caption for caption in metrics.coco_ids if int(caption) in captions])
    return metrics


def retrieved(scores, split):
    """The lists that the package reads, best item first, of both directions."""
    # one number object for each item, which keeps the lists small
    images, captions = (ids.astype(object) for ids in ids_of(split))
    i2t = {image: captions[np.argsort(-row)].tolist() for image, row in zip(images, scores, strict=True)}
    return i2t, {
        caption: images[np.argsort(-row)].tolist() for caption, row in zip(captions, scores.T, strict=True)
    }


def theirs(metrics, lists, targets=TARGETS):
    """``compute_all_metrics`` by ``metric/direction``."""
    found = metrics.compute_all_metrics(*lists, target_metrics=targets, Ks=(1, 5, 10))
    return {
        f"{key}/{direction}": float(value) for key, one in found.items() for direction, value in one.items()
    }


def ours(scores, split):
    """The same numbers by this package, from one pass a direction and one of the five folds."""
    own, rated, eccv = (split.judgements[name] for name in ("own", "cxc", "eccv"))
    ranked = Ranked(scores, [own, rated, eccv])
    groups = {
        "coco_1k": recall(scores, own, own=split.own, folds=5, rounds=0),
        "coco_5k": recall(ranked, own, rounds=0),
        "cxc": crossed(ranked, rated, rounds=0),
        "eccv": ranking(scores, eccv, ranked=ranked, graded=False, rounds=0),
    }
    names = {"R@1": "r1", "R@5": "r5", "R@10": "r10", "map_at_r": "map_at_r", "r_precision": "rprecision"}
    out = {}
    for group, measurements in groups.items():
        for m in measurements:
            direction, _, key = m.key.local.partition("/")
            if key in names:
                out[f"{group}_{names[key]}/{direction}"] = m.value
    return out


def cut(split, images):
    """A split of these image rows, which are a multiple of five, with the positives that no gallery holds."""
    captions = np.flatnonzero(np.isin(split.own, images))
    number = np.full(len(split.image_ids), -1)
    number[images] = np.arange(len(images))
    judged = {name: one.restrict(images, captions) for name, one in split.judgements.items()}
    missing = number[split.judgements["eccv"].missing_captions]
    judged["eccv"] = replace(judged["eccv"], missing_captions=missing[missing >= 0])
    return replace(
        split,
        image_ids=tuple(split.image_ids[row] for row in images),
        captions=tuple(split.captions[row] for row in captions),
        caption_ids=tuple(split.caption_ids[row] for row in captions),
        own=number[split.own[captions]],
        judgements=judged,
    )


def untied(rng, images, captions):
    """Random whole numbers of both signs as float32; no two are equal in a row or in a column."""
    table = rng.permutation(DISTINCT).astype(np.float32) - DISTINCT // 2
    rows, columns = (rng.choice(DISTINCT, size, replace=False) for size in (images, captions))
    out = np.empty((images, captions), dtype=np.float32)
    for row, shift in enumerate(rows):
        out[row] = table[(columns + shift) % DISTINCT]
    return out


def case(name, rng, split):
    """Scores without ties, float32 holding each exactly.

    ``random``; ``negative``: all below 0; ``worst``: every positive below all others; ``model``: half of the
    positives above all others; ``hub``: the first caption and the first image are best for everybody.
    """
    scores = untied(rng, len(split.image_ids), len(split.captions))
    good = np.zeros(scores.shape, dtype=bool)
    for judged in split.judgements.values():
        good[judged.images, judged.captions] = True
    if name == "negative":
        scores -= DISTINCT
    if name == "worst":
        scores[good] -= 2 * DISTINCT
    if name == "model":
        scores[good & (rng.random(scores.shape, dtype=np.float32) < 0.5)] += 2 * DISTINCT
    if name == "hub":
        scores[:, 0] += 2 * DISTINCT
        scores[0] += 2 * DISTINCT
    return scores
