"""Two engines for the same mathematics: ``reference`` (the oracle) and ``compiled`` (the fast one), and randomness."""

from gemsnn.engine.notice import announce_compilation

announce_compilation()
