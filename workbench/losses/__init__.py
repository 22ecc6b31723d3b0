"""Equations that two papers share, as pure functions."""
