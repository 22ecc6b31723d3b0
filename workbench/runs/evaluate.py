"""Evaluation: models, finished runs or vectors on any data, every number with its contract."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch

from workbench import metrics as registry
from workbench.metrics import hierarchy
from workbench.metrics.blocks import by_rows
from workbench.metrics.intervals import ROUNDS
from workbench.records import Embedding, Measurement, Split, require
from workbench.registry import check_arguments
from workbench.runs import store
from workbench.runs.about import About
from workbench.runs.by_query import changed_since
from workbench.runs.by_slice import Gallery, slicing_of, with_slices
from workbench.runs.encoder_model import EncoderModel, TrainedModel
from workbench.runs.kinds import Evaluation, Training, read_kind
from workbench.runs.lists import SavedLists, known_numbers, open_lists
from workbench.runs.measure import measure
from workbench.runs.model import Model, Say, silent
from workbench.runs.models import find_run_folder, open_model
from workbench.runs.opening import open_runs, require_same_rows
from workbench.runs.own import Encodes, Ensemble, Joint, SavedVectors
from workbench.runs.pairs import MOST_HOURS, PairScorer
from workbench.runs.qrels import with_ground_truth
from workbench.runs.rerank import Reranked, Reranking, add_second_stage, first_stage, pair_models
from workbench.runs.rescoring import rescore
from workbench.runs.resolve import check_measured
from workbench.runs.result import Result
from workbench.runs.scores import open_scores
from workbench.runs.scoring import note_of, notes_of, require_one_width, require_several, scoring_of
from workbench.runs.spellings import name_of
from workbench.runs.target import Target
from workbench.runs.vector_files import (
    fields_beside,
    name_of_sources,
    notes_without_ids,
    order_as_split,
    origin,
    read_both,
    split_of_rows,
)
from workbench.runs.ways import prompts_of_stages
from workbench.runs.where import Where, data_of, read_data, require_one_subject, require_unread
from workbench.training import computing_threads

AnyModel = Model | Result | Encodes | PairScorer | str | Path


class Subject(NamedTuple):
    """A model and a split that it has embedded.

    Args:
        model: scores the embeddings.
        split: with notes of what the model made of it.
        image, text: embeddings of its images and captions.
        target: how the data are named, if they have a name.
        run: of a finished run that the model is from.
        origin: fields of an ``Evaluation`` that say where the model or the vectors are from.
    """

    model: Model
    split: Split
    image: Embedding
    text: Embedding
    target: Target | None = None
    run: Training | Evaluation | None = None
    origin: Mapping[str, Any] = {}


# options by which models are opened
OF_MODELS = (
    *("pretrained", "random_weights", "prompts", "truncate_dim", "trust_remote_code"),
    *("device", "precision"),
)
# some of them are of what re-ranks as well
OF_RERANKERS = ("prompts", "trust_remote_code", "device", "precision")
# fields of a configuration by which a trained model scores, and what re-ranks
Scoring = tuple[Mapping[str, Any], Reranking]


# Each option is one that a person gives by name; a group of them would have to be looked up.
@check_arguments("evaluate")
def evaluate(  # noqa: PLR0913
    model: AnyModel | Sequence[AnyModel] | None = None,
    data: Any = None,
    *,
    split: str = "",
    images: Any = None,
    texts: Any = None,
    own: Any = None,
    scores: Any = None,
    runs: Any = None,
    qrels: Any = None,
    pretrained: str = "",
    random_weights: bool = False,
    prompts: Mapping[str, str] | None = None,
    truncate_dim: int = 0,
    trust_remote_code: bool = False,
    device: str = "",
    precision: str = "",
    scoring: Mapping[str, Any] | None = None,
    rerank: int = 0,
    reranker: Any = "",
    combine: str = "",
    weight: float | None = None,
    max_hours: float = MOST_HOURS,
    pairs_in: str | Path = "",
    metrics: Sequence[str] = (),
    judge: str = "",
    by: str | Sequence[str] = (),
    gallery: Gallery = "whole",
    name: str = "",
    tags: Sequence[str] = (),
    note: str = "",
    rounds: int = ROUNDS,
    say: Say = silent,
) -> Result:
    """Measure a model, a finished run, vectors, scores or ranked lists on any data: every number with its
    interval and contract. Vectors are compared in float32, whatever their own type.

    Args:
        model: whatever ``open_model`` opens, or a result; left out where vectors are given. Several are one
            ensemble: the mean of their scores.
        data: a name of the data registry, a path, either with its options, such as
            ``{"name": "coco", "root": "mine"}``, a table, a ``Split``, or what else ``load_data`` reads; left
            out, a run or a result is measured on its own data.
        split: of the data; empty = ``test``, and of a path the part that ``load_data`` takes.
        images: ``(I, D)`` vectors as an array, a tensor, a table or a file, or several an image, ``(I, P,
            D)``, see ``vector_files``; in the order of the data where they have no ids.
        texts: ``(T, D)`` vectors, likewise.
        own: ``(T,)`` row of each text's image, where vectors or scores come without data.
        scores: ``(I, T)`` scores that were made elsewhere, larger = more alike, see ``read_scores``.
        runs: ranked lists that were made elsewhere, such as a run file of TREC, see ``run_files``; a list or
            a mapping, ``{"i2t": ..., "t2i": ...}``, of one source a direction.
        qrels: further ground truth in a file of TREC or another source, see ``run_files``; its numbers are
            called ``qrels:...``.
        pretrained: of the model, see ``open_model``.
        random_weights: see there.
        prompts: see there; where a reranker is named, a question is asked by that.
        truncate_dim: see there.
        trust_remote_code: see there; also of a reranker.
        device: see there.
        precision: see there.
        scoring: fields of the configuration by which a model that was trained here scores in place of those
            that it was trained with: options of the objective and ``scorer``; and
            ``wise_ft``, the share of its weights after training in the mean with those before (WiSE-FT). Of
            any other model and of vectors ``scorer`` alone, which compares several vectors an item.
        rerank: score the best so many items of every query again, in both directions; 0 = none.
        reranker: how: whatever ``open_model`` opens, above all an object with ``score(images, texts)``, or a
            scorer of parts of a model that was trained here; empty = what the model has.
        combine: ``"replace"`` the old score, as where it is empty, or ``"sum"`` both, with ``weight``.
        weight: of the new score; ``None`` = 1.
        max_hours: that scoring all pairs may take, see ``PairModel``.
        pairs_in: folder in which scores of pairs are kept, so that an evaluation that was killed goes on;
            those of an object with an ``identity`` are kept in the cache.
        metrics: beyond the usual ones, see ``evaluate_split``; none = those of a run's configuration.
        judge: see there; empty = that of a run, where its metrics are taken.
        by: fields by which every number is measured in slices as well, such as ``"language"`` or
            ``["words:quartiles", "has:negation"]``, see ``slices``; the keys end in ``[language=de]``.
        gallery: what the queries of a slice are ranked among, the ``"whole"`` data or their ``"slice"``.
        name: how tables call the result; empty = the model's own, of vectors those of their files.
        tags: words by which lists of runs are filtered, once the result is saved.
        note: any text, which is saved with the result.
        rounds: bootstrap rounds of the intervals; 0 = none.
        say: is told what scores of pairs cost.

    Returns:
        The result, which ``compare`` and ``explore`` take; ``save`` writes it as a run folder.

    Raises:
        KeyError, FileNotFoundError, ValueError, TypeError: a model, data or vectors that cannot be read or do
            not belong together; the message says how.
        ModuleNotFoundError: a library that the model or the data need is not installed.

    >>> import numpy as np
    >>> vectors = np.eye(3)
    >>> evaluate(images=vectors, texts=vectors[[0, 0, 1, 2]], own=[0, 0, 1, 2])["t2i/R@1"]
    1.0
    """
    options = dict(locals())
    check_measured(metrics, judge, rounds)
    subject = _make_subject(options)
    return _measure_subject(subject, _evaluation_record(subject, options), options)


def _make_subject(options: Mapping[str, Any]) -> Subject:
    """Return what is measured: models, else vectors or scores, with ground truth and a second stage.

    Args:
        options: of ``evaluate``, by name.
    """
    second = Reranking(options["rerank"], options["reranker"], options["combine"], options["weight"])
    scoring = options["scoring"] or {}
    where = Where(options["data"], options["split"], second.k > 0)
    models, images, texts = _list_models(options["model"]), options["images"], options["texts"]
    if texts is None and str(images).endswith(".npz"):
        texts = images  # a file that can hold both
    require_one_subject(models, {**options, "texts": texts}, where.data)
    first, question = prompts_of_stages(options["prompts"], second.reranker)
    how = {name: options[name] for name in OF_MODELS} | {"prompts": first}
    if not models:
        require_unread(where, how, second_stage=second.k > 0)
    if models:
        subject = _subject_of_models(models, where, (scoring, second), how)
    elif images is not None:
        subject = _subject_of_vectors(where, images, texts, options["own"], scoring)
    else:
        subject = _subject_of_scores(where, options["scores"], options["runs"], options["own"])
        subject = subject._replace(model=rescore(subject.model, scoring))
    if options["qrels"] is not None:
        subject = subject._replace(split=with_ground_truth(subject.split, options["qrels"]))
    return _add_reranking(subject, second, {**options, "prompts": question})


def _list_models(model: Any) -> list[Any]:
    """Return the models, of which there are none where vectors are given."""
    if model is None:
        return []
    return list(model) if isinstance(model, list | tuple) else [model]


def _measure_subject(subject: Subject, identity: Evaluation, options: Mapping[str, Any]) -> Result:
    """Measure a subject by the metrics of its identity, or else by those of the run that it is from."""
    model, split, image, text, target, run, _ = subject
    rounds, about = options["rounds"], About(options["name"], options["tags"], options["note"])
    config = run.as_dict() if run else {}
    names, judge = identity.metrics, identity.judge
    strict = True
    if not names and run:
        names, judge = tuple(config.get("metrics", ())), identity.judge or config.get("judge", "")
        check_measured(names, judge, rounds)
        strict = target is None
    how: dict[str, Any] = {"metrics": names, "judge": judge, "rounds": rounds, "strict": strict}
    with computing_threads(int(config.get("threads", 0))):
        threads = torch.get_num_threads()
        measurements, values, best = measure(model, split, image, text, say=options["say"], **how)
        measurements += _measure_chains(subject, rounds)
    split = _note_unmeasured(split, names, measurements)
    if isinstance(model, SavedLists):
        scores, measured = by_rows(model.scores_of_split(image, text)), (measurements, values)
        measurements, values, note = known_numbers(model, scores, split, measured, names, judge)
        split = replace(split, notes=(*split.notes, note)) if note else split
    identity = replace(identity, metrics=names, judge=judge)
    result = Result(
        model.title(about.name or identity.name),
        split,
        lambda: (model, image, text),
        run=identity,
        measurements=measurements,
        values=values,
        best=best,
        about=about,
        threads=threads,
    )
    return with_slices(result, identity.by, identity.gallery, rounds=rounds)


def _note_unmeasured(split: Split, names: Sequence[str], measurements: Sequence[Measurement]) -> Split:
    """Return the split with a note of the metrics that it has no judgements for."""
    known = {m.key.metric for m in measurements}
    left = [name for name in names if registry.load(name).name not in known]
    note = f"not measured, since {split.name} has no judgements for it: {', '.join(left)}"
    return replace(split, notes=(*split.notes, note)) if left else split


def _measure_chains(subject: Subject, rounds: int) -> list[Measurement]:
    """Measure captions that form chains by HierarCaps' protocols, with the empty text as the root."""
    model, split, image, text, *_ = subject
    of_cosines = model.encodes and model.of_unit_length and not model.directed
    if split.level is None or split.chain is None or not of_cosines:
        return []
    root = model.embed_texts([""]).mean[0]
    chains = hierarchy.Chains(split, image.mean.numpy(), text.mean.numpy(), root.numpy())
    return hierarchy.hierarchy_scores(chains, rounds=rounds)


