"""`python -m contexture` is the command `contexture`."""

from contexture.command import main

if __name__ == "__main__":
    main()
