import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'

import { createRawFiles, type RawFilesOptions } from '#src/server/raw-files.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'bookfeed-raw-files-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const START_MS = Date.UTC(2026, 10, 22, 10, 59)

function start(name: string, options: Partial<RawFilesOptions> = {}) {
  const time = { nowMs: START_MS }
  const lines: string[] = []
  const state = { hasRoom: true }
  let work = () => {}
  const path = join(folder, name)
  const raw = createRawFiles({
    folder: path,
    bytesMax: 1e9,
    clock: () => time.nowMs,
    log: (line) => lines.push(line),
    every: (_, callback) => {
      work = callback
      return () => {}
    },
    hasRoom: () => state.hasRoom,
    preamble: () => ['{"preamble":true}'],
    ...options,
  })
  let number = 0
  return {
    raw,
    time,
    lines,
    state,
    hear(text: string, isSound = true): void {
      raw.keep({ kind: 'message', connection: 1, text, isSound }, START_MS + ++number)
    },
    /** A second passes, and what waits is written. */
    async second(ms = 1000): Promise<void> {
      time.nowMs += ms
      const { waiting, ...before } = raw.status()
      const hasEnded = () =>
        raw.status().lines + raw.status().dropped > before.lines + before.dropped
      work()
      for (let tries = 0; waiting > 0 && !hasEnded() && tries < 500; tries++) await Bun.sleep(10)
    },
    names: () => readdirSync(path).sort(),
    textOf: (file: string): string =>
      new TextDecoder().decode(gunzipSync(readFileSync(join(path, file)))),
  }
}

const noise = (length: number): string =>
  `"${Array.from({ length }, () => Math.trunc(performance.now() * 1e6) % 1e6).join('')}"`

describe('createRawFiles', () => {
  test('default: messages are kept byte for byte, what is no plain JSON as text', async () => {
    const { raw, hear, second, names, textOf } = start('plain')
    hear('{"event_type": "book"}')
    await second()
    hear('[{}]\n')
    hear('{garbage', false)
    raw.dispose()
    expect(names()).toEqual(['raw-2026-11-22T10-59-01.000Z.jsonl.gz'])
    expect(textOf(names()[0] ?? '').split('\n')).toEqual([
      `{"_recv":${START_MS + 1},"connection":1,"frame":{"event_type": "book"}}`,
      `{"_recv":${START_MS + 2},"connection":1,"text":"[{}]\\n"}`,
      `{"_recv":${START_MS + 3},"connection":1,"text":"{garbage"}`,
      '',
    ])
  })

  test('behavior: another hour is another file, which begins with what is followed', async () => {
    const { raw, hear, second, names, textOf } = start('hours')
    hear('1')
    await second()
    hear('2')
    await second(60_000)
    hear('3')
    await second()
    raw.dispose()
    const [first = '', next = ''] = names()
    expect(textOf(first)).toContain('"frame":2}')
    const times = [...textOf(first).matchAll(/"_recv":(\d+)/g)].map(([, ms]) => Number(ms))
    expect(textOf(next)).toMatch(
      new RegExp(
        `^{"_recv":\\d+,"heard":"file","afterMs":${Math.max(...times)}}\n{"preamble":true}\n`,
      ),
    )
    expect(textOf(next)).toContain('"frame":3}')
    expect(raw.status()).toMatchObject({ lines: 5, dropped: 0 })
  })

  test('behavior: the oldest files go when there is no room for all', async () => {
    const { raw, hear, second, names } = start('room', { bytesMax: 16_000 })
    for (let count = 0; count < 40; count++) {
      hear(noise(400))
      await second()
    }
    raw.dispose()
    const first = `raw-${new Date(START_MS + 1000).toISOString().replaceAll(':', '-')}.jsonl.gz`
    expect(names()).not.toContain(first)
    expect(names().length).toBeGreaterThan(3)
  })

  test('behavior: without room nothing is kept, and then what follows begins as after a start', async () => {
    const { raw, time, state, hear, second, lines, names, textOf } = start('full')
    hear('1')
    await second()
    state.hasRoom = false
    hear('2')
    await second()
    hear('3')
    state.hasRoom = true
    time.nowMs += 1000
    hear('4')
    raw.dispose()
    expect(lines).toEqual([
      'bookfeed: raw messages are not kept: the disk is nearly full.',
      'bookfeed: raw messages are kept again.',
    ])
    expect(raw.status().dropped).toBe(2)
    expect(textOf(names()[0] ?? '').split('\n')).toEqual([
      `{"_recv":${START_MS + 1},"connection":1,"frame":1}`,
      `{"_recv":${START_MS + 4},"heard":"started"}`,
      '{"preamble":true}',
      `{"_recv":${START_MS + 4},"connection":1,"frame":4}`,
      '',
    ])
  })

  test('error: a disk that takes nothing is said once, and tried after longer and longer', async () => {
    let tries = 0
    const preamble = () => {
      tries++
      return []
    }
    const { hear, second, lines, names, raw } = start('away', { preamble })
    rmSync(join(folder, 'away'), { recursive: true })
    for (let passed = 0; passed < 60; passed++) {
      hear(String(passed))
      await second()
    }
    expect(tries).toBeWithin(3, 8)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toStartWith('bookfeed: raw messages are not kept: ENOENT')
    mkdirSync(join(folder, 'away'))
    await second(60_000)
    hear('60')
    await second()
    expect(lines.slice(1)).toEqual(['bookfeed: raw messages are kept again.'])
    expect(names()).toHaveLength(1)
    expect(raw.status().dropped).toBe(60 + tries - 1)
  })
})