def _evaluation_record(subject: Subject, options: Mapping[str, Any]) -> Evaluation:
    """Return what was evaluated, and on what; how a model scores that was not trained here is known by the
    model.
    """
    model = subject.model
    first = model.first if isinstance(model, Reranked) else model
    asked: dict[str, Any] = {name: options[name] for name in ("split", "precision", "judge")}
    asked |= slicing_of(subject.split, options["by"], options["gallery"])
    asked |= {"metrics": tuple(options["metrics"])}
    asked |= {"scoring": scoring_of(first) or dict(options["scoring"] or {})}
    target, run = subject.target, subject.run
    if isinstance(model, Reranked):
        asked |= {"scoring": {**asked["scoring"], **model.scoring}, "name": model.title()}
    if isinstance(run, Evaluation) and target is None:
        known = {name: value for name, value in asked.items() if value}
        own = {name: asked[name] for name in ("metrics", "judge", "by", "gallery")}
        return replace(run, **{**model.origin, **known, **own})
    fields: dict[str, Any] = {"name": model.title(), **model.origin, **subject.origin, **asked}
    fields |= {"name": model.title()} if isinstance(model, Reranked) else {}
    if isinstance(run, Training):
        training, objective = (name_of(run.config.get(name)) for name in ("data", "objective"))
        seed = run.config.get("seed")
        fields |= {"training": training, "objective": objective, "seed": seed}
    data = Path(target.data.name).name if target else subject.split.name
    return Evaluation(data=data, target=target.model_dump(mode="json") if target else None, **fields)


