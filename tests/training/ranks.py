"""Several processes with the variables of torchrun, and one step of every objective in them."""

from __future__ import annotations

import os
import pickle
import socket
import warnings
from dataclasses import replace
from multiprocessing import get_context
from unittest.mock import patch

import numpy as np
import torch
from torch import distributed, nn

from tests.objectives.worlds import load, source
from workbench import objectives
from workbench.encoders.base import Encoder, Pair
from workbench.records import Embedding
from workbench.training import processes
from workbench.training.batches import Shards, loader
from workbench.training.chunks import ChunkedEmbedding

ROWS = np.array([0, 1, 2, 3, 5, 6, 8, 9])
CHUNKS = (0, 2)


class Line(Encoder):
    """A linear encoder that fills every optional field of its embedding."""

    image_input, encodes_text, embed_dim = "vectors", True, 6

    def __init__(self, name):
        super().__init__()
        self.name = name
        self.linear, self.spread = nn.Linear(6, 6), nn.Linear(6, 6)

    def made(self, vectors, count):
        hidden = self.linear(vectors)
        mean, parts = (
            nn.functional.normalize(hidden, dim=1),
            torch.stack([hidden, hidden.roll(1, 1), hidden.roll(2, 1)], dim=1),
        )
        # Shards keep different numbers of parts, as captions of different lengths do.
        longest = 3 if bool((vectors[:, 0] > 0).any()) else 2
        mask = torch.ones(count, 3, dtype=torch.bool)
        mask[:, 2] = vectors[:, 0] > 0
        entities = nn.functional.normalize(hidden + 1, dim=1).repeat_interleave(2, 0)
        owner = torch.arange(count).repeat_interleave(2)
        return Embedding(
            mean, self.spread(hidden) - 3, parts[:, :longest], mask[:, :longest], entities, owner
        )

    def encode_images(self, batch):
        return self.made(batch.inputs["vectors"], len(batch.image_ids))

    def encode_texts(self, batch):
        graphs = batch.signals["graph_tokens"]
        said = torch.cat([graphs["objects"][..., None], graphs["attributes"]], dim=-1).flatten(0, 1)
        return replace(self.made(batch.signals["vectors"], len(batch.caption_ids)), labels=said)


def encoded(pair, shard, chunk):
    """The embeddings of both sides, and what takes their gradient back where they were made in chunks."""
    sides = ((pair.image.encode_images, shard.images), (pair.text.encode_texts, shard.captions))
    if chunk:
        chunks = [ChunkedEmbedding(encode, parts, torch.device("cpu")) for encode, parts in sides]
        return [one.embedding for one in chunks], chunks
    return [encode(part) for encode, (part,) in sides], []


def gradients(name, rows=ROWS, chunk=0):
    """The gradient of every parameter after a step of training on the batch, and the state of the
    objective."""
    torch.manual_seed(3)
    pair, objective = Pair(Line("image"), Line("text")).double(), load(name)
    objective.train()
    torch.manual_seed(11)
    for _ in range(2):
        (shard,) = loader(Shards(source(objective), chunk=chunk), [rows])
        made, chunks = encoded(pair, shard, chunk)
        image, text = (processes.gather(one) for one in made)
        batch = shard.batch
        if objective.momentum:
            batch = replace(
                batch, momentum=(processes.gather(detached(made[0])), processes.gather(detached(made[1])))
            )
        pair.zero_grad(), objective.zero_grad()
        torch.stack(list(objective(image, text, batch).values())).sum().backward()
        for one in chunks:
            one.backward()
        processes.average_gradients([*pair.parameters(), *objective.parameters()])
        objective.after_step(image, text, batch)
    both = {**dict(pair.named_parameters()), **dict(objective.named_parameters(prefix="objective"))}
    found = {
        key: value.grad
        for key, value in both.items()
        if value.grad is not None and value.grad.abs().sum() > 0
    }
    return found, {key: value.clone() for key, value in objective.state_dict().items()}


def detached(made):
    return Embedding(*(None if value is None else value.detach() for value in vars(made).values()))


def all_gradients():
    """Of every objective, whole and in chunks."""
    return {chunk: {name: gradients(name, chunk=chunk) for name in objectives.names()} for chunk in CHUNKS}


def _rank(work, number, said):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number))
    distributed.init_process_group("gloo")
    found = work()
    if number == processes.process_count() - 1:
        said.send_bytes(pickle.dumps(found))
    distributed.destroy_process_group()


def of_several(work, world):
    """What the last of several processes finds, each of which begins where this one is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    fork = get_context("fork")
    ours, theirs = fork.Pipe(duplex=False)
    where = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    with patch.dict(os.environ, where), warnings.catch_warnings():
        # Python 3.12 warns of the threads that are there; a process here needs none of them
        warnings.simplefilter("ignore", DeprecationWarning)
        ranks = [fork.Process(target=_rank, args=(work, number, theirs)) for number in range(world)]
        for process in ranks:
            process.start()
    theirs.close()  # so that the end of all of them is seen
    found = pickle.loads(ours.recv_bytes())
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0] * world
    return found
