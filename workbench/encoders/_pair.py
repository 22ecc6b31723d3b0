"""Two encoders, one for each side; they may be the same module."""

from __future__ import annotations

from torch import nn

from workbench.encoders._base import Encoder, ParameterGroup


class Pair(nn.Module):
    """An image encoder and a text encoder as one model.

    Args:
        image: encodes images.
        text: encodes captions; may be the very same module as ``image``.

    Raises:
        ValueError: an encoder does not encode its side, or the two embed to different widths.
    """

    def __init__(self, image: Encoder, text: Encoder) -> None:
        super().__init__()
        if image.image_input is None:
            raise ValueError(
                f"{type(image).__name__} encodes no images; choose an image encoder such as 'towers' or "
                "'regions'"
            )
        if not text.encodes_text:
            raise ValueError(
                f"{type(text).__name__} encodes no captions; choose a text encoder such as 'towers' or "
                "'sequence'"
            )
        if image.embed_dim != text.embed_dim:
            raise ValueError(
                f"images embed to {image.embed_dim} dimensions and captions to {text.embed_dim}; set the "
                "same embed_dim for both"
            )
        self.image = image
        if text is not image:
            self.other = text

    @property
    def text(self) -> Encoder:
        """The text encoder. A module that serves both sides is registered once, so that its weights are
        stored once.
        """
        return self.other if hasattr(self, "other") else self.image

    def groups(self) -> list[ParameterGroup]:
        """Parameter groups of both sides, without the tower that serves no side."""
        if self.image is self.text:
            return self.image.groups()
        image = [group for group in self.image.groups() if group.role != "text_backbone"]
        return image + [group for group in self.text.groups() if group.role != "image_backbone"]
