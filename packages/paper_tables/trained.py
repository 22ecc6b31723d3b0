"""Claims about trained arms: each arm that they name is trained once, and the ledger gets its numbers.

An arm is known by a hash of its whole configuration, its data and the code. Its run lies below the runs in
``claims/<hash>``; one that was cut off goes on from its checkpoint.
"""

import json
import platform
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from paper_tables import claims, probes
from paper_tables.claims import Claim
from workbench import assets
from workbench.execution import executors, grid, parameters
from workbench.execution.library import find_file
from workbench.formatting import format_number
from workbench.metrics.crossed import crossed_variance
from workbench.progress import Task
from workbench.records import Rows, Values, require
from workbench.registry import merge, require_known
from workbench.runs import Config, Target, by_query, load_split
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate
from workbench.runs.resolve import resolve
from workbench.runs.spellings import fields
from workbench.runs.train import train
from workbench.training.samplers import epoch_batches

NOTEBOOK, FOLDER = "03_train", "claims"
# trained on Flickr8k, what claims about levels ask is measured on HierarCaps, and transfer on its photographs
PLACES = {name: where for where, name in claims.PLACES.items()}
MEASURED = {"H": Target(data="hierarcaps")}
# factors of the learning rate at which one seed is trained as well
RATES = (0.5, 2.0)
# says how far an arm can come at a budget
REFERENCE = ("ditm_table3", "VSE++")
# what a reference itself reaches in chance's RSUM, or nothing is said by it
LEARNT = 3.0
# fields that say what the splits are
OF_DATA = ("data", "train_images", "val_images", "test_images")
Arm = tuple[str, str]  # grid and label
Key = tuple[Arm, int, float]  # arm, seed, factor of the learning rate


@dataclass(frozen=True)
class Job:
    """A training: its configuration, the folder of its run, training images, optimiser steps, and the seconds
    that recorded trainings let expect.
    """

    config: Config
    folder: Path
    images: int
    steps: int
    seconds: float

    @property
    def is_done(self) -> bool:
        """Whether its run is there and good."""
        return self.folder.is_dir() and runs.read(self.folder).status == "ok"


def trainable_claims(names: Iterable[str], where: str) -> list[Claim]:
    """Return claims whose arms can be trained on this data, those with the most shared arms first.

    Args:
        names: ids; none takes all.
        where: a value of ``PLACES``.

    Raises:
        KeyError: no such claim. ValueError: one trains nothing there; the message says where it does.
    """
    chosen = [claims.find_claim(name) for name in names]
    for claim in chosen:
        places = ", ".join(claims.DATA[place] for place in claim.data)
        reason = f"its data are {places}" if claim.arms else "it has no arms"
        require(
            _is_trainable(claim, where),
            f"claim {claim.id} has no training on {claims.DATA[where]}: {reason}",
        )
    chosen = chosen or [claim for claim in claims.load_claims().values() if _is_trainable(claim, where)]
    shared = Counter(chain.from_iterable(map(_all_arms, chosen)))
    return sorted(chosen, key=lambda claim: -float(np.mean([shared[arm] for arm in _all_arms(claim)])))


def _all_arms(claim: Claim) -> list[Arm]:
    """Return the arms of all contrasts of a claim, one after another."""
    return list(chain.from_iterable(claim.contrasts))


def _is_trainable(claim: Claim, where: str) -> bool:
    return bool(claim.arms) and where in claim.data


