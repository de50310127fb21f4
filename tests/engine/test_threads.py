"""Work shared out over threads: each part once, and nobody is left at work when one fails."""

import _thread
import time

import pytest

from gemsnn.engine.threads import share_out


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("number", [0, 1, 4, 50])
def test_every_part_is_done_once(threads, number):
    done = []
    share_out(done.append, number, threads)
    assert sorted(done) == list(range(number))


@pytest.mark.parametrize("problem", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("who", [0, 1, 2])
def test_if_one_fails_the_others_end_and_nothing_more_is_begun(problem, who):
    begun, ended = [], []

    def work(part):
        if part == who:
            raise problem
        begun.append(part)
        time.sleep(0.01)
        ended.append(part)

    with pytest.raises(problem):
        share_out(work, 1000, 3)
    assert sorted(begun) == sorted(ended)
    assert len(begun) < 100


def test_if_a_thread_cannot_be_started_those_that_were_end(monkeypatch):
    start, left = _thread.start_new_thread, []

    def refuse(function, arguments):
        if arguments == (1,):
            while not left:  # the first is at work
                time.sleep(0.001)
            raise RuntimeError("can't start new thread")
        return start(function, arguments)

    def work(part):
        left.append("begun")
        time.sleep(0.01)
        left.append("ended")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    with pytest.raises(RuntimeError, match="start new thread"):
        share_out(work, 3, 3)
    assert left.count("begun") == left.count("ended")


def test_a_helper_that_begins_after_the_others_have_ended_does_nothing(monkeypatch):
    start, ran, late = _thread.start_new_thread, [], []

    def interrupted(function, arguments):  # as Ctrl-C does it while the new thread is on its way
        late.append(lambda: function(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(_thread, "start_new_thread", interrupted)
    with pytest.raises(KeyboardInterrupt):
        share_out(ran.append, 2, 2)
    monkeypatch.setattr(_thread, "start_new_thread", start)
    late[0]()
    assert ran == []
