/** Sends day files, whole or in part, and only bytes that were compared with their digests. */
import { statSync } from 'node:fs'

import { AppError } from '#src/domain/errors.ts'
import type { Coin } from '#src/domain/market.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Tier, TierRoute } from '#src/domain/selling/tier.ts'
import { answerUnchanged } from '#src/http/data-response.ts'
import { assertEntitled } from '#src/http/rights.ts'
import { createCache } from '#src/platform/cache.ts'
import { mediaTypes } from '#src/tables/column.ts'

import { byteRangeOf } from './byte-range.ts'
import { damagedFile, type DayFile, type FileKind, type FileStore } from './store.ts'

const CACHING = 'private, max-age=31536000, immutable'

/** The routes besides books whose data a kind of file contains: a tier must include them. */
const kindRoutes: Record<FileKind, readonly TierRoute[]> = {
  snapshots: [],
  levels: [],
  quotes: ['quotes'],
  trades: ['prices'],
  // Includes the last trade and the price of the coin.
  panel: ['prices'],
  changes: [],
}

/** Throws `tier_route` for a kind of file whose data the tier of the caller does not include. */
export function assertIncluded(
  caller: Caller,
  { coin, kind }: { coin: Coin; kind: FileKind },
  listTiers: () => readonly Tier[],
): void {
  for (const access of kindRoutes[kind]) assertEntitled({ access, caller, coin }, listTiers)
}

/** Throws `unknown_file`. */
export function findFile(files: FileStore, coin: Coin, name: string) {
  const file = files.findFile(name)
  if (file?.coin === coin) return file
  throw new AppError(
    'unknown_file',
    `The file does not exist. GET /v1/${coin}/files lists the files.`,
    {
      param: 'id',
    },
  )
}

/** The headers of a file and, unless it is large, its bytes; created once per file. */
type Prepared = {
  coin: Coin
  kind: FileKind
  path: string
  bytes: number
  etag: string
  unchanged: Record<string, string>
  headers: Headers
  /** The bytes to send from; undefined for a large file, which is read as it is sent. */
  held: Blob | undefined
  /** The time of the last check of the list, on the monotonic clock. */
  listedMs: number
  /** The state of the file when its bytes were compared with the list, and the time. */
  compared: FileState
  comparedMs: number
}

/** Changes with every write to the file. */
type FileState = { ino: number; size: number; mtimeMs: number; ctimeMs: number }

/**
 * The time for which a deleted file may still be served: checking each request would take 10 µs.
 */
const LISTED_MS = 1000
/** The interval at which a large file is compared again: a disk may lose bits without a write. */
const COMPARED_MS = 3_600_000

/** The limit per serving thread. */
const PREPARED_BYTES_MAX = 16 * 1024 * 1024
/** The largest file kept in memory: a longer one costs more to send than to open. */
const BYTES_MAX = 2 * 1024 * 1024
/** The overhead of an entry. */
const ENTRY_BYTES = 2048
/** Damaged files that are remembered, so that they are not read for each request. */
const DAMAGED_MAX = 1000

type FileRequest = { coin: Coin; name: string; request: Request; caller: Caller | 'anyone' }

/**
 * Returns a function that sends a file, or the requested part. No byte is sent that was not
 * compared with the file's SHA-256: for a small file the bytes in memory, for a large one the whole
 * file, which must not have been written since.
 */
export function createSender(files: FileStore, listTiers: () => readonly Tier[]) {
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

  /** Reads and compares a file; keeps its bytes if it is not large. */
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
    // Shared by all responses; plain bytes would be copied for each.
    const made = prepare(file, read && new Blob([read]), state)
    prepared.set(name, made, { size: ENTRY_BYTES + (read?.length ?? 0) })
    return made
  }

  function digestLarge(path: string): Promise<string> {
    const digest = reading.then(() => digestOfFile(path))
    reading = digest.catch(() => undefined)
    return digest
  }

  /** Prepares a file once for all concurrent requests. */
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

  const admit = (caller: Caller | 'anyone', file: { coin: Coin; kind: FileKind }): void => {
    if (caller !== 'anyone') assertIncluded(caller, file, listTiers)
  }

  /**
   * Throws and rejects with `unknown_file`, `range_not_satisfiable`, `tier_route` and `damaged`.
   */
  return ({ coin, name, request, caller }: FileRequest): Response | Promise<Response> => {
    const known = prepared.get(name)
    const nowMs = performance.now()
    if (known?.coin === coin && nowMs - known.listedMs < LISTED_MS && isCompared(known, nowMs)) {
      admit(caller, known)
      return send(known, request)
    }
    const file = findFile(files, coin, name)
    admit(caller, file)
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
  // `ctimeMs` covers every change; a program may set `mtimeMs` arbitrarily.
  return { ino: found.ino, size: found.size, mtimeMs: found.mtimeMs, ctimeMs: found.ctimeMs }
}

const isSame = (a: FileState, b: FileState): boolean =>
  a.ino === b.ino && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs

/** True while the bytes to send are those that were compared. */
function isCompared({ held, path, compared, comparedMs }: Prepared, nowMs: number): boolean {
  if (held !== undefined) return true
  const now = stateOf(path)
  return now !== undefined && isSame(now, compared) && nowMs - comparedMs < COMPARED_MS
}

const digestOfBytes = (bytes: Uint8Array): string =>
  new Bun.CryptoHasher('sha256').update(bytes).digest('hex')

/** Reads in pieces, between which other work runs. */
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
