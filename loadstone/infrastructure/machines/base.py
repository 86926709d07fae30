"""A machine: what can be done on it, whatever leads there; over one channel, opened when it is needed."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ValidationError

from loadstone.infrastructure.binary import stone_binary
from loadstone.infrastructure.machines import frames
from loadstone.infrastructure.machines.attempts import Attempts
from loadstone.infrastructure.machines.channel import Channel, OnEvent
from loadstone.infrastructure.machines.faults import MachineLost, NodeError
from loadstone.infrastructure.machines.transport import Transport
from loadstone.infrastructure.machines.watch import Watch
from loadstone.model.base import Model
from loadstone.model.errors import DeploymentError
from loadstone.model.records.node.deployments import (
    BeginArgs,
    Begun,
    EndArgs,
    Ended,
    ListArgs,
    Listed,
    LogArgs,
    Logged,
    NodeDeployment,
    NodeLimits,
    SpawnArgs,
    Spawned,
    StopArgs,
    Stopped,
)
from loadstone.model.records.node.frames import Hello, Nothing
from loadstone.model.records.node.machine import (
    Clock,
    Facts,
    FactsArgs,
    GetArgs,
    Ports,
    PortsArgs,
    PutArgs,
    Ran,
    RunArgs,
    Stored,
)
from loadstone.model.records.node.replicas import Peaks, PeaksArgs, ReadArgs, Standing, Standings, Subject, WatchArgs
from loadstone.model.records.node.tuning import (
    Difference,
    KnobChange,
    KnobsAnswer,
    KnobsArgs,
    KnobValues,
    RestoreAnswer,
    Restored,
    TuneAnswer,
    TuneArgs,
    VerifyAnswer,
)

ReplicaPart = Literal["limits", "usage", "environment", "events", "io"]
Answer = TypeVar("Answer", bound=Model)
_MARGIN_S = 30.0
"""Beyond a command's own time limit; to a slow machine or network."""
_LOG_BYTES = 1 << 18
_LONGEST_SOCKET = 107
"""Bytes in the path of a Unix socket."""
_SWAP_S = 600.0
"""Reading back all that was swapped out."""


@dataclass(frozen=True)
class Completed:
    """How a command ended, with the ends of its outputs."""

    code: int
    stdout: str
    stderr: str
    signal: str = ""
    timed_out: bool = False

    @property
    def complaint(self) -> str:
        """What it wrote, else how it ended."""
        ended = f"killed by {self.signal}" if self.signal else f"exit code {self.code}"
        written = (self.stderr.strip() or self.stdout.strip()) if self.code else ""
        return "its time was up" if self.timed_out else written or ended


