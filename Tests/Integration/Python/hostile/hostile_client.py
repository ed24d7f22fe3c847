"""A well-behaved subscriber measures deliveries while others attack the node.

    hostile_client.py http://HOST:PORT PID [SECONDS [ATTACK,… [FLOOD,…]]]

PID is that of the node, whose memory is watched. Each attack lasts SECONDS (10). Prints a table: the median and the
99th percentile of the time from sending a mutation to its delivery, quiet and under attack, and the node's memory
before, at its peak, and after. Fails if a change does not arrive within 20 s, if the node ends, if it keeps the memory,
or if it is not quiet again soon. Fails too if a FLOOD (all of `FLOODS`) more than doubles the median, three times in a
row.

The node serves `HostileSleep` and `HostileBig` beside the sample's operations (run.py adds them).
"""

import asyncio
import os
import sys
import time

import aiohttp

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from attacks import ATTACKS  # noqa: E402

FOLDER = os.path.dirname(os.path.abspath(__file__))
PAUSE = 0.03
ARRIVES = 20
# What an allocator may keep after a peak.
KEPT_MIB = 400
# Attacks that cost the attacker little; their rate is bounded, so they leave everybody's median at twice the quiet one.
FLOODS = ["ping_flood", "http2_ping_flood", "http2_settings_flood", "reset_flood", "churn", "cut_off"]
MEDIAN_FACTOR = 2
# What a busy machine adds to a median of a few milliseconds.
MEDIAN_SLACK_MS = 5
TRIES = 3
# The time in which the median of one second is again at most that of a flood.
QUIET_WITHIN = 20
# Attacks beside which none of the subscriber's requests is refused.
NOTHING_IS_REFUSED = ["large_bodies", "many_bodies", "idle_connections"]


def memory(pid):
    """The resident memory of a process in MiB."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


class Subscriber:
    def __init__(self, session, base):
        self.session, self.base, self.number, self.refused = session, base, 0, 0

    async def open(self):
        url = self.base + "/v1/connectors/auctions/queries/ClosingSoon"
        async with self.session.get(url) as answer:
            self.lot = (await answer.json())["data"]["lots"][0]["id"]
        self.socket = await self.session.ws_connect(
            self.base + "/graphql", protocols=["graphql-transport-ws"], heartbeat=None
        )
        await self.socket.send_json({"type": "connection_init"})
        assert (await self.socket.receive_json())["type"] == "connection_ack"
        payload = {"query": "", "operationName": "GetLot", "variables": {"id": self.lot}}
        await self.socket.send_json({"id": "1", "type": "subscribe", "payload": payload})
        await self.socket.receive_json()

    async def change(self):
        """One change; returns the seconds until it was delivered."""
        self.number += 1
        text = f"hostile {self.number}"
        variables = {"id": self.lot, "category": "Books", "description": text}
        start = time.monotonic()

        async def mutate():
            while True:
                url = self.base + "/v1/connectors/auctions/mutations/EditLot"
                async with self.session.post(url, json={"variables": variables}) as answer:
                    if answer.status == 200:
                        return
                    assert answer.status in (429, 503), (answer.status, await answer.text())
                    self.refused += 1
                await asyncio.sleep(0.2)

        async def arrival():
            while True:
                message = await self.socket.receive()
                assert message.type == aiohttp.WSMsgType.TEXT, f"the subscriber was cut off: {message}"
                data = message.json().get("payload", {}).get("data")
                if data and data["lot"]["description"] == text:
                    return time.monotonic()

        _, arrived = await asyncio.wait_for(asyncio.gather(mutate(), arrival()), ARRIVES)
        return arrived - start

    async def measure(self, seconds):
        times, end = [], time.monotonic() + seconds
        while time.monotonic() < end:
            times.append(await self.change())
            await asyncio.sleep(PAUSE)
        return sorted(times)


async def settle(subscriber, most):
    """Waits until the node is quiet; returns the seconds."""
    start = time.monotonic()
    while percentile(await subscriber.measure(1), 0.5) > most:
        assert time.monotonic() < start + QUIET_WITHIN, f"not quiet again within {QUIET_WITHIN} s"
    return time.monotonic() - start


def percentile(times, share):
    return times[min(len(times) - 1, int(len(times) * share))] * 1000


async def watch(pid, seconds):
    peak, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        peak = max(peak, memory(pid))
        await asyncio.sleep(0.1)
    return peak


async def under(name, subscriber, base, pid, seconds):
    host, port = base.split("//")[1].split(":")
    before = memory(pid)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", f"{FOLDER}/attacks.py", name, host, port, str(seconds),
        stdout=asyncio.subprocess.PIPE,
    )
    assert (await process.stdout.readline()).startswith(b"begun"), name
    times, peak = await asyncio.gather(subscriber.measure(seconds), watch(pid, seconds))
    last = (await process.stdout.read()).decode().strip().split("\n")[-1]
    assert await process.wait() == 0, name
    await subscriber.change()
    after, end = memory(pid), time.monotonic() + 15
    while after > before + KEPT_MIB and time.monotonic() < end:
        await asyncio.sleep(0.5)
        after = memory(pid)
    assert after <= before + KEPT_MIB, f"{name}: {before:.0f} MiB before, {after:.0f} MiB after"
    return times, before, peak, after, last


async def main(base, pid, seconds="10", names="", floods=",".join(FLOODS)):
    pid, seconds = int(pid), float(seconds)
    chosen = names.split(",") if names else list(ATTACKS)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=60)) as session:
        subscriber = Subscriber(session, base)
        await subscriber.open()
        await subscriber.measure(2)
        calm = MEDIAN_FACTOR * percentile(await subscriber.measure(2), 0.5) + MEDIAN_SLACK_MS
        print("| attack | p50 quiet, ms | p50, ms | p99 quiet, ms | p99, ms | memory before, peak, after, MiB |")
        print("| --- | --- | --- | --- | --- | --- |", flush=True)
        for name in chosen:
            for attempt in range(1, TRIES + 1):
                quiet = await subscriber.measure(max(3, seconds / 2))
                subscriber.refused = 0
                times, before, peak, after, last = await under(name, subscriber, base, pid, seconds)
                assert not (subscriber.refused and name in NOTHING_IS_REFUSED), f"{name}: requests were refused"
                quiet_after = await settle(subscriber, calm)
                median, most = percentile(times, 0.5), MEDIAN_FACTOR * percentile(quiet, 0.5) + MEDIAN_SLACK_MS
                if name not in floods.split(",") or median <= most:
                    break
                assert attempt < TRIES, f"{name}: the median is {median:.1f} ms, more than {most:.1f} ms"
            cells = [f"{percentile(part, share):.1f}" for share in (0.5, 0.99) for part in (quiet, times)]
            print(
                f"| {name.replace('_', ' ')} | {' | '.join(cells)} | {before:.0f}, {peak:.0f}, {after:.0f} |",
                flush=True,
            )
            print(
                f"{name}: {len(times)} changes, attack {last}; quiet after {quiet_after:.1f} s",
                file=sys.stderr, flush=True,
            )
    print("passed")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
