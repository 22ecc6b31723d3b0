from __future__ import annotations

import json

import pytest

from tests.data import fixtures
from tests.data.fixtures import write_karpathy_test
from workbench import data
from workbench.data import eccv_caption

pytest.importorskip(
    "eccv_caption", reason="needs the package eccv-caption, pip install 'itm-workbench[eccv]'"
)


def file(name):
    content = json.loads((eccv_caption._package_folder() / name).read_text(encoding="utf-8"))
    return {int(query): [int(item) for item in items] for query, items in content.items()}


def test_positives_and_queries_of_two_images_are_those_of_the_package(tmp_path):
    # image 183786 is asked, with seven captions here, two of them written for 571990; that one is not asked,
    # but it answers the asked caption 324
    split = data.load("eccv_caption", **fixtures.eccv_caption(tmp_path))
    eccv = split.judgements["eccv"]
    images = [int(image[-16:-4]) for image in split.image_ids]
    captions = [int(caption) for caption in split.caption_ids]
    assert images == [183786, 571990]
    listed = {(images[i], captions[c]) for i, c in zip(eccv.images, eccv.captions, strict=True)}
    assert listed == {(183786, c) for c in (324, 2019, 2427, 3081, 6690, 184864, 179578)} | {(571990, 324)}
    assert eccv.image_queries.tolist() == [0]
    assert eccv.caption_queries.tolist() == [0]
    assert set(split.judgements) == {"own", "cxc", "eccv"}
    assert split.judgements["own"].grades.sum() == 10
    theirs = file("cxc_image_to_caption.json")
    cxc = split.judgements["cxc"]
    assert len(cxc.grades) == sum(caption in captions for image in images for caption in theirs[image])


def test_a_split_that_lacks_captions_is_refused_with_the_expected_and_found_ids(tmp_path, monkeypatch):
    options = fixtures.eccv_caption(tmp_path)
    whole = eccv_caption.coco
    monkeypatch.setattr(eccv_caption, "coco", lambda **given: whole(**{**given, "complete": False}))
    with pytest.raises(
        ValueError, match="expected the 25,000 captions of the test split, found 10 of them and 0 others"
    ):
        data.load("eccv_caption", **{**options, "complete": True})


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(eccv_caption, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'itm-workbench\[eccv\]'"):
        data.load("eccv_caption")


def test_a_package_with_other_counts_is_refused(monkeypatch):
    monkeypatch.setitem(eccv_caption.PUBLISHED, "eccv", (1, 2, 3, 4))
    with pytest.raises(
        ValueError, match=r"expected \(1, 2, 3, 4\) pairs and queries .* found \(22550, 11279, 1261, 1332\)"
    ):
        eccv_caption._read_positives(eccv_caption._package_folder(), "eccv")


def test_unknown_splits_list_the_known():
    with pytest.raises(ValueError, match="split is 'val'; choose one of test"):
        data.load("eccv_caption", split="val")


@pytest.fixture(scope="module")
def whole(real_data, tmp_path_factory):
    """The whole test split, from its captions and from the package's ids, which stand in the same order."""
    root = tmp_path_factory.mktemp("coco")
    write_karpathy_test(real_data, root)
    return data.load("eccv_caption", root=str(root), source="captions")


@pytest.mark.real_data
def test_the_whole_test_split_has_all_published_positives_but_two(whole):
    assert whole.fingerprint() == {"images": 5000, "captions": 25000, "captions_per_image": {5: 5000}}
    eccv, cxc = whole.judgements["eccv"], whole.judgements["cxc"]
    # 22,550 + 11,279 - 6,089 in both directions - 2 that name a sixth caption of an image
    assert len(eccv.grades) == 27738
    assert (len(eccv.image_queries), len(eccv.caption_queries)) == (1261, 1332)
    assert len(cxc.grades) == 35585
    assert (len(cxc.image_queries), len(cxc.caption_queries)) == (5000, 24972)
    assert whole.notes == (
        "eccv: 2 positives name what the split lacks; they count into R, as in the package",
    )
    assert {whole.image_ids[row][-10:-4] for row in eccv.missing_captions} == {"421999", "575916"}
    assert len(cxc.missing_captions) == 0


@pytest.mark.real_data
def test_the_union_of_both_directions_gives_every_query_its_own_positives(whole):
    eccv = whole.judgements["eccv"]
    images, captions = (
        [int(image[-16:-4]) for image in whole.image_ids],
        [int(caption) for caption in whole.caption_ids],
    )
    for queries, rows, columns, row_ids, column_ids, name in (
        (eccv.image_queries, eccv.images, eccv.captions, images, captions, "eccv_image_to_caption.json"),
        (eccv.caption_queries, eccv.captions, eccv.images, captions, images, "eccv_caption_to_image.json"),
    ):
        found = {row_ids[query]: set() for query in queries}
        for row, column in zip(rows, columns, strict=True):
            if row_ids[row] in found:
                found[row_ids[row]].add(column_ids[column])
        known = set(column_ids)
        assert found == {query: set(items) & known for query, items in file(name).items()}
