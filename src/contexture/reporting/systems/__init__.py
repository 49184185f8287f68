"""What each system's page says: one module a system."""
