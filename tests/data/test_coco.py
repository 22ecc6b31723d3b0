from __future__ import annotations

import json
import re

import numpy as np
import pytest

from tests.data import fixtures
from workbench import data
from workbench.data.benchmark import check_order
from workbench.data.reading import Row

TEST = ("COCO_val2014_000000000016.jpg", "COCO_val2014_000000000015.jpg")


@pytest.fixture
def copy(tmp_path):
    """Six images in Karpathy's format."""
    fixtures.coco(tmp_path)
    return tmp_path


def load(root, split="test", **options):
    return data.load("coco", split=split, root=str(root), **{"complete": False, **options})


def change(file, edit):
    content = json.loads(file.read_text(encoding="utf-8"))
    edit(content["images"])
    file.write_text(json.dumps(content), encoding="utf-8")


def test_a_split_has_the_images_of_its_parts_in_the_order_of_the_file(copy):
    test = load(copy)
    assert test.name == "coco/test"
    assert test.image_ids == TEST
    assert test.caption_ids == ("151", "152", "153", "154", "155", "141", "142", "143", "144", "145")
    assert test.own.tolist() == [0] * 5 + [1] * 5
    assert test.captions[0] == "A pierbg , 16 ."
    assert test.open_image(1).size == (20, 10)
    assert len(load(copy, "train").image_ids) == 3
    assert len(load(copy, "train2014").image_ids) == 2


def test_an_image_with_six_captions_gives_the_first_five_or_all(copy):
    assert load(copy, "val").caption_ids == ("131", "132", "133", "134", "135")
    assert load(copy, "val", captions=None).caption_ids[-1] == "136"
    assert load(copy, "val", captions=1).captions == ("A goatbe , 14 .",)


def test_captions_alone_need_no_photographs_before_one_is_opened(copy):
    (copy / "images" / "val2014" / TEST[0]).unlink()
    with pytest.raises(FileNotFoundError, match=r"dataset_coco.json image 5: there is no image file"):
        load(copy)
    split = load(copy, source="captions")
    with pytest.raises(FileNotFoundError, match=TEST[0]):
        split.open_image(0)
    assert load(copy, on_error="skip").image_ids == TEST[1:]


def test_a_truncated_file_is_refused_with_its_name_and_size(copy):
    file = copy / "dataset_coco.json"
    file.write_bytes(file.read_bytes()[:1000])
    with pytest.raises(
        ValueError, match=r"dataset_coco.json is not whole: expected JSON to its end, found 1,000 bytes"
    ):
        load(copy)


def test_a_whole_file_with_too_few_images_is_refused_with_the_expected_and_found_counts(copy):
    for split, counts in (("test", "5,000 images and 25,000"), ("train", "113,287 images and 566,435")):
        with pytest.raises(
            ValueError,
            match=f"coco/{split}, from dataset_coco.json: expected {counts} captions, found . and 1[05]",
        ):
            load(copy, split, complete=True)
    with pytest.raises(ValueError, match="expected 5,000 images and 25,010 captions, found 1 and 6"):
        load(copy, "val", captions=None, complete=True)


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (
            lambda images: images[4].update(sentences=images[5]["sentences"]),
            r"expected sentids \[151.*found \[141",
        ),
        (
            lambda images: images[4]["sentences"][2].update(imgid=5),
            "sentences of another image: expected imgid 4, found .5.",
        ),
        (lambda images: images[4]["sentences"].pop(), r"sentids|expected at least 5, found 4"),
        (lambda images: images[4].update(split="dev"), "split: Input should be 'train', .*, found 'dev'"),
        (lambda images: images[5].update(filename=images[4]["filename"]), "occurs twice"),
        (
            lambda images: images[4].update(filepath="../val2014"),
            "'../val2014/COCO.* leads out of the folder",
        ),
        (lambda images: images[4]["sentences"][0].pop("raw"), "sentences.0.raw: Field required"),
    ],
)
def test_a_record_that_does_not_fit_is_named_and_skipped_on_request(copy, edit, message):
    change(copy / "dataset_coco.json", edit)
    with pytest.raises(ValueError, match=rf"dataset_coco.json image [56].*({message})"):
        load(copy)
    assert len(load(copy, on_error="skip").image_ids) == 1


