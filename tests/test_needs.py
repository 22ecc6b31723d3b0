"""What an objective needs is refused before training, with the remedy."""

from __future__ import annotations

import pytest

from workbench.experiment import Config, build


@pytest.mark.parametrize("objective", ["pcme", "pcmepp"])
def test_an_objective_that_reads_variances_says_how_to_give_them(objective):
    with pytest.raises(
        ValueError, match=f"'{objective}' reads 'log_var' and Towers gives parts; set log_var=true in the options"
    ):
        build(Config(objective=objective), ())
    build(Config(objective=objective, image_options={"log_var": True}), ())


def test_an_objective_without_soft_labels_refuses_mixed_images():
    with pytest.raises(ValueError, match="'vsepp' reads no soft labels, so images cannot be mixed; set mix=0"):
        build(Config(objective="vsepp", mix=0.25), ())
    build(Config(objective="pcmepp", mix=0.25, image_options={"log_var": True}), ())


def test_the_ablation_without_variances_needs_none():
    build(Config(objective="pcmepp", objective_options={"distance": "mean_only"}), ())
