import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'

import { LINE_BYTES_MAX } from '#src/domain/wire/snapshot-json.ts'
import { batchLines, createLineBatcher, type LineBatch, openText } from '#src/ingest/line-source.ts'
import { isFault } from '#src/platform/fault.ts'
import { createRandom } from '#src/platform/random.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'bookfeed-lines-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const limits = { linesMax: 3, bytesMax: 40 }

async function* readLineBatches(
  path: string,
  { signal, ...options }: typeof limits & { signal: AbortSignal },
) {
  yield* batchLines(await openText(path, signal), options)
}

/** `first line: text` of each batch, `too long: line`, and what reading ended with. */
async function readAll(path: string, options = limits): Promise<string[]> {
  const seen: string[] = []
  const { signal } = new AbortController()
  try {
    for await (const item of readLineBatches(path, { ...options, signal })) {
      seen.push(
        item.kind === 'lines'
          ? `${item.firstLine}: ${new TextDecoder('utf-8', { ignoreBOM: true }).decode(item.bytes)}`
          : `too long: ${item.line}`,
      )
    }
  } catch (error) {
    if (!isFault(error, 'source')) throw error
    seen.push(error.message)
  }
  return seen
}

async function write(content: string | Uint8Array): Promise<string> {
  const path = join(folder, crypto.randomUUID())
  await Bun.write(path, content)
  return path
}

const readText = async (content: string | Uint8Array) => readAll(await write(content))

describe('batchLines', () => {
  test('default: batches whole lines and says where they begin', async () => {
    expect(await readText('a\nb\nc\nd\n')).toEqual(['1: a\nb\nc\n', '4: d\n'])
  })

  test('behavior: a batch ends before the line that would make it too long', async () => {
    const long = 'x'.repeat(30)
    expect(await readText(`a\n${long}\n${long}\nb\n${long}${long}\nc\n`)).toEqual([
      `1: a\n${long}\n`,
      `3: ${long}\nb\n`,
      `5: ${long}${long}\n`,
      '6: c\n',
    ])
  })

  test('behavior: keeps a last line without newline, CRLF and blank lines as they are', async () => {
    expect(await readText('a\r\n\r\n\nb')).toEqual(['1: a\r\n\r\n\n', '4: b'])
  })

  test('behavior: an empty file has no batch, gzipped or not', async () => {
    expect(await readText('')).toEqual([])
    expect(await readText(gzipSync(''))).toEqual([])
    expect(await readText('\n')).toEqual(['1: \n'])
  })

  test('behavior: drops a byte order mark at the beginning only', async () => {
    expect(await readText('\ufeffa\n\ufeffb\n')).toEqual(['1: a\n\ufeffb\n'])
    expect(await readText('\ufeffa')).toEqual(['1: a'])
    expect(await readText('\ufeff')).toEqual(['1: '])
  })

  test('behavior: gzip of one member or several gives the batches of the plain text', async () => {
    const text = 'one\ntwo\nthree\nfour\nfive'
    const plain = await readText(text)
    expect(await readText(gzipSync(text))).toEqual(plain)
    const members = [text.slice(0, 1), text.slice(1, 9), '', text.slice(9)]
    expect(await readText(Buffer.concat(members.map((part) => gzipSync(part))))).toEqual(plain)
  })

  test('behavior: passes over a line that is too long, wherever it is', async () => {
    const huge = 'x'.repeat(LINE_BYTES_MAX + 1)
    expect(await readText(`a\n${huge}\nb\n`)).toEqual(['1: a\n', 'too long: 2', '3: b\n'])
    expect(await readText(`${huge}${huge}${huge}\n${huge}`)).toEqual(['too long: 1', 'too long: 2'])
    const longest = huge.slice(1)
    expect(await readText(`${longest}\nb`)).toEqual([`1: ${longest}\n`, '2: b'])
  })

  test('error: keeps the whole lines before the end of a truncated gzip file', async () => {
    const random = createRandom('truncated')
    const lines = Array.from({ length: 50_000 }, () => random.integer(1e9).toString(36))
    const whole = gzipSync(`${lines.join('\n')}\n`)
    const path = await write(whole.subarray(0, whole.length - 1000))
    const seen = await readAll(path, { linesMax: 1000, bytesMax: 1e6 })
    expect(seen.at(-1)).toBe('the gzip data ends too early; the lines before that were read')
    expect(seen.length).toBeGreaterThan(1)
    for (const [index, batch] of seen.slice(0, -1).entries()) {
      const part = lines.slice(index * 1000, (index + 1) * 1000)
      expect(`${index * 1000 + 1}: ${part.join('\n')}\n`).toStartWith(batch)
    }
  })

  test('error: names damaged gzip data, a folder and a file that is not there', async () => {
    const damaged = gzipSync('a\n')
    damaged[damaged.length - 6] = 1
    expect((await readText(damaged)).at(-1)).toContain('the gzip data is damaged')
    expect(await readAll(folder)).toEqual(['a folder, not a file'])
    expect(await readAll(join(folder, 'absent'))).toEqual(['no such file'])
  })

  test('behavior: reports how many bytes of the file were read', async () => {
    const content = gzipSync('a\nb\nc\nd\n')
    const path = await write(content)
    const { signal } = new AbortController()
    for await (const item of readLineBatches(path, { ...limits, signal })) {
      expect(item).toMatchObject({ bytesRead: content.length, bytesTotal: content.length })
    }
  })

  test('behavior: a signal ends reading with an AbortError', async () => {
    const path = await write('a\nb\n'.repeat(1_000_000))
    const stop = new AbortController()
    const read = async () => {
      for await (const _ of readLineBatches(path, { ...limits, signal: stop.signal })) stop.abort()
    }
    await expect(read()).rejects.toThrow('aborted')
  })
})

describe('createLineBatcher', () => {
  test('fuzz: batches depend on the content alone, not on its chunks', () => {
    const random = createRandom('line-batcher')
    const pieces = ['\n', '\r\n', 'a', 'bc\n', '\n\n', 'x'.repeat(39), 'y'.repeat(60), '\ufeff']
    for (let round = 0; round < 300; round++) {
      const text = Array.from({ length: random.integer(40) }, () => random.pick(pieces)).join('')
      const bytes = new TextEncoder().encode(text)
      const whole = batch(bytes, () => bytes.length)
      expect(batch(bytes, () => 1)).toEqual(whole)
      expect(batch(bytes, () => 1 + random.integer(20))).toEqual(whole)
      expect(whole.join('')).toBe(text.replace(/^\ufeff/, ''))
    }
  })
})

/** The texts of all batches when the bytes arrive in chunks of the lengths given. */
function batch(bytes: Uint8Array, nextLength: () => number): string[] {
  const batcher = createLineBatcher(limits)
  const batches: LineBatch[] = []
  const keep = (items: ReturnType<typeof batcher.push>) => {
    for (const item of items) if (item.kind === 'lines') batches.push(item)
  }
  for (let at = 0; at < bytes.length;) {
    const length = nextLength()
    keep(batcher.push(bytes.subarray(at, at + length)))
    at += length
  }
  keep(batcher.finish(true))
  return batches.map((item) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(item.bytes))
}
