"""The model in cimba with scheduled events instead of processes."""

import cimba

from benchmarks.nic import Nic, Outcome


class Model(cimba.Model):
    frames: cimba.Param[int]
    frame_ns: cimba.Param[float]
    fifo_frames: cimba.Param[int]
    dma_ns: cimba.Param[float]
    ring: cimba.Param[int]
    timer_ns: cimba.Param[float]
    coalesced_frames: cimba.Param[int]
    irq_ns: cimba.Param[float]
    budget: cimba.Param[int]
    packet_ns: cimba.Param[float]

    arrived: int = 0
    fifo: int = 0
    used: int = 0
    pending: int = 0
    handled: int = 0
    fires: int = 0
    dma_busy: bool = False
    irq_enabled: bool = True
    timer_at: float = -1.0

    delivered: cimba.Output[int]
    dropped: cimba.Output[int]
    interrupts: cimba.Output[int]
    polls: cimba.Output[int]

    @cimba.on_start
    def start(self):
        cimba.schedule(self.wire, self.frame_ns)

    @cimba.event
    def wire(self):
        self.arrived += 1
        if self.fifo < self.fifo_frames:
            self.fifo += 1
            self.dma_start()
        else:
            self.dropped += 1
        if self.arrived < self.frames:
            cimba.schedule(self.wire, self.frame_ns)

    @cimba.function
    def dma_start(self) -> None:
        if self.fifo > 0 and not self.dma_busy and self.used < self.ring:
            self.fifo -= 1
            self.dma_busy = True
            cimba.schedule(self.dma_done, self.dma_ns)

    @cimba.event
    def dma_done(self):
        self.dma_busy = False
        self.used += 1
        if self.irq_enabled:
            self.pending += 1
            if self.pending == self.coalesced_frames:
                self.fire()
            elif self.pending == 1:
                self.timer_at = cimba.now() + self.timer_ns
                cimba.schedule(self.expired, self.timer_ns)
        self.dma_start()

    @cimba.event
    def expired(self):
        if cimba.now() == self.timer_at:
            self.fire()

    @cimba.function
    def fire(self) -> None:
        self.timer_at = -1.0
        self.pending = 0
        self.irq_enabled = False
        self.interrupts += 1
        cimba.schedule(self.poll, self.irq_ns)

    @cimba.event
    def poll(self):
        self.polls += 1
        self.handled = 0
        cimba.schedule(self.packet, self.packet_ns)

    @cimba.event
    def packet(self):
        self.used -= 1
        self.delivered += 1
        self.handled += 1
        self.dma_start()
        if self.used == 0:
            self.irq_enabled = True
        else:
            if self.handled == self.budget:
                self.polls += 1
                self.handled = 0
            cimba.schedule(self.packet, self.packet_ns)


def run(nic: Nic) -> Outcome:
    model = Model()
    for name, value in vars(nic).items():
        setattr(model, name, value)
    results = cimba.Experiment(model).run(workers=1)
    if results.failed.any():
        raise RuntimeError(f"cimba: {results.failure_reasons[0, 0]}")
    out = results[model]
    return Outcome(*(int(getattr(out, name)[0, 0]) for name in Outcome._fields))
