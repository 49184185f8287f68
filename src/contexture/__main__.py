"""`python -m contexture` is the command `contexture`."""

from contexture.cli.main import main

if __name__ == "__main__":
    main()
