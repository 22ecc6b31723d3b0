from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from workbench.data.images import read_image
from workbench.views.explorer.thumbnails import read_upload

GREY, COLOUR, COLOUR_AND_ALPHA = 0, 2, 6


def png(kind, values, transparent=None):
    """A PNG of sixteen bits a channel, which Pillow cannot write in colour."""

    def chunk(name, content):
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    rows = np.asarray(values, dtype=">u2")
    lines = b"".join(b"\0" + row.tobytes() for row in rows)
    head = struct.pack(">IIBBBBB", rows.shape[1], rows.shape[0], 16, kind, 0, 0, 0)
    paper = b"" if transparent is None else chunk(b"tRNS", struct.pack(">H", transparent))
    body = chunk(b"IHDR", head) + paper + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels(content):
    image = read_image(content, "a.png")
    assert image.mode == "RGB"
    return np.asarray(image)


def test_the_upper_eight_of_sixteen_bits_are_kept():
    # 255 is one step below the second shade; 32,896 = 128 * 257 is the middle
    grey = pixels(png(GREY, [[0, 255, 256, 32896, 65535]]))
    assert grey[0].tolist() == [[0] * 3, [0] * 3, [1] * 3, [128] * 3, [255] * 3]
    assert pixels(png(COLOUR, [[[65535, 32896, 255]]])).tolist() == [[[255, 128, 0]]]
    # a plain text of numbers up to 65,535
    assert pixels(b"P2 2 1 65535 65535 512")[0].tolist() == [[255] * 3, [2] * 3]


def test_floats_are_shares_of_white_and_others_are_refused():
    shares = Image.fromarray(np.array([[0, 0.25, 1]], dtype=np.float32))
    # 0.25 * 255 = 63.75
    assert pixels(saved(shares, "TIFF"))[0].tolist() == [[0] * 3, [64] * 3, [255] * 3]
    for value in (300.0, -0.5, np.nan):
        wrong = saved(Image.fromarray(np.array([[0, value]], dtype=np.float32)), "TIFF")
        with pytest.raises(
            ValueError, match=r"depth.tif is not a readable image: its pixels .* 0 to 1 is black"
        ):
            read_image(wrong, "depth.tif")
    with pytest.raises(ValueError, match=r"from -1.0 to 7.0, and 0 to 65535 is black to white; scale them"):
        read_image(saved(Image.fromarray(np.array([[-1, 7]], dtype=np.int32)), "TIFF"), "labels.tif")


def test_what_is_transparent_lies_on_white():
    # 128/255 of red on white: green = 255 * 127/255 = 127
    half = Image.new("RGBA", (1, 1), (255, 0, 0, 128))
    assert pixels(saved(half, "PNG")).tolist() == [[[255, 127, 127]]]
    # nothing of the black below a transparent pixel is seen
    assert pixels(saved(Image.new("LA", (1, 1), (0, 0)), "PNG")).tolist() == [[[255] * 3]]
    assert pixels(png(COLOUR_AND_ALPHA, [[[0, 0, 0, 0]]])).tolist() == [[[255] * 3]]
    assert pixels(png(GREY, [[7, 512]], transparent=7))[0].tolist() == [[255] * 3, [2] * 3]


def test_a_palette_with_a_transparent_colour_lies_on_white():
    image = Image.new("P", (2, 1))
    image.putpalette([200, 10, 10, 10, 200, 10])
    image.putpixel((1, 0), 1)
    assert pixels(saved(image, "PNG"))[0].tolist() == [[200, 10, 10], [10, 200, 10]]
    assert pixels(saved(image, "GIF", transparency=1))[0].tolist() == [[200, 10, 10], [255] * 3]
    # half of each: (200 + 255) / 2 and (10 + 255) / 2
    half = pixels(saved(image, "PNG", transparency=bytes([255, 128])))[0].astype(int)
    assert half[0].tolist() == [200, 10, 10]
    assert np.abs(half[1] - [132, 228, 132]).max() <= 1


def test_print_colours_become_screen_colours():
    # no cyan, all magenta and yellow, no black is red
    assert pixels(saved(Image.new("CMYK", (1, 1), (0, 255, 255, 0)), "TIFF")).tolist() == [[[255, 0, 0]]]


def test_an_upload_is_turned_upright_and_its_transparency_is_white():
    exif = Image.Exif()
    exif[0x0112] = 6  # a quarter turn
    assert read_upload("turned.jpg", saved(Image.new("L", (10, 4)), "JPEG", exif=exif)).size == (4, 10)
    assert read_upload("a.png", saved(Image.new("RGBA", (1, 1)), "PNG")).getpixel((0, 0)) == (255, 255, 255)


def test_an_image_with_too_many_pixels_is_refused_before_it_is_decoded(tmp_path):
    # 196 million pixels in a file of some kB, twice Pillow's limit and more
    Image.new("1", (14000, 14000)).save(tmp_path / "large.png")
    said = "large.png is not a readable image: Image size .* exceeds limit"
    with pytest.raises(ValueError, match=rf"captions.csv row 1: .*{said}"):
        read_image(tmp_path / "large.png", "captions.csv row 1")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "TIFF", "GIF", "BMP", "WEBP"])
def test_files_that_are_cut_off_or_are_no_images_are_named(kind):
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    whole = saved(Image.fromarray(noise), kind)
    for content in (whole[: len(whole) // 2], whole[:20], b"", b"caption,image\n", b"\0" * 200):
        with pytest.raises(ValueError, match=r"^my file is not a readable image: "):
            read_image(content, "my file")


def test_a_format_whose_reader_starts_another_program_is_refused():
    with pytest.raises(ValueError, match=r"drawing.eps is not a readable image: cannot identify"):
        read_image(saved(Image.new("L", (4, 4)), "EPS"), "drawing.eps")
