"""Pre-training of the models of the embedded world."""
