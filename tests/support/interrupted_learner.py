"""A warm process whose children learn with two threads until they are interrupted; each prints its number.

Reads a line for each child that shall begin, and after another line answers with the child's wait status.
"""

import os
import sys
from itertools import cycle

import numpy as np

import gemsnn
from gemsnn.engine import compiled

FORMS = ("event", "sparse")


def learn(form: str) -> None:
    compiled.FORM = form
    network = gemsnn.Network.fully_connected(4, 30, 2)
    inputs, targets = np.ones((5, 4), np.uint8), np.ones((5, 2), np.uint8)
    batch = [gemsnn.learning.Lesson(inputs, targets, gemsnn.GEM(), n) for n in range(4)]
    gemsnn.learning.Lessons(network, 3, 5, threads=2).learn(network.init(), batch)


def main() -> None:
    for form in FORMS:
        learn(form)
    print("ready", flush=True)
    for child_form in cycle(FORMS):
        if not sys.stdin.readline():
            break
        child = os.fork()
        if child == 0:
            try:
                print(os.getpid(), flush=True)  # from here on, and not while it is being forked
                while True:
                    learn(child_form)
            except KeyboardInterrupt:
                sys.exit(7)  # the usual way out, which waits for threads
        sys.stdin.readline()
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main()
