import { createApp } from '#src/app.ts'
import { type Config, readConfig } from '#src/config.ts'
import type { HistoryStore } from '#src/store/history.ts'

import { fakeHistory } from './fake-history.ts'

/** The wall clock of tests: 2026-01-02T03:04:05.678Z. */
export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678)

/** The whole app behind its front door, with a still clock, counted ids and the log as a list. */
export function createHarness(options: { history?: HistoryStore; config?: Config } = {}) {
  const lines: string[] = []
  let minted = 0
  const app = createApp({
    history: options.history ?? fakeHistory(),
    config: options.config ?? readConfig({}),
    clock: () => NOW_MS,
    mint: () => `minted${++minted}`,
    log: (line) => void lines.push(line),
    version: '0.0.0-test',
  })
  const send = async (path: string, init?: RequestInit) =>
    app.fetch(new Request(`http://localhost${path}`, init))
  return { app, send, lines }
}
