/** A clock, timers and sockets that stand still until a test moves them. */
import type { Every, OpenSocket, SocketEvents } from '#src/recorder/ports.ts'

/** More than the promises of a commit and what follows from it take. */
const TURNS = 40

export function createWorld(nowMs: number) {
  const timers = new Set<{ everyMs: number; dueMs: number; work: () => void }>()
  const sockets: FakeSocket[] = []
  let now = nowMs

  const every: Every = (everyMs, work) => {
    const timer = { everyMs, dueMs: now + everyMs, work }
    timers.add(timer)
    return () => void timers.delete(timer)
  }
  const openSocket: OpenSocket = (url, events) => {
    const socket: FakeSocket = { url, events, sent: [], isClosed: false }
    sockets.push(socket)
    return {
      send: (text) => void socket.sent.push(text),
      close() {
        socket.isClosed = true
      },
    }
  }
  return {
    clock: () => now,
    every,
    openSocket,
    sockets,
    random: () => 0.5,
    /** Moves the clock in steps of 5 ms, calls what is due, and lets promises settle. */
    async advance(ms: number): Promise<void> {
      for (const endMs = now + ms; now < endMs;) {
        now += 5
        for (const timer of [...timers]) {
          if (timer.dueMs > now || !timers.has(timer)) continue
          timer.dueMs += timer.everyMs
          timer.work()
        }
        for (let turn = 0; turn < TURNS; turn++) await Promise.resolve()
      }
    },
  }
}

export type FakeSocket = {
  url: string
  events: SocketEvents
  sent: string[]
  isClosed: boolean
}
