"""The loop. Devices, precision and trackers are accelerate's; everything that a reader wants to see in a step
is here.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain

import torch
from torch import Tensor, nn

from workbench.encoders.base import Pair
from workbench.formatting import format_number, format_value
from workbench.io import flatten, signals
from workbench.metrics.blocks import NanScoresError
from workbench.objectives.base import Objective
from workbench.progress import Task, note
from workbench.records import Batch, Embedding, Rows
from workbench.training import averaging, checkpoint, optimiser, processes, samplers
from workbench.training.batches import BatchShard, Shards, Source, loader
from workbench.training.checkpoint import TrainingPosition
from workbench.training.chunks import ChunkedEmbedding, Encode, require_no_batch_norms
from workbench.training.settings import Settings

History = list[dict[str, float]]
# steps between two looks at the losses on a GPU, which a look waits for
LOOK_EVERY = 16


class NonFiniteLossError(FloatingPointError):
    """The loss, or a score of the validation split, became NaN or infinite. The message says at which step
    and what helps, in one line; of a loss a note of the error holds the ids of the batch.
    """


def fit(
    model: Pair,
    objective: Objective,
    source: Source,
    validate: Callable[[], dict[str, float]],
    settings: Settings,
    *,
    smaller: bool = False,
    position: TrainingPosition | None = None,
    progress: bool = True,
) -> History:
    """Train a model and leave it with the weights of the epoch whose validation is best, or with the mean of
    the last. The model before training is epoch 0: its weights stay where no epoch is better.

    Args:
        model: the two encoders.
        objective: gives the weighted terms whose sum is the loss.
        source: training split, inputs and signals.
        validate: evaluates the model as it is; must return ``"rsum"`` and the number that
            ``settings.select`` names.
        settings: how to train.
        smaller: whether a smaller number is a better one.
        position: where checkpoints go; a checkpoint that lies there is resumed. ``None`` writes nothing.
        progress: show a bar where somebody can see it, elsewhere lines.

    Returns:
        One mapping an epoch: ``epoch``, ``steps`` so far, the mean of every term, ``loss``, what ``validate``
        returned as ``val/...``, ``seconds`` so far. The first is epoch 0, which has no terms.

    Raises:
        NonFiniteLossError: a NaN or infinite loss, or NaN scores in validation, with the step; weights and
            checkpoint stay as before the step. On a GPU it is met up to 16 steps later, and the checkpoint
            alone stays.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the checkpoint holds the last step.
        ValueError: the checkpoint there is damaged or belongs to another run; the message names what differs.
    """
    run = Training(model, objective, source, settings, position)
    run.resume()
    if not run.history and settings.epochs:
        run.end_epoch({}, validate(), smaller)
    total = settings.epochs * run.steps_per_epoch
    steps = Task("training", total, "steps", done=run.step, shown=progress)
    with signals.sigterm_raises(), steps:
        try:
            while 0 < len(run.history) <= settings.epochs and run.has_patience(smaller):
                run.end_epoch(run.train_epoch(steps), run.validate_finite(validate), smaller)
                run.save()
                if progress:
                    note(run.reached())
        except KeyboardInterrupt:
            # an interrupt raised inside a step leaves it incomplete: keep the checkpoint before it
            with signals.defer_signals():
                if not run.in_step:
                    run.save()
            raise
    run.finish()
    return run.history


def split_texts(texts: Embedding, batch: Batch) -> tuple[Embedding, Embedding | None]:
    """Take the captions of a batch and its further texts apart; ``None`` = there are none.

    Args:
        texts: embeddings of both, captions first.
        batch: the captions' own.
    """
    captions = len(batch.caption_ids)
    if len(texts) == captions:
        return texts, None
    return texts.take(slice(captions)), texts.take(slice(captions, None))


class Training:
    """A run between two steps: exactly what a checkpoint holds."""

    def __init__(
        self,
        model: Pair,
        objective: Objective,
        source: Source,
        settings: Settings,
        position: TrainingPosition | None,
    ) -> None:
        self.model = model
        self.objective = objective
        self.source = source
        self.settings = settings
        self.position = position
        self.accelerator = processes.make_accelerator(settings, position.folder if position else None)
        self.device = self.accelerator.device
        model.to(self.device).train()
        objective.to(self.device)
        processes.synchronise_batch_norms(model, self.device)
        if settings.chunk_size:
            require_no_batch_norms(model)
        groups = model.groups()
        rates = optimiser.parameter_groups(groups, objective, settings)
        self.optimiser = self.accelerator.prepare(optimiser.make_optimiser(rates, settings))
        backbones = [group for group in groups if group.role == "image_backbone"]
        parameters = chain.from_iterable(group.parameters.values() for group in backbones)
        self.image_backbone = nn.ParameterList(p for p in parameters if p.requires_grad)
        self.momentum = averaging.Momentum(model, objective.momentum) if objective.momentum else None
        self.steps_per_epoch = len(self.epoch_order(0))
        self.step = 0
        self.in_step = False
        self.history: History = []
        self.sums: dict[str, float] = {}
        self.loss: float | None = None
        # losses, names, batch and number of the steps since the last look; reading them waits for a GPU
        self.unread: list[tuple[Tensor, list[str], Batch, int]] = []
        self.look_every = 1 if self.device.type == "cpu" else LOOK_EVERY
        self.result: dict[str, Tensor] = {}
        self.compiled = cache(torch.compile)
        self.started = time.perf_counter()

    def train_epoch(self, task: Task) -> dict[str, float]:
        """Train to the end of the epoch; returns the mean of every term over the epoch's steps."""
        # epoch 0 is the model before training; one that was stopped in its validation has no step left
        number = len(self.history) - 1
        every = self.settings.checkpoint_every
        warming = number < self.settings.warmup_epochs
        self.model.train()
        self.objective.train()
        self.objective.warm_up(warming)
        self.image_backbone.requires_grad_(not warming)
        for shard in self.shards(number, self.step - number * self.steps_per_epoch, mix=self.settings.mix):
            with signals.defer_signals():
                self.in_step = True
                self.train_step(shard.to(self.device))
                self.step += 1
                self.in_step = False
            task.update(detail=self.position_line())
            if every and self.step % every == 0 and self.step % self.steps_per_epoch:
                self.save()
        self.read_losses()
        return {name: value / self.steps_per_epoch for name, value in self.sums.items()}

    def train_step(self, shard: BatchShard) -> None:
        """Take one step of the optimiser."""
        factor = optimiser.learning_rate_factor(
            self.step, steps_per_epoch=self.steps_per_epoch, settings=self.settings
        )
        for group in self.optimiser.param_groups:
            group["lr"] = group["base_lr"] * factor
        image, texts, chunks = self.encode(self.model, shard)
        text, negatives = split_texts(texts, shard.batch)
        batch = replace(shard.batch, negatives=negatives)
        if self.momentum:
            with torch.no_grad():
                seen, read, _ = self.encode(self.momentum.pair, shard)
                batch = replace(batch, momentum=(seen, split_texts(read, batch)[0]))
        terms = self.objective(image, text, batch)
        loss = torch.stack(list(terms.values())).sum()
        losses = torch.stack([*terms.values(), loss]).detach()
        self.unread.append((losses, [*terms, "loss"], batch, self.step + 1))
        if len(self.unread) >= self.look_every:
            self.read_losses()
        self.optimiser.zero_grad()
        ramp = optimiser.loss_ramp(self.step, steps_per_epoch=self.steps_per_epoch, settings=self.settings)
        self.accelerator.backward(loss * ramp)
        for side in chunks:
            side.backward()
        processes.average_gradients([*self.model.parameters(), *self.objective.parameters()])
        if self.settings.clip_norm:
            trained = list(chain.from_iterable(group["params"] for group in self.optimiser.param_groups))
            self.accelerator.clip_grad_norm_(trained, self.settings.clip_norm)
        self.optimiser.step()
        if self.momentum:
            self.momentum.update()
        self.objective.after_step(image, text, batch)

    def encode(self, pair: Pair, shard: BatchShard) -> tuple[Embedding, Embedding, list[ChunkedEmbedding]]:
        """Return the embeddings of the whole batch in float32, further texts behind its captions, and what
        takes the gradient of chunks back.
        """
        sides = ((pair.image.encode_images, shard.images), (pair.text.encode_texts, shard.captions))
        if self.settings.chunk_size:
            chunks = [ChunkedEmbedding(self.encoder(side), part, self.device) for side, part in sides]
            image, text = (processes.gather(side.embedding) for side in chunks)
            return image, text, chunks
        image, text = (processes.gather(self.encoder(side)(part)) for side, (part,) in sides)
        return image, text, []

    def encoder(self, encode: Encode) -> Encode:
        """Return one side of a model, as the settings have it: compiled, in half precision."""
        encode = self.compiled(encode) if self.settings.compile else encode

        def embed(batch: Batch) -> Embedding:
            with self.accelerator.autocast():
                # half precision ends here: softmax, hinges and logarithms of ratios are computed in float32
                return encode(batch).in_float32(self.device)

        return embed

    def epoch_order(self, epoch: int) -> list[Rows]:
        """Return the caption rows of every batch of an epoch."""
        s = self.settings
        return samplers.epoch_batches(
            self.source.split.own,
            size=s.batch_size,
            captions_per_image=s.captions_per_image,
            seed=s.seed,
            number=epoch,
            clusters=self.source.clusters,
            clusters_per_batch=s.clusters_per_batch if s.sampler == "clusters" else 0,
        )

    def shards(self, epoch: int, done: int = 0, mix: float = 0.0) -> Iterator[BatchShard]:
        """Yield what this process encodes of the batches of an epoch, without those that are done."""
        s = self.settings
        shards = Shards(self.source, mix=mix, seed=s.seed, chunk=s.chunk_size)
        return loader(shards, self.epoch_order(epoch)[done:], workers=s.workers)

    def read_losses(self) -> None:
        """Add the losses since the last look to the sums, which waits for the device once."""
        unread = self.unread
        self.unread = []
        losses = torch.stack([values for values, *_ in unread]).tolist() if unread else []
        for values, (_, names, batch, step) in zip(losses, unread, strict=True):
            named = dict(zip(names, values, strict=True))
            self.require_finite(named, batch, step)
            self.sums |= {name: self.sums.get(name, 0.0) + value for name, value in named.items()}
            self.loss = named["loss"]

    def require_finite(self, losses: Mapping[str, float], batch: Batch, step: int) -> None:
        """Raise if a loss of a step is NaN or infinite.

        Args:
            losses: the terms by name, and their sum as ``loss``.
            batch: of the step.
            step: its number, counted from 1.
        """
        bad = [f"{name}={value}" for name, value in losses.items() if not math.isfinite(value)]
        if not bad:
            return
        became = "NaN" if math.isnan(losses["loss"]) else "infinite"
        hint = self.smaller_steps()
        if step == 1:
            hint = "the weights had not moved yet, so look at the images, the captions and the objective"
        error = NonFiniteLossError(f"the loss became {became} at step {step} ({', '.join(bad)}); {hint}")
        error.add_note(f"images {list(batch.image_ids)}, captions {list(batch.caption_ids)}")
        raise error

    def validate_finite(self, validate: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Return what ``validate`` returns, unless the last steps have left weights whose scores are NaN."""
        try:
            return validate()
        except NanScoresError as error:
            problem = f"the scores of the validation split became NaN by step {self.step} ({error})"
            raise NonFiniteLossError(f"{problem}; {self.smaller_steps()}") from error

    def smaller_steps(self) -> str:
        """Return what makes the steps of this run smaller."""
        rate = f"lower lr={self.settings.lr}"
        norm = f"clip_norm={self.settings.clip_norm}"
        return f"{rate} or {norm}" if self.settings.clip_norm else f"{rate}, or set clip_norm, which is 0"

    @signals.defer_signals()
    def end_epoch(self, terms: Mapping[str, float], values: Mapping[str, float], smaller: bool) -> None:
        """Note the epoch, and update the weights that the run ends with."""
        epoch = self.step // self.steps_per_epoch
        row = {"epoch": float(epoch), "steps": float(self.step), **terms}
        row |= {f"val/{name}": value for name, value in values.items()}
        row["seconds"] = time.perf_counter() - self.started
        self.history.append(row)
        self.sums = {}
        best = averaging.best_epoch(self.history, self.settings.select, smaller=smaller)
        self.result = averaging.update_result(
            self.result,
            checkpoint.copy_weights(self.model, self.objective),
            epoch=epoch,
            swa_from=self.settings.swa_from,
            best=best == len(self.history) - 1,
        )
        self.accelerator.log({name: value for name, value in row.items() if name != "epoch"}, step=self.step)

    def has_patience(self, smaller: bool) -> bool:
        """Return whether the last epochs, as many as ``patience``, may still have been too few."""
        best = averaging.best_epoch(self.history, self.settings.select, smaller=smaller)
        return not self.settings.patience or len(self.history) - 1 - best < self.settings.patience

    def reached(self) -> str:
        """Return how the last epoch ended, in a line."""
        row = self.history[-1]
        place = f"epoch {int(row['epoch'])} of {self.settings.epochs}, step {self.step}"
        loss = format_number(row["loss"], 3)
        rsum = format_value(row["val/rsum"], "sum")
        return f"{place}: loss {loss}, val rsum {rsum}, {format_number(row['seconds'], 0)} s"

    def position_line(self) -> str:
        """Return where the run is: its epoch, and the last loss that was read."""
        epoch = f"epoch {len(self.history)} of {self.settings.epochs}"
        return epoch if self.loss is None else f"{epoch}, loss {format_number(self.loss, 3)}"

    def save(self) -> None:
        """Write everything that the next step depends on."""
        self.read_losses()
        if self.position is None or processes.process_rank():
            return
        state, numbers = checkpoint.optimiser_tensors(self.optimiser)
        tensors = {
            "result": self.result,
            "optimiser": state,
            "random": checkpoint.random_state(self.device),
            "momentum": self.momentum.state() if self.momentum else {},
        }
        facts = {
            "step": self.step,
            "history": self.history,
            "sums": self.sums,
            "numbers": numbers,
            "threads": torch.get_num_threads(),
        }
        checkpoint.write(
            self.position.folder / checkpoint.LAST,
            checkpoint.copy_weights(self.model, self.objective) | flatten(tensors),
            {**facts, checkpoint.MADE_FROM: self.position.made_from},
        )

    def resume(self) -> None:
        """Go on from the checkpoint in the folder, if there is one."""
        saved = self.position and self.position.last()
        if not saved:
            return
        tensors, facts = saved
        checkpoint.load_weights(self.model, self.objective, tensors)
        self.result = checkpoint.tensors_under("result", tensors)
        checkpoint.restore_optimiser(
            self.optimiser, checkpoint.tensors_under("optimiser", tensors), facts["numbers"]
        )
        if self.momentum:
            # what is frozen is not among them
            self.momentum.pair.load_state_dict(checkpoint.tensors_under("momentum", tensors), strict=False)
        checkpoint.restore_random_state(checkpoint.tensors_under("random", tensors), self.device)
        self.step = facts["step"]
        self.history = facts["history"]
        self.sums = facts["sums"]

    def finish(self) -> None:
        """Put the best or the averaged weights in place and close the trackers."""
        if self.result:
            checkpoint.load_weights(self.model, self.objective, self.result)
        if self.settings.swa_from and self.result:
            averaging.refresh_statistics(
                self.model,
                lambda shard: self.encode(self.model, shard.to(self.device)),
                self.shards(0),
            )
        self.image_backbone.requires_grad_(True)
        self.accelerator.end_training()
