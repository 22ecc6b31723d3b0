"""Panels of the explorer: edits of the scene graph, the way to the root, the effect of each word."""
