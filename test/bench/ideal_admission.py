#!/usr/bin/env python3
"""What an ideal scheduler would need for the baseline of docs/benchmarks-admission.md.

Decisions and watches take no time; only writes do, one after the other, each as long as
one of the floor's (the floor makes three for each Workload). Same Workloads, quota,
priorities and preemption, same connections: 32 for creates, for the scheduler and for who
ends the Workloads. An evicted Workload keeps its place, as in Kueue.

Usage: ideal_admission.py FLOOR_SECONDS...
"""

import bisect
import collections
import heapq
import sys

COHORTS, QUEUES, NOMINAL, CONNECTIONS = 5, 6, 20, 32
# Class, priority, count in a queue, seconds between two, seconds it runs, cpus.
SETS = (("large", 200, 50, 1.2, 1.0, 20), ("medium", 100, 100, 0.5, 0.5, 5), ("small", 50, 350, 0.1, 0.2, 1))


class Clock:
    """Calls what is due, in order, until `over`."""

    def __init__(self):
        self.now, self._calls, self._count, self.over = 0.0, [], 0, False

    def at(self, time, call):
        self._count += 1
        heapq.heappush(self._calls, (time, self._count, call))

    def run(self):
        while not self.over:
            self.now, _, call = heapq.heappop(self._calls)
            call()


class ApiServer:
    """Does one write at a time, in the order in which they come; each sender has so many under way."""

    def __init__(self, clock, seconds):
        self._clock, self._seconds = clock, seconds
        self._queue, self._busy = collections.deque(), False
        self._under_way, self._waiting = collections.Counter(), collections.defaultdict(collections.deque)

    def write(self, sender, done):
        if self._under_way[sender] == CONNECTIONS:
            self._waiting[sender].append(done)
            return
        self._under_way[sender] += 1
        self._queue.append((sender, done))
        if not self._busy:
            self._next()

    def _next(self):
        self._busy = bool(self._queue)
        if self._busy:
            self._clock.at(self._clock.now + self._seconds, lambda write=self._queue.popleft(): self._done(*write))

    def _done(self, sender, done):
        self._under_way[sender] -= 1
        if self._waiting[sender]:
            self._under_way[sender] += 1
            self._queue.append((sender, self._waiting[sender].popleft()))
        done()
        self._next()


class Workload:
    def __init__(self, cohort, row):
        self.cohort = cohort
        self.kind, self.priority, _, _, self.runs, self.cpus = row
        self.sent = self.admitted = self.waited = None
        self.try_number = 0  # whatever belongs to an earlier one is void


class Cohort:
    """Its queues share all of their quota; a large Workload takes what its own has nominally."""

    def __init__(self, run):
        self.run, self.free, self.coming = run, QUEUES * NOMINAL, 0
        self.pending = {row[1]: [] for row in SETS}
        self.holding = set()

    def put(self, workload):
        bisect.insort(self.pending[workload.priority], workload, key=lambda each: each.sent)
        self.decide()

    def decide(self):
        for queue in (self.pending[priority] for priority in sorted(self.pending, reverse=True)):
            while queue and queue[0].cpus <= self.free:
                self._admit(queue.pop(0))
            if queue:
                self._preempt_for(queue[0])
                return

    def _admit(self, workload):
        self.free -= workload.cpus
        self.holding.add(workload)
        workload.try_number += 1
        self.run.server.write("scheduler", lambda number=workload.try_number: self.run.admitted(workload, number))

    def _preempt_for(self, workload):
        need = workload.cpus - self.free - self.coming
        victims = sorted((each for each in self.holding if each.priority < workload.priority),
                         key=lambda each: (each.priority, -(each.admitted or self.run.clock.now)))
        if sum(each.cpus for each in victims) < need:
            return
        for victim in victims:
            if need <= 0:
                return
            need -= victim.cpus
            self._evict(victim)

    def _evict(self, victim):
        self.run.evictions += 1
        self.coming += victim.cpus
        self.holding.remove(victim)
        victim.try_number += 1

        def released():
            self.coming -= victim.cpus
            self.free += victim.cpus
            self.put(victim)

        # Requested by the scheduler, carried out by the runner.
        self.run.server.write("scheduler", lambda: self.run.server.write("runner", released))


class Run:
    def __init__(self, floor):
        self.clock = Clock()
        self._arrivals = sorted(((number + 1) * row[3], cohort, row) for cohort in range(COHORTS)
                                for _ in range(QUEUES) for row in SETS for number in range(row[2]))
        self.server = ApiServer(self.clock, floor / (3 * len(self._arrivals)))
        self._cohorts = [Cohort(self) for _ in range(COHORTS)]
        self.evictions, self._created, self._finished = 0, 0, 0
        self._waits = collections.defaultdict(float)
        for _ in range(CONNECTIONS):
            self._create_next()
        self.clock.run()

    def _create_next(self):
        if self._created == len(self._arrivals):
            return
        due, cohort, row = self._arrivals[self._created]
        self._created += 1
        workload = Workload(self._cohorts[cohort], row)

        def send():
            workload.sent = self.clock.now
            self.server.write("creator", created)

        def created():
            workload.cohort.put(workload)
            self._create_next()

        self.clock.at(max(due, self.clock.now), send)

    def admitted(self, workload, number):
        if workload.waited is None:
            workload.waited = self.clock.now - workload.sent
            self._waits[workload.kind] += workload.waited
        if workload.try_number == number:
            workload.admitted = self.clock.now
            self.clock.at(self.clock.now + workload.runs, lambda: self._over(workload, number))

    def _over(self, workload, number):
        if workload.try_number == number:
            self.server.write("runner", lambda: self._end(workload, number))

    def _end(self, workload, number):
        if workload.try_number != number:
            return
        workload.cohort.holding.remove(workload)
        workload.cohort.free += workload.cpus
        self._finished += 1
        self.clock.over = self._finished == len(self._arrivals)
        workload.cohort.decide()

    def wait(self, row):
        return self._waits[row[0]] / (COHORTS * QUEUES * row[2])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("| floor | ideal wall | ratio | " + ", ".join(f"wait {row[0]}" for row in SETS) + " | evictions |")
    print("|---|---|---|---|---|")
    for floor in map(float, sys.argv[1:]):
        run = Run(floor)
        waits = ", ".join(f"{run.wait(row):.1f}" for row in SETS)
        print(f"| {floor:.0f} s | {run.clock.now:.1f} s | {run.clock.now / floor:.2f} | {waits} s | {run.evictions} |")


if __name__ == "__main__":
    main()
