"""The model in SimPy as its manual teaches it: one process per actor, a Store for the FIFO, events to wake one another."""

import simpy

from benchmarks.nic import Nic, Outcome


class Model:
    def __init__(self, nic: Nic) -> None:
        self.nic = nic
        self.env = simpy.Environment()
        self.fifo = simpy.Store(self.env)
        self.first = self.env.event()
        self.full = self.env.event()
        self.room = self.env.event()
        self.irq_enabled = True
        self.used = self.pending = self.delivered = self.dropped = self.interrupts = self.polls = 0
        for process in (self.wire, self.dma, self.cpu):
            self.env.process(process())

    def wire(self):
        for frame in range(self.nic.frames):
            yield self.env.timeout(self.nic.frame_ns)
            if len(self.fifo.items) < self.nic.fifo_frames:
                self.fifo.put(frame)
            else:
                self.dropped += 1

    def dma(self):
        while True:
            if self.used == self.nic.ring:
                yield self.room
            yield self.fifo.get()
            yield self.env.timeout(self.nic.dma_ns)
            self.used += 1
            if self.irq_enabled:
                self.pending += 1
                if self.pending == self.nic.coalesced_frames:
                    self.full.succeed()
                elif self.pending == 1:
                    self.first.succeed()

    def cpu(self):
        while True:
            yield self.first
            yield self.full | self.env.timeout(self.nic.timer_ns)
            self.first, self.full = self.env.event(), self.env.event()
            self.pending = 0
            self.irq_enabled = False
            self.interrupts += 1
            yield self.env.timeout(self.nic.irq_ns)
            self.polls += 1
            handled = 0
            while self.used:
                if handled == self.nic.budget:
                    self.polls += 1
                    handled = 0
                yield self.env.timeout(self.nic.packet_ns)
                if self.used == self.nic.ring:
                    self.room.succeed()
                    self.room = self.env.event()
                self.used -= 1
                self.delivered += 1
                handled += 1
            self.irq_enabled = True


def run(nic: Nic) -> Outcome:
    model = Model(nic)
    model.env.run()
    return Outcome(model.delivered, model.dropped, model.interrupts, model.polls)
