"""What an object of one's own gives is read as vectors, or refused by the name of its method."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import workbench as wb
from workbench.runs.models import open_model
from workbench.runs.scoring import notes_of


class Output(dict):
    """As the outputs of transformers: fields by name."""


class Model:
    """Gives what a function makes of fixed vectors ``(N, 4)``."""

    def __init__(self, change) -> None:
        self.change = change

    def encode_image(self, images):
        return self.change(torch.arange(4.0 * len(images)).view(-1, 4) + 1)

    def encode_text(self, texts):
        return self.encode_image(texts)


IMAGES = [Image.new("RGB", (8, 6), colour) for colour in ("red", "green", "blue")]
READ = {
    "a tensor": lambda t: t,
    "an array": lambda t: t.numpy(),
    "half": lambda t: t.half(),
    "brain floats": lambda t: t.bfloat16(),
    "integers": lambda t: t.int().numpy(),
    "with a gradient": lambda t: t.requires_grad_(),
    "a list of tensors": list,
    "a tuple of arrays": lambda t: tuple(t.numpy()),
    "lists of numbers": lambda t: t.tolist(),
    "a sparse tensor": lambda t: t.to_sparse(),
    "a table": lambda t: pd.DataFrame(t.numpy()),
    "very large": lambda t: t.double() * 1e30,
    "very small": lambda t: t.double() * 1e-30,
}


@pytest.mark.parametrize("kind", READ)
def test_numbers_in_any_form_are_vectors_of_length_1(kind):
    opened = open_model(Model(READ[kind]))
    expected = torch.nn.functional.normalize(torch.arange(12.0).view(-1, 4) + 1, dim=1)
    for made in (opened.embed_images(IMAGES).mean, opened.embed_texts(["a", "b", "c"]).mean):
        assert made.dtype == torch.float32
        torch.testing.assert_close(made, expected, atol=2e-3, rtol=0)


REFUSED = {
    "an output": (lambda t: Output(pooler_output=t), TypeError, "gave Output, which holds pooler_output"),
    "a mapping": (lambda t: {"image_embeds": t, "loss": 1}, TypeError, "holds image_embeds, loss"),
    "nothing": (lambda t: None, TypeError, "gave NoneType"),
    "a function": (lambda t: t.sum, TypeError, "gave builtin_function"),
    "texts": (lambda t: ["a"] * len(t), TypeError, "gave a list of str"),
    "outputs in a list": (lambda t: [Output(a=row) for row in t], TypeError, "a list of Output"),
    "truths": (lambda t: t > 3, TypeError, "gave torch.bool"),
    "truths in an array": (lambda t: t.numpy() > 3, TypeError, "gave bool"),
    "complex": (lambda t: t + 1j, TypeError, "gave torch.complex64"),
    "a pair": (lambda t: (t, t), ValueError, "of 3 gave 2 times several vectors"),
    "lengths that differ": (lambda t: [t[0], t[1], t[2, :3]], ValueError, r"shapes \(4,\), \(3,\)"),
    "one vector": (lambda t: t[0], ValueError, r"of 3 gave shape \(4,\)"),
    "too few": (lambda t: t[1:], ValueError, r"gave shape \(2, 4\)"),
    "too many": (lambda t: [*t, t[0]], ValueError, r"gave shape \(4, 4\)"),
    "no width": (lambda t: t[:, :0], ValueError, r"gave shape \(3, 0\)"),
    "zeros": (lambda t: t * (torch.arange(len(t)) != 1)[:, None], ValueError, "zeros alone.* row 1"),
    "not a number": (lambda t: t / (torch.arange(len(t)) != 2)[:, None], ValueError, "not finite for row 2"),
    "too large": (lambda t: t.double() * 1e300, ValueError, "not finite for row 0"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_vector_an_item_is_refused_by_the_method(kind):
    change, error, said = REFUSED[kind]
    opened = open_model(Model(change))
    for method, call in (
        ("encode_image", lambda: opened.embed_images(IMAGES)),
        ("encode_text", lambda: opened.embed_texts(["a", "b", "c"])),
    ):
        with pytest.raises(error, match=rf"{method}\(\) .*{said}") as raised:
            call()
        assert "\n" not in str(raised.value)


def test_the_row_of_a_text_is_that_of_the_caller_whatever_the_order_of_encoding():
    class NoDogs(Model):
        def encode_text(self, texts):
            return np.array([[len(text) * ("dog" not in text)] * 4 for text in texts])

    with pytest.raises(ValueError, match=r"encode_text\(\) .* row 70"):
        open_model(NoDogs(None)).embed_texts(["a long caption of a cat"] * 70 + ["dog"] + ["cat"] * 9)


def test_widths_that_change_between_batches_are_refused():
    widths = iter([4, 5])
    with pytest.raises(ValueError, match=r"encode_text\(\) gave vectors of 4 and 5 numbers"):
        open_model(Model(lambda t: torch.ones(len(t), next(widths)))).embed_texts(["a"] * 65)


def test_loose_images_are_upright_and_in_rgb_as_those_of_data():
    class Pixels(Model):
        def encode_image(self, images):
            return [np.asarray(image.resize((2, 2)), dtype=float).ravel() + 1 for image in images]

    red = Image.new("RGB", (4, 4), "red")
    clear = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    turned = Image.new("RGB", (4, 4), "blue")
    turned.paste(Image.new("RGB", (4, 2), "red"), (0, 0))
    turned.getexif()[0x0112] = 3
    upright = turned.rotate(180)
    made = open_model(Pixels(None)).embed_images([red, red.convert("P"), clear, turned, upright]).mean
    assert torch.allclose(made[0], made[1])
    assert torch.allclose(made[2], torch.full((12,), 12**-0.5))
    assert torch.allclose(made[3], made[4])


def test_an_object_of_ones_own_says_nothing_of_captions_that_it_may_cut():
    class Cutting(Model):
        longest = 3

        def count_truncated(self, texts):
            return len(texts)

    opened, split = open_model(Cutting(None)), wb.load_data("scenes", size=8)
    assert notes_of(opened, opened.source(split)) == ()
