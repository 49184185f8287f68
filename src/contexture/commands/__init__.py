"""The command `contexture`: a module for each subcommand."""
