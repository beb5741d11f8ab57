"""`python -m progressive`: the command line, wherever its script was put."""

from progressive.cli import main

main(prog_name="progressive")