def _add_reranking(subject: Subject, second: Reranking, options: Mapping[str, Any]) -> Subject:
    """Put a second stage behind a subject."""
    opened = partial(open_model, **{name: options[name] for name in OF_RERANKERS})
    sides = subject.image, subject.text
    model, split, image, text = add_second_stage(subject.model, subject.split, sides, second, opened)
    for scorer in pair_models(model):
        scorer.max_hours, scorer.folder = options["max_hours"], options["pairs_in"]
    return subject._replace(model=model, split=split, image=image, text=text)


def _subject_of_vectors(
    where: Where, images: Any, texts: Any, own: Any, scoring: Mapping[str, Any]
) -> Subject:
    """Return vectors in the order of the data, or with rows of their own."""
    model: Model = SavedVectors()
    part = target = None
    if where.data is not None:
        # images need not be there, of which nothing is read
        part, target = read_data(model, where, where.unread)
    image, text = read_both(images, texts)
    notes = [*image.notes, *text.notes]
    if part is None:
        part = split_of_rows(own, len(image.values), len(text.values), (image.ids, text.ids))
    else:
        notes += notes_without_ids(image, text, part)
    sides = order_as_split(image, text, part)
    part = replace(part, notes=(*part.notes, *notes), fields=fields_beside(image, text, part))
    several = any(side.parts is not None for side in sides)
    model = rescore(model, scoring or ({"scorer": "maxsim"} if several else {}))
    name = name_of_sources({"images": images, "texts": texts})
    from_files: dict[str, Any] = {"images": origin(images, sides[0]), "texts": origin(texts, sides[1])}
    from_files |= {"name": name} if name else {}
    return _note_of_parts(Subject(model, part, *sides, target, origin=from_files))


