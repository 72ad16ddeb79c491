"""The model in cimba: one compiled process per actor, containers between them."""

import cimba

from benchmarks.nic import Nic, Outcome


class Model(cimba.Model):
    frames: cimba.Param[int]
    frame_ns: cimba.Param[float]
    fifo_frames: cimba.Param[int]
    dma_ns: cimba.Param[float]
    timer_ns: cimba.Param[float]
    coalesced_frames: cimba.Param[int]
    irq_ns: cimba.Param[float]
    budget: cimba.Param[int]
    packet_ns: cimba.Param[float]

    fifo: cimba.Container
    descriptors: cimba.Container
    first: cimba.Container
    used: int = 0
    pending: int = 0
    irq_enabled: bool = True
    full: cimba.Condition

    delivered: cimba.Output[int]
    dropped: cimba.Output[int]
    interrupts: cimba.Output[int]
    polls: cimba.Output[int]

    @cimba.process
    def wire(self):
        for _ in range(self.frames):
            cimba.hold(self.frame_ns)
            if self.fifo.level() < self.fifo_frames:
                self.fifo.put(1)
            else:
                self.dropped += 1

    @cimba.process
    def dma(self):
        while True:
            self.descriptors.get(1)
            self.fifo.get(1)
            cimba.hold(self.dma_ns)
            self.used += 1
            if self.irq_enabled:
                self.pending += 1
                if self.pending == self.coalesced_frames:
                    self.full.signal()
                elif self.pending == 1:
                    self.first.put(1)

    @cimba.predicate
    def is_full(self):
        return self.pending >= self.coalesced_frames

    @cimba.process
    def cpu(self):
        while True:
            self.first.get(1)
            self.full.wait_until(self.is_full, self.timer_ns)
            self.pending = 0
            self.irq_enabled = False
            self.interrupts += 1
            cimba.hold(self.irq_ns)
            self.polls += 1
            handled = 0
            while self.used:
                if handled == self.budget:
                    self.polls += 1
                    handled = 0
                cimba.hold(self.packet_ns)
                self.used -= 1
                self.descriptors.put(1)
                self.delivered += 1
                handled += 1
            self.irq_enabled = True


def run(nic: Nic) -> Outcome:
    model = Model()
    for name in (
        "frames",
        "frame_ns",
        "fifo_frames",
        "dma_ns",
        "timer_ns",
        "coalesced_frames",
        "irq_ns",
        "budget",
        "packet_ns",
    ):
        setattr(model, name, getattr(nic, name))
    model.descriptors = cimba.Container(nic.ring)
    results = cimba.Experiment(model).run(workers=1)
    if results.failed.any():
        raise RuntimeError(f"cimba: {results.failure_reasons[0, 0]}")
    out = results[model]
    return Outcome(*(int(getattr(out, name)[0, 0]) for name in Outcome._fields))
