"""`python -m gemsnn` is `gemsnn`."""

from gemsnn.cli import main

main()