def plan(
    chosen: Sequence[Claim], where: str, seeds: int, root: Path | str, *, rates: bool = False
) -> dict[Key, Job]:
    """Return all trainings of some claims, in their order.

    Args:
        chosen: from ``trainable_claims``.
        where: a value of ``PLACES``.
        seeds: of each arm, from 0, and no more than its questions are stated with.
        root: where runs lie.
        rates: train seed 0 at ``RATES`` as well.

    Raises:
        FileNotFoundError: the data are not there.
    """
    arms = list(dict.fromkeys([REFERENCE, *chain.from_iterable(map(_all_arms, chosen))]))
    labels: dict[str, set[str]] = {}
    for name, label in arms:
        labels.setdefault(name, set()).add(label)
    configs: dict[Arm, Config] = {}
    for name, several in labels.items():
        configs |= _configs(name, several, where)
    # seeds outermost, so that whatever is there is balanced
    seeds = min(seeds, max(claims.planned_seeds(claim, where) for claim in chosen))
    wanted = [(arm, seed, 1.0) for seed, arm in product(range(seeds), arms)]
    further = RATES if rates else ()
    wanted += [(arm, 0, rate) for arm, rate in product(arms, further)]
    return {key: _make_job(key, configs[key[0]], root) for key in wanted}


def _configs(name: str, labels: set[str], where: str) -> dict[Arm, Config]:
    """Return the configurations of some arms of a grid, with the budget of the data below what the grid
    says.
    """
    described, known = (
        grid.read_grid(find_file(name, "grid")),
        parameters.read_parameters(find_file(NOTEBOOK)),
    )
    for label in labels:
        require_known(f"{name} has no arm", label, described["arms"])
    fixed = parameters.override(
        known, claims.budget_of_data(where), described.get("fixed") or {}, claims.recipe_of_grid(name)
    )
    usual = claims.budget_of_data(where)
    arms = {}
    for label in labels:
        budget = claims.budget_of_arm(where, (name, label))
        longer = {} if budget == usual else {"epochs": budget["epochs"]}
        arms[label] = longer | (described["arms"][label] or {})
    planned = grid.plan(NOTEBOOK, {"fixed": fixed, "arms": arms}, {"device": "cpu"})
    lacking = grid.missing_needs({}, planned)
    require(not lacking, "\n".join(lacking), FileNotFoundError)
    configs = {label: Config(**fields(values)) for label, values in planned.items()}
    return {(name, label): _with_short_warmup(_with_options(config)) for label, config in configs.items()}


def _with_short_warmup(config: Config) -> Config:
    """Return a configuration with no more warm-up epochs than claims allow."""
    most = claims.most_warmup_epochs()
    return config.replace(warmup_epochs=most) if resolve(config).warmup_epochs > most else config


def _with_options(config: Config) -> Config:
    """Return a configuration with what lies below the options of its objective, where it has that part."""
    chosen = config.objective
    below = claims.options(chosen.name) if chosen.options.get("mcl") != 0 else {}
    return (
        config.replace(objective={"name": chosen.name, **merge(below, chosen.options)}) if below else config
    )


def _make_job(key: Key, config: Config, root: Path | str) -> Job:
    (name, label), seed, rate = key
    config = config.replace(seed=seed)
    whole = resolve(config)
    if rate != 1:
        config = config.replace(lr=whole.lr * rate)
        whole = resolve(config)
    of_share = "share" in config.data.options
    data, own = _describe_data(config.model_dump_json(include=set(OF_DATA)), seed if of_share else 0)
    images = len(np.unique(own))
    # how many batches there are does not depend on which images are neighbours
    neighbours: dict[str, Any] = {}
    if whole.sampler == "clusters":
        neighbours = {"clusters": np.zeros(images, dtype=np.int64), "clusters_per_batch": 1}
    order = epoch_batches(
        own,
        size=whole.batch_size,
        captions_per_image=whole.captions_per_image,
        seed=0,
        number=0,
        **neighbours,
    )
    steps = whole.epochs * len(order)
    folder = Path(root).resolve() / FOLDER / runs.run_key({**whole.as_dict(), "split": data})
    return Job(
        config, folder, images, steps, _recorded_pace(name, label, config.data.name) * images * whole.epochs
    )


@cache
def _describe_data(values: str, seed: int) -> tuple[str, Rows]:
    """Return what the splits of a configuration are, in words, and whose the training captions are."""
    config = Config(**json.loads(values), seed=seed)
    splits = [load_split(config, name, progress=False) for name in ("train", "val", "test")]
    return "; ".join(split.identity() for split in splits), splits[0].own


