"""The one Lightning module, data loading, optimizers, checkpoints and the launcher."""
