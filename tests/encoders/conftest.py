"""What several tests of encoders make."""

import json

import pytest
import torch

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
