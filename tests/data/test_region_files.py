"""Region features in one file an image: read when they are asked for, with boxes where they are known."""

from __future__ import annotations

import numpy as np
import pytest

from tests.data import fixtures
from workbench import data
from workbench.data.region_files import RegionFiles, locate
from workbench.training.batches import region_reader as reader
from workbench.training.samplers import mean_regions


def write(place, shapes):
    for n, shape in enumerate(shapes):
        np.save(place / f"{n}.npy", np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + n)
    return [place / f"{n}.npy" for n in range(len(shapes))]


def test_files_read_as_the_stacked_array_does_by_row_by_slice_and_by_rows(tmp_path):
    found = RegionFiles(write(tmp_path, [(3, 2)] * 4))
    whole = np.stack([np.load(file) for file in found.files])
    assert (found.shape, len(found)) == ((4, 3, 2), 4)
    rows = np.array([3, 1])
    for of, by in ((found[1], whole[1]), (found[1:3], whole[1:3]), (found[rows], whole[rows])):
        np.testing.assert_array_equal(np.asarray(of), by)
    assert isinstance(found[:2], RegionFiles)
    assert isinstance(found[1], np.memmap)
    np.testing.assert_allclose(mean_regions(found, chunk=3), whole.mean(axis=1))


def test_a_file_of_another_shape_or_that_is_none_is_named(tmp_path):
    found = RegionFiles(write(tmp_path, [(3, 2), (3, 4)]))
    with pytest.raises(ValueError, match=r"1.npy: expected regions of width 2 .* found \(3, 4\)"):
        np.asarray(found)
    (tmp_path / "bad.npy").write_bytes(b"no")
    np.savez(tmp_path / "other.npz", y=np.ones((3, 2)))
    for name, message in (("bad.npy", "cannot be read as regions"), ("other.npz", "it holds y, and none of")):
        with pytest.raises(ValueError, match=message):
            RegionFiles([tmp_path / name])


def test_the_file_of_an_image_is_found_by_its_name_or_its_number(tmp_path):
    np.savez(tmp_path / "391895.npz", feat=np.ones((3, 2)))
    np.save(tmp_path / "a.npy", np.ones((3, 2)))
    found = locate(tmp_path, ["COCO_val2014_000000391895.jpg", "deep/a.jpg"])
    assert [file.name for file in found.files] == ["391895.npz", "a.npy"]
    with pytest.raises(FileNotFoundError, match=r"no regions of b.jpg: none of b.npy, b.npz; write one file"):
        locate(tmp_path, ["b.jpg"])


def test_boxes_are_shares_of_the_image_and_unknown_without_its_size(tmp_path):
    # 20 of 200 pixels from the left, 15 of 150 from the top, 100 of 200, 75 of 150
    held = {"x": np.ones((1, 2)), "bbox": np.array([[20.0, 15.0, 100.0, 75.0]])}
    np.savez(tmp_path / "sized.npz", **held, image_w=200, image_h=150)
    np.savez(tmp_path / "bare.npz", **held)
    np.savez(tmp_path / "shares.npz", features=np.ones((1, 2)), boxes=np.array([[0.1, 0.1, 0.5, 0.5]]))
    np.save(tmp_path / "plain.npy", np.ones((1, 2)))
    found = RegionFiles([tmp_path / name for name in ("sized.npz", "bare.npz", "shares.npz", "plain.npy")])
    np.testing.assert_allclose(found.boxes(0), [[0.1, 0.1, 0.5, 0.5]])
    np.testing.assert_allclose(found.boxes(2), found.boxes(0))
    assert (found.boxes(1), found.boxes(3)) == (None, None)


def test_numbers_and_boxes_that_are_none_are_refused_by_name(tmp_path):
    files = write(tmp_path, [(3, 2)] * 2)
    np.save(files[1], np.array([[1, 2], [np.nan, 3], [np.inf, 4]], dtype=np.float32))
    with pytest.raises(ValueError, match=r"1.npy: 2 of its numbers are not finite"):
        np.asarray(RegionFiles(files))
    held = {"x": np.ones((2, 2)), "image_w": 10, "image_h": 10}
    np.savez(tmp_path / "few.npz", **held, bbox=np.ones((1, 4)))
    np.savez(tmp_path / "nan.npz", **held, bbox=np.full((2, 4), np.nan))
    found = RegionFiles([tmp_path / "few.npz", tmp_path / "nan.npz"])
    for row, name in enumerate(("few", "nan")):
        with pytest.raises(ValueError, match=rf"{name}.npz.*expected 2 boxes of 4 finite numbers"):
            found.boxes(row)


