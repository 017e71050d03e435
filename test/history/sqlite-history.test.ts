import { afterAll, beforeAll } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'

import { openApart } from './apart.ts'
import { conform } from './conformance.ts'

let folder = ''
let files = 0
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-history-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/**
 * Every other history reads nearly all chunks from its file, and every third one writes on a handle
 * of its own.
 */
function openNext(): MarketHistory {
  const path = join(folder, `${++files}.db`)
  const chunkCacheBytes = files % 2 === 0 ? 1000 : 1_000_000
  return files % 3 === 0 ? openApart(path, chunkCacheBytes) : openHistory(path, { chunkCacheBytes })
}

conform('a history on SQLite', openNext, { seeds: 2, steps: 50 })
