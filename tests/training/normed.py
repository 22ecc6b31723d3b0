"""Twenty steps with batch norms of three kinds, under several processes; run as a program it is one of them,
started by torchrun's variables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from timm.layers import BatchNormAct2d
from torch import distributed, nn

from tests.training import toy
from tests.training.ranks import CHUNKS, encoded
from workbench.encoders.base import Encoder, Pair
from workbench.encoders.regions import Regions
from workbench.objectives.vsepp import MEMBER as VSEPP
from workbench.records import Embedding
from workbench.training import processes

STEPS, SIZE = 20, 7


class Maps(Encoder):
    """Convolutions whose norms are PyTorch's and timm's, before the package's regions with their MLP."""

    image_input, embed_dim = "pixels", toy.WIDTH

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU(), nn.Conv2d(6, 6, 3), BatchNormAct2d(6)
        )
        self.regions = Regions(in_dim=6, embed_dim=toy.WIDTH, hidden_dim=5, region_dropout=0.0)

    def images(self, batch):
        maps = self.body(batch.inputs["pixels"].double().reshape(-1, 1, 2, 4).repeat(1, 1, 2, 1))
        batch.inputs["regions"] = maps.flatten(2).transpose(1, 2)
        return self.regions.images(batch)


class Bags(toy.Words):
    """Words before a norm."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(toy.WIDTH)

    def texts(self, batch):
        made = self.head(self.norm(batch.signals["bag"].double()))
        return Embedding(nn.functional.normalize(made, dim=1))


def trained(chunk=0):
    """Losses of all steps, and weights and running statistics after them."""
    torch.manual_seed(3)
    pair, objective = Pair(Maps(), Bags()).double(), VSEPP()
    optimiser, losses = torch.optim.AdamW(pair.parameters(), lr=0.01), []
    order = np.random.default_rng(1).permuted(np.tile(np.arange(toy.IMAGES * toy.EACH), (STEPS, 1)), axis=1)
    for share in processes.loader(toy.source(), [rows[:SIZE] for rows in order], chunk=chunk):
        made, chunks = encoded(pair, share, chunk)
        loss = sum(objective(*map(processes.gather, made), share.batch).values())
        optimiser.zero_grad()
        loss.backward()
        for one in chunks:
            one.backward()
        processes.average_gradients(pair.parameters(), objective.parameters())
        optimiser.step()
        losses.append(loss.item())
    return losses, pair.state_dict()


if __name__ == "__main__":
    torch.set_num_threads(1)
    distributed.init_process_group("gloo")
    made = {chunk: trained(chunk) for chunk in CHUNKS}
    if processes.rank() == processes.world() - 1:
        torch.save(made, Path(sys.argv[1]))
    distributed.destroy_process_group()
