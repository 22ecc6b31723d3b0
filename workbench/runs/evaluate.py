"""Evaluation: a model, a finished run or vectors on any data, every number with its contract."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from workbench import data as datasets
from workbench import metrics as shelf
from workbench.data.images import below, folder_split
from workbench.data.opening import NoDataError, at
from workbench.formatting import format_count, format_number
from workbench.io import from_user
from workbench.metrics import hierarchy
from workbench.metrics.intervals import ROUNDS
from workbench.records import Embedding, Measurement, Split, require
from workbench.registry import door, merge
from workbench.runs import store
from workbench.runs.about import About
from workbench.runs.build import Target, check_reads, load_split, load_target
from workbench.runs.by_query import changed_since
from workbench.runs.config import Config
from workbench.runs.measure import calibrate, ensemble, evaluate_split, measure
from workbench.runs.model import AnyModel, Encodes, KeptVectors, Model
from workbench.runs.models import evaluated, kept_config, load_model, open_model
from workbench.runs.opening import open_runs
from workbench.runs.resolve import check_measured, make_objective
from workbench.runs.result import OpenRun
from workbench.runs.vector_files import in_order, name_of, origin, read_both, split_of_rows, without_ids
from workbench.runs.weights import with_note
from workbench.training import computing_threads
from workbench.training.batches import Source

# pictures on which a model is tried, and what they are where nobody names any
TRIED = 8
COLOURS = ("black", "blue", "brown", "green", "orange", "red", "white", "yellow")


# Each option is one that a person gives by name; a group of them would have to be looked up.
@door("evaluate")
def evaluate(  # noqa: PLR0913
    model: AnyModel | Encodes | str | Path | None = None,
    data: Any = None,
    *,
    split: str = "",
    images: Any = None,
    texts: Any = None,
    own: Any = None,
    pretrained: str = "",
    random_weights: bool = False,
    device: str = "",
    precision: str = "",
    data_options: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
    judge: str = "",
    name: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    rounds: int = ROUNDS,
) -> OpenRun:
    """Every number of a model on any data, or of vectors that were made elsewhere, each with its interval and
    contract. Vectors are compared in float32, whatever their own type.

    Args:
        model: whatever ``open_model`` opens; left out where vectors are given.
        data: a name of the data shelf, a path, a table, a ``Split``, or whatever else ``load_data`` reads.
        split: of the data; empty = ``test``, and of a path the part that ``load_data`` takes.
        images: ``(I, D)`` vectors as an array, a tensor, a table or a file, see ``vector_files``; in the
            order of the data where they have no ids.
        texts: ``(T, D)`` vectors, likewise.
        own: ``(T,)`` row of each text's image, where vectors come without data.
        pretrained: of the model, see ``open_model``.
        random_weights: see there.
        device: see there.
        precision: see there.
        data_options: of the data.
        metrics: beyond the usual ones, see ``evaluate_split``.
        judge: see there.
        name: how tables call the result; empty = the model's own, of vectors those of their files.
        tags: words by which lists of runs are filtered, once the result is saved.
        note: any text, which is saved with the result.
        rounds: bootstrap rounds of the intervals; 0 = none.

    Returns:
        The result, which ``compare`` and ``explore`` take; ``save`` writes it as a run folder.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: a model, data or vectors that cannot be read or do
            not belong together; the message says how.
        ModuleNotFoundError: a library that the model or the data need is not installed.

    >>> vectors = np.eye(3)
    >>> evaluate(images=vectors, texts=vectors[[0, 0, 1, 2]], own=[0, 0, 1, 2])["t2i/R@1"]
    1.0
    """
    if texts is None and str(images).endswith(".npz"):
        texts = images  # which then holds both
    about = About(name, tags, note)
    check_measured(metrics, judge, rounds)
    _require_one_way(model, data, images, texts, own)
    of_model: dict[str, Any] = {"pretrained": pretrained, "random_weights": random_weights}
    of_model |= {"device": device, "precision": precision}
    _require_owner("a model", model, **of_model)
    _require_owner("data", data, split=split, data_options=data_options)
    made = open_model(KeptVectors() if model is None else model, **of_model)
    options = {"pictures": False} if model is None else {}
    part, target = (None, None) if data is None else _data(made, data, split, data_options or {}, options)
    part, image, text = _embedded(made, part, images, texts, own)
    _require_one_width(image.mean, text.mean)
    found, values, best = measure(made, part, image, text, metrics=metrics, judge=judge, rounds=rounds)
    config = _identity(made, part, target, {"images": (images, image.mean), "texts": (texts, text.mean)})
    config |= {"split": split, "precision": precision, "metrics": list(metrics), "judge": judge}
    title, load = _title(made, name or config["objective"]), lambda: (made, image, text)
    return OpenRun(title, part, load, None, config, found, values=values, best=best, about=about)


def _identity(
    model: AnyModel, split: Split, target: Target | None, vectors: Mapping[str, tuple[Any, Tensor]]
) -> dict[str, Any]:
    """The fields of a configuration that say what was evaluated, and on what.

    Args:
        model: that was evaluated.
        split: that it was evaluated on.
        target: how its data are named, if they have a name.
        vectors: by side, the source if there is one, and what was read there.
    """
    sources = {side: source for side, (source, _) in vectors.items() if source is not None}
    return {
        **model.config.as_dict(),
        "objective": _title(model, name_of(sources)),
        "epochs": 0,
        "data": Path(target.data).name if target else split.name,
        "target": asdict(target) if target else None,
        "model": "",
        "pretrained": "",
        **model.named,
        **{side: origin(source, vectors[side][1]) for side, source in sources.items()},
    }


def _title(model: AnyModel, name: str) -> str:
    """The name that is given, else the model's own; of random weights it says so."""
    name = name or model.name
    return with_note(name) if model.named.get("random_weights") else name


