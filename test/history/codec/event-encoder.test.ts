import { describe, expect, test } from 'bun:test'
import { createGunzip } from 'node:zlib'

import type { Position } from '#src/domain/snapshot.ts'
import { openHistory } from '#src/history/open.ts'

import { appendAll, getMarket, simulatedSnapshots } from '../books.ts'

describe('EventEncoder', () => {
  test('default: byte by byte, a stock inflater has each event with the last byte of it', async () => {
    const history = openHistory(':memory:')
    await appendAll(history, simulatedSnapshots('byte by byte', 230))
    const stream = history.events()
    const gunzip = createGunzip()
    let got = ''
    gunzip.on('data', (bytes: Buffer) => {
      got += bytes.toString('latin1')
    })
    const feed = async (bytes: Uint8Array) => {
      for (const byte of bytes) {
        await new Promise<void>((done) => gunzip.write(Uint8Array.of(byte), () => done()))
      }
    }
    await feed(stream.event('retry:3000'))
    expect(got).toMatch(/^retry:3000\n:.\n\n$/)
    const market = getMarket(history, history.listUnclosed()[0])
    let after: Position | undefined
    let bytes = 0
    for (let row = 0; row < 230; row++) {
      const [text] = history.page({ market, after, limit: 1, order: 'asc' }).texts()
      const json = new TextDecoder().decode(text)
      const event = stream.rows({ market, after, limit: 1 }, ({ id }) => `id:${id}\ndata:`)
      got = ''
      await feed(event.bytes)
      expect(got.replace(/:.\n\n$/, '\n') === `id:${JSON.parse(json).id}\ndata:${json}\n\n`).toBe(
        true,
      )
      after = event.last
      bytes += event.bytes.length
    }
    expect(bytes / 230).toBeLessThan(150)
    const ended = new Promise((resolve) => gunzip.on('end', resolve))
    gunzip.end(stream.end())
    await ended
    history.dispose()
  })
})