class Machine:
    """``name`` is what messages call it. Verbs may be called from any thread.

    Every verb raises NodeError where the machine refuses, MachineLost where it does not answer. After a loss the next
    verb tries to reach it again (``Attempts``).
    """

    def __init__(self, name: str, transport: Transport) -> None:
        self.name = name
        self.sockets: dict[str, str] = {}
        """By the path here, the path there of each Unix socket that is forwarded."""
        self._transport = transport
        self._opening = threading.Lock()
        self._channel: Channel | None = None
        self._losses: list[str] = []
        self._attempts = Attempts()
        self._stone = ""

    # The way there

    @property
    def stone(self) -> str:
        """The path of the ``stone`` binary there; delivers it, where it is not there."""
        if not self._stone:
            self._open()
        return self._stone

    @property
    def hello(self) -> Hello:
        """What its node says of itself."""
        return self._open().hello

    def deliver(self, program: Path) -> str:
        """The path there of a program of the desk's, found by its content; copied there if it is not."""
        return self._transport.deliver(program)

    def socket(self, path: str) -> str:
        """The path here by which a Unix socket of the machine's is reached; may be called again after a loss.

        Raises DeploymentError for one that is too long.
        """
        local = self._transport.socket(path)
        if local != path:
            self.sockets[local] = path
        if (length := len(os.fsencode(local))) > _LONGEST_SOCKET:
            raise DeploymentError(
                f"{local} is too long for a socket: {length} bytes, {_LONGEST_SOCKET} at most",
                "set LOADSTONE_DATA to a folder with a shorter path",
            )
        return local

    def command(self, argv: Sequence[str]) -> list[str]:
        """The local command line that runs ``argv`` there, with standard input and outputs attached."""
        return self._transport.command(argv)

    def settle(self) -> None:
        """Wait until the nodes of desks that were killed have ended there, where they can be seen. Opens no channel.

        Raises DeploymentError for one that stays.
        """
        self._transport.settle()

    def close(self) -> None:
        """End the channel, and what runs by it; what was spawned lives on. May be called twice."""
        with self._opening:
            if self._channel is not None:
                self._channel.close()
                self._transport.close()
            self._channel = None

    @property
    def losses(self) -> tuple[str, ...]:
        """Why each channel ended that was not closed from here, oldest first, as sentences."""
        with self._opening:
            return (*self._losses, *self._loss())

    def _loss(self) -> list[str]:
        """Why the newest channel has ended; empty while it can be used."""
        loss = self._channel.loss() if self._channel is not None else ""
        return [loss] if loss else []

    def _open(self) -> Channel:
        with self._opening:
            loss = self._loss()
            if self._channel is None or loss:
                with self._attempts.next():
                    self._stone = self._transport.deliver(stone_binary())
                    node = [self._stone, "node", *self._transport.node_options()]
                    self._transport.settle()  # an orphan could still begin what this channel is about to remove
                    self._channel = Channel(self.name, self._transport.command(node), self._transport.explain)
                self._losses += loss
            return self._channel

    def ask(
        self,
        verb: str,
        args: Model,
        answer: type[Answer],
        payload: bytes = b"",
        within_s: float = _MARGIN_S,
        on_event: OnEvent | None = None,
    ) -> tuple[Answer, bytes]:
        """A verb's typed answer, and raw bytes. ``on_event`` receives what comes before it."""
        data, raw = self._open().request(
            verb, args.model_dump(mode="json", exclude_defaults=True), payload, within_s, on_event
        )
        try:
            return answer.model_validate(data), raw
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            raise MachineLost(
                f"{self.name}: its node's answer to {verb!r} is of another release: {where}: {first['msg']}",
                "rebuild the stone binary with `make .build/stone`",
            ) from None

    # What it is

    def facts(self, tools: Sequence[str] = ()) -> Facts:
        """Its kernel, processors, memory, disks, and the paths of ``tools``."""
        return self.ask("facts", FactsArgs(tools=tuple(tools)), Facts)[0]

    def clock(self) -> Clock:
        """Its clocks."""
        return self.ask("clock", Nothing(), Clock)[0]

    def clock_offset_s(self, readings: int = 5) -> float:
        """By how much its clock is ahead of ours: of several readings the one with the shortest way."""

        def reading() -> tuple[int, int]:
            before = time.time_ns()
            there = self.clock().realtime_ns
            after = time.time_ns()
            return after - before, there - (before + after) // 2

        return min(reading() for _ in range(readings))[1] / 1e9

    def ports(self, address: str, wanted: Sequence[int]) -> tuple[int, ...]:
        """Free ports of an address, each the wanted one or the next that is free; ours until the channel ends."""
        if not wanted:
            return ()
        return self.ask("ports", PortsArgs(address=address, count=len(wanted), wanted=tuple(wanted)), Ports)[0].ports

    # Commands

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        folder: str = "",
        user: str = "",
        cores: Sequence[int] = (),
        given: bytes = b"",
        within_s: float = 60.0,
        follow: Callable[[str, str], None] | None = None,
    ) -> Completed:
        """Run a command to its end, ``given`` being its input. It dies with us, and with the node.

        ``follow`` receives ``stdout`` or ``stderr`` and each line as it is written.
        """

        def relay(event: dict[str, object], _raw: bytes) -> None:
            for output, line in event.items():
                if follow is not None and isinstance(line, str):
                    follow(output, line)

        args = RunArgs(
            argv=tuple(argv),
            env=dict(env or {}),
            folder=folder,
            user=user,
            timeout_s=within_s,
            follow=follow is not None,
            cores=tuple(cores),
        )
        ran, raw = self.ask("run", args, Ran, given, within_s + _MARGIN_S, relay)
        stdout, stderr = raw[: ran.stdout_bytes], raw[ran.stdout_bytes :]
        return Completed(
            ran.code, stdout.decode(errors="replace"), stderr.decode(errors="replace"), ran.signal, ran.timed_out
        )

    def output(self, argv: Sequence[str], user: str = "", given: bytes = b"", within_s: float = 60.0) -> str:
        """What a command prints; raises DeploymentError with its complaint where it fails."""
        done = self.run(argv, user=user, given=given, within_s=within_s)
        if done.code != 0 or done.timed_out:
            raise DeploymentError(f"{self.name}: `{' '.join(argv)[:200]}` failed: {done.complaint}")
        return done.stdout

    # Deployments: processes that outlive the channel

    def begin(self, deployment: str, digest: str, owner: str, limits: NodeLimits | None = None) -> Begun:
        """A folder for data and a control group; again for the same deployment and digest, the same."""
        args = BeginArgs(deployment=deployment, digest=digest, owner=owner, limits=limits or NodeLimits())
        return self.ask("begin", args, Begun)[0]

    def spawn(self, args: SpawnArgs) -> Spawned:
        """Start a process of a deployment, in a control group of its own."""
        return self.ask("spawn", args, Spawned)[0]

    def deployments(self) -> tuple[NodeDeployment, ...]:
        """All that the machine's journal has."""
        return self.ask("list", ListArgs(), Listed)[0].deployments

    def deployment(self, name: str) -> NodeDeployment | None:
        """One deployment with its processes; None where the journal does not have it."""
        try:
            found = self.ask("list", ListArgs(deployment=name), Listed)[0].deployments
        except NodeError as error:
            if error.kind == "missing":
                return None
            raise
        return found[0] if found else None

    def stop(self, deployment: str, names: Sequence[str], signal: str, grace_s: float) -> tuple[str, ...]:
        """Send processes a signal and wait for their ends; returns those that had to be killed."""
        args = StopArgs(deployment=deployment, names=tuple(names), signal=signal, grace_s=grace_s)
        return self.ask("stop", args, Stopped, within_s=grace_s + _MARGIN_S)[0].killed

    def end(self, deployment: str) -> tuple[str, ...]:
        """Kill and remove what is left of a deployment, its journal entry last; returns what was still running."""
        return self.ask("end", EndArgs(deployment=deployment), Ended)[0].running

    def log(self, deployment: str, name: str, lines: int) -> str:
        """The last lines that a process wrote; empty if it was never spawned."""
        args = LogArgs(deployment=deployment, name=name, lines=lines, most_bytes=_LOG_BYTES)
        try:
            return self.ask("log", args, Logged)[1].decode(errors="replace")
        except NodeError as error:
            if error.kind == "missing":
                return ""
            raise

    # What the kernel says of replicas

    def read(self, what: Sequence[ReplicaPart], replicas: Mapping[str, Subject]) -> dict[str, Standing]:
        """What is in force for replicas, and what they have used, by their names."""
        return self.ask("read", ReadArgs(what=tuple(what), replicas=dict(replicas)), Standings)[0].replicas

    def new_peaks(self, replicas: Mapping[str, Subject]) -> bool:
        """Begin a new memory peak of each replica; whether all could."""
        return all(self.ask("peaks", PeaksArgs(replicas=dict(replicas)), Peaks)[0].peaks.values())

    def watch(self, args: WatchArgs) -> Watch:
        """Record counters of the machine and of replicas until the watch is ended."""
        return Watch(self.ask, args)

    # Host tuning

    @property
    def boot(self) -> str:
        """Id of its kernel's boot: emulated hosts have that of the machine that they are on."""
        return self.hello.boot

    def knobs(self, values: KnobValues) -> KnobsAnswer:
        """What it has, what of these values it does not take, and what of it disturbs; changes nothing."""
        return self.ask("knobs", KnobsArgs(tuning=values), KnobsAnswer)[0]

    def tune(self, values: KnobValues, command: str, say: Callable[[str], None]) -> tuple[KnobChange, ...]:
        """Set knobs until ``restore`` or the channel's end; ``say`` receives each knob's name. All or nothing."""
        args = TuneArgs(tuning=values, command=command)
        answer, _ = self.ask(
            "tune", args, TuneAnswer, within_s=_SWAP_S, on_event=lambda event, _raw: say(str(event["knob"]))
        )
        return answer.changes

    def verify(self) -> tuple[Difference, ...]:
        """What is not, or no longer, as ``tune`` has set it; raises NodeError where this channel has set nothing."""
        return self.ask("verify", Nothing(), VerifyAnswer)[0].differences

    def restore(self) -> Restored | None:
        """Set back what we have set, or what a node that was killed left; None where nothing was set."""
        return self.ask("restore", Nothing(), RestoreAnswer, within_s=_SWAP_S)[0].restored

    # Files

    def put(self, content: bytes | Path, path: str, mode: int = 0o644, user: str = "") -> None:
        """Write a file, whole or not at all."""
        sums, offset = hashlib.sha256(), 0
        for piece, last in frames.pieces(content):
            sums.update(piece)
            args = PutArgs(
                path=path,
                mode=mode,
                user=user,
                offset=offset,
                last=last,
                sha256=sums.hexdigest() if last else "",
                size=offset + len(piece) if last else None,
            )
            self.ask("put", args, Stored, piece)
            offset += len(piece)

    def get(self, path: str, from_end: int | None = None) -> bytes:
        """A file's content, or its last bytes; raises MachineLost where it did not arrive whole."""
        pieces: list[bytes] = []
        args = GetArgs(path=path, from_end=from_end)
        stored, _ = self.ask("get", args, Stored, on_event=lambda _event, raw: pieces.append(raw))
        content = b"".join(pieces)
        if hashlib.sha256(content).hexdigest() != stored.sha256:
            raise MachineLost(f"{self.name}: {path} did not arrive as it was sent")
        return content
