"""Asks over pykka's threads."""

import pykka

from bench.peers.scripts.reporting import Job, main, rate

ROUNDTRIPS = 5


class Echo(pykka.ThreadingActor):
    """Answers each message with itself."""

    def on_receive(self, message: object) -> object:
        """Answer."""
        return message


def ask(job: Job) -> float:
    """Ask every actor, several times."""
    refs = [Echo.start() for _ in range(job.count)]

    def go_round() -> None:
        for _ in range(ROUNDTRIPS):
            for answer in [ref.ask(1, block=False) for ref in refs]:
                answer.get()

    try:
        return rate(job, job.count * ROUNDTRIPS, go_round)
    finally:
        pykka.ActorRegistry.stop_all()


if __name__ == "__main__":
    main({"ask": ask})
