"""Search questions from held-out documents and from users, without labels."""
