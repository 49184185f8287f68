"""SimCSE: a sentence and the same sentence under other dropout."""
