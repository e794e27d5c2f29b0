"""One thread follows all that shows running jobs."""

from __future__ import annotations

import threading

from flinkish.api.display import follower
from flinkish.api.display.follower import follow
from tests.spark.waiting import wait_for


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "flinkish follower"]


def once(done):
    """Sets the event, and need not be called again."""

    def look():
        done.set()
        return False

    return look


def test_one_thread_calls_each_until_it_returns_false_and_then_ends():
    seen = {"a": [], "b": []}

    def looking(name, times):
        def look():
            seen[name].append(threading.current_thread())
            return len(seen[name]) < times

        return look

    follow(looking("a", 3), 0.01)
    follow(looking("b", 5), 0.01)
    wait_for(lambda: len(seen["a"]) == 3 and len(seen["b"]) == 5, 20)
    wait_for(lambda: follower._FOLLOWER._thread is None, 20)
    assert len({*seen["a"], *seen["b"]}) <= 2
    again = threading.Event()
    follow(once(again), 0.01)
    assert again.wait(20)


def test_a_short_pause_does_not_wait_for_a_long_one():
    follow(lambda: True, 300, 300).stop(0)
    slow = follow(lambda: True, 300, 300)
    quick = threading.Event()
    follow(once(quick), 0.01)
    assert quick.wait(20)
    assert len(threads()) == 1
    slow.stop(1)
    wait_for(lambda: not threads(), 20)


def test_what_is_stopped_is_not_done_any_more():
    begun, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def look():
        begun.set()
        go_on.wait(20)
        ended.set()
        return True

    following = follow(look, 0.01)
    assert begun.wait(20)
    threading.Timer(0.1, go_on.set).start()
    following.stop(20)
    assert ended.is_set()
    wait_for(lambda: not threads(), 20)


def test_an_error_is_logged_and_ends_only_what_raised_it(caplog):
    seen = []

    def fails():
        raise RuntimeError("a screen is gone")

    def goes_on():
        seen.append(1)
        return True

    follow(fails, 0.01)
    following = follow(goes_on, 0.01)
    wait_for(lambda: len(seen) > 3, 20)
    following.stop(20)
    (record,) = caplog.records
    assert "is not updated any more" in record.getMessage()
    assert record.exc_info[0] is RuntimeError
