"""What was measured is known by its content: results of other rows are refused, changed data are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import workbench as wb
from workbench.cli.output import changed_numbers
from workbench.io import content_stamp
from workbench.runs import Config, by_query
from workbench.runs import store as runs
from workbench.runs.by_query import ByQuery
from workbench.runs.train import train

IMAGES, EACH = 12, 2


def photographs(folder, seed=0):
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    for number in range(IMAGES):
        pixels = rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:03d}.png")
    captions = [f"a thing of number {number} take {k}" for number in range(IMAGES) for k in range(EACH)]
    names = [f"{number:03d}.png" for number in range(IMAGES) for _ in range(EACH)]
    pd.DataFrame({"image": names, "caption": captions}).to_csv(folder / "captions.csv", index=False)
    return folder


def vectors(seed=0, images=IMAGES):
    rng = np.random.default_rng(seed)
    image, own = rng.normal(size=(images, 8)), np.repeat(np.arange(images), EACH)
    return image, image[own] + rng.normal(size=(len(own), 8)), own


class Mean:
    """Encodes an image by the mean of its colours and a text by its length."""

    def encode_image(self, images):
        return np.stack([np.asarray(image, dtype=float).mean((0, 1)) - 100 for image in images])

    def encode_text(self, texts):
        return np.array([[len(text), ord(text[-1]), 1.0] for text in texts])


@pytest.fixture
def saved(tmp_path):
    """A run of vectors on a folder of photographs, and the folder."""
    folder = photographs(tmp_path / "photos")
    image, text, _ = vectors()
    result = wb.evaluate(images=image, texts=text, data=folder, rounds=20)
    return result.save(tmp_path / "run").parent, folder


@pytest.mark.parametrize("side", ["captions", "images"])
def test_vectors_in_another_order_are_other_rows_and_refused(side):
    image, text, own = vectors()
    first = wb.evaluate(images=image, texts=text, own=own, rounds=20)
    if side == "captions":
        order = np.random.default_rng(1).permutation(len(own))
        other = wb.evaluate(images=image, texts=text[order], own=own[order], rounds=20)
    else:
        order = np.random.default_rng(1).permutation(IMAGES)
        other = wb.evaluate(images=image[order], texts=text, own=np.argsort(order)[own], rounds=20)
    assert other["rsum"] == pytest.approx(first["rsum"])
    with pytest.raises(ValueError, match=r"different pairs: caption '\d+' belongs to image '\d+'"):
        wb.compare(first, other)
    with pytest.raises(ValueError, match="different pairs"):
        wb.explore(first, other)
    with pytest.raises(ValueError, match="different images or captions"):
        wb.compare(first, wb.evaluate(images=image[:4], texts=text[:8], own=own[:8], rounds=20))


def test_saved_runs_of_other_rows_have_no_paired_difference_and_a_difference_says_so(tmp_path):
    image, text, own = vectors()
    order = np.random.default_rng(1).permutation(len(own))
    folders = [tmp_path / "first", tmp_path / "other"]
    wb.evaluate(images=image, texts=text, own=own, rounds=20).save(folders[0])
    wb.evaluate(images=image, texts=text[order], own=own[order], rounds=20).save(folders[1])
    first, other = map(runs.read, folders)
    assert by_query.paired_differences_of(first, other, ["rsum"]) == []
    assert list(runs.diff(first, other)["results"])[-1:] == ["split.checksums.own"]
    lines, paired = changed_numbers(first, other, False)
    assert not paired
    assert "captions belong to other images" in lines[-1]


def test_a_result_holds_a_checksum_of_each_part_of_what_was_measured(saved):
    run, folder = saved
    kept = runs.read(run).results["split"]["checksums"]
    assert kept == wb.load_data(folder).checksums()
    assert kept.keys() == {"ids", "own", "captions", "images"}
    split = wb.load_data(folder)
    parts = {
        "ids": replace(split, image_ids=(*split.image_ids[:-1], "x")),
        "captions": replace(split, captions=(*split.captions[:-1], "x")),
        "own": replace(split, own=split.own[::-1].copy(), judgements={}),
        "images": replace(split, stamp=lambda row: row + 1),
    }
    for part, other in parts.items():
        assert {name for name in kept if other.checksums()[name] != kept[name]} == {part}
        assert other.identity() != split.identity()


def edit_a_caption(folder):
    file = folder / "captions.csv"
    file.write_text(file.read_text().replace("number 3 take 1", "number 3 another take"))
    return "1 caption another text"


def replace_an_image(folder):
    before = (folder / "005.png").stat().st_size
    Image.fromarray(np.full((16, 16, 3), 7, np.uint8)).save(folder / "005.png", compress_level=0)
    content = (folder / "005.png").read_bytes()[:before].ljust(before, b"\0")
    (folder / "005.png").write_bytes(content)  # of the same size
    return "1 image another content ('005.png')"


def lose_a_row(folder):
    lines = (folder / "captions.csv").read_text().splitlines()
    (folder / "captions.csv").write_text("\n".join(lines[:-1]) + "\n")
    return "1 caption no longer there"


@pytest.mark.parametrize("change", [edit_a_caption, replace_an_image])
def test_a_run_that_is_opened_over_changed_data_says_what_changed(saved, change):
    run, folder = saved
    assert wb.open_runs([str(run)])[0].measurements
    words = change(folder)
    with pytest.warns(UserWarning, match="photos.* has changed since it was measured: ") as warned:
        (opened,) = wb.open_runs([str(run)])
    assert words in str(warned[0].message)
    assert words in repr(opened)
    assert not opened.measurements


def test_a_model_is_asked_anew_about_images_that_were_exchanged(tmp_path):
    folder = photographs(tmp_path / "photos")
    result = wb.evaluate(Mean(), folder, rounds=20)
    kept = ByQuery.from_split(result.split, result.values)
    assert kept.changes(wb.load_data(folder)) == ""
    assert kept.changes(wb.load_data(folder).first(5), part=True) == ""
    own = np.roll(result.split.own, EACH)
    assert f"{IMAGES * EACH} captions of another image" in kept.changes(
        replace(result.split, own=own, judgements={})
    )
    lose_a_row(folder)
    assert "1 caption no longer there" in kept.changes(wb.load_data(folder))
    photographs(folder, seed=1)
    assert "12 images another content" in kept.changes(wb.load_data(folder))
    assert "5 images another content" in kept.changes(wb.load_data(folder).first(5), part=True)


def test_an_image_of_a_table_in_memory_is_known_by_its_pixels():
    pixels = [np.full((4, 4, 3), 9 * number, np.uint8) for number in range(3)]
    frames = [pd.DataFrame({"image": images, "caption": list("abc")}) for images in (pixels, pixels[::-1])]
    first, other = map(wb.load_data, frames)
    assert first.stamps().all()
    assert (first.stamps() == other.stamps()[::-1]).all()
    assert first.checksums()["images"] != other.checksums()["images"]
    assert first.checksums()["captions"] == other.checksums()["captions"]


def test_captions_with_another_text_and_other_numbers_of_threads_are_noted(tmp_path):
    folder = photographs(tmp_path / "photos")
    first = wb.evaluate(Mean(), folder, name="first", rounds=20)
    edit_a_caption(folder)
    second = replace(wb.evaluate(Mean(), folder, name="second", rounds=20), threads=first.threads + 1)
    notes = wb.compare(first, second).notes
    assert "second read 1 caption with another text than first" in notes[0]
    assert f"first {first.threads}, second {first.threads + 1}" in notes[1]
    assert notes[1] in repr(wb.compare(first, second))
    assert wb.compare(first, first).notes == ()


def test_a_long_file_is_known_by_its_size_and_three_places(tmp_path):
    content = bytearray(100_000)
    known = {content_stamp(bytes(content))}
    for place in (0, 50_000, 99_999):
        other = content.copy()
        other[place] = 1
        (tmp_path / "image").write_bytes(other)
        assert content_stamp(tmp_path / "image") == content_stamp(bytes(other))
        known.add(content_stamp(bytes(other)))
    known.add(content_stamp(bytes(content) + b"\0"))
    assert len(known) == 5


def test_values_of_a_version_without_checksums_are_read_as_before(saved):
    run, folder = saved
    kept = ByQuery.read(run)
    replace(kept, caption_stamps=None, image_stamps=None).write(run)
    (run / runs.CHECKSUMS).unlink()
    edit_a_caption(folder)
    assert wb.open_runs([str(run)])[0].measurements
    assert ByQuery.read(run).caption_stamps is None


def test_every_run_has_a_column_of_its_own_whatever_it_is_called(tmp_path):
    image, text, own = vectors()
    result = wb.evaluate(images=image, texts=text, own=own, rounds=20)
    run, other = tmp_path / "run", tmp_path / "other" / "run"
    result.save(run)
    result.save(other)
    for pair in ((run, run), (run, str(tmp_path / "." / "run")), (run, other), (result, result)):
        table = wb.compare(*pair)
        assert len(set(table.numbers.reset_index()["run"])) == 2
        assert set(table.differences["value"]) == {0.0}


def test_images_of_one_name_and_another_content_are_noted(tmp_path):
    folders = [photographs(tmp_path / name, seed) for seed, name in enumerate(("first", "second"))]
    image, text, _ = vectors()
    results = [wb.evaluate(images=image, texts=text, data=folder, rounds=20) for folder in folders]
    (note,) = wb.compare(*results).notes
    assert f"{IMAGES} images with another content" in note
    assert not wb.compare(results[0], results[0]).notes


def test_rows_in_another_order_are_called_so():
    image, text, own = vectors()
    captions = [f"caption {n}" for n in range(len(own))]
    order = np.random.default_rng(1).permutation(len(own))
    results = [
        wb.evaluate(
            images=image,
            texts={"texts": text[rows], "caption_ids": [captions[row] for row in rows]},
            own=own[rows],
            rounds=20,
        )
        for rows in (np.arange(len(own)), order)
    ]
    with pytest.raises(ValueError, match="in another order"):
        wb.compare(*results)


def test_a_number_that_changed_data_do_not_have_any_more_is_refused_with_the_remedy(saved):
    run, folder = saved
    edit_a_caption(folder)
    with pytest.warns(UserWarning, match="has changed"):
        (opened,) = wb.open_runs([str(run)])
    with pytest.raises(KeyError, match=r"as it is now; compare\(\)"):
        opened["rsum"]
    assert len(wb.compare(opened).numbers)


def test_a_run_that_is_evaluated_again_over_changed_data_says_so(tmp_path):
    run = tmp_path / "run"
    small = {"train_images": 16, "val_images": 8, "test_images": 12, "batch_size": 16}
    train(Config(start="scenes", epochs=0, device="cpu", **small), progress=False).save(run)
    before = wb.evaluate(run, rounds=0).split.notes
    kept = ByQuery.read(run)
    replace(kept, caption_stamps=kept.caption_stamps + 1).write(run)
    (run / runs.CHECKSUMS).unlink()
    assert not any("has changed" in note for note in wb.evaluate(run, rounds=0, split="val").split.notes)
    (note,) = set(wb.evaluate(run, rounds=0).split.notes) - set(before)
    assert "was measured: 60 captions another text" in note


@pytest.mark.parametrize("name", ["img_ids", "imageIds", "keys", "labels"])
def test_a_field_that_may_hold_the_ids_of_vectors_is_refused_by_name(saved, name):
    _, folder = saved
    image, text, _ = vectors()
    data = wb.load_data(folder)
    with pytest.raises(ValueError, match=f"{name} may hold them; call it image_ids"):
        wb.evaluate(images={"images": image, name: data.image_ids}, texts=text, data=data, rounds=0)
    own = wb.evaluate(images={"images": image, name: data.image_ids}, texts=text, own=data.own, rounds=0)
    assert name in own.split.notes[-1]


@pytest.mark.parametrize("name", ["captions", "split", "width"])
def test_a_column_that_can_hold_no_ids_is_a_field(saved, name):
    _, folder = saved
    image, text, _ = vectors()
    data = wb.load_data(folder)
    values = {"captions": data.captions, "split": ["test"] * len(text), "width": np.arange(len(text))}
    texts = {"texts": text, name: values[name]}
    split = wb.evaluate(images=image, texts=texts, data=data, rounds=0).split
    assert split.fields[name].cells() == list(values[name])


def test_ids_of_vectors_that_are_paths_are_brought_into_one_form(saved):
    _, folder = saved
    image, text, _ = vectors()
    data = wb.load_data(folder)
    turned = {
        "images": image[::-1].copy(),
        "paths": pd.Series([f"./{name}" for name in data.image_ids[::-1]]),
    }
    plain = wb.evaluate(images=image, texts=text, data=data, rounds=0)
    assert wb.evaluate(images=turned, texts=text, data=data, rounds=0)["rsum"] == plain["rsum"]
