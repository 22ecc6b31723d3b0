"""Parts of papers: memory banks, prototypes, attention, Gaussians, neighbourhoods, selections."""
