"""`python -m clearmargin` is the command line."""

from clearmargin.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