@cache
def _recorded_pace(name: str, label: str, data: str) -> float:
    """Return recorded seconds for an image and epoch: those of the arm, else the mean over all arms."""
    table = assets.read_recorded("ablation_arms")
    table = table[(table["data"] == data) & (table["train_images"] > 0)]
    pace = table["seconds"] / (table["train_images"] * table["epochs"])
    of_arm = pace[(table["grid"] == name) & (table["arm"] == label)]
    return float((of_arm if len(of_arm) else pace).mean())


def describe_cost(jobs: Mapping[Key, Job]) -> str:
    """Return what remains to be trained, in a sentence."""
    unique = {job.folder: job for job in jobs.values()}
    left = [job for job in unique.values() if not job.is_done]
    arms, steps = len({arm for arm, _, _ in jobs}), sum(job.steps for job in left)
    minutes = format_number(sum(job.seconds for job in left) / 60, 0)
    return (
        f"{arms} arms, {len(unique)} trainings; {len(unique) - len(left)} are there, {len(left)} remain: "
        f"{steps} steps, about {minutes} minutes of one core by recorded trainings"
    )


def folders(jobs: Mapping[Key, Job]) -> list[str]:
    """Return the folder of each training, a line each."""
    places = []
    for key, job in jobs.items():
        ending = "" if job.is_done else " (not there)"
        places.append(f"{_describe_key(key)}: {job.folder}{ending}")
    return places


def _describe_key(key: Key) -> str:
    ((name, label), seed, rate) = key
    return f"{label} of {name}, seed {seed}" + (f", {rate} times the rate" if rate != 1 else "")


def train_arm(config: Config, folder: Path) -> None:
    """Train one arm into its folder, or go on with it where it was cut off."""
    train(config, folder=folder)


def train_all(
    jobs: Mapping[Key, Job], root: Path | str, executor: str, say: Callable[[str], None]
) -> list[str]:
    """Train what is not there yet, one after another or wherever the executor does.

    Returns:
        Arms that failed, with the reason.
    """
    left = {job.folder: (key, job) for key, job in jobs.items() if not job.is_done}
    failed = []
    with executors.executor(executor, Path(root), {}) as pool, Task("claims", len(left), "arms") as task:
        started = [(key, pool.submit(train_arm, job.config, job.folder)) for key, job in left.values()]
        for number, (key, future) in enumerate(started, 1):
            name = _describe_key(key)
            try:
                future.result()
            except Exception as error:  # noqa: BLE001 - the other arms run on
                failed.append(f"{name}: {error}")
                name = failed[-1]
            task.update()
            say(f"{number}/{len(started)} {name}")
    return failed


def lines_of_contrasts(chosen: Sequence[Claim], where: str, jobs: Mapping[Key, Job]) -> list[dict[str, Any]]:
    """Return a line of the ledger, without its verdict, for each contrast and judge that finished runs
    answer.
    """
    finished = {
        key: _measure_on_data(runs.read(job.folder), where) for key, job in jobs.items() if job.is_done
    }
    sizes = {arm: job.images for (arm, _, _), job in jobs.items()}
    answered: list[dict[str, Any]] = []
    for claim in chosen:
        for arms, (who, keys) in product(claim.contrasts, claim.keys.items()):
            for line in _answer_contrast(claim, where, arms, who, keys, finished):
                line["budget"]["images"] = [sizes[arm] for arm in arms]
                answered.append(line)
    return answered


def _measure_on_data(run: runs.Run, where: str) -> runs.Run:
    """Return the run with its numbers on the data of the claims, measured there where that was not done
    yet.
    """
    if where not in MEASURED:
        return run
    target = MEASURED[where]
    if target.name not in run.evaluations:
        evaluate(run.folder, target).save(run.folder / runs.EVALUATIONS / target.name)
        run = runs.read(run.folder)
    return replace(run, results={**run.results, **run.evaluations[target.name]})