def _subject_of_scores(where: Where, scores: Any, runs: Any, own: Any) -> Subject:
    """Return a matrix of scores, or ranked lists, in the order of the data, or with rows of their own."""
    split = target = None
    if where.data is not None:
        split, target = read_data(SavedVectors(), where, where.unread)
    if runs is not None and split is not None:
        model, split, origin = open_lists(runs, split)
    else:
        model, split, origin = open_scores(scores, split, own)
    image, text = model.embed(model.source(split))
    return Subject(model, split, image, text, target, origin=origin)


def _subject_of_models(
    models: Sequence[Any], where: Where, scoring: Scoring, how: Mapping[str, Any]
) -> Subject:
    """Return models on the data that were named, else each on those of its own run; several as one."""
    subjects = [_subject_of_model(model, where, scoring, how) for model in models]
    return subjects[0] if len(subjects) == 1 else _join_subjects(subjects)


def _subject_of_model(model: Any, where: Where, scoring: Scoring, how: Mapping[str, Any]) -> Subject:
    """Return a model on the data that were named, else on those of its own run."""
    if isinstance(model, Result):
        return _subject_of_result(model, where, scoring, how)
    folder = _run_of(model, where.data)
    run = read_kind(folder) if folder else None
    if where.data is None and isinstance(run, Evaluation):
        return _subject_of_result(open_runs([str(folder)])[0], where, scoring, how)
    named = model if isinstance(model, Model) else folder or model
    opened = first_stage(open_model(named, **how), *scoring)
    part, target = data_of(opened, where)
    own = where.data is None and where.split in ("", "test")
    if folder and own and (changes := changed_since(folder, part)):
        note = f"{part.name} has changed since {folder} was measured: {changes}"
        part = replace(part, notes=(*part.notes, note))
    return _embed_split(opened, part, target, run)


