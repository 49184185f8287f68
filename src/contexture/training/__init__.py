"""Pre-training: the Lightning module, data loading, optimizers, checkpoints and the launcher."""
