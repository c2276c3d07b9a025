"""Whether other Python threads run during a call, and signals that come during one; by CPU time, so that load does not matter."""

import os
import threading
import time

ENOUGH = 5  # beats; where a call holds the interpreter there is one at either end of it


def most_beats(call, seconds=10.0):
    """How often another Python thread ran within one call. The call is repeated until that is ENOUGH, or it had `seconds` of CPU
    time."""
    most, begin = 0, time.process_time()
    while most < ENOUGH and time.process_time() - begin < seconds:
        most = max(most, _beats(call))
    return most


def _beats(call):
    times, stop = [], threading.Event()

    def count():
        while not stop.is_set():
            times.append(time.monotonic())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    begin = time.monotonic()
    call()
    end = time.monotonic()
    stop.set()
    counter.join()
    return sum(begin < t < end for t in times)


def signal_after(number, seconds):
    """Sends the process a signal when it has used so much more CPU time. To be started where the call begins."""
    end = time.process_time() + seconds

    def send():
        while time.process_time() < end:
            time.sleep(0.002)
        os.kill(os.getpid(), number)

    sender = threading.Thread(target=send)
    sender.start()
    return sender
