"""Paper-style tables, learning curves and the report page, from metrics records and training logs."""
