"""The loop, its optimiser, and the learning rate as a pure function of the step. Devices, precision and
trackers are accelerate's; everything that a reader wants to see in a step is here.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Adam, AdamW, Optimizer

from workbench.encoders.base import Pair, ParameterGroup
from workbench.formatting import format_value
from workbench.io import signals
from workbench.objectives.base import Objective
from workbench.progress import bar
from workbench.records import Batch, Embedding, require
from workbench.training import averaging, checkpoint, norms, processes, samplers
from workbench.training.averaging import Momentum
from workbench.training.batches import Source
from workbench.training.chunks import Chunks
from workbench.training.processes import Share, accelerator
from workbench.training.settings import Settings
from workbench.training.sharding import FEWEST, Shards, whole

History = list[dict[str, float]]
# steps between two looks at the losses on a GPU, which a look waits for
LOOK_EVERY = 16


class NonFiniteLossError(FloatingPointError):
    """The loss became NaN or infinite; the message holds the ids of the batch."""


def fit(
    model: Pair,
    objective: Objective,
    source: Source,
    validate: Callable[[], dict[str, float]],
    settings: Settings,
    *,
    smaller: bool = False,
    place: checkpoint.Place | None = None,
    progress: bool = True,
) -> History:
    """Train a model and leave it with the weights of the epoch whose validation is best, or with the mean of
    the last. The model before training is epoch 0: it is kept where no epoch is better.

    Args:
        model: the two encoders.
        objective: gives the weighted terms whose sum is the loss.
        source: training split, inputs and signals.
        validate: evaluates the model as it is; must return ``"rsum"`` and the number that
            ``settings.select`` names.
        settings: how to train.
        smaller: whether a smaller number is a better one.
        place: where checkpoints go; a checkpoint that lies there is resumed. ``None`` keeps nothing.
        progress: show a bar where somebody can see it.

    Returns:
        One mapping an epoch: ``epoch``, ``steps`` so far, the mean of every term, ``loss``, what ``validate``
        returned as ``val/...``, ``seconds`` so far. The first is epoch 0, which has no terms.

    Raises:
        NonFiniteLossError: a NaN or infinite loss, with the batch ids; weights and checkpoint stay as before
            the step. On a GPU it is met up to 16 steps later, and the checkpoint alone stays.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the checkpoint holds the last step.
        ValueError: the checkpoint there is damaged or belongs to another run; the message names what differs.
    """
    run = _Run(model, objective, source, settings, place)
    run.resume()
    if not run.history and settings.epochs:
        run.close_epoch({}, validate(), smaller)
    steps = bar(settings.epochs * run.steps_per_epoch, "training", "step", done=run.step, progress=progress)
    with signals.sigterm_raises(), steps:
        try:
            while 0 < len(run.history) <= settings.epochs:
                run.close_epoch(run.one_epoch(steps), found := validate(), smaller)
                run.save()
                steps.set_postfix({"val rsum": format_value(found["rsum"], "sum")})
        except KeyboardInterrupt:
            # raised inside a step and by no signal, it leaves half a step: then the last checkpoint stands,
            # and where weights are cut, since no process puts them together alone
            with signals.deferred():
                if not run.stepping and not run.shards:
                    run.save()
            raise
    run.finish()
    return run.history


class _Run:
    """The state of a run between two steps: exactly what a checkpoint holds."""

    def __init__(
        self,
        model: Pair,
        objective: Objective,
        source: Source,
        settings: Settings,
        place: checkpoint.Place | None,
    ) -> None:
        self.model, self.objective, self.source, self.settings = model, objective, source, settings
        own = settings.model_dump(mode="json")
        self.place = place and replace(place, made_from={**own, **place.made_from})
        self.accelerator = accelerator(settings, place.folder if place else None)
        self.device = self.accelerator.device
        model.to(self.device)
        objective.to(self.device)
        self.shards = self._cut() if settings.shard and processes.world() > 1 else None
        groups = model.groups()
        rates = parameter_groups(groups, objective, settings)
        self.optimiser = self.accelerator.prepare(make_optimiser(rates, settings))
        backbone = (group.parameters.values() for group in groups if group.role == "image_backbone")
        self.backbone = [p for parameters in backbone for p in parameters if p.requires_grad]
        self.momentum = Momentum(model, objective.momentum) if objective.momentum else None
        self.steps_per_epoch = len(self._order(0))
        self.step, self.stepping = 0, False
        self.history: History = []
        self.sums: dict[str, float] = {}
        # losses, their names and the batch of the steps since the last look; reading them waits for a GPU
        self.unread: list[tuple[Tensor, list[str], Batch]] = []
        self.look_every = 1 if self.device.type == "cpu" else LOOK_EVERY
        self.kept: dict[str, Tensor] = {}
        self.compiled = cache(torch.compile)
        self.started = time.perf_counter()

    @property
    def epoch(self) -> int:
        return self.step // self.steps_per_epoch

    def _cut(self) -> Shards:
        world = processes.world()
        require(
            not self.objective.momentum,
            "shard: this objective keeps a second copy of the encoders, which is not cut; set shard=false",
        )
        smallest = min(map(len, self._order(0)))
        require(
            smallest >= FEWEST * world,
            f"shard: the smallest batch has {smallest} captions, and {world} processes need {FEWEST} each; "
            "set another batch_size, or shard=false",
        )
        require(
            not 0 < self.settings.chunk_size < 2 * FEWEST,
            f"shard: chunk_size={self.settings.chunk_size} leaves chunks of fewer than {FEWEST} captions; "
            f"set {2 * FEWEST} or more, or 0",
        )
        return Shards(self.model, world, self.device)

    def _order(self, number: int) -> list[Any]:
        s = self.settings
        return samplers.epoch(
            self.source.split.own,
            size=s.batch_size,
            captions_per_image=s.captions_per_image,
            seed=s.seed,
            number=number,
            clusters=self.source.clusters,
            clusters_per_batch=s.clusters_per_batch if s.sampler == "clusters" else 0,
        )

    def one_epoch(self, bar: Any) -> dict[str, float]:
        """Train to the end of the epoch; returns the mean of every term over the epoch's steps."""
        # epoch 0 is the model before training; one that was stopped in its validation has no step left
        s, number = self.settings, len(self.history) - 1
        warming = number < s.warmup_epochs
        self.model.train()
        self.objective.train()
        self.objective.warm_up(warming)
        self._freeze_image_backbone(warming)
        order = self._order(number)[self.step - number * self.steps_per_epoch :]
        for share in self._shares(order, mix=s.mix):
            with signals.deferred():
                self.stepping = True
                self.one_step(share.to(self.device))
                self.step, self.stepping = self.step + 1, False
            bar.update()
            if (
                s.checkpoint_every
                and self.step % s.checkpoint_every == 0
                and self.step % self.steps_per_epoch
            ):
                self.save()
        self.read_losses()
        return {name: value / self.steps_per_epoch for name, value in self.sums.items()}

    def _shares(self, order: list[Any], mix: float = 0.0) -> Iterator[Share]:
        s = self.settings
        return processes.loader(
            self.source, order, workers=s.workers, mix=mix, seed=s.seed, chunk=s.chunk_size
        )

    def encode(self, pair: Pair, share: Share) -> tuple[list[Embedding], list[Chunks]]:
        """Embed the share; the result is the whole batch, in float32, and the chunks that take its gradient
        back.
        """

        def encoded(encode: Callable[[Batch], Embedding], batch: Batch) -> Embedding:
            encode = self.compiled(encode) if self.settings.compile else encode
            with self.accelerator.autocast():
                # Half precision ends here: softmax, hinges and logarithms of ratios are computed in float32.
                return encode(batch).in_float32(self.device)

        sides = ((pair.image, pair.image.images, share.images), (pair.text, pair.text.texts, share.captions))
        if self.settings.chunk_size:
            chunks = [Chunks(one, partial(encoded, do), parts, self.device) for one, do, parts in sides]
            return [processes.gather(one.embedding) for one in chunks], chunks
        with norms.whole_statistics():
            made = [encoded(do, part) for _, do, (part,) in sides]
        return [processes.gather(one) for one in made], []

    def one_step(self, share: Share) -> None:
        """One optimiser step."""
        steps, settings, batch = self.steps_per_epoch, self.settings, share.batch
        for group in self.optimiser.param_groups:
            group["lr"] = group["base_lr"] * learning_rate_factor(
                self.step, steps_per_epoch=steps, settings=settings
            )
        (image, text), chunks = self.encode(self.model, share)
        if self.momentum:
            with torch.no_grad():
                slow_image, slow_text = self.encode(self.momentum.pair, share)[0]
            batch = replace(batch, momentum=(slow_image, slow_text))
        terms = self.objective(image, text, batch)
        loss = torch.stack(list(terms.values())).sum()
        self.unread.append((torch.stack([*terms.values(), loss]).detach(), [*terms, "loss"], batch))
        if len(self.unread) >= self.look_every:
            self.read_losses()
        self.optimiser.zero_grad()
        self.accelerator.backward(loss * loss_ramp(self.step, steps_per_epoch=steps, settings=settings))
        for one in chunks:
            one.backward()
        processes.average_gradients(self.model.parameters(), self.objective.parameters())
        if settings.clip_norm:
            trained = [parameter for group in self.optimiser.param_groups for parameter in group["params"]]
            clip = clip_norm if self.shards else self.accelerator.clip_grad_norm_
            clip(trained, settings.clip_norm)
        self.optimiser.step()
        if self.momentum:
            self.momentum.update()
        self.objective.after_step(image, text, batch)

    def read_losses(self) -> None:
        """Add the losses since the last look to the sums, which waits for the device once."""
        unread, self.unread = self.unread, []
        found = torch.stack([values for values, *_ in unread]).tolist() if unread else []
        for values, (_, names, batch) in zip(found, unread, strict=True):
            named = dict(zip(names, values, strict=True))
            if bad := [f"{name}={value}" for name, value in named.items() if not math.isfinite(value)]:
                where = f"images {list(batch.image_ids)}, captions {list(batch.caption_ids)}"
                raise NonFiniteLossError(f"{', '.join(bad)} at {where}")
            self.sums |= {name: self.sums.get(name, 0.0) + value for name, value in named.items()}

    @signals.deferred()
    def close_epoch(self, terms: Mapping[str, float], found: Mapping[str, float], smaller: bool) -> None:
        """Note the epoch and keep the weights that the run is for."""
        row = {
            "epoch": float(self.epoch),
            "steps": float(self.step),
            **terms,
            **{f"val/{name}": value for name, value in found.items()},
            "seconds": time.perf_counter() - self.started,
        }
        self.history.append(row)
        self.sums = {}
        best = averaging.best_epoch(self.history, self.settings.select, smaller=smaller)
        self.kept = averaging.kept(
            self.kept,
            checkpoint.weights(self.model, self.objective),
            epoch=self.epoch,
            swa_from=self.settings.swa_from,
            best=best == len(self.history) - 1,
        )
        self.accelerator.log({name: value for name, value in row.items() if name != "epoch"}, step=self.step)

    def save(self) -> None:
        """Write everything that the next step depends on."""
        self.read_losses()
        # what is cut is put together by all
        if self.place is None or (processes.rank() and not self.shards):
            return
        state, numbers = checkpoint.optimiser_tensors(self.optimiser)
        tensors = (
            checkpoint.weights(self.model, self.objective)
            | checkpoint.prefixed("kept", self.kept)
            | checkpoint.prefixed("optimiser", state)
            | checkpoint.prefixed("random", checkpoint.random_state(self.device))
            | checkpoint.prefixed("momentum", self.momentum.state() if self.momentum else {})
        )
        facts = {
            "step": self.step,
            "history": self.history,
            "sums": self.sums,
            "numbers": numbers,
            checkpoint.MADE_FROM: self.place.made_from,
        }
        if not processes.rank():
            checkpoint.write(self.place.folder / checkpoint.LAST, tensors, facts)

    def resume(self) -> None:
        """Go on from the checkpoint in the folder, if there is one."""
        found = self.place and self.place.last()
        if not found:
            return
        tensors, facts = found
        checkpoint.load_weights(self.model, self.objective, tensors)
        self.kept = checkpoint.under("kept", tensors)
        checkpoint.restore_optimiser(self.optimiser, checkpoint.under("optimiser", tensors), facts["numbers"])
        if self.momentum:
            self.momentum.load(checkpoint.under("momentum", tensors))
        checkpoint.restore_random_state(checkpoint.under("random", tensors), self.device)
        self.step, self.history, self.sums = facts["step"], facts["history"], facts["sums"]

    def finish(self) -> None:
        """Put the best or the averaged weights in place and close the trackers."""
        if self.shards:
            self.shards.undo()
        if self.kept:
            checkpoint.load_weights(self.model, self.objective, self.kept)
        if self.settings.swa_from and self.kept:
            averaging.refresh_statistics(
                self.model,
                lambda share: self.encode(self.model, share.to(self.device)),
                self._shares(self._order(0)),
            )
        self._freeze_image_backbone(False)
        self.accelerator.end_training()

    def _freeze_image_backbone(self, frozen: bool) -> None:
        for parameter in self.backbone:
            parameter.requires_grad_(not frozen)