def test_a_folder_of_ones_own_needs_no_photographs_where_it_has_regions(tmp_path):
    place = fixtures.bottom_up(tmp_path / "mine", images=8)
    split = data.load("folder", split="train", root=str(place), regions="butd")
    assert (split.regions.shape, split.image_ids) == ((4, 6, 12), ("0.jpg", "1.jpg", "4.jpg", "5.jpg"))
    assert split.open_boxes(3).shape == (6, 4)
    np.testing.assert_array_equal(split.first(2).regions[1], np.load(place / "butd" / "1.npz")["x"])
    read = reader(split)(np.array([2, 0]))
    np.testing.assert_array_equal(read[0], np.load(place / "butd" / "4.npz")["x"])
    with pytest.raises(FileNotFoundError, match="no image file"):
        split.open_image(0)
    with pytest.raises(FileNotFoundError, match=r"has no regions of 0\.jpg"):
        data.load("folder", split="train", root=str(place), regions="elsewhere")


def test_the_field_s_data_read_regions_of_one_file_an_image_beside_their_captions(tmp_path):
    options = fixtures.coco(tmp_path)
    (tmp_path / "regions").mkdir()
    for _, number, _ in fixtures.COCO:
        np.savez(tmp_path / "regions" / f"{number}.npz", features=np.full((4, 3), number, np.float32))
    split = data.load("coco", split="test", source="regions", **options)
    assert split.regions.shape == (2, 4, 3)
    assert np.asarray(split.regions)[:, 0, 0].tolist() == [16, 15]
    shared = data.load("coco", split="train", source="regions", share=0.4, **options)
    assert [int(image[-6:-4]) for image in shared.image_ids] == np.asarray(shared.regions)[:, 0, 0].tolist()


@pytest.mark.parametrize("count", ["num_bbox", "num_boxes", ""])
def test_images_of_other_numbers_of_regions_embed_as_if_they_were_not_padded(tmp_path, count):
    from types import SimpleNamespace

    import torch

    from workbench import encoders

    rng, place = np.random.default_rng(0), tmp_path / "butd"
    place.mkdir()
    for n, regions in enumerate((3, 5)):
        held = np.zeros((10 if count else regions, 8), "float32")
        held[:regions] = rng.normal(size=(regions, 8))
        if count and n == 0:
            held[4:] = 7.0  # what a detector leaves behind the regions
        boxes = np.zeros((len(held), 4)) + 0.5
        np.savez(place / f"{n}.npz", x=held, boxes=boxes, **({count: regions} if count else {}))
    (tmp_path / "captions.csv").write_text("image,caption,split\n0.jpg,one,train\n1.jpg,two,train\n")
    split = data.load("folder", split="train", root=str(tmp_path), regions="butd")
    assert split.regions.shape == (2, 5, 8)
    assert split.open_boxes(0).shape == (5, 4)
    assert "3 to 5 regions an image; what is missing is masked" in split.notes
    whole = np.asarray(split.regions)
    for pooling in ("gpo", "max", "mean"):
        torch.manual_seed(0)
        encoder = encoders.load("regions", in_dim=8, embed_dim=16, hidden_dim=32, pooling=pooling).eval()
        both, alone = (
            encoder.encode_images(SimpleNamespace(inputs={"regions": torch.from_numpy(one)})).mean
            for one in (whole, whole[:1, :3].copy())
        )
        torch.testing.assert_close(both[:1], alone)


@pytest.mark.parametrize(("said", "rows"), [([3], 3), (30, 0), (0, 0), (-1, 0), ([3, 3], 0), (np.nan, 0)])
def test_how_many_rows_are_regions_is_one_number_of_them(tmp_path, said, rows):
    np.savez(tmp_path / "1.npz", x=np.ones((5, 8), np.float32), num_boxes=said)
    if rows:
        assert locate(tmp_path, ["1.jpg"]).counts == [rows]
        return
    with pytest.raises(ValueError, match=r"1.npz cannot be read as regions: it says that .* of its 5 rows"):
        locate(tmp_path, ["1.jpg"])


def test_features_that_may_be_those_of_two_images_or_in_two_files_are_refused(tmp_path):
    np.save(tmp_path / "1.npy", np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"1\.npy would hold the regions of a/1\.jpg and of b/1\.jpg"):
        locate(tmp_path, ["a/1.jpg", "b/1.jpg"])
    np.savez(tmp_path / "1.npz", x=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"1\.npy and 1\.npz may each"):
        locate(tmp_path, ["1.jpg"])
    np.savez(tmp_path / "2.npz", x=np.ones((3, 2)), features=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"features and x"):
        np.asarray(locate(tmp_path, ["2.jpg"]))
