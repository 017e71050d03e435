/** Files of days that are final, as they were made: parts of them are read as well as the whole. */
import type { CursorCodec } from '#src/core/cursor.ts'
import { AppError } from '#src/core/errors.ts'
import { type Coin, type Timeframe, timeframes } from '#src/core/market.ts'
import { toIso } from '#src/core/time.ts'
import type { FileKind } from '#src/files/day-tables.ts'
import type { DayFile, FileStore } from '#src/files/store.ts'
import { byteRangeOf } from '#src/http/byte-range.ts'
import { answerUnchanged, PARQUET } from '#src/http/data-response.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { route } from '#src/http/route.ts'
import { createCache } from '#src/lib/cache.ts'
import type { Caller } from '#src/selling/caller.ts'
import type { Tier, TierRoute } from '#src/selling/tier.ts'

import { type FileBody, FileList, fileName, FileQuery } from './model.ts'

type Deps = { files: FileStore; cursors: CursorCodec; listTiers: () => readonly Tier[] }

const shared = { access: 'snapshots', tag: 'files', readsFiles: true } as const
const CACHING = 'private, max-age=31536000, immutable'
const DAY_LENGTH = 'YYYY-MM-DD'.length

const headerTexts = {
  'Accept-Ranges': '`bytes`.',
  'Repr-Digest': 'SHA-256 of the whole file (RFC 9530).',
  'Content-Disposition': '`attachment` and the name of the file.',
}
const content = {
  'application/vnd.apache.parquet': {
    schema: { type: 'string' as const, format: 'binary' as const },
  },
}

/** Routes whose data a kind of file has, beside books: a tier must include them to read it. */
const kindRoutes: Record<FileKind, readonly TierRoute[]> = {
  snapshots: [],
  levels: [],
  quotes: ['quotes'],
  trades: ['prices'],
  // With the last trade and the price of the coin.
  panel: ['prices'],
}

export const fileRoutes = (
  { files, cursors, listTiers }: Deps,
  sendFile = createSender(files, listTiers),
) => [
  route({
    ...shared,
    path: '/v1/:coin/files',
    operationId: 'listFiles',
    summary: 'Files of whole days',
    description:
      'Parquet files of each day (UTC) and timeframe that is final: all its windows are over, their history is sealed, and every winner is known or three days have passed. A file never changes. If something of the day becomes known later, another revision is made and listed beside it. Empty where the operator makes no files.',
    query: FileQuery,
    ok: { description: 'A page of files.', schema: FileList },
    caching: 'digest',
    answer: ({ coin, query }) => ({ body: listPage(files, cursors, coin, query) }),
  }),
  route({
    ...shared,
    path: '/v1/:coin/files/:id',
    operationId: 'getFile',
    summary: 'A file of a day, or a part of it',
    description:
      'The file as it was made. `Range` gives one part of it (206), with `If-Range` only of the same file; more than one range at once gives the whole file. DuckDB, pandas and polars read so what they need of it. A tier must include what the routes of the same data need: every file needs `snapshots`, `quotes` also `quotes`, and `trades` and `panel` (which has last trades) also `prices`.',
    id: fileName,
    requestHeaders: [
      {
        name: 'Range',
        in: 'header',
        required: false,
        description: 'One range of bytes (RFC 9110), such as `bytes=-8`.',
        schema: { type: 'string' },
      },
    ],
    ok: [
      { description: 'The file.', content, headers: headerTexts },
      {
        status: 206,
        description: 'The part asked for.',
        content,
        headers: { ...headerTexts, 'Content-Range': 'Which bytes of how many.' },
      },
    ],
    caching: 'tag',
    isAsStored: true,
    fails: ['unknown_file', 'range_not_satisfiable'],
    answer: ({ coin, id, request, caller }) => sendFile({ coin, name: id, request, caller }),
  }),
]

/** Throws `cursor_invalid` and `cursor_mismatch`. */
function listPage(files: FileStore, cursors: CursorCodec, coin: Coin, query: FileQuery): string {
  const { timeframe, day, kind, numbers, limit, cursor } = query
  const onDay = day === undefined ? undefined : toIso(day).slice(0, DAY_LENGTH)
  const scope = `files ${coin} ${[timeframe, onDay, kind, numbers].join(' ')}`
  const after = cursor === undefined ? undefined : toPlace(cursors.decode(scope, cursor))
  const found = filesAfter(files, { coin, timeframe, onDay, after })
    .filter((file) => (kind ?? file.kind) === file.kind)
    .filter((file) => (numbers ?? file.numbers) === file.numbers)
    .take(limit + 1)
    .toArray()
  const data = found.slice(0, limit)
  const last = found.length > limit ? data.at(-1) : undefined
  const nextCursor = last ? cursors.encode(scope, Buffer.from(JSON.stringify(placeOf(last)))) : null
  return JSON.stringify({ data, nextCursor } satisfies FileList)
}

type FilePlace = { timeframe: Timeframe; day: string; name: string }
const placeOf = ({ timeframe, day, name }: FilePlace): FilePlace => ({ timeframe, day, name })
const toPlace = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as FilePlace

type Listed = {
  coin: Coin
  timeframe: Timeframe | undefined
  onDay: string | undefined
  after: FilePlace | undefined
}