def _answer_contrast(
    claim: Claim,
    where: str,
    arms: Sequence[Arm],
    who: str,
    keys: Sequence[str],
    finished: Mapping[Key, runs.Run],
) -> Iterable[dict[str, Any]]:
    every = [_trained_seeds(finished, arm) for arm in arms]
    seeds = sorted(set.intersection(*every))[: claims.planned_seeds(claim, where)]
    read = partial(_values_of_sides, claim, where, arms, keys, finished)
    values = read(seeds, 1.0) if len(seeds) > 1 else {}
    if not values:
        return
    ran = [finished[arm, seed, 1.0] for arm, seed in product(arms, seeds)]
    first, scale = ran[:: len(seeds)], claims.scale_of(claim, keys)
    # one arm of more than two is no side of the contrast
    own = first[0].results["contracts"]["rsum"] if [*keys, len(arms)] == ["rsum", 2] else {}
    chance = round(own["chance"] * scale, 2) if own else None
    rates = {}
    for rate in RATES:
        scaled = {name: np.multiply(part, scale).tolist() for name, part in read([0], rate).items()}
        if scaled:
            rates[str(rate)] = {name: _round_values(part) for name, part in scaled.items()}
    contrast = claims.contrast_name(arms)
    about = {"chance": chance, "seeds": seeds, "rates": rates, **_provenance(first, ran, where, arms)}
    about |= _scatter(claim, where, keys, [ran[n :: len(seeds)] for n in range(len(seeds))])
    about |= _learned_share(arms, finished) if claim.learns else {"health": 1.0}
    about["asked"] = claims.question_hash(claim, where, arms)
    yield claims.line_of_arms(claim, where, contrast, who, values, **about)


def _learned_share(arms: Sequence[Arm], finished: Mapping[Key, runs.Run]) -> dict[str, float]:
    """Return which share of its reference arm's way from chance the worst arm has gone, by RSUM.

    A reference that has not learnt says of no arm that it has.
    """
    shares = []
    for arm in arms:
        name = claims.reference_label(arm[1])
        way, chance = _mean_sum(REFERENCE if name is None else (arm[0], name), finished)
        if way == 0:
            return {}
        above = _mean_sum(arm, finished)[0]
        shares.append(above / way if way + chance >= LEARNT * chance else 0.0)
    return {"health": round(min(shares), 4)}


def _mean_sum(arm: Arm, finished: Mapping[Key, runs.Run]) -> tuple[float, float]:
    """Return RSUM above chance, in the mean over seeds, and chance; 0 where nothing is there."""
    above, chance = [], 0.0
    for seed in _trained_seeds(finished, arm):
        results = finished[arm, seed, 1.0].results
        chance = float(results["contracts"]["rsum"]["chance"])
        above.append(results["metrics"]["rsum"] - chance)
    return (float(np.mean(above)), chance) if above else (0.0, 0.0)


def _scatter(
    claim: Claim, where: str, keys: Sequence[str], by_seed: Sequence[Sequence[runs.Run]]
) -> dict[str, list[float]]:
    """Return the variance of a contrast's mean over images, its part that seeds do not share, and how many
    images; nothing where a number is none of images.
    """
    if len(by_seed[0]) > 2 or len(by_seed) < 2 or any(key.startswith(probes.PREFIX) for key in keys):
        return {}
    rows = []
    for ran in by_seed:
        sides = [np.mean([by_image(run, where, key) for key in keys], axis=0) for run in ran]
        rows.append(sides[0] - sides[1] if len(sides) > 1 else sides[0])
    parts = crossed_variance(np.stack(rows) * claims.scale_of(claim, keys))
    return {"images": [round(parts.images, 6), round(parts.rest, 6), parts.counts[1]]}


