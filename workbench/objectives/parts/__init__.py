"""Parts that papers are built from: memory banks, prototypes, attention, Gaussians, neighbourhoods, selections."""
