"""A network between two processes of one machine, which a test takes away and gives back."""

import contextlib
import random
import socket
import threading


def free_port():
    """A port below those that Linux gives to connections: none takes it before it is used."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


class Relay:
    """Passes on what is sent to its port, both ways, unless it is `silent` or was cut."""

    def __init__(self, port):
        self.target = port
        self._passes = threading.Event()
        self._passes.set()
        self._sockets = [socket.create_server(("127.0.0.1", 0))]
        self.port = self._sockets[0].getsockname()[1]
        self._start(self._accept)

    @property
    def address(self):
        return f"tcp://127.0.0.1:{self.port}"

    def be_silent(self):
        """Hold back whatever comes, and keep the connections."""
        self._passes.clear()

    def speak(self):
        """Pass on what was held back, and what comes."""
        self._passes.set()

    def cut(self):
        """End the connections, and take no others."""
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._passes.set()

    def _start(self, action, *arguments):
        threading.Thread(target=action, args=arguments, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._sockets[0].accept()
                self._sockets.append(near)  # to be closed, also where the target is gone
                far = socket.create_connection(("127.0.0.1", self.target))
                self._sockets.append(far)
                self._start(self._pass_on, near, far)
                self._start(self._pass_on, far, near)

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(2**16):
                self._passes.wait()
                sink.sendall(data)
        self._passes.wait()
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
