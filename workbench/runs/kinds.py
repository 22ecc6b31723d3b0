"""The two kinds of run, a training and an evaluation, as ``run.json`` of a folder says. Nothing here needs
torch.

A training is known by its configuration, an evaluation by the model, the data and how both were read;
``store`` lists the files of a run folder.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from workbench.io import json_value, write_json
from workbench.records import require
from workbench.runs import store


@dataclass(frozen=True)
class Training:
    """A run that trained its model.

    Args:
        config: the resolved configuration as JSON values.
    """

    kind: ClassVar[str] = "training"
    config: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the configuration."""
        return dict(self.config)

    def write(self, folder: Path) -> None:
        """Write ``run.json`` and ``config.json``."""
        write_json(folder / store.CONFIG, self.config)
        write_json(folder / store.KIND, {"kind": self.kind})


@dataclass(frozen=True)
class Evaluation:
    """A run that measured a model which is somewhere else, or vectors.

    Args:
        name: how tables call the model.
        model, pretrained: by which ``open_model`` opens it again; empty where it has no name.
        random_weights: whether nobody trained it.
        images, texts: where vectors came from, by ``file`` and ``checksum``.
        scores: where a matrix of scores came from, likewise.
        runs: where ranked lists came from, by direction.
        data: name of the data.
        target: the fields of ``Target`` of data that have a name.
        split: that was asked for; empty = see ``evaluate``.
        prompts: by direction, what its queries were encoded with.
        truncate_dim: numbers of a vector that were compared; 0 = all.
        trust_remote_code: whether code that lies beside the model was executed.
        precision: in which the model computed; empty = see ``devices``.
        metrics, judge: that were asked for.
        by, gallery: what cut the queries into slices, and what these were ranked among; empty = nothing.
        scoring: fields by which a trained model scored in place of those that it was trained with.
        training, objective, seed: data, objective and seed of a model that was trained here.
    """

    kind: ClassVar[str] = "evaluation"
    name: str = ""
    model: str = ""
    pretrained: str = ""
    random_weights: bool = False
    images: Mapping[str, str] | None = None
    texts: Mapping[str, str] | None = None
    scores: Mapping[str, str] | None = None
    runs: Mapping[str, Mapping[str, str]] | None = None
    data: str = ""
    target: Mapping[str, Any] | None = None
    split: str = ""
    prompts: Mapping[str, str] = field(default_factory=dict)
    truncate_dim: int = 0
    trust_remote_code: bool = False
    precision: str = ""
    metrics: tuple[str, ...] = ()
    judge: str = ""
    by: tuple[str, ...] = ()
    gallery: str = ""
    scoring: Mapping[str, Any] = field(default_factory=dict)
    training: str = ""
    objective: str = ""
    seed: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        fields: dict[str, Any] = json_value(asdict(self), store.KIND)
        return fields

    def write(self, folder: Path) -> None:
        """Write ``run.json``."""
        write_json(folder / store.KIND, {"kind": self.kind, **self.as_dict()})


def read_kind(folder: Path) -> Training | Evaluation | None:
    """Read which kind of run a folder holds; ``None`` = it keeps no model and no numbers of one.

    Args:
        folder: of the run.

    Raises:
        ValueError: a file of it is damaged, or of another version; the message names it.
    """
    fields = store.load(folder / store.KIND)
    kind = fields.pop("kind", "")
    if kind == Training.kind:
        return Training(store.load(folder / store.CONFIG))
    if not fields and not kind:
        return None
    file = folder / store.KIND
    require(kind == Evaluation.kind, f"{file} cannot be read: the kind of run is {kind!r}")
    unknown = fields.keys() - Evaluation.__dataclass_fields__.keys()
    require(not unknown, f"{file} cannot be read: no field {min(unknown, default='')!r}; evaluate again")
    metrics, by = tuple(fields.pop("metrics", ())), tuple(fields.pop("by", ()))
    return Evaluation(metrics=metrics, by=by, **fields)
