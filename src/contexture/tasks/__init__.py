"""Fine-tuning heads and losses."""