def _require_one_way(model: Any, data: Any, images: Any, texts: Any, own: Any) -> None:
    """Refuse vectors beside a model, or without what says which text belongs to which image."""
    alone = images is not None and texts is not None
    require(alone == (images is not None or texts is not None), "give the vectors of images and of texts")
    require(alone == (model is None), "give a model, or vectors as images and texts, and not both")
    require(
        (data is None) == (own is not None),
        "give data, or vectors with own and no data; open_runs([RUN])[0] has the numbers of a finished run",
    )
    require(alone or own is None, "own belongs to vectors; a model needs data")


def _require_owner(what: str, owner: Any, **values: Any) -> None:
    """Refuse values that nothing would read, since what they belong to is not given."""
    for name, value in values.items():
        require(owner is not None or not value, f"{name}={value!r:.200} belongs to {what}; leave it out")


def _embedded(
    model: AnyModel, split: Split | None, images: Any, texts: Any, own: Any
) -> tuple[Split, Embedding, Embedding]:
    """A split as a model embeds it, or vectors in its order; without a split with rows of their own."""
    if split is not None and images is None:
        source = model.source(split, every_signal=False)
        image_side, text_side = model.embed(source)
        return replace(split, notes=(*split.notes, *notes_of(model, source))), image_side, text_side
    image, text = read_both(images, texts)
    notes = [*image.notes, *text.notes]
    if split is None:
        split = split_of_rows(own, len(image.values), len(text.values), (image.ids, text.ids))
    else:
        notes += without_ids(image, text, split)
    split = replace(split, notes=(*split.notes, *notes))
    image_values, text_values = in_order(image, text, split)
    return split, Embedding(image_values), Embedding(text_values)


def notes_of(model: AnyModel, source: Source) -> tuple[str, ...]:
    """Name what is worth knowing of a model on a split: of its weights, and how many captions it cuts.

    Args:
        model: any.
        source: of the split, as the model made it.
    """
    cut, longest = model.cut(source)
    said = f"{format_count(cut, 'caption')} cut at {longest} tokens, the most that {model.name} reads"
    return (*model.notes, said) if cut else model.notes


def _require_one_width(image: Tensor, text: Tensor) -> None:
    require(
        image.shape[1] == text.shape[1],
        f"images have {image.shape[1]} dimensions and texts {text.shape[1]}; both sides need the same",
    )


def _data(
    model: AnyModel, data: Any, split: str, options: Mapping[str, Any], unnamed: Mapping[str, Any]
) -> tuple[Split, Target | None]:
    """A split as the model reads it, and how its data are named, if they have a name. Data that are not of
    the shelf take more options.
    """
    if isinstance(data, Split):
        return data, None
    if isinstance(data, str | Path):
        data = Target(str(data), dict(options), split)
    if isinstance(data, Target):
        if place := datasets.path_of(data.data):
            data = replace(data, data=str(place.resolve()), data_options={**unnamed, **data.data_options})
        return load_target(model.config, data), data
    return datasets.load(data, **({"split": split} if split else {}), **{**unnamed, **options}), None


def look(model: AnyModel, images: Any, *, name: str = "") -> OpenRun:
    """A model on pictures of one's own, as the explorer takes it: embedded at the first question, and not
    measured.

    Args:
        model: from ``open_model``.
        images: a split, or a folder; pictures without captions are called by the names of their files.
        name: of the column; empty = the model's own.

    Raises:
        FileNotFoundError, ValueError: there is no such folder, or no picture in it.
    """
    split = images if isinstance(images, Split) else pictures(images)
    return OpenRun(
        _title(model, name),
        split,
        cache(lambda: (model, *model.embed(model.source(split, every_signal=False)))),
    )


