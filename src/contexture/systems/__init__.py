"""Systems: one package per paper, with its published numbers and its report page."""
