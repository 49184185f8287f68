"""A toy objective: vectors of unit length."""
