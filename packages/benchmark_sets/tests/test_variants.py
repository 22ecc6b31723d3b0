"""Languages and lengths: one gallery with several sets of captions."""

from __future__ import annotations

import json

import numpy as np
import open_clip
import pytest
from benchmark_sets.tests.layouts import LAYOUTS, PAIRS
from benchmark_sets.variants import cut_captions, cut_to_tokens, languages_of, measure_variants
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app

WORDS = sorted({word for pair in PAIRS for text in pair for word in text.split()})


class FirstWords:
    """Texts are their first words, as a bag; images are the bag of the caption that they were drawn for."""

    def __init__(self, reads=100):
        self.reads, self.calls = reads, 0

    def encode_image(self, images):
        self.calls += len(images)
        bags = self.encode_text([true for true, _ in PAIRS], 100)
        rows = [
            min(range(6), key=lambda n: abs(image.getpixel((0, 0))[0] - 40 * n % 256)) for image in images
        ]
        return bags[rows]

    def encode_text(self, texts, reads=None):
        out = np.full((len(texts), len(WORDS)), 1e-3)
        for row, text in enumerate(texts):
            for word in text.split()[: reads or self.reads]:
                if word in WORDS:
                    out[row, WORDS.index(word)] += 1
        return out


def test_each_language_has_its_numbers_and_the_mean_is_that_of_the_languages(tmp_path):
    LAYOUTS["multi30k"](tmp_path)
    splits = languages_of("multi30k", str(tmp_path), ())
    # the files of other languages are not there
    assert list(splits) == ["de", "en"]
    model = FirstWords()
    variants = measure_variants(wb.open_model(model), splits, mean=True, rounds=50)
    assert model.calls == 6
    assert [variant.name for variant in variants] == ["de", "en", "mean"]
    numbers = [{m.key.direction: m for m in variant.measurements if m.key.k == 1} for variant in variants]
    for way in ("i2t", "t2i"):
        mean = np.mean([numbers[0][way].value, numbers[1][way].value])
        assert numbers[2][way].value == pytest.approx(mean)
        assert numbers[2][way].low <= mean <= numbers[2][way].high
    single = wb.evaluate(wb.open_model(FirstWords()), splits["de"], rounds=0)
    assert numbers[0]["t2i"].value == single["t2i/R@1"]


def test_a_model_that_reads_few_words_has_a_flat_curve_after_them(tmp_path):
    LAYOUTS["urban1k"](tmp_path)
    split = wb.load_data("benchmark_sets.sets:urban1k", root=str(tmp_path))
    splits = cut_captions(split, (2, 3, 5, 8, 500))
    assert list(splits)[:4] == ["2 words", "3 words", "5 words", "8 words"]
    assert list(splits)[4].startswith("all, up to")
    variants = measure_variants(wb.open_model(FirstWords(reads=5)), splits, rounds=0)
    curve = [next(m.value for m in variant.measurements if m.label == "t2i/R@1") for variant in variants]
    assert curve[2] == curve[3] == curve[4]
    assert curve[0] < curve[2]


def test_texts_cut_by_tokens_have_as_many_as_clip_counts_and_end_with_a_whole_word(tmp_path):
    LAYOUTS["docci"](tmp_path)
    split = wb.load_data("benchmark_sets.sets:docci", root=str(tmp_path))
    splits = cut_to_tokens(split, (3, 7, 20, 77, 10**6))
    assert list(splits)[:4] == ["3 tokens", "7 tokens", "20 tokens", "77 tokens"]
    tokenize = open_clip.get_tokenizer("ViT-B-32", context_length=200)
    for length, cut in zip((3, 7, 20, 77), splits.values(), strict=False):
        # start and end included, zeros pad
        counts = (tokenize(list(cut.captions)) != 0).sum(dim=1)
        assert counts.max() == length
        for caption, whole in zip(cut.captions, split.captions, strict=True):
            assert (whole + " ").startswith(caption + " ")
    counts = (tokenize(list(split.captions)) != 0).sum(dim=1)
    assert list(splits)[-1] == f"all, up to {counts.max()} tokens"
    assert splits[list(splits)[-1]] is split


def test_the_command_cuts_by_tokens_and_by_words_alone(tmp_path):
    LAYOUTS["urban1k"](tmp_path / "d")
    words = [
        "lengths",
        "urban1k",
        "--model",
        "scenes:scenes",
        "--folder",
        str(tmp_path / "d"),
        "--rounds",
        "0",
    ]
    done = CliRunner().invoke(app, [*words, "--tokens", "5", "--root", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "5 tokens" in done.output
    assert list(json.loads((tmp_path / "lengths" / "urban1k.json").read_text())["results"]) == [
        "scenes:scenes"
    ]
    done = CliRunner().invoke(app, [*words, "--tokens", "5", "--words", "5", "--root", str(tmp_path)])
    assert done.exit_code == 2
    assert "give --tokens or --words, not both" in done.output


def test_sets_of_other_images_are_refused(tmp_path):
    LAYOUTS["multi30k"](tmp_path)
    splits = languages_of("multi30k", str(tmp_path), ("de", "en"))
    splits["en"] = splits["en"].first(4)
    with pytest.raises(ValueError, match="en is of other images than de"):
        measure_variants(wb.open_model(FirstWords()), splits)


def test_the_commands_print_a_table_and_write_their_numbers(tmp_path):
    LAYOUTS["multi30k"](tmp_path / "d")
    words = ["--model", "scenes:scenes", "--folder", str(tmp_path / "d"), "--root", str(tmp_path)]
    done = CliRunner().invoke(app, ["languages", "multi30k", *words])
    assert done.exit_code == 0, done.output
    assert "mean" in done.output
    assert done.output.count("chance") == 2
    assert "intervals draw images, each with all its captions" in done.output
    written = json.loads((tmp_path / "languages" / "multi30k.json").read_text())
    assert set(written["results"]["scenes:scenes"]) == {"de", "en", "mean"}
    done = CliRunner().invoke(app, ["languages", "docci", *words])
    assert done.exit_code == 2
    assert "docci has captions in one language" in done.output


def test_a_language_without_files_says_where_to_get_them(tmp_path):
    LAYOUTS["multi30k"](tmp_path)
    with pytest.raises(FileNotFoundError, match=r"test_2016_flickr\.fr.*https://github.com/multi30k"):
        languages_of("multi30k", str(tmp_path), ("fr",))
