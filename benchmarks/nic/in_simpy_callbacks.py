"""The model in SimPy without processes: timeouts with callbacks and plain counters, the fastest way to use it."""

import simpy

from benchmarks.nic import Nic, Outcome


class Model:
    def __init__(self, nic: Nic) -> None:
        self.nic = nic
        self.env = simpy.Environment()
        self.arrived = self.fifo = self.used = self.pending = self.handled = 0
        self.delivered = self.dropped = self.interrupts = self.polls = 0
        self.dma_busy = False
        self.irq_enabled = True
        self.timer = None
        self.after(nic.frame_ns, self.wire)

    def after(self, delay_ns, callback):
        timeout = self.env.timeout(delay_ns)
        timeout.callbacks.append(callback)
        return timeout

    def wire(self, _):
        self.arrived += 1
        if self.fifo < self.nic.fifo_frames:
            self.fifo += 1
            self.dma_start()
        else:
            self.dropped += 1
        if self.arrived < self.nic.frames:
            self.after(self.nic.frame_ns, self.wire)

    def dma_start(self):
        if self.fifo and not self.dma_busy and self.used < self.nic.ring:
            self.fifo -= 1
            self.dma_busy = True
            self.after(self.nic.dma_ns, self.dma_done)

    def dma_done(self, _):
        self.dma_busy = False
        self.used += 1
        if self.irq_enabled:
            self.pending += 1
            if self.pending == self.nic.coalesced_frames:
                self.fire()
            elif self.pending == 1:
                self.timer = self.after(self.nic.timer_ns, self.expired)
        self.dma_start()

    def expired(self, timeout):
        if timeout is self.timer:
            self.fire()

    def fire(self):
        self.timer = None
        self.pending = 0
        self.irq_enabled = False
        self.interrupts += 1
        self.after(self.nic.irq_ns, self.poll)

    def poll(self, _):
        self.polls += 1
        self.handled = 0
        self.after(self.nic.packet_ns, self.packet)

    def packet(self, _):
        self.used -= 1
        self.delivered += 1
        self.handled += 1
        self.dma_start()
        if self.used == 0:
            self.irq_enabled = True
            return
        if self.handled == self.nic.budget:
            self.polls += 1
            self.handled = 0
        self.after(self.nic.packet_ns, self.packet)


def run(nic: Nic) -> Outcome:
    model = Model(nic)
    model.env.run()
    return Outcome(model.delivered, model.dropped, model.interrupts, model.polls)
