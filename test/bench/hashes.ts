/**
 * `bun test/bench/hashes.ts`: what an import of recorded books costs, where their hashes fit, where
 * nothing known reproduces them, and where all but the first of each market contradict them; the
 * same books each time, in turn, and each time into an empty history. Needs ../shared/data.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { importFiles } from '#src/ingest/importer.ts'

import { median } from './measure.ts'
import { hasRecordedFiles, recordedFiles } from './snapshot-source.ts'

const LINES = 20_000
const ROUNDS = 7
const NOW_MS = Date.UTC(2026, 3, 20)

if (!hasRecordedFiles) throw new Error('The recordings of ../shared/data are not here.')
const [file = ''] = recordedFiles
const text = new TextDecoder().decode(Bun.gunzipSync(await Bun.file(file).bytes()))
const lines = text.split('\n').slice(0, LINES)
const digest = (line: string): string => new Bun.CryptoHasher('sha1').update(line).digest('hex')
const withOtherHash = (line: string): string =>
  line.replace(/"id":"[0-9a-f]{40}"/, `"id":"${digest(line)}"`)

const seen = new Set<string>()
const contradicted = lines.map((line) => {
  const [conditionId = ''] = /"conditionId":"\w+"/.exec(line) ?? []
  const isFirst = !seen.has(conditionId)
  seen.add(conditionId)
  return isFirst ? line : withOtherHash(line)
})
const withoutHash = lines.map((line) => line.replace(/"id":"[0-9a-f]{40}"/, '"id":"none"'))
const kinds = [
  { name: 'without a hash', lines: withoutHash },
  { name: 'verified', lines },
  { name: 'unknown', lines: lines.map(withOtherHash) },
  { name: 'contradicted', lines: contradicted },
]

const folder = mkdtempSync(join(tmpdir(), 'bookfeed-hashes-'))
const files = await Promise.all(
  kinds.map(async ({ name, lines: own }) => {
    const path = join(folder, `${name}.jsonl`)
    await Bun.write(path, own.join('\n'))
    return { name, path, import: [] as number[], verify: [] as number[] }
  }),
)

/** Microseconds of CPU a book. */
async function measure(work: () => Promise<unknown> | unknown): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / lines.length
}

for (let round = 0; round <= ROUNDS; round++) {
  for (const each of files) {
    const history = openHistory(join(folder, `${each.name}-${round}.db`))
    let hashes: object = {}
    const importUs = await measure(async () => {
      const report = await importFiles({
        history,
        files: [each.path],
        source: 'recorded',
        clock: () => NOW_MS,
        isStrict: false,
        signal: new AbortController().signal,
        onFault: ({ reason }) => {
          throw new Error(reason)
        },
        onProgress: () => {},
      })
      hashes = report.hashes
    })
    const verifyUs = await measure(() => {
      for (const fault of history.verify()) throw new Error(fault)
    })
    history.dispose()
    if (round === 0) console.log(each.name, JSON.stringify(hashes))
    // The first round warms up.
    if (round === 0) continue
    each.import.push(importUs)
    each.verify.push(verifyUs)
  }
}
rmSync(folder, { recursive: true })

const print = (values: readonly number[]): string => `${median(values).toFixed(0).padStart(5)} us`
console.log(`${lines.length} books, CPU a book, median of ${ROUNDS} rounds`)
for (const each of files)
  console.log(`${each.name.padEnd(15)} import ${print(each.import)}, verify ${print(each.verify)}`)