def evaluate_run(
    *folders: Path | str,
    split: str = "test",
    target: Target | None = None,
    device: str = "",
    scoring: Mapping[str, Any] | None = None,
    metrics: Sequence[str] = (),
    judge: str = "",
    rounds: int = ROUNDS,
    say: Callable[[str], None] = lambda line: None,
) -> list[Measurement]:
    """Measure the model of a finished run again, on a split of its data or on other data; of several runs the
    mean of their scores. Nothing is stored.

    Args:
        folders: the run folders.
        split: ``train``, ``val`` or ``test``, of the runs' own data.
        target: other data.
        device: where the models compute.
        scoring: fields of the configuration by which the models score anew, laid over those that they were
            trained with: ``objective_options``, ``scorer``, ``rerank`` and ``reranker``.
        metrics: as ``evaluate``; none = those of the first run's configuration.
        judge: as ``evaluate``; empty = that of the first run, where its metrics are taken.
        rounds: as ``evaluate``.
        say: is told what re-ranking costs, and that the data are not what the run was measured on.

    Raises:
        FileNotFoundError: a folder holds no checkpoint.
        KeyError, TypeError: options that the objective does not take.
        ValueError: the runs read different images or captions, or cannot read the other data.
    """
    names, grades = _asked(folders[0], metrics, judge, rounds)
    members = []
    for folder in map(Path, folders):
        model = load_model(folder, device=device)
        if evaluated(folder):
            run = open_runs([str(folder)], on=asdict(target) if target else None)[0]
            part = run.split
            if isinstance(model, KeptVectors) and target is None:
                model = KeptVectors((run.image, run.text))
        else:
            config = kept_config(folder)
            part = load_target(config, target) if target else load_split(config, split)
            if split == "test" and not target and (changes := changed_since(folder, part)):
                say(f"{folder}: {part.name} has changed since the run was measured: {changes}")
        model = rescored(model, scoring) if scoring else model
        members.append((model, model.source(part, every_signal=False)))
    scores, first = ensemble(members, say=say), members[0][1].split
    strict = target is None or bool(metrics)
    return evaluate_split(scores, first, strict=strict, metrics=names, judge=grades, rounds=rounds)[0]


def _asked(folder: Path | str, metrics: Sequence[str], judge: str, rounds: int) -> tuple[Sequence[str], str]:
    """The metrics and the judge that somebody asks for, or else those of a run's configuration.

    Raises:
        KeyError, TypeError, ValueError: see ``check_measured``.
    """
    config = store.load(Path(folder) / store.CONFIG)
    names = metrics or config.get("metrics", ())
    grades = judge or ("" if metrics else config.get("judge", ""))
    check_measured(names, grades, rounds)
    return names, grades


def rescored(model: AnyModel, scoring: Mapping[str, Any]) -> Model:
    """A trained model that scores otherwise, with the weights that it has learnt and what its objective then
    chooses on the validation split.

    Args:
        model: of a run.
        scoring: see ``evaluate_run``.

    Raises:
        KeyError, TypeError, ValueError: a model without an objective of its own, options that the objective
            does not take, or that read what the encoders do not give.
    """
    if not isinstance(model, Model):
        raise ValueError(f"{model.name} was not trained here; it scores by the cosine alone")
    config = Config(**merge(model.config.given(), scoring))
    objective = make_objective(config)
    check_reads(config.objective.name, objective, model.pair)
    objective.setup(model.pair.image.embed_dim)
    objective.load_state_dict(dict(model.objective.named_parameters()), strict=False)
    made = replace(model, objective=objective.to(model.device).eval(), config=config)
    if objective.calibrates:
        calibrate(made, made.source(load_split(config, "val"), every_signal=False))
    return made