/** By timeframe, then the newest day first, then as they were made. */
function* filesAfter(files: FileStore, { coin, timeframe, onDay, after }: Listed) {
  const wanted = timeframe === undefined ? timeframes : [timeframe]
  const rest = after === undefined ? wanted : wanted.slice(wanted.indexOf(after.timeframe))
  for (const each of rest) {
    const place = each === after?.timeframe ? after : undefined
    const days = files.daysOf({ coin, timeframe: each }).toReversed()
    for (const day of days.filter((one) => one === (onDay ?? one) && one <= (place?.day ?? one))) {
      const list = files.find({ coin, timeframe: each, day })?.files ?? []
      const newest = Math.max(0, ...list.map(({ revision }) => revision))
      const start = day === place?.day ? list.findIndex(({ name }) => name === place.name) + 1 : 0
      for (const file of list.slice(start)) yield toBody(file, newest)
    }
  }
}

const toBody = (file: DayFile, newest: number): FileBody => ({
  name: file.name,
  url: `/v1/${file.coin}/files/${file.name}`,
  timeframe: file.timeframe,
  day: file.day,
  kind: file.kind,
  numbers: file.numbers,
  revision: file.revision,
  isLatest: file.revision === newest,
  markets: file.markets,
  rows: file.rows,
  bytes: file.bytes,
  sha256: file.sha256,
  madeAt: toIso(file.madeMs),
})

function findFile(files: FileStore, coin: Coin, name: string) {
  const file = files.findFile(name)
  if (file?.coin === coin) return file
  throw new AppError('unknown_file', `There is no such file. GET /v1/${coin}/files lists them.`, {
    param: 'id',
  })
}

/** Made once for each file that is asked for: its headers, and its bytes unless it is large. */
type Prepared = {
  coin: Coin
  kind: FileKind
  bytes: number
  etag: string
  unchanged: Record<string, string>
  headers: Headers
  /** What parts are sent of without reading, or a file, which is read as it is sent. */
  source: Blob
  /** When it was listed last, on the monotonic clock. */
  listedMs: number
}

/** How long a file that is deleted may still be sent: to look at each request takes 10 µs. */
const LISTED_MS = 1000

/** Of each serving thread. */
const PREPARED_BYTES_MAX = 16 * 1024 * 1024
/** Of a file in memory: a longer one costs more to send than to open. */
const BYTES_MAX = 2 * 1024 * 1024
/** What else an entry takes. */
const ENTRY_BYTES = 2048

type FileRequest = { coin: Coin; name: string; request: Request; caller: Caller }

/** Returns what sends a file, or the part that a request asks for. */
function createSender(files: FileStore, listTiers: () => readonly Tier[]) {
  const prepared = createCache<string, Prepared>(PREPARED_BYTES_MAX)

  function prepare(file: DayFile, source: Blob): Prepared {
    const { coin, kind, bytes, sha256, name } = file
    const etag = etagOf(file)
    const unchanged = {
      'Cache-Control': CACHING,
      Vary: 'Origin',
      'Accept-Ranges': 'bytes',
      'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    }
    const headers = new Headers({
      ...{ ...unchanged, ETag: etag, 'Content-Type': PARQUET },
      'Content-Disposition': `attachment; filename="${name}"`,
    })
    const listedMs = performance.now()
    return { coin, kind, bytes, etag, unchanged, headers, source, listedMs }
  }

  /** Reads a file that is not large and keeps it. */
  async function keep(file: DayFile & { path: string }): Promise<Prepared> {
    const { bytes, name, path } = file
    const read = bytes <= BYTES_MAX ? await Bun.file(path).bytes() : undefined
    // Shared by all answers: those of bytes would be copied for each.
    const source = read?.length === bytes ? new Blob([read]) : Bun.file(path)
    const made = prepare(file, source)
    const size = ENTRY_BYTES + (source.size === read?.length ? bytes : 0)
    prepared.set(name, made, { size })
    return made
  }

  function assertIncluded(caller: Caller, { coin, kind }: { coin: Coin; kind: FileKind }): void {
    for (const access of kindRoutes[kind]) assertEntitled({ access, caller, coin }, listTiers)
  }

  /** Throws `unknown_file`, `range_not_satisfiable` and `tier_route`. */
  return ({ coin, name, request, caller }: FileRequest): Response | Promise<Response> => {
    const known = prepared.get(name)
    const nowMs = performance.now()
    if (known?.coin === coin && nowMs - known.listedMs < LISTED_MS) {
      assertIncluded(caller, known)
      return send(known, request)
    }
    const file = findFile(files, coin, name)
    assertIncluded(caller, file)
    if (known?.etag !== etagOf(file)) return keep(file).then((made) => send(made, request))
    known.listedMs = nowMs
    return send(known, request)
  }
}

const etagOf = ({ sha256 }: DayFile): string => `"${sha256}"`

function send({ bytes, etag, unchanged, headers, source }: Prepared, request: Request): Response {
  const confirmed = answerUnchanged(request, etag, unchanged)
  if (confirmed !== undefined) return confirmed
  const part = byteRangeOf(request, { length: bytes, etag })
  if (part === undefined) return withLength(new Response(source, { headers }), bytes)
  const [start, end] = part
  const response = new Response(source.slice(start, end), { status: 206, headers })
  response.headers.set('Content-Range', `bytes ${start}-${end - 1}/${bytes}`)
  return withLength(response, end - start)
}

function withLength(response: Response, bytes: number): Response {
  response.headers.set('Content-Length', String(bytes))
  return response
}
