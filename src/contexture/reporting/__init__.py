"""Report pages: tables compared with the papers, and learning curves."""
