"""Maps of a space: where images and captions lie, how far the picture can be trusted, and what moves between
two runs.
"""
