import { afterAll, beforeAll } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

import type { MarketHistory } from '#src/history/history.ts'
import { openHistory } from '#src/history/open.ts'
import type { ImportFault, ImportOptions } from '#src/ingest/import-run.ts'
import { importFiles } from '#src/ingest/importer.ts'

export const NOW_MS = Date.UTC(2026, 3, 15)

/** A folder for the files and histories of a test file, gone after its tests. */
export function createImportHarness() {
  let folder = ''
  const histories: MarketHistory[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'bookfeed-import-'))
  })
  afterAll(async () => {
    for (const history of histories) history.dispose()
    await rm(folder, { recursive: true, force: true })
  })

  /** A history of its own for a test. */
  function aHistory(): MarketHistory {
    const history = openHistory(join(folder, `${crypto.randomUUID()}.db`))
    histories.push(history)
    return history
  }

  return {
    aHistory,
    pathOf: (name: string): string => join(folder, name),

    async write(name: string, content: string | Uint8Array): Promise<string> {
      const path = join(folder, name)
      await Bun.write(path, content)
      return path
    },

    /** Writes the first lines of a recording to a file with their number in its name. */
    async writeStart(recording: string, lines: number): Promise<string> {
      const text = gunzipSync(await Bun.file(recording).bytes()).toString()
      const path = join(folder, `${lines}-${basename(recording)}`)
      await Bun.write(path, gzipSync(text.split('\n').slice(0, lines).join('\n')))
      return path
    },

    /** Imports into a history of its own unless one is given, and collects what was refused. */
    async run(files: string[], { history = aHistory(), ...options }: Partial<ImportOptions> = {}) {
      const faults: ImportFault[] = []
      const report = await importFiles({
        history,
        files,
        source: 'recorded',
        clock: () => NOW_MS,
        isStrict: false,
        signal: new AbortController().signal,
        onFault: (fault) => faults.push(fault),
        onProgress: () => {},
        ...options,
      })
      return { report, faults }
    },
  }
}
