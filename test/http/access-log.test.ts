import { describe, expect, test } from 'bun:test'

import { createAccessLine } from '#src/http/promises.ts'

const record = {
  requestId: 'req_1',
  keyId: 'key_1',
  method: 'GET',
  target: '/v1/btc/markets?limit=2',
  status: 200,
  bytes: 12,
  durationMs: 0.123456,
}

describe('createAccessLine', () => {
  test('default: one line of JSON with every member', () => {
    const line = createAccessLine(() => Date.UTC(2026, 0, 2, 3, 4, 5, 7))(record)
    expect(line).toEndWith('}\n')
    expect(JSON.parse(line)).toEqual({
      time: '2026-01-02T03:04:05.007Z',
      level: 'info',
      requestId: 'req_1',
      key: 'key_1',
      method: 'GET',
      path: '/v1/btc/markets?limit=2',
      status: 200,
      bytes: 12,
      durationMs: 0.123,
    })
  })

  test('behavior: the time follows the clock, also backwards', () => {
    let nowMs = 1_000_999
    const toLine = createAccessLine(() => nowMs)
    const times = [1_000_999, 1_001_000, 999_001].map((ms) => {
      nowMs = ms
      return JSON.parse(toLine(record)).time
    })
    expect(times).toEqual([1_000_999, 1_001_000, 999_001].map((ms) => new Date(ms).toISOString()))
  })

  test('behavior: what the caller sent cannot break out of its line, and is cut', () => {
    const target = `/"\n\u2028\\${'x'.repeat(5000)}`
    const line = createAccessLine(() => 0)({ ...record, target, bytes: undefined, error: 'a\nb' })
    expect(line.trimEnd()).not.toContain('\n')
    expect(JSON.parse(line)).toMatchObject({
      path: target.slice(0, 2048),
      bytes: null,
      level: 'error',
      error: 'a\nb',
    })
  })

  test('default: as text it is one line, too', () => {
    const toLine = createAccessLine(() => 0, true)
    expect(toLine(record)).toBe(
      '1970-01-01T00:00:00.000Z info GET "/v1/btc/markets?limit=2" 200 12 bytes 0.123 ms req_1 key_1\n',
    )
    const failed = { ...record, target: '/\n', keyId: undefined, status: 500, error: 'a\nb' }
    expect(toLine(failed)).toBe(
      '1970-01-01T00:00:00.000Z error GET "/\\n" 500 12 bytes 0.123 ms req_1 a | b\n',
    )
  })
})
