/**
 * Imports a file into a history and kills itself, like `kill -9`, after some lines. A separate
 * process, because no part of it may survive. Arguments: the history, the file, the lines.
 */

import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'

const [path = '', file = '', linesMax = ''] = process.argv.slice(2)
const clock = () => Date.UTC(2026, 3, 15)

await importFiles({
  history: openHistory(path, { chunkCacheBytes: 0 }),
  files: [file],
  source: 'recorded',
  clock,
  isStrict: false,
  signal: new AbortController().signal,
  onFault: () => {},
  onProgress: ({ lines }) => {
    if (lines >= Number(linesMax)) process.kill(process.pid, 'SIGKILL')
  },
})
