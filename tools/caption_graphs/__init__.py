"""The lessons of the caption parser: annotated and corrected captions, the weights that learn from them."""