def _run_of(model: Any, data: Any) -> Path | None:
    """Return the folder of the run that a model is named by or comes from; without data it has to be one.

    Raises:
        FileNotFoundError, LookupError: there is no such run, or several.
        ValueError: a model that is no run, and no data.
    """
    if not isinstance(model, str | Path):
        trained = isinstance(model, TrainedModel)
        require(data is not None or trained, "name the data to evaluate the model on")
        return find_run_folder(model.origin["model"]) if trained and "model" in model.origin else None
    folder = find_run_folder(model)
    if folder is None and data is None:
        return store.find(model).folder
    return folder


def _subject_of_result(result: Result, where: Where, scoring: Scoring, how: Mapping[str, Any]) -> Subject:
    """Return a result on its own rows, with its own embeddings, or its model on other data."""
    own = where.data is None and not where.split
    opened = open_model(result.model, **how)
    model = first_stage(opened, *scoring)
    otherwise = scoring[0] or (scoring[1].k and scoring[1].compares_parts)
    # what other scores of an encoder of this library read is not kept
    if own and not (otherwise and isinstance(model, EncoderModel)):
        sides = result.image, result.text
        return _note_of_parts(Subject(model, result.split, *sides, result.target, result.run))
    part, target = (result.split, result.target) if own else data_of(model, where)
    return _embed_split(model, part, target, result.run)


def _embed_split(
    model: Model, split: Split, target: Target | None, run: Training | Evaluation | None
) -> Subject:
    """Return a split as a model embeds it, with notes of both."""
    source = model.source(split)
    image, text = model.embed(source)
    split = replace(split, notes=(*split.notes, *notes_of(model, source)))
    return _note_of_parts(Subject(model, split, image, text, target, run))


def _note_of_parts(subject: Subject) -> Subject:
    """Return the subject with a note of how its several vectors an item are compared.

    Raises:
        ValueError: both sides have different widths, or one vector an item where several are compared.
    """
    model, split = subject.model, subject.split
    require_one_width(subject.image, subject.text)
    require_several(model, subject.image, subject.text)
    if model.scorer is None:
        return subject
    notes = dict.fromkeys((*split.notes, note_of(model.scorer)))
    return subject._replace(split=replace(split, notes=tuple(notes)))


def _join_subjects(subjects: Sequence[Subject]) -> Subject:
    """Return several models as one, on the rows that all of them have embedded.

    Raises:
        ValueError: they have read different images or captions.
    """
    first = subjects[0]
    for subject in subjects[1:]:
        require_same_rows(f"{first.model.name} and {subject.model.name} read", first.split, subject.split)
    model = Ensemble([subject.model for subject in subjects])
    image = Joint.from_members([subject.image for subject in subjects])
    text = Joint.from_members([subject.text for subject in subjects])
    notes: list[str] = []
    for subject in subjects:
        notes += subject.split.notes
    split = replace(first.split, notes=tuple(dict.fromkeys(notes)))
    return Subject(model, split, image, text, first.target, first.run)
