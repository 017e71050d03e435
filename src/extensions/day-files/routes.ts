/** Files of days that are final, as they were made: parts of them are read as well as the whole. */
import { statSync } from 'node:fs'

import { Elysia } from 'elysia'

import { type CursorCodec, type CursorList, jsonPosition } from '#src/domain/cursor.ts'
import { AppError } from '#src/domain/errors.ts'
import { type Coin, type Timeframe, timeframes } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Tier, TierRoute } from '#src/domain/selling/tier.ts'
import { toIso } from '#src/domain/time.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { answerUnchanged } from '#src/http/data-response.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { createCache } from '#src/platform/cache.ts'
import type { Steps } from '#src/platform/scheduler.ts'
import { mediaTypes } from '#src/tables/column.ts'

import { byteRangeOf } from './byte-range.ts'
import { type FileBody, FileList, fileName, FileQuery } from './schema.ts'
import { damagedFile, type DayFile, type FileKind, type FileStore } from './store.ts'

type Deps = { files: FileStore; cursors: CursorCodec; listTiers: () => readonly Tier[] }

const shared = { access: 'snapshots' } as const
const CACHING = 'private, max-age=31536000, immutable'
const DAY_LENGTH = 'YYYY-MM-DD'.length

const headerTexts = {
  'Accept-Ranges': '`bytes`.',
  'Repr-Digest': 'SHA-256 of the whole file (RFC 9530).',
  'Content-Disposition': '`attachment` and the name of the file.',
}
const content = {
  [mediaTypes.parquet]: {
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
  api: Api,
  { files, cursors, listTiers }: Deps,
  sendFile = createSender(files, listTiers),
) =>
  new Elysia({ name: 'files', tags: ['files'] })
    .use(api)
    .get(
      '/v1/:coin/files',
      ({ reply, request, coin, query }) =>
        reply.data(request, listPage(files, cursors, coin, query)),
      {
        coin: true,
        ...shared,
        readsFiles: true,
        query: FileQuery,
        caching: 'digest',
        response: { 200: FileList },
        answers: { description: 'A page of files.' },
        detail: {
          operationId: 'listFiles',
          summary: 'Files of whole days',
          description:
            'Parquet files of each day (UTC) and timeframe that is final: all its windows are over, their history is sealed, and every winner is known or three days have passed. A file never changes. If something of the day becomes known later, another revision is made and listed beside it. Empty where the operator makes no files.',
        },
      },
    )
    .get(
      '/v1/:coin/files/:id',
      ({ coin, params: { id }, request, caller }) => sendFile({ coin, name: id, request, caller }),
      {
        coin: true,
        ...shared,
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
        caching: 'tag',
        isAsStored: true,
        fails: ['unknown_file', 'range_not_satisfiable'],
        answers: [
          { description: 'The file.', content, headers: headerTexts },
          {
            status: 206,
            description: 'The part asked for.',
            content,
            headers: { ...headerTexts, 'Content-Range': 'Which bytes of how many.' },
          },
        ],
        detail: {
          operationId: 'getFile',
          summary: 'A file of a day, or a part of it',
          description:
            'The file as it was made. `Range` gives one part of it (206), with `If-Range` only of the same file; more than one range at once gives the whole file. DuckDB, pandas and polars read so what they need of it. A tier must include what the routes of the same data need: every file needs `snapshots`, `quotes` also `quotes`, and `trades` and `panel` (which has last trades) also `prices`.',
        },
      },
    )

type FileFilters = {
  coin: Coin
  timeframe?: Timeframe | undefined
  /** UTC day. */
  day?: string | undefined
  kind?: string | undefined
  numbers?: string | undefined
}
type FilePosition = { timeframe: Timeframe; day: string; name: string }

const fileList: CursorList<FileFilters, FilePosition> = {
  name: 'files',
  filters: ({ coin, timeframe, day, kind, numbers }) => [coin, timeframe, day, kind, numbers],
  position: jsonPosition(),
}

function listPage(
  files: FileStore,
  cursors: CursorCodec,
  coin: Coin,
  { limit, cursor, ...query }: FileQuery,
): Steps<DataAnswer> {
  const day = query.day === undefined ? undefined : toIso(query.day).slice(0, DAY_LENGTH)
  const { timeframe, kind, numbers } = query
  const filters: FileFilters = { coin, timeframe, day, kind, numbers }
  return readList(cursors, {
    list: fileList,
    filters,
    cursor,
    read: (after) =>
      takeRows(filesAfter(files, filters, after), limit, {
        textOf: (file) => JSON.stringify(file),
        positionOf: ({ timeframe, day, name }): FilePosition => ({ timeframe, day, name }),
      }),
  })
}

/** By timeframe, then the newest day first, then as they were made. */
function* filesAfter(
  files: FileStore,
  { coin, timeframe, day: onDay, kind, numbers }: FileFilters,
  after: FilePosition | undefined,
): Generator<FileBody> {
  const wanted = timeframe === undefined ? timeframes : [timeframe]
  const rest = after === undefined ? wanted : wanted.slice(wanted.indexOf(after.timeframe))
  for (const each of rest) {
    const from = each === after?.timeframe ? after : undefined
    const days = files.daysOf({ coin, timeframe: each }).toReversed()
    for (const day of days.filter((one) => one === (onDay ?? one) && one <= (from?.day ?? one))) {
      const list = files.find({ coin, timeframe: each, day })?.files ?? []
      const newest = Math.max(0, ...list.map(({ revision }) => revision))
      const start = day === from?.day ? list.findIndex(({ name }) => name === from.name) + 1 : 0
      for (const file of list.slice(start))
        if ((kind ?? file.kind) === file.kind && (numbers ?? file.numbers) === file.numbers)
          yield toBody(file, newest)
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
  path: string
  bytes: number
  etag: string
  unchanged: Record<string, string>
  headers: Headers
  /** What parts are sent of without reading; undefined of a large file, which is read as it is sent. */
  held: Blob | undefined
  /** When it was listed last, on the monotonic clock. */
  listedMs: number
  /** The file whose bytes were compared with what was listed, and when. */
  compared: FileState
  comparedMs: number
}

/** What changes when a file is written to. */
type FileState = { ino: number; size: number; mtimeMs: number; ctimeMs: number }

/** How long a file that is deleted may still be sent: to look at each request takes 10 µs. */
const LISTED_MS = 1000
/** A large file is read whole and compared again after so long: a disk may lose bits unwritten. */
const COMPARED_MS = 3_600_000

/** Of each serving thread. */
const PREPARED_BYTES_MAX = 16 * 1024 * 1024
/** Of a file in memory: a longer one costs more to send than to open. */
const BYTES_MAX = 2 * 1024 * 1024
/** What else an entry takes. */
const ENTRY_BYTES = 2048
/** Damaged files that are not read again for each request. */
const DAMAGED_MAX = 1000

type FileRequest = { coin: Coin; name: string; request: Request; caller: Caller }

/**
 * Returns what sends a file, or the part that a request asks for. No byte of a file is sent that
 * was not compared with its SHA-256: of a small one those in memory were, of a large one all of it,
 * as long as it was not written to since.
 */
function createSender(files: FileStore, listTiers: () => readonly Tier[]) {
  const prepared = createCache<string, Prepared>(PREPARED_BYTES_MAX)
  const coming = new Map<string, Promise<Prepared>>()
  const damaged = createCache<string, FileState>(DAMAGED_MAX)
  /** One large file is read at a time. */
  let reading: Promise<unknown> = Promise.resolve()

  function prepare(file: ListedFile, held: Blob | undefined, compared: FileState): Prepared {
    const { coin, kind, path, bytes, sha256, name } = file
    const etag = etagOf(file)
    const unchanged = {
      'Cache-Control': CACHING,
      Vary: 'Origin',
      'Accept-Ranges': 'bytes',
      'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    }
    const headers = new Headers({
      ...unchanged,
      ETag: etag,
      'Content-Type': mediaTypes.parquet,
      'Content-Disposition': `attachment; filename="${name}"`,
    })
    const nowMs = performance.now()
    const made = { coin, kind, path, bytes, etag, unchanged, headers, held }
    return { ...made, compared, listedMs: nowMs, comparedMs: nowMs }
  }

  /** Reads a file and compares it; keeps it if it is not large. */
  async function compare(file: ListedFile): Promise<Prepared> {
    const { bytes, name, path, sha256 } = file
    const state = stateOf(path)
    if (state?.size !== bytes) throw damagedFile(name)
    const known = damaged.get(name)
    if (known !== undefined && isSame(known, state)) throw damagedFile(name)
    const read = bytes <= BYTES_MAX ? await Bun.file(path).bytes() : undefined
    const digest = read === undefined ? await digestLarge(path) : digestOfBytes(read)
    if (digest !== sha256) {
      damaged.set(name, state, { size: 1 })
      throw damagedFile(name)
    }
    const after = stateOf(path)
    if (after === undefined || !isSame(after, state)) throw damagedFile(name)
    // Shared by all answers: those of bytes would be copied for each.
    const made = prepare(file, read && new Blob([read]), state)
    prepared.set(name, made, { size: ENTRY_BYTES + (read?.length ?? 0) })
    return made
  }

  function digestLarge(path: string): Promise<string> {
    const digest = reading.then(() => digestOfFile(path))
    reading = digest.catch(() => undefined)
    return digest
  }

  /** Once for all that ask for it. */
  function keep(file: ListedFile): Promise<Prepared> {
    const { name } = file
    const running = coming.get(name)
    if (running !== undefined) return running
    const made = compare(file)
      .catch((error: unknown) => {
        throw error instanceof AppError ? error : damagedFile(name, error)
      })
      .finally(() => coming.delete(name))
    coming.set(name, made)
    return made
  }

  function assertIncluded(caller: Caller, { coin, kind }: { coin: Coin; kind: FileKind }): void {
    for (const access of kindRoutes[kind]) assertEntitled({ access, caller, coin }, listTiers)
  }

  /** Throws and rejects with `unknown_file`, `range_not_satisfiable`, `tier_route` and `damaged`. */
  return ({ coin, name, request, caller }: FileRequest): Response | Promise<Response> => {
    const known = prepared.get(name)
    const nowMs = performance.now()
    if (known?.coin === coin && nowMs - known.listedMs < LISTED_MS && isCompared(known, nowMs)) {
      assertIncluded(caller, known)
      return send(known, request)
    }
    const file = findFile(files, coin, name)
    assertIncluded(caller, file)
    if (known?.etag !== etagOf(file) || !isCompared(known, nowMs))
      return keep(file).then((made) => send(made, request))
    known.listedMs = nowMs
    return send(known, request)
  }
}

type ListedFile = DayFile & { path: string }

function stateOf(path: string): FileState | undefined {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  // The time of the last change of any kind: a program may set `mtimeMs` as it likes.
  return { ino: found.ino, size: found.size, mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs }
}

const isSame = (a: FileState, b: FileState): boolean =>
  a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs

/** True while what would be sent is what was compared. */
function isCompared({ held, path, compared, comparedMs }: Prepared, nowMs: number): boolean {
  if (held !== undefined) return true
  const now = stateOf(path)
  return now !== undefined && isSame(now, compared) && nowMs - comparedMs < COMPARED_MS
}

const digestOfBytes = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** In pieces, between which others have their turn. */
async function digestOfFile(path: string): Promise<string> {
  const hash = new Bun.CryptoHasher('sha256')
  for await (const piece of Bun.file(path).stream()) hash.update(piece)
  return hash.digest('hex')
}

const etagOf = ({ sha256 }: DayFile): string => `"${sha256}"`

function send(
  { bytes, etag, unchanged, headers, held, path }: Prepared,
  request: Request,
): Response {
  const confirmed = answerUnchanged(request, etag, unchanged)
  if (confirmed !== undefined) return confirmed
  const source = held ?? Bun.file(path)
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
