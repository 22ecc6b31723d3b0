"""Late interaction: every vector of a query takes the item's best, in blocks of bounded memory."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from tests.objectives.test_dias import padded, real
from workbench.losses import similarity
from workbench.objectives.parts import maxsim
from workbench.objectives.parts.attention import scorer_of
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import Embedding

# 1,000 images of 49 vectors and 5,000 captions of 12: what the process holds at most beyond its vectors
LARGE = """
import sys, torch
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import Embedding
torch.set_num_threads(1)
def side(count, parts):
    torch.manual_seed(parts)
    vectors = torch.randn(count, parts, 8)
    return Embedding(vectors[:, 0], parts=vectors, mask=torch.rand(count, parts) < 0.9)
with torch.no_grad():
    scores = MaxSim(query=sys.argv[1]).scores(side(1000, 49), side(5000, 12))
assert scores.shape == (1000, 5000) and scores.isfinite().all()
# what getrusage says begins from the process that started this one
words = open('/proc/self/status').read().split()
print(words[words.index('VmHWM:') + 1])
"""


def side(rows):
    """An embedding of rows of one or more vectors."""
    longest = max(map(len, rows))
    parts = torch.full((len(rows), longest, len(rows[0][0])), 9.0)
    mask = torch.zeros(len(rows), longest, dtype=torch.bool)
    for row, vectors in enumerate(rows):
        parts[row, : len(vectors)] = torch.tensor(vectors)
        mask[row, : len(vectors)] = True
    return Embedding(parts.mean(1), parts=parts, mask=mask)


def loop(image, text, query):
    """Sums over the query's vectors, written from ColBERT's Eq. 3."""
    table = []
    for regions in real(image):
        row = []
        for words in real(text):
            asking, items = (words, regions) if query == "text" else (regions, words)
            row.append(sum(max(cosine(one, other) for other in items) for one in asking) / len(asking))
        table.append(row)
    return torch.tensor(table, dtype=torch.float64)


def cosine(first, second):
    product = sum(a * b for a, b in zip(first, second, strict=True))
    return product / (sum(a * a for a in first) * sum(b * b for b in second)) ** 0.5


def test_by_hand():
    # words along x and along the diagonal; regions along x and y: 1 and sqrt(1/2). The regions' best words: 1
    # along x, and sqrt(1/2) along y
    image, text = side([[[2.0, 0.0], [0.0, 3.0]]]), side([[[1.0, 0.0], [1.0, 1.0]], [[-1.0, 0.0]]])
    half = 0.5**0.5
    scores = MaxSim(reduction="sum").scores(image, text)
    torch.testing.assert_close(scores, torch.tensor([[1 + half, 0.0]]))
    scores = MaxSim(reduction="sum", query="image").scores(image, text)
    torch.testing.assert_close(scores, torch.tensor([[1 + half, -1.0]]))


@pytest.mark.parametrize("query", ["text", "image"])
def test_scores_are_those_of_a_double_loop_and_the_mean_of_both_sides_is_both(query):
    image, text = padded(6, seed=0), padded(9, seed=1, parts=3)
    scores = MaxSim(query=query).scores(image, text).detach()
    torch.testing.assert_close(scores, loop(image, text, query))
    both = MaxSim(query="both").scores(image, text)
    torch.testing.assert_close(both.detach(), (loop(image, text, "text") + loop(image, text, "image")) / 2)


@pytest.mark.parametrize(("reduction", "mean"), [("sum", False), ("mean", True)])
def test_scores_are_those_of_sentence_transformers(reduction, mean):
    util = pytest.importorskip("sentence_transformers.util")
    image, text = padded(7, seed=3, parts=5), padded(11, seed=4)
    unit = [torch.nn.functional.normalize(each.parts.detach(), dim=-1) for each in (text, image)]
    theirs = util.maxsim(*unit, a_mask=text.mask, b_mask=image.mask, length_normalize=mean)
    scores = MaxSim(reduction=reduction).scores(image, text)
    torch.testing.assert_close(scores.detach().T.float(), theirs, rtol=0, atol=1e-5)


def test_one_vector_an_item_is_the_cosine():
    image, text = padded(5, seed=0), padded(8, seed=1)
    plain = similarity.cosine(image.mean, text.mean)
    bare = Embedding(image.mean), Embedding(text.mean)
    single = [
        Embedding(each.mean, parts=each.mean[:, None], mask=torch.ones(len(each), 1) > 0) for each in bare
    ]
    for query in ("text", "image", "both"):
        for sides in (bare, single):
            torch.testing.assert_close(MaxSim(query=query).scores(*sides), plain)


def test_blocks_of_any_size_give_the_same(monkeypatch):
    image, text = padded(7, seed=0), padded(9, seed=1)
    whole = MaxSim(query="both").scores(image, text)
    monkeypatch.setattr(maxsim, "block_entries", lambda like: 20)
    monkeypatch.setattr(maxsim, "QUERY_VECTORS", 5)
    torch.testing.assert_close(MaxSim(query="both").scores(image, text), whole)


def test_padding_changes_nothing_and_an_item_without_vectors_scores_zero():
    image, text = padded(4, seed=0), padded(4, seed=1)
    scores = MaxSim(query="both").scores(image, text)
    longer = torch.cat([image.parts.detach(), torch.full((4, 2, image.parts.shape[2]), 50.0)], dim=1)
    mask = torch.cat([image.mask, torch.zeros(4, 2, dtype=torch.bool)], dim=1)
    same = MaxSim(query="both").scores(Embedding(image.mean, parts=longer, mask=mask), text)
    torch.testing.assert_close(same, scores)
    empty = Embedding(image.mean, parts=longer, mask=mask & (torch.arange(4) != 2)[:, None])
    without = MaxSim(query="both").scores(empty, text)
    assert (without[2] == 0).all()
    torch.testing.assert_close(without[[0, 1, 3]], scores[[0, 1, 3]])


def test_gradients_are_those_of_finite_differences():
    image, text = padded(3, seed=0), padded(4, seed=1)

    def scores(regions, words):
        of_image = Embedding(regions[:, 0], parts=regions, mask=image.mask)
        return MaxSim(query="both").scores(of_image, Embedding(words[:, 0], parts=words, mask=text.mask))

    leaves = [each.parts.detach().double().requires_grad_() for each in (image, text)]
    assert torch.autograd.gradcheck(scores, leaves)


def test_options_are_named_with_the_form():
    assert scorer_of({"name": "maxsim", "query": "both", "reduction": "sum"}) == MaxSim(
        "maxsim", "both", "sum"
    )
    with pytest.raises(TypeError, match="did you mean reduction"):
        scorer_of({"name": "maxsim", "reducton": "sum"})
    with pytest.raises(ValueError, match="query"):
        scorer_of({"name": "maxsim", "query": "words"})


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
@pytest.mark.parametrize("query", ["text", "image"])
def test_a_thousand_images_and_five_thousand_captions_stay_below_two_gibibytes(query):
    done = subprocess.run([sys.executable, "-c", LARGE, query], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 2 * 2**30
