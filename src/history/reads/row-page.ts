/** Pages of rows that were read one by one. */
import type { Position } from '#src/domain/snapshot.ts'

import type { Page, RowQuery } from '../history.ts'

export function firstOf(texts: Iterable<Uint8Array>): Uint8Array {
  for (const text of texts) return text.slice()
  throw new Error('A row that was found is there.')
}

type Rows = {
  rows: readonly { text: Uint8Array; receivedMs: number | undefined }[]
  last: Position | undefined
  hasMore: boolean
}

export function toPage({ market, withReceived }: RowQuery, { rows, last, hasMore }: Rows): Page {
  const joined = (prefix: string, suffix: string) =>
    Buffer.concat([
      Buffer.from(prefix),
      ...rows.flatMap(({ text }, at) => (at === 0 ? [text] : [Buffer.from(','), text])),
      Buffer.from(suffix),
    ])
  return {
    revision: market.revision,
    count: rows.length,
    last,
    hasMore,
    received: withReceived ? rows.map(({ receivedMs }) => receivedMs) : [],
    encode: (encoding, prefix, suffix) => {
      const bytes = new Uint8Array(joined(prefix, suffix))
      return encoding === 'gzip' ? Bun.gzipSync(bytes) : bytes
    },
    texts: () => rows.map(({ text }) => text),
  }
}
