"""str to paragraphs, sentences and links. Knows no Spark and no torch."""
