"""`python -m contexture` is the command `contexture`."""

from contexture.commands.main import main

if __name__ == "__main__":
    main()
