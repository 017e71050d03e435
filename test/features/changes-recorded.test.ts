/**
 * Recorded books, rebuilt from changes alone by `rebuild_books.py`, which shares no code with this
 * server. Tests are skipped, and say so, without the recordings or python3.
 */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

import { createImportHarness } from '../ingest/import-harness.ts'
import { createHarness } from '../support/harness.ts'
import { hasPython, runPython } from '../support/python.ts'

const recordings = '../shared/data/polymarket'
const lacks = [
  ...(existsSync(recordings) ? [] : ['../shared/data']),
  ...(hasPython ? [] : ['python3']),
]
const reason = lacks.length === 0 ? '' : ` (skipped: ${lacks.join(' and ')} not here)`
const importing = createImportHarness()

/** Runs the program against the imported books, `walks` times; returns what it counted. */
async function rebuildAll(files: string[], walks = 1) {
  const history = importing.aHistory()
  await importing.run(files, { history })
  const { app, key } = createHarness({ history })
  await using server = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: app.fetch })
  const program = join(import.meta.dir, 'rebuild_books.py')
  const text = await runPython(program, [server.url.origin, key, `${walks}`])
  return { history, ...(JSON.parse(text) as { states: number; whole: number }) }
}

const MINUTES = 60_000
/** The days have 220,000 states; each walk reads them with pages of other lengths. */
const WALKS = 5
const LINES = 4000

test.skipIf(lacks.length > 0)(
  `default: recorded books, a state a second, are rebuilt from changes alone${reason}`,
  async () => {
    const { history, states, whole } = await rebuildAll([
      await importing.writeStart(`${recordings}/snapshots-btc-5m-1hz-20260413-14.jsonl.gz`, LINES),
      `${recordings}/wire-book-frames-btc-5m.jsonl.gz`,
    ])
    expect(states).toBe(history.totals().snapshots)
    expect(states).toBeGreaterThan(LINES)
    // One of each outcome and market, and after each gap.
    expect(whole).toBeLessThan(states / 20)
  },
  5 * MINUTES,
)

// biome-ignore lint/style/noProcessEnv: how much is tested is not for the product's settings.
const isLong = process.env.CONFORM === 'all'

test.skipIf(lacks.length > 0 || !isLong)(
  `default: a million states of two days, at their full rate${reason || (isLong ? '' : ' (skipped: CONFORM=all runs it)')}`,
  async () => {
    const files = ['20260413', '20260414'].map(
      (day) => `${recordings}/snapshots-btc-5m-${day}.jsonl.gz`,
    )
    const { history, states } = await rebuildAll(files, WALKS)
    expect(states).toBe(history.totals().snapshots * WALKS)
    expect(states).toBeGreaterThan(1_000_000)
  },
  60 * MINUTES,
)
