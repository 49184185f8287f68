"""What runs write to MLflow."""