def evaluate_on(
    folder: Path | str,
    target: Target,
    *,
    device: str = "",
    metrics: Sequence[str] = (),
    judge: str = "",
    rounds: int = ROUNDS,
) -> OpenRun:
    """Measure the model of a finished run on other data, and keep what came out beside the run, in the folder
    ``evaluations`` and there under the name of the target.

    Captions that form chains are measured by HierarCaps' protocols as well, with the empty text as the root.
    A metric that the run asks for and the other data cannot be measured by is named in ``notes``.

    Args:
        folder: of the run.
        target: the other data.
        device: where the model computes.
        metrics: as ``evaluate``; none = those of the run's configuration.
        judge: as ``evaluate``; empty = that of the run, where its metrics are taken.
        rounds: as ``evaluate``.

    Raises:
        FileNotFoundError: the folder holds no checkpoint, or the data are not there.
        KeyError: no such metric or judge.
        ValueError: the model cannot read the data, see ``load_target``, or they have nothing that a metric of
            ``metrics`` is measured by.
    """
    names, grades = _asked(folder, metrics, judge, rounds)
    opened = open_runs([str(folder)], device=device, on=asdict(target))[0]
    split = opened.split
    how: dict[str, Any] = {"metrics": names, "judge": grades, "rounds": rounds, "strict": bool(metrics)}
    with computing_threads(int(opened.config.get("threads", 0))):
        threads = torch.get_num_threads()
        model, image, text = opened.load()
        found, values, best = measure(model, split, image, text, **how)
        if split.level is not None and split.chain is not None:
            sides = (image.mean.numpy(), text.mean.numpy(), model.embed_texts([""]).mean[0].numpy())
            found += hierarchy.hierarchy_scores(hierarchy.Chains(split, *sides))
    known = {m.key.metric for m in found}
    left = [name for name in names if shelf.load(name).name not in known]
    notes = (f"not measured, since {split.name} has no judgements for it: {', '.join(left)}",) if left else ()
    source = model.source(split, every_signal=False)
    told = replace(split, notes=(*split.notes, *notes_of(model, source), *notes))
    run = replace(opened, split=told, measurements=found, values=values, best=best, threads=threads)
    run.save(folder)
    return run


def _plain() -> Split:
    """Pictures of one colour each."""
    return Split(
        "plain colours", COLOURS, tuple(f"a {colour} picture" for colour in COLOURS),
        tuple(f"{colour}#0" for colour in COLOURS), np.arange(len(COLOURS)),
        lambda row: Image.new("RGB", (64, 64), COLOURS[row]),
    )  # fmt: skip


def pictures(folder: str | Path, most: int = 0) -> Split:
    """The pictures of a folder with the captions that lie there; where none do, the names of their files.

    Args:
        folder: of pictures.
        most: the first so many; 0 = all.

    Raises:
        FileNotFoundError, ValueError: there is no such folder, or what lies there cannot be read.
    """
    below(folder)  # refuses a place without pictures
    try:
        split: Split = at(from_user(folder))(split="all", check_images=False)
    except NoDataError:
        return folder_split(folder, most)
    return split.first(most) if most else split


def check_model(
    model: str | Encodes,
    images: Split | str | Path = "",
    *,
    pretrained: str = "",
    random_weights: bool = False,
    device: str = "",
) -> dict[str, str]:
    """A dry check of a model on a few pictures: what it gives, in words, before a folder is embedded.

    Args:
        model: see ``open_model``.
        images: a folder of pictures, or a split; ``""`` = plain colours.
        pretrained: see ``open_model``.
        random_weights: see there.
        device: see there.

    Returns:
        What was looked at and what was found: the shapes of both sides, whether different pictures and texts
        differ, the shape of the scores, and the time an image and a text take.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: as ``open_model`` raises them; also where images
        and texts have different widths, or all images or all texts the same vector.
    """
    split = images if isinstance(images, Split) else pictures(images, TRIED) if images else _plain()
    rows = range(min(TRIED, len(split.image_ids)))
    texts = ["", *(split.captions[row] for row in rows), "a dog", "a red car in the snow"]
    made = open_model(model, pretrained, device=device, random_weights=random_weights)
    said = {"weights": "; ".join(made.notes)} if made.notes else {}
    began = time.perf_counter()
    image = made.embed_images([split.open_image(row) for row in rows]).mean
    between = time.perf_counter()
    text = made.embed_texts(texts).mean
    end = time.perf_counter()
    _require_one_width(image, text)
    for side, vectors in (("images", image), ("texts", text)):
        same = len(vectors) > 1 and torch.allclose(vectors, vectors[:1].expand_as(vectors), atol=1e-6)
        require(not same, f"all {side} have the same vector")
        said[side] = f"{tuple(vectors.shape)}, length {format_number(float(vectors.norm(dim=1).mean()), 3)}"
    shape = made.scores(Embedding(image), Embedding(text)).shape
    said["scores"] = f"{shape[0]} images by {shape[1]} texts; both directions can be ranked"
    said["an image"] = f"{format_number(1000 * (between - began) / len(rows), 1)} ms, its file read"
    said["a text"] = f"{format_number(1000 * (end - between) / len(texts), 1)} ms"
    return said
