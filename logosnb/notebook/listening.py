"""Hearing widgets while a cell runs.

In: the kernel that runs the cell. Out: `Listening`, a context whose `poll` handles the widget messages that
have come. May not know: which widgets there are.

A kernel reads its messages one after the other, and a running cell is one of them: a button pressed
meanwhile would be heard when the cell has ended. While this context is open, `poll` takes what has come
in the order of its coming, gives messages of widgets to them, and keeps all others, which the kernel gets
when the context closes. Where there is no such kernel `poll` does nothing; interrupting works all the same.
"""

from __future__ import annotations

from threading import current_thread, main_thread
from typing import Any


class Listening:
    """`with Listening() as listening:`, and `listening.poll()` now and then."""

    def __init__(self) -> None:
        self._kernel: Any = None
        self._stream: Any = None
        self._deferred: list[Any] = []

    def __enter__(self) -> Listening:
        self._kernel = running_kernel()
        self._stream = shell_stream(self._kernel)
        if self._stream is not None:
            self._received = self._stream._recv_callback
            self._stream.on_recv(self._take, copy=False)
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is None:
            return
        self._stream.on_recv(self._received, copy=False)
        for message in self._deferred:
            self._stream.io_loop.add_callback(self._received, message)

    def poll(self) -> None:
        """Handle what has come; at once where nothing has."""
        if self._stream is not None:
            import zmq

            self._stream.flush(zmq.POLLIN)

    def _take(self, frames: Any) -> None:
        session = self._kernel.session
        identities, rest = session.feed_identities(frames, copy=False)
        message = session.deserialize(rest, content=True, copy=False)
        if message["header"]["msg_type"] == "comm_msg":
            self._kernel.comm_manager.comm_msg(self._stream, identities, message)
            self._say_idle(message)
        else:
            self._deferred.append(frames)

    def _say_idle(self, message: Any) -> None:
        """A widget sends no second message before the kernel has said that it is done with the first."""
        publish = getattr(self._kernel, "_publish_status", None)
        if publish is not None:
            publish("idle", "shell", parent=message)


def running_kernel() -> Any:
    """The ipykernel that runs this cell, in its main thread; None where there is none."""
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    listens = hasattr(kernel, "comm_manager") and current_thread() is main_thread()
    return kernel if listens else None


def shell_stream(kernel: Any) -> Any:
    """The stream on which the main thread gets its messages, of ipykernel 6 or 7."""
    thread = getattr(kernel, "shell_channel_thread", None)
    if thread is None:
        stream = getattr(kernel, "shell_stream", None)
    else:
        stream = thread.manager.get_shell_channel_to_subshell_pair(None).to_stream
    return stream if hasattr(stream, "_recv_callback") else None
