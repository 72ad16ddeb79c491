/* What a C programmer writes first: pending events in a binary heap, one switch over their kinds. */
#include <stdint.h>

enum { MOST_EVENTS = 64 };

typedef struct {
    int64_t at;
    int32_t kind;
} event_t;

typedef struct {
    event_t item[MOST_EVENTS];
    int32_t count;
} heap_t;

static void heap_push(heap_t *h, int64_t at, int32_t kind)
{
    int32_t i = h->count++;
    while (i > 0) {
        int32_t parent = (i - 1) / 2;
        if (h->item[parent].at <= at)
            break;
        h->item[i] = h->item[parent];
        i = parent;
    }
    h->item[i].at = at;
    h->item[i].kind = kind;
}

static event_t heap_pop(heap_t *h)
{
    event_t top = h->item[0], last = h->item[--h->count];
    int32_t i = 0;
    for (;;) {
        int32_t child = 2 * i + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && h->item[child + 1].at < h->item[child].at)
            child++;
        if (last.at <= h->item[child].at)
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = last;
    return top;
}

/* The model of benchmarks/nic; the fields of both structs as there. */
typedef struct {
    int64_t frames, frame_ns, fifo_frames, dma_ns, ring, timer_ns, coalesced_frames, irq_ns, budget, packet_ns;
} nic_t;

typedef struct {
    int64_t delivered, dropped, interrupts, polls;
} outcome_t;

enum { WIRE, DMA, TIMER, CPU };

void nic_run(const nic_t *nic, outcome_t *out)
{
    heap_t heap = {.count = 0};
    int64_t arrived = 0, fifo = 0, used = 0, pending = 0, handled = 0, timer_at = -1;
    int dma_busy = 0, irq_enabled = 1, entering = 0;

    *out = (outcome_t){0};
    heap_push(&heap, nic->frame_ns, WIRE);
    while (heap.count) {
        event_t event = heap_pop(&heap);
        int fire = 0;
        switch (event.kind) {
        case WIRE:
            if (fifo < nic->fifo_frames)
                fifo++;
            else
                out->dropped++;
            if (++arrived < nic->frames)
                heap_push(&heap, event.at + nic->frame_ns, WIRE);
            break;
        case DMA:
            dma_busy = 0;
            used++;
            if (!irq_enabled)
                break;
            if (++pending == nic->coalesced_frames) {
                fire = 1;
            } else if (pending == 1) {
                timer_at = event.at + nic->timer_ns;
                heap_push(&heap, timer_at, TIMER);
            }
            break;
        case TIMER:
            fire = event.at == timer_at;
            break;
        case CPU:
            if (entering) {
                entering = 0;
                out->polls++;
                handled = 0;
            } else {
                used--;
                out->delivered++;
                handled++;
            }
            if (!used) {
                irq_enabled = 1;
                break;
            }
            if (handled == nic->budget) {
                out->polls++;
                handled = 0;
            }
            heap_push(&heap, event.at + nic->packet_ns, CPU);
            break;
        }
        if (fire) {
            timer_at = -1;
            pending = 0;
            irq_enabled = 0;
            entering = 1;
            out->interrupts++;
            heap_push(&heap, event.at + nic->irq_ns, CPU);
        }
        if (fifo && !dma_busy && used < nic->ring) {
            fifo--;
            dma_busy = 1;
            heap_push(&heap, event.at + nic->dma_ns, DMA);
        }
    }
}

/*
 * An event loop and nothing else: each actor's next event is known beforehand, so popping one pushes the next of the same
 * actor. `at[first[a]]` up to `at[first[a + 1]]` are the times of actor `a`, made unequal by the caller. Returns the number of
 * events; `order`, unless NULL, receives the actors in the order they ran.
 */
int64_t loop_run(const int64_t *at, const int64_t *first, int32_t actors, int32_t *order)
{
    heap_t heap = {.count = 0};
    int64_t next[MOST_EVENTS], n = 0;

    for (int32_t a = 0; a < actors; a++) {
        next[a] = first[a];
        if (next[a] < first[a + 1])
            heap_push(&heap, at[next[a]++], a);
    }
    while (heap.count) {
        int32_t a = heap_pop(&heap).kind;
        if (order)
            order[n] = a;
        n++;
        if (next[a] < first[a + 1])
            heap_push(&heap, at[next[a]++], a);
    }
    return n;
}
