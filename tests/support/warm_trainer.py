"""A process that trains on demand, each time in a child of its own, which may be killed.

Starting Python and compiling takes seconds; a child forked from a process that has done both starts at once, so that
many kills fit into a test. Reads a line a request (data file, run directory, settings as JSON) and answers with the
child's process number; after another line, with its wait status once it has ended.
"""

import json
import os
import sys
import traceback

import toy

from gemsnn.events import open_prepared
from gemsnn.training import TrainingConfig, train, trainer_of


def main(warm_up_file: str) -> None:
    with open_prepared(warm_up_file) as data:
        trainer_of(toy.config(), data).run()
    print("ready", flush=True)
    while line := sys.stdin.readline():
        data_file, directory, settings = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with open_prepared(data_file) as data:
                    train(TrainingConfig.make(**settings), data, directory, resume=True)
                code = 0
            except BaseException:
                traceback.print_exc()
            os._exit(code)
        print(child, flush=True)
        sys.stdin.readline()
        print(os.waitpid(child, 0)[1], flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
