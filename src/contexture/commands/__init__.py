"""The command `contexture`: one module per subcommand."""
