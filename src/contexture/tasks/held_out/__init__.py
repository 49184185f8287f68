"""What documents that nothing was learned from give away, looked for in the whole corpus; a user's own questions."""