def parameter_groups(
    groups: list[ParameterGroup], extra: nn.Module, settings: Settings
) -> list[dict[str, Any]]:
    """Optimiser groups with their own learning rate; parameters whose rate is 0 are frozen and left out.

    Args:
        groups: the model's groups, by role and depth.
        extra: the objective, whose own parameters train at ``lr`` without decay.
        settings: rates, multipliers, decay.
    """
    multiplier = {
        "image_backbone": settings.image_backbone_lr,
        "text_backbone": settings.text_backbone_lr,
        "head": 1.0,
    }
    out: list[dict[str, Any]] = []
    for group in groups:
        rate = settings.lr * multiplier[group.role] * settings.layer_decay**group.depth
        for parameter in group.parameters.values() if rate == 0 else ():
            parameter.requires_grad_(False)
        own_decay = settings.text_backbone_decay if group.role == "text_backbone" else None
        matrices = settings.weight_decay if own_decay is None else own_decay
        for decay, wanted in ((matrices, True), (0.0, False)):
            # Biases, norms and scales are vectors and scalars: decaying them pulls towards nothing
            # meaningful.
            chosen = [p for p in group.parameters.values() if p.requires_grad and (p.ndim >= 2) is wanted]
            out.append({"params": chosen, "lr": rate, "base_lr": rate, "weight_decay": decay})
    own = [p for p in extra.parameters() if p.requires_grad]
    out.append({"params": own, "lr": settings.lr, "base_lr": settings.lr, "weight_decay": 0.0})
    return [group for group in out if group["params"]]


