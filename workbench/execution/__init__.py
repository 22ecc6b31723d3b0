"""Notebooks behind one door: run one strictly, with a status that can be trusted."""
