"""One module per pre-training objective: a pure loss and a thin class around it."""
