"""What several tests of encoders make."""

import json

import pytest
import torch

from tests import tiny_bert
from tests.encoders.test_towers import CONFIGS
from workbench.encoders import load


@pytest.fixture
def towers(tmp_path):
    """Makes the tiny open_clip towers of a kind, with the same random weights every time."""

    def make(kind, **options):
        torch.manual_seed(0)
        path = tmp_path / f"{kind}.json"
        path.write_text(json.dumps(CONFIGS[kind]))
        return load("towers", **{"model": str(path), "pretrained": "", **options})

    return make


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """Folder of a BERT with three layers of width 8 and random weights."""
    return str(tiny_bert.make(tmp_path_factory.mktemp("bert"), seed=0, layers=3))
