"""What adapters share: optional libraries, and how many tokens a text may have."""

from workbench.assets.text_models import least, text_positions
from workbench.io import library

__all__ = ["DUAL", "least", "library", "text_positions"]

DUAL = "only dual encoders, such as CLIP and SigLIP, can be opened so far"
