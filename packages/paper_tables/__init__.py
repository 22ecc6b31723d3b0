"""The papers' tables: what they print, the grids that measure it anew, and both beside each other."""
