"""Servers in Python without the seconds that their libraries take to load: each is a fork of one process.

``warm.py SOCKET`` loads them and forks; ``warm.py SOCKET NAME`` becomes one, on its own stdin and stdout.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys


def become(place: str, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(place)
        socket.send_fds(line, [name.encode()], [0, 1, 2])
        for descriptor in (0, 1):
            os.close(descriptor)
        line.recv(1)  # its end is the server's
    os._exit(0)


def keep(place: str) -> None:
    import asking
    import featured

    runs = {"featured": featured.over_stdio, "asking": lambda: asking.server.run("stdio")}
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("ready", flush=True)
        while True:
            line, _ = door.accept()
            name, descriptors, _, _ = socket.recv_fds(line, 100, 3)
            if not os.fork():
                door.close()
                for number, descriptor in enumerate(descriptors):
                    os.dup2(descriptor, number)
                    os.close(descriptor)
                with contextlib.suppress(KeyboardInterrupt):
                    runs[name.decode()]()
                os._exit(0)
            line.close()
            for descriptor in descriptors:
                os.close(descriptor)


if __name__ == "__main__":
    become(*sys.argv[1:]) if len(sys.argv) > 2 else keep(sys.argv[1])
