from __future__ import annotations

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding, total_loss
from tests.oracles import losses as oracle
from tests.toys import S3, S4, close
from workbench import objectives


def total(scores, own, *, images=None, image_ids=None, warming=False, **options):
    """The loss of a given score matrix."""
    objective = objectives.load("vsepp", **options)
    objective.warm_up(warming)
    objective.scores = lambda image, text: scores
    return total_loss(
        objective,
        random_embedding(1, seed=0),
        random_embedding(1, seed=1),
        make_batch(own, images, image_ids=image_ids),
    )


def test_its_defaults_give_the_worked_totals():
    close(total(S3, range(3)), 1.20)
    close(total(S4, range(4)), 1.53)


def test_the_sum_over_negatives_gives_the_worked_total_and_so_does_warming_up():
    close(total(S4, range(4), negatives="sum"), 2.35)
    close(total(S4, range(4), warming=True), 2.35)


def test_two_rows_with_the_same_image_id_share_their_captions():
    # The four diagonal pairs give 1.40. Each row of the shared image also has the other's caption as a pair:
    # i2t (0,1): .2-.70+.65 = .15, (1,0): .2-.30+.58 = .48; t2i column 0, row 1: .2-.30+.65 = .55, column 1,
    # row 0: .2-.70+.62 = .12.
    close(total(S4, range(4), image_ids=["a", "a", "b", "c"]), 1.40 + 0.15 + 0.48 + 0.55 + 0.12)


@pytest.mark.parametrize("negatives", ["hardest", "sum"])
def test_it_equals_a_loop_with_several_captions_an_image(negatives):
    own = [0, 0, 1, 2, 2, 2]
    scores = torch.rand(3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    positives = make_batch(own).positives.tolist()
    terms = [
        sum(oracle.triplet(s, p, lambda *_: 0.2, negatives == "hardest"))
        for s, p in (
            (scores.tolist(), positives),
            (oracle.transpose(scores.tolist()), oracle.transpose(positives)),
        )
    ]
    close(total(scores, own, negatives=negatives), sum(terms))


def test_the_mean_is_the_sum_over_the_number_of_pairs():
    close(total(S4, range(4), reduction="mean"), 1.53 / 4)


def test_the_published_code_masks_only_the_diagonal_and_ours_agrees_where_images_differ():
    # The hinge of the released code: margin + S - diagonal in both directions, its diagonal set to 0, then
    # the row and column maxima.
    diagonal = S4.diagonal()
    cost = [
        (0.2 + S4 - other).clamp(min=0).fill_diagonal_(0) for other in (diagonal[:, None], diagonal[None, :])
    ]
    close(total(S4, range(4)), float(cost[0].max(dim=1).values.sum() + cost[1].max(dim=0).values.sum()))


@pytest.mark.parametrize("option", [{"negatives": "semi"}, {"reduction": "none"}])
def test_a_value_that_an_option_does_not_know_is_refused(option):
    with pytest.raises(ValueError, match="choose one of"):
        objectives.load("vsepp", **option)
