"""Pre-training objectives: one module with a pure loss and a class for each."""
