"""`python -m kds`: the command line, where the installed script is not at hand."""

from kds.cli import main

if __name__ == "__main__":
    main()
