"""The model in plain Python: events in a heapq."""

from heapq import heappop, heappush

from benchmarks.nic import Nic, Outcome

WIRE, DMA, TIMER, CPU = range(4)


def run(nic: Nic) -> Outcome:
    heap = [(nic.frame_ns, WIRE)]
    arrived = fifo = used = pending = handled = delivered = dropped = interrupts = polls = 0
    dma_busy = False
    irq_enabled = True
    entering = False
    timer_at = -1

    while heap:
        now, kind = heappop(heap)
        fire = False
        if kind == WIRE:
            arrived += 1
            if fifo < nic.fifo_frames:
                fifo += 1
            else:
                dropped += 1
            if arrived < nic.frames:
                heappush(heap, (now + nic.frame_ns, WIRE))
        elif kind == DMA:
            dma_busy = False
            used += 1
            if irq_enabled:
                pending += 1
                if pending == nic.coalesced_frames:
                    fire = True
                elif pending == 1:
                    timer_at = now + nic.timer_ns
                    heappush(heap, (timer_at, TIMER))
        elif kind == TIMER:
            fire = now == timer_at
        else:
            if entering:
                entering = False
                polls += 1
                handled = 0
            else:
                used -= 1
                delivered += 1
                handled += 1
            if used == 0:
                irq_enabled = True
            else:
                if handled == nic.budget:
                    polls += 1
                    handled = 0
                heappush(heap, (now + nic.packet_ns, CPU))
        if fire:
            timer_at = -1
            pending = 0
            irq_enabled = False
            entering = True
            interrupts += 1
            heappush(heap, (now + nic.irq_ns, CPU))
        if fifo and not dma_busy and used < nic.ring:
            fifo -= 1
            dma_busy = True
            heappush(heap, (now + nic.dma_ns, DMA))
    return Outcome(delivered, dropped, interrupts, polls)