def by_image(run: runs.Run, where: str, key: str) -> Values:
    """Return ``(images,)`` values of a run of which the mean is the number; those without a query are left
    out.
    """
    target = MEASURED.get(where)
    folder = run.folder / runs.EVALUATIONS / target.name if target else run.folder
    metrics = (run.evaluations[target.name] if target else run.results)["metrics"]
    key = key if key in metrics else f"cider:{key}"
    stored = by_query.ByQuery.read(folder)
    require(stored is not None, f"{folder} holds no values by query", FileNotFoundError)
    assert stored is not None
    values, images = stored.values[key], len(stored.image_ids)
    if len(values) == images + len(stored.own):  # a sum over directions
        values = values[:images] + probes.mean_of_captions(stored.own, values[images:])
    elif len(values) == len(stored.own) and key.rpartition(":")[2].startswith("t2i"):
        values = probes.mean_of_captions(stored.own, values)
    return values[~np.isnan(values)]


def _trained_seeds(finished: Mapping[Key, runs.Run], arm: Arm) -> set[int]:
    """Return the seeds with which an arm was trained at its own rate."""
    return {seed for other, seed, rate in finished if other == arm and rate == 1}


def _round_values(values: Iterable[float]) -> list[float]:
    return [round(value, 4) for value in values]


def _provenance(
    first: Sequence[runs.Run], ran: Sequence[runs.Run], where: str, arms: Sequence[Arm]
) -> dict[str, Any]:
    """Return what runs of a contrast were made of and by; ``first`` is one of each arm."""
    env = first[0].env
    machine = f"{platform.machine()}, {env['cpus']} CPUs, torch {env['versions']['torch']}"
    source = {"code": env["code"], "data": first[0].results["split"], "runs": [run.id for run in ran]}
    budget = {**claims.budget_of_arm(where, arms[0]), "steps": [run.results["steps"] for run in first]}
    seconds = round(sum(run.env["seconds"] for run in ran))
    about = {"source": source, "budget": budget, "machine": machine}
    return {**about, "threads": env["threads"], "seconds": seconds}


def _values_of_sides(
    claim: Claim,
    where: str,
    arms: Sequence[Arm],
    keys: Sequence[str],
    finished: Mapping[Key, runs.Run],
    seeds: Sequence[int],
    rate: float,
) -> dict[str, list[float]]:
    """Return the numbers by seed, of the first and the other side; empty where a run has no such number."""
    rows = []
    for arm in arms:
        rows.append([_numbers_of_run(finished.get((arm, seed, rate)), where, keys) for seed in seeds])
    table = np.array(rows, dtype=float)
    if np.isnan(table).any():
        return {}
    return {name: side.tolist() for name, side in contrast_sides(claim, table).items()}


def contrast_sides(claim: Claim, numbers: Values) -> dict[str, Values]:
    """Return ``(seeds,)`` of the first and the other side of a contrast, from ``(arms, seeds, numbers)``."""
    # how far arms are apart by the first number and by the second; else arms, by the mean of their numbers
    per_arm = numbers.std(axis=0, ddof=1).T if claim.models == "spread" else numbers.mean(axis=2)
    per_arm = per_arm[0::2] - per_arm[1::2] if len(per_arm) > 2 else per_arm
    bound = [np.full(numbers.shape[1], claim.bound)] if claim.bound is not None else []
    return dict(zip(("more", "less"), (*per_arm, *bound), strict=False))


def _numbers_of_run(run: runs.Run | None, where: str, keys: Sequence[str]) -> list[float]:
    """Return some numbers of a run, NaN where it lacks one; what labels leave ungraded is graded by
    CIDEr-D.
    """
    metrics = run.results["metrics"] if run else {}
    numbers = []
    for key in keys:
        if run and key.startswith(probes.PREFIX):
            numbers.append(float(np.nanmean(probes.probe_values(run, key, MEASURED.get(where)))))
        else:
            numbers.append(metrics.get(key, metrics.get(f"cider:{key}", np.nan)))
    return numbers
