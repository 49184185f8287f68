"""Token ids to vectors."""
