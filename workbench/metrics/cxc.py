"""Retrieval on Crisscrossed Captions in four directions: image to text, text to image, image to image, text
to text.

"R@K is the share of queries with at least one positive among the K best scored." Positives are pairs that
people rated, from the grade on that the judgements name: 3 for image and caption, 2.5 for two images, 3 for
two captions. For text to text the other captions of the same image are positive as well. Of two ratings of a
pair the larger one counts. Within a modality the score is the cosine of the embeddings, and the query is
removed from its own gallery. ``rsum`` is the sum of R@1 and R@5 of the four.

A tie counts against the model (``ranks``). A query without a positive does not count, and how many there
were is reported: of the 25,000 captions of the test split 28 have no image, and of its 5,000 images 209 have
no other image.

Source: Z. Parekh et al., Crisscrossed captions, EACL 2021 (section 4); VSE-infinity's evaluation iterates
over all captions, the ECCV Caption package over those that have a positive, as here.
"""

from dataclasses import replace

import numpy as np
from scipy import sparse

from workbench.metrics.blocks import AnyScores, by_rows, drop_pairs
from workbench.metrics.ranks import Ranks, Relevant, rank
from workbench.metrics.recall import Rsum
from workbench.records import Judgements, Rows

NAME = "cxc"


def ranks_within(scores: AnyScores, rated: Judgements, group: Rows | None = None) -> Ranks:
    """Return ranks of an item's positives among all others of its kind.

    Args:
        scores: ``(N, N)``, larger = more alike; the diagonal is not read.
        rated: of pairs of one kind, in either order.
        group: ``(N,)``; items of the same group are positives of one another, as captions of one image are.

    >>> pairs = Judgements("sis", "x", (3, 3), np.array([2]), np.array([0]), np.ones(1, np.float32))
    >>> ranks_within(np.array([[9.0, 3.0, 1.0], [0.0, 9.0, 0.0], [2.0, 1.0, 9.0]]), pairs).first.tolist()
    [2.0, nan, 1.0]
    """
    listed = sparse.csr_array(
        (rated.grades >= rated.relevant_from, (rated.images, rated.captions)), rated.shape
    )
    pairs = listed + listed.T
    if group is not None:
        member = sparse.csr_array((np.ones(len(group), dtype=bool), (np.arange(len(group)), group)))
        pairs = pairs + member @ member.T
    first, second = (rows.astype(np.int64) for rows in pairs.nonzero())
    first, second = first[first != second], second[first != second]
    ones = np.ones(len(first), dtype=np.float32)
    # in both directions, with those of the group and without an item itself
    positives = replace(rated, images=first, captions=second, grades=ones, relevant_from=1.0, unlisted=0.0)
    itself = np.arange(rated.shape[0])
    return rank(drop_pairs(by_rows(scores), itself, itself), Relevant.from_pairs(positives))


class FourWaySum(Rsum):
    """Sum of R@1 and R@5 of the four directions."""

    hit = "sum of R@1 and R@5 of the four directions; gallery = that of all four"
    directions, by = ("i2t", "t2i", "i2i", "t2t"), (NAME,)
    depths_summed = (1, 5)


MEMBER = FourWaySum
