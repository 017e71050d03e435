/** Files as they are sent: from memory, and from the disk. */
import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { createFileStore } from '#src/extensions/day-files/store.ts'

import { createHarness, NOW_MS } from '../../support/harness.ts'

describe('files in memory and on the disk', () => {
  const place = { coin: 'btc', timeframe: '5m', day: '2026-02-03' } as const
  const root = mkdtempSync(join(tmpdir(), 'bookfeed-files-'))
  const files = createFileStore(root)
  const draft = { ...place, kind: 'quotes', numbers: 'double', markets: 1, rows: 1 } as const
  const put = (revision: number, bytes: Uint8Array) => {
    const name = `btc-5m-2026-02-03-quotes-double-r${revision}.parquet`
    const written = files.write(place, name, [bytes])
    return { bytes, file: { ...draft, name, revision, ...written, madeMs: NOW_MS } }
  }
  const half = crypto.getRandomValues(Buffer.alloc(50_000))
  // The last is too long to be kept in memory.
  const every = [1, 20, 25].map((times, at) =>
    put(at + 1, Buffer.concat(Array.from({ length: 2 * times }, () => half))),
  )
  files.putList(place, { source: '', files: every.map(({ file }) => file) })
  const own = createHarness({ files })
  const origin = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: own.app.fetch })
  afterAll(async () => {
    await origin.stop(true)
    rmSync(root, { recursive: true })
  })
  const ask = (name: string, headers: Record<string, string> = {}) =>
    fetch(`${origin.url.origin}/v1/btc/files/${name}`, {
      headers: { authorization: `Bearer ${own.key}`, ...headers },
    })

  test('default: each answer is the same, however often and in what parts it is asked', async () => {
    for (const { file, bytes } of every) {
      const answers = await Promise.all([1, 2, 3, 4].map(() => ask(file.name)))
      for (const answer of [...answers, await ask(file.name)]) {
        expect(answer.headers.get('content-length')).toBe(String(bytes.length))
        expect(Bun.hash(await answer.bytes())).toBe(Bun.hash(bytes))
      }
      const start = bytes.length >> 1
      const end = bytes.length - 7
      const part = await ask(file.name, { range: `bytes=${start}-${end - 1}` })
      expect([part.status, part.headers.get('content-length')]).toEqual([206, String(end - start)])
      expect(Bun.hash(await part.bytes())).toBe(Bun.hash(bytes.subarray(start, end)))
      expect((await ask(file.name, { 'if-none-match': `"${file.sha256}"` })).status).toBe(304)
    }
  })

  test('behavior: of another coin it is unknown, and what is deleted soon is', async () => {
    const name = every[0]?.file.name ?? ''
    expect((await ask(name)).status).toBe(200)
    expect((await own.send(`/v1/eth/files/${name}`)).status).toBe(404)
    files.remove(place)
    // The test's own limit ends the wait.
    while ((await ask(name)).status !== 404) await Bun.sleep(50)
  })
})
