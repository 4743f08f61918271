"""What does the scoring service cost, how does it scale, and how quick is an answer that stands?

python benchmarks/bench_service.py [--rounds N] [--seconds S] [--only cache|overhead|throughput]

overhead: the same kind of heads judged by `trivet gate` directly and through the service, in turn. throughput: a batch of heads with one
slot and with two. cache: a question that is answered already, asked 200 times a second on kept connections; time until the answer is whole.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import ROOT, Figure, arguments, finish, under_load

sys.path.insert(0, str(ROOT / "tests"))
from repos import VERDICTS
from service_process import Place, until

RATE = 200
LANES = 16
WARM = 2
TESTS = """import time
from pkg.core import double


def test_double():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        assert double(2) == 4
"""


class Judged:
    """A place whose repository has real tests and as many heads as are asked for."""

    def __init__(self, folder: Path, *, slots: int) -> None:
        self.place = Place(folder, heads=0, stub=False, slots=slots, repo_more=f'python = "{sys.executable}"\nadvisory = false')
        tests = TESTS
        self.base = self.place.repo.commit({**VERDICTS, "tests/sealed/test_core.py": tests})
        self.count = 0

    def head(self) -> str:
        """A head that nobody has judged."""
        self.count += 1
        self.place.repo.git("checkout", "-q", "--detach", self.base)
        oid = self.place.repo.commit({"src/pkg/core.py": f"def double(n):\n    return 2 * n  # {self.count}\n"})
        self.place.repo.git("branch", "-f", f"topic/{self.count}", oid)
        return oid


def overhead(rounds: int) -> list[Figure]:
    """The service's own time on top of the command's."""
    with tempfile.TemporaryDirectory(prefix="trivet-bench-") as room:
        world = Judged(Path(room), slots=1)
        running, address = world.place.serve()
        ratios, added = [], []
        with world.place.client(address, world.place.token()) as client:
            for number in range(rounds + WARM):
                direct = _direct(world, Path(room))
                began = time.perf_counter()
                _through(client, world, [world.head()])
                served = time.perf_counter() - began
                if number >= WARM:
                    ratios.append(served / direct)
                    added.append(served - direct)
        running.stop()
    spread = (min(ratios), max(ratios))
    note = f"{statistics.median(added):.2f} s on a command of about two"
    return [
        Figure(
            id="S2",
            what="a judgement through the service, times the command",
            value=statistics.median(ratios),
            unit="times",
            goal=1.1,
            note=note,
            spread=spread,
        )
    ]


def _direct(world: Judged, room: Path) -> float:
    head = world.head()
    env = {"PATH": os.defpath, "HOME": str(room), "PYTHONPATH": str(ROOT / "src"), "LC_ALL": "C.UTF-8"}
    words = [sys.executable, "-P", "-m", "trivet", "gate", "--repo", str(world.place.repo.root), "--base", world.base, "--head", head]
    began = time.perf_counter()
    done = subprocess.run(
        [*words, "--out", str(room / "direct"), "--python", sys.executable, "--no-advisory"], env=env, capture_output=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stdout.decode() + done.stderr.decode())
    return time.perf_counter() - began


def _through(client: object, world: Judged, heads: list[str]) -> None:
    ids = [client.post("/v1/scores", json={"repo": "alpha", "base": world.base, "head": head}).json()["id"] for head in heads]  # type: ignore[attr-defined]
    for name in ids:
        answer = until(lambda name=name: (found := client.get(f"/v1/scores/{name}").json())["over"] and found, seconds=600)  # type: ignore[attr-defined]
        if answer["merge"] is not True:
            raise SystemExit(answer)


def throughput(batch: int) -> list[Figure]:
    """Judgements an hour with two slots, times those with one; in turn, so that a busy host slows both."""
    rates: dict[int, list[float]] = {1: [], 2: []}
    with tempfile.TemporaryDirectory(prefix="trivet-bench-") as room:
        for number, slots in enumerate((1, 2, 2, 1)):
            world = Judged(Path(room) / str(number), slots=slots)
            running, address = world.place.serve()
            with world.place.client(address, world.place.token()) as client:
                _through(client, world, [world.head()])
                heads = [world.head() for _ in range(batch)]
                began = time.perf_counter()
                _through(client, world, heads)
                rates[slots].append(3600 * batch / (time.perf_counter() - began))
            running.stop()
    one, two = (statistics.mean(rates[slots]) for slots in (1, 2))
    note = f"{two:.0f} an hour with two, {one:.0f} with one"
    return [
        Figure(
            id="S1",
            what="judgements an hour with two slots, times one",
            value=two / one,
            unit="times",
            way="at least",
            goal=1.8,
            limit="two cores",
            note=note,
        )
    ]


def cache(seconds: float) -> list[Figure]:
    """How long an answer takes that stands already."""
    with tempfile.TemporaryDirectory(prefix="trivet-bench-") as room:
        place = Place(Path(room), heads=1, more="requests_per_minute = 1000000")
        running, address = place.serve()
        token = place.token()
        with place.client(address, token) as client:
            name = place.ask(client, place.heads[0])["id"]
            until(lambda: client.get(f"/v1/scores/{name}").json()["over"])
        body = f'{{"repo":"alpha","base":"{place.base}","head":"{place.heads[0]}"}}'
        head = f"POST /v1/scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        times = asyncio.run(_load(address, request, seconds))
        running.stop()
    ordered = sorted(times)
    note = f"median {1000 * statistics.median(times):.1f} ms, {len(times)} questions, {RATE} a second asked on {LANES} connections"
    return [
        Figure(
            id="S3",
            what="an answer that stands, 99th percentile",
            value=1000 * ordered[int(len(ordered) * 0.99)],
            unit="ms",
            goal=20,
            note=note,
        )
    ]


async def _load(address: str, request: bytes, seconds: float) -> list[float]:
    host, port = address.removeprefix("http://").split(":")
    times: list[float] = []
    loop = asyncio.get_running_loop()
    start = loop.time() + 0.5

    async def lane(offset: int) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        for number in range(offset, int(RATE * seconds), LANES):
            due = start + number / RATE
            await asyncio.sleep(max(0.0, due - loop.time()))
            # From when it was due: a lane that waits for its last answer must not hide that.
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 200 " not in head.split(b"\r\n")[0]:
                raise SystemExit(head)
            size = next(int(row.split(b":")[1]) for row in head.lower().split(b"\r\n") if row.startswith(b"content-length"))
            await reader.readexactly(size)
            times.append(loop.time() - due)
        writer.close()

    await asyncio.gather(*(lane(offset) for offset in range(LANES)))
    return times


def main() -> int:
    parser = arguments(__doc__, rounds=5)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the cache is asked")
    parser.add_argument("--only", choices=("cache", "overhead", "throughput"))
    options = parser.parse_args()
    with under_load(options):
        figures = []
        if options.only in (None, "throughput"):
            figures += throughput(2 * options.rounds)
        if options.only in (None, "overhead"):
            figures += overhead(options.rounds)
        if options.only in (None, "cache"):
            figures += cache(options.seconds)
    return finish(options, Path(__file__).name, figures)


if __name__ == "__main__":
    sys.exit(main())
