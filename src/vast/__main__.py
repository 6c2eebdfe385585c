"""`python -m vast VERB ...`, for where the command is not on the path."""

from vast.cli import main

if __name__ == "__main__":
    main()