def test_other_json_and_a_split_without_images_are_refused(copy):
    change(copy / "dataset_coco.json", lambda images: images.clear())
    with pytest.raises(ValueError, match="expected images of the split 'test', found none"):
        load(copy)
    (copy / "dataset_coco.json").write_text("[]")
    with pytest.raises(ValueError, match="expected an object with the list 'images', found list"):
        load(copy)


def test_a_share_of_the_training_images_is_drawn_by_its_seed_and_lies_inside_larger_shares(copy):
    drawn = {
        (share, seed): set(load(copy, "train", share=share, share_seed=seed).image_ids)
        for share in (0.34, 0.67)
        for seed in range(4)
    }
    assert {len(images) for (share, _), images in drawn.items() if share == 0.34} == {1}
    assert all(drawn[0.34, seed] < drawn[0.67, seed] for seed in range(4))
    assert len({frozenset(drawn[0.34, seed]) for seed in range(4)}) > 1
    assert load(copy, "train", share=0.34).notes == ("1 of 3 images, drawn with seed 0",)
    for split, share in (("test", 0.5), ("train", 0.0), ("train", 1.5)):
        with pytest.raises(ValueError, match=rf"share is {share}(;| of '{split}')"):
            load(copy, split, share=share)


def test_missing_files_say_what_to_get_and_how_to_point_at_it(tmp_path, monkeypatch):
    with pytest.raises(
        FileNotFoundError,
        match=r"lacks dataset_coco.json, images.*https://cs.stanford.edu.*https://cocodataset",
    ):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"lacks precomp/testall_caps.txt, .*_ims.npy.*SCAN"):
        load(tmp_path, source="precomp")
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"coco: set root=\.\.\., or WORKBENCH_DATA"):
        data.load("coco")


def test_unknown_names_list_the_known_ones(copy):
    with pytest.raises(ValueError, match="has no split 'test_1k'; did you mean test"):
        load(copy, "test_1k")
    with pytest.raises(ValueError, match="source is 'caption'; did you mean captions"):
        load(copy, source="caption")


IMAGES = [image for image in fixtures.COCO if image[0] == "test"]


@pytest.mark.parametrize(("ids_each", "regions_each"), [(5, 1), (5, 5), (1, 1), (1, 5)])
def test_the_features_are_read_in_all_four_layouts_and_stay_on_the_disk(tmp_path, ids_each, regions_each):
    regions = fixtures.precomp(tmp_path, "testall", IMAGES, ids_each=ids_each, regions_each=regions_each)
    split = load(tmp_path, source="precomp")
    assert split.image_ids == ("16", "15")
    assert split.caption_ids[:6] == ("16#0", "16#1", "16#2", "16#3", "16#4", "15#0")
    assert split.captions[0] == "a pierbg , 16 ."
    assert isinstance(split.regions, np.memmap)
    assert isinstance(split.first(1).regions, np.memmap)
    np.testing.assert_array_equal(split.regions, regions)


def test_features_beside_the_json_file_take_its_ids_by_their_captions(copy):
    regions = fixtures.precomp(copy, "testall", IMAGES[::-1])
    split = load(copy, source="precomp")
    assert split.image_ids == TEST[::-1]
    assert split.caption_ids == ("141", "142", "143", "144", "145", "151", "152", "153", "154", "155")
    assert split.open_image(0).size == (20, 10)
    np.testing.assert_array_equal(split.regions, regions)


def test_shuffled_captions_are_refused_by_the_json_file_that_lies_beside(copy):
    fixtures.precomp(copy, "testall", IMAGES)
    file = copy / "precomp" / "testall_caps.txt"
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[1:] + lines[:1]) + "\n")
    message = (
        "testall_caps.txt: expected every 5 lines to be the captions of one image of dataset_coco.json, "
        "found 0 of 2"
    )
    with pytest.raises(ValueError, match=message):
        load(copy, source="precomp")


def test_shuffled_captions_are_refused_by_the_words_they_share(tmp_path):
    images = [("test", number, range(5)) for number in range(100, 160)]
    fixtures.precomp(tmp_path, "testall", images)
    assert len(load(tmp_path, source="precomp").captions) == 300
    file = tmp_path / "precomp" / "testall_caps.txt"
    lines = file.read_text().splitlines()
    file.write_text("".join(f"{line}\n" for line in np.random.default_rng(0).permutation(lines)))
    with pytest.raises(
        ValueError,
        match=r"coco/test, from testall_caps.txt: expected at least 80% .* found [0-5]?\d%; .*shuffled",
    ):
        load(tmp_path, source="precomp")


