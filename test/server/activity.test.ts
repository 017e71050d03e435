import { describe, expect, jest, test } from 'bun:test'

import { makeMeterMemory, openMeters } from '#src/http/meters.ts'
import { ACTIVITY_KEPT_MS, ACTIVITY_STEP_MS } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createActivityLog } from '#src/server/activity.ts'

const START_MS = ACTIVITY_STEP_MS * 6_000_000
const names = ['ANY other', 'GET pages', 'GET /v1/stream', 'GET /v1/coins', 'GET /healthz']
const [COINS, HEALTH] = [3, 4] as const

function createServer() {
  const time = { nowMs: START_MS }
  const memory = makeMeterMemory(2)
  let recorder: { startedMs: number; sink: { rows: number; lagMs?: number } } | undefined
  const log = createActivityLog({
    clock: () => time.nowMs,
    server: 'one',
    meterMemory: memory,
    readRecorder: () => recorder as never,
  })
  const ledger = openLedger(':memory:', { nowMs: START_MS })
  return {
    time,
    log,
    ledger,
    first: openMeters(memory, 0),
    second: openMeters(memory, 1),
    record: (startedMs: number, rows: number, lagMs?: number) => {
      recorder = { startedMs, sink: { rows, ...(lagMs === undefined ? {} : { lagMs }) } }
    },
  }
}

describe('createActivityLog', () => {
  test('default: counts what all threads answered since it began, but for monitors and the operator', () => {
    const { log, ledger, first, second } = createServer()
    first.request(COINS, 200, 1)
    const job = log.start(ledger, names)
    first.request(COINS, 200, 0.1)
    second.request(COINS, 503, 3)
    second.request(HEALTH, 200, 3)
    second.problem('unavailable')
    const [step] = log.listUnwritten()
    expect(step).toMatchObject({ stepMs: START_MS, server: 'one', requests: 2, errors: 1 })
    expect(step?.durations.reduce((sum, count) => sum + count, 0)).toBe(2)
    expect([step?.durations[0], step?.durations[4]]).toEqual([1, 1])
    expect(step?.problems).toEqual({ unavailable: 1 })
    job.dispose()
    expect(ledger.listActivity(0)).toEqual(step === undefined ? [] : [step])
  })

  test('default: a recorder is counted from when it began, or from when this process did', () => {
    const { log, ledger, record } = createServer()
    record(1, 1000, 5)
    const job = log.start(ledger, names)
    record(1, 1010, 7)
    expect(log.listUnwritten()[0]?.recorder).toEqual({ startedMs: 1, rows: 10, lagMs: 7 })
    record(2, 3)
    expect(log.listUnwritten()[0]?.recorder).toEqual({ startedMs: 2, rows: 13, lagMs: 7 })
    job.dispose()
  })

  test('behavior: steps are written every minute, and kept in memory while the ledger takes none', () => {
    jest.useFakeTimers()
    const { log, ledger, first, time } = createServer()
    let isFull = true
    let keptSinceMs = 0
    const store = {
      async putActivity(...given: Parameters<typeof ledger.putActivity>) {
        if (isFull) throw new Error('The disk is full.')
        keptSinceMs = given[1]
        await ledger.putActivity(...given)
      },
    }
    const job = log.start(store, names)
    const pass = (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10_000) {
        time.nowMs += 10_000
        jest.advanceTimersByTime(10_000)
      }
    }
    first.request(COINS, 200, 1)
    pass(ACTIVITY_STEP_MS)
    first.request(COINS, 200, 1)
    first.request(COINS, 200, 1)
    pass(60_000)
    expect(ledger.listActivity(0)).toEqual([])
    expect(log.listUnwritten().map(({ requests }) => requests)).toEqual([1, 2])
    isFull = false
    pass(60_000)
    const written = ledger.listActivity(0).map(({ stepMs, requests }) => [stepMs, requests])
    expect(written).toEqual([
      [START_MS, 1],
      [START_MS + ACTIVITY_STEP_MS, 2],
    ])
    expect(log.listUnwritten().map(({ requests }) => requests)).toEqual([2])
    expect(time.nowMs - keptSinceMs).toBe(ACTIVITY_KEPT_MS)
    first.request(COINS, 500, 1)
    job.dispose()
    jest.useRealTimers()
    expect(ledger.listActivity(0).map(({ errors }) => errors)).toEqual([0, 1])
  })
})