def make_optimiser(groups: list[dict[str, Any]], settings: Settings) -> Optimizer:
    """``"adamw"`` or ``"adam"`` (PyTorch), or ``"adamp"`` (timm)."""
    if settings.optimizer == "adamp":
        from timm.optim.adamp import AdamP

        return AdamP(groups)  # type: ignore[no-untyped-call]
    # PyTorch's fused loops cannot take tensors that are cut over processes with others
    foreach = False if settings.shard else None
    return (Adam if settings.optimizer == "adam" else AdamW)(groups, foreach=foreach)


@torch.no_grad()
def clip_norm(parameters: Iterable[nn.Parameter], most: float) -> None:
    """Scale gradients so that their common norm is at most this, where some are cut over processes and others
    are not, which PyTorch's own function refuses.
    """
    gradients = [one.grad for one in parameters if one.grad is not None]
    norm = torch.stack([whole(one.norm()) for one in gradients]).norm()
    for one in gradients:
        one.mul_((most / (norm + 1e-6)).clamp(max=1.0))


def learning_rate_factor(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """What the learning rates are multiplied by at a step; a pure function, so that a resumed run needs no
    state for it.
    """
    if step < settings.lr_warmup_steps:
        return (step + 1) / (settings.lr_warmup_steps + 1)
    if settings.schedule == "step":
        return float(
            settings.step_factor ** sum(step >= epoch * steps_per_epoch for epoch in settings.step_epochs)
        )
    if settings.schedule == "exponential":
        return float(settings.epoch_factor ** (step // steps_per_epoch))
    if settings.schedule == "cosine":
        span = max(settings.epochs * steps_per_epoch - settings.lr_warmup_steps, 1)
        return 0.5 * (1 + math.cos(math.pi * (step - settings.lr_warmup_steps) / span))
    return 1.0


def loss_ramp(step: int, *, steps_per_epoch: int, settings: Settings) -> float:
    """Weight of the loss at a step: 1, or rising linearly over ``ramp_epochs`` after the warm-up."""
    begin, length = settings.warmup_epochs * steps_per_epoch, settings.ramp_epochs * steps_per_epoch
    return (step - begin + 1) / length if begin <= step < begin + length else 1.0