def test_a_shuffled_file_of_ids_is_refused_with_its_line(tmp_path):
    fixtures.precomp(tmp_path, "testall", IMAGES)
    ids = tmp_path / "precomp" / "testall_ids.txt"
    for lines, message in (
        (
            [16, 15, 16, 16, 16, 16, 15, 15, 15, 15],
            "testall_ids.txt line 2: expected '16' 5 times in a row, found '15'",
        ),
        ([16, 16], "testall_ids.txt: expected each image once, found '16' at two places"),
        ([16, 15, 14], "testall_ids.txt: expected 10 lines or 2, as there are captions, found 3"),
    ):
        ids.write_text("".join(f"{line}\n" for line in lines))
        with pytest.raises(ValueError, match=re.escape(message)):
            load(tmp_path, source="precomp")


def test_features_of_the_wrong_length_shape_or_order_and_cut_off_files_are_refused(tmp_path):
    regions = fixtures.precomp(tmp_path, "testall", IMAGES)
    file = tmp_path / "precomp" / "testall_ims.npy"
    for features, message in (
        (regions[:1], r"testall_ims.npy: expected \(2 or 10, K, D\) for 10 captions, found \(1, 36, 8\)"),
        (regions[:, 0], r"found \(2, 8\)"),
        (np.tile(regions, (5, 1, 1)), "expected rows 0 to 4 alike, .* found others"),
    ):
        np.save(file, features)
        with pytest.raises(ValueError, match=message):
            load(tmp_path, source="precomp")
    np.save(file, regions)
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"testall_ims.npy is not whole"):
        load(tmp_path, source="precomp")
    (tmp_path / "precomp" / "testall_caps.txt").write_text("a dog\n" * 7)
    with pytest.raises(ValueError, match=r"testall_caps.txt: expected 5 lines an image, found 7 lines"):
        load(tmp_path, source="precomp")


def test_the_regions_of_a_share_are_those_of_its_images(tmp_path):
    images = [image for image in fixtures.COCO if image[0] in ("train", "restval")]
    regions = fixtures.precomp(tmp_path, "train", images)
    split = load(tmp_path, "train", source="precomp", share=0.67, share_seed=3)
    places = [[str(number) for _, number, _ in images].index(image) for image in split.image_ids]
    assert len(places) == 2
    np.testing.assert_array_equal(split.regions, regions[places])


@pytest.mark.real_data
def test_the_real_test_captions_pass_the_check_of_their_order_and_shuffled_ones_do_not(real_data):
    images = json.loads((real_data / "coco" / "karpathy_test_captions.json").read_text())
    # the copy lacks one of the 25,010 captions of the split
    assert (len(images), sum(len(image["caption"]) for image in images)) == (5000, 25009)
    rows = [Row("file", image["image"], text, "") for image in images for text in image["caption"][:5]]
    assert len(rows) == 25000
    check_order("coco/test", rows)
    texts = np.random.default_rng(0).permutation([row.caption for row in rows])
    shuffled = [Row("file", row.image, text, "") for row, text in zip(rows, texts, strict=True)]
    with pytest.raises(ValueError, match=r"found [23]\d%"):
        check_order("coco/test", shuffled)


@pytest.mark.real_data
def test_the_first_five_captions_of_the_split_are_those_of_the_annotations(real_data):
    images = json.loads((real_data / "coco" / "karpathy_test_captions.json").read_text())
    annotations = json.loads((real_data / "coco" / "captions_val2017.json").read_text())["annotations"]
    assert len(annotations) == 25014
    by_image = {}
    for one in sorted(annotations, key=lambda one: one["id"]):
        by_image.setdefault(one["image_id"], []).append(one["caption"])
    shared = [(image["caption"], by_image.get(int(image["image"][-16:-4]))) for image in images]
    compared = [(ours[:5], theirs[:5]) for ours, theirs in shared if theirs]
    assert len(compared) == 593
    assert all(ours == theirs for ours, theirs in compared)
