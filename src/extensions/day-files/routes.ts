/** Files of final days, served unchanged, whole or in parts. */
import { Elysia } from 'elysia'

import type { Links, LinkTerms } from '#src/access/links.ts'
import { type CursorCodec, type CursorList, jsonPosition } from '#src/domain/cursor.ts'
import { AppError, parameterError } from '#src/domain/errors.ts'
import { type Coin, type Timeframe, timeframes } from '#src/domain/market.ts'
import { blockedError, type Caller } from '#src/domain/selling/caller.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { type Clock, toIso, toIsoDay } from '#src/domain/time.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { callOf } from '#src/http/call.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { assertEntitled } from '#src/http/rights.ts'
import { count } from '#src/platform/count.ts'
import { mediaTypes } from '#src/tables/column.ts'

import type { OpenDay } from './open-day.ts'
import {
  ArchiveQuery,
  type FileBody,
  FileList,
  fileName,
  FileQuery,
  type LinkLength,
  linkLengthMs,
  OpenFileList,
} from './schema.ts'
import { assertIncluded, createSender, findFile } from './send-file.ts'
import { type DayFile, type FileStore, newestRevision } from './store.ts'

type Deps = {
  files: FileStore
  cursors: CursorCodec
  clock: Clock
  links: Links
  openDay: OpenDay
  /** Where callers reach the server; empty if that is where a request says. */
  publicUrl: string
  listTiers: () => readonly Tier[]
}

const shared = { access: 'snapshots' } as const
const DAY_LENGTH = 'YYYY-MM-DD'.length

const headerTexts = {
  'Accept-Ranges': '`bytes`.',
  'Repr-Digest': 'SHA-256 of the whole file (RFC 9530).',
  'Content-Disposition': '`attachment` with the file name.',
}
const content = {
  [mediaTypes.parquet]: {
    schema: { type: 'string' as const, format: 'binary' as const },
  },
}

/** How a file is sent: whole, or in part. */
const sent = {
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
  answers: [
    { description: 'The file.', content, headers: headerTexts },
    {
      status: 206,
      description: 'Requested range.',
      content,
      headers: { ...headerTexts, 'Content-Range': 'Range of the bytes, and the size of the file.' },
    },
  ],
} as const

export const fileRoutes = (api: Api, deps: Deps) => {
  const { files, listTiers, openDay } = deps
  const sendFile = createSender(files, listTiers)
  const openLink = createLinkOpener(deps)
  return new Elysia({ name: 'files', tags: ['files'] })
    .use(api)
    .get(
      '/v1/:coin/files',
      ({ reply, request, coin, query, caller }) =>
        reply(request, listPage(deps, coin, query, linker(deps, request, caller, query))),
      {
        coin: true,
        ...shared,
        neverFails: ['damaged'],
        query: FileQuery,
        caching: 'digest',
        response: { 200: FileList },
        answers: { description: 'A page of files.' },
        detail: {
          operationId: 'listFiles',
          summary: 'List files of whole days',
          description:
            'Parquet files for each UTC day and timeframe. A day is final if all its windows have ended, their history is sealed, and every winner is known or three days have passed. Files never change: if data of a final day changes, another revision is made and listed beside the first. With `links`, each file of the newest revision has a link: a URL that needs no header until it expires. Empty if the operator makes no files.',
        },
      },
    )
    .get(
      '/v1/:coin/files/:id',
      ({ coin, params: { id }, request, caller }) => sendFile({ coin, name: id, request, caller }),
      {
        coin: true,
        ...shared,
        ...sent,
        id: fileName,
        fails: ['unknown_file', 'range_not_satisfiable'],
        detail: {
          operationId: 'getFile',
          summary: 'Download a file of a day',
          description:
            '`Range` requests one range of bytes (206), and with `If-Range` only if the file is the same; several ranges return the whole file. DuckDB, pandas and polars use ranges to read only the columns that they need. A tier must include the routes of the same data: `snapshots` for every file, also `quotes` for `quotes`, and also `prices` for `trades` and `panel` (which has last trades).',
        },
      },
    )
    .get(
      '/v1/:coin/links/:link/:id',
      ({ coin, params: { link, id }, request }) =>
        sendFile({ coin, name: id, request, caller: openLink({ coin, name: id, link, request }) }),
      {
        openTo: 'open',
        coin: true,
        ...sent,
        id: fileName,
        fails: [
          'link_invalid',
          'sanctioned',
          'tier_route',
          'tier_coin',
          'unknown_file',
          'file_replaced',
          'range_not_satisfiable',
          'damaged',
        ],
        detail: {
          operationId: 'getLinkedFile',
          summary: 'Download a file by a link',
          description:
            'The `link` of GET /v1/{coin}/files, for programs that send no header: DuckDB, polars, pandas, `curl -O`. A link belongs to the key that it was made with: its requests and bytes count towards the account, in a window of 3,000 requests a minute, and it ends with the key. `Range`, `If-Range`, `HEAD` and `ETag` work as for the file itself. If the file was replaced by another revision, the response is a 410 with a link to the new file.',
        },
      },
    )
    .get(
      '/v1/:coin/archive.sql',
      ({ reply, request, coin, query, caller }) => {
        assertIncluded(caller, { coin, kind: query.kind }, listTiers)
        const link = linker(deps, request, caller, query)
        return reply(request, { body: archiveSql(files, coin, query, link), mediaType: SQL })
      },
      {
        coin: true,
        ...shared,
        neverFails: ['damaged'],
        query: ArchiveQuery,
        caching: 'digest',
        fails: ['unknown_file'],
        answers: {
          description: 'The statement.',
          content: { [SQL]: { schema: { type: 'string' } } },
        },
        detail: {
          operationId: 'getArchiveSql',
          summary: 'Get many days as one table in DuckDB',
          description:
            '`CREATE OR REPLACE VIEW … AS SELECT * FROM read_parquet([…])` over links to the files of one kind of all days in a range, for `.read` and `duckdb.sql(text)`. DuckDB reads only the parts of each file that a query needs. The name of the view is the coin, the timeframe if there is one, and the kind, such as `btc_5m_quotes`.',
        },
      },
    )
    .get(
      '/v1/sample/files',
      ({ reply, request }) => {
        const link = linker(deps, request, undefined, { links: '1d' })
        const data = openDay().map((file) => toBody(file, file.revision, link))
        return reply(request, { body: JSON.stringify({ data }) })
      },
      {
        openTo: 'open',
        neverFails: ['damaged'],
        caching: 'digest',
        response: { 200: OpenFileList },
        answers: { description: 'The files.' },
        detail: {
          operationId: 'listSampleFiles',
          summary: 'Files of one day, without a key',
          description:
            'All kinds of files of one day, each with a link that needs no key: the newest day of which every market is simulated, or the day that the operator opened (`BOOKFEED_SAMPLE_DAY`). Requests count as those of the sample, 120 a minute of one network address. Empty where there is none.',
        },
      },
    )
}

/** `application/sql` (RFC 6922). */
const SQL = 'application/sql'
const MINUTE_MS = 60_000
/** Files that a view may name: ten years of one timeframe, or two of every timeframe. */
const ARCHIVE_FILES_MAX = 4000

/** The address of a link to a file, and its end. */
type Linked = { link: string; linkExpires: string }
type ToLink = (file: DayFile) => Linked

/** Makes links for a caller, or for anyone; undefined if the request asks for none. */
function linker(
  { links, clock, publicUrl }: Deps,
  request: Request,
  caller: Caller | undefined,
  asked: { links?: LinkLength },
): ToLink | undefined {
  if (asked.links === undefined) return undefined
  // Whole minutes, so that a list that is asked for again is the same.
  const endMs = clock() + linkLengthMs[asked.links]
  const untilMs = Math.ceil(endMs / MINUTE_MS) * MINUTE_MS
  const origin = originOf(request, publicUrl)
  const terms = { keyId: caller?.keyId, untilMs }
  return (file) => ({ link: origin + links.pathOf(file, terms), linkExpires: toIso(untilMs) })
}

const originOf = ({ url }: Request, publicUrl: string): string => publicUrl || new URL(url).origin

/**
 * Returns a function that opens a link: it returns whose link it is. Throws `link_invalid`,
 * `sanctioned`, `tier_route`, `tier_coin`, `unknown_file` and `file_replaced`.
 */
function createLinkOpener({ files, links, listTiers, publicUrl }: Deps) {
  function assertNewest(file: DayFile, terms: LinkTerms, request: Request): void {
    const list = files.find(file)?.files ?? []
    const revision = newestRevision(list)
    const { kind, numbers } = file
    const newest = list.find(
      (each) => each.revision === revision && each.kind === kind && each.numbers === numbers,
    )
    if (newest === undefined || newest.name === file.name) return
    throw new AppError(
      'file_replaced',
      `Revision ${revision} of the day replaced this file. \`replacedBy\` is a link to it.`,
      { param: 'id', replacedBy: originOf(request, publicUrl) + links.pathOf(newest, terms) },
    )
  }

  return (asked: { coin: Coin; name: string; link: string; request: Request }) => {
    const { coin, name, link, request } = asked
    const { caller, ...terms } = links.open({ coin, name }, link, callOf(request).caller)
    if (caller?.isBlocked) throw blockedError()
    if (caller !== undefined) assertEntitled({ access: 'snapshots', caller, coin }, listTiers)
    assertNewest(findFile(files, coin, name), terms, request)
    return caller ?? 'anyone'
  }
}

/** A view over the files of one kind. Throws `invalid_parameter` and `unknown_file`. */
function archiveSql(
  files: FileStore,
  coin: Coin,
  { kind, numbers, timeframe, from, to }: ArchiveQuery,
  toLink: ToLink | undefined,
): string {
  if (to <= from) {
    const detail = '`to` must be after `from`: the first day that is not wanted any more.'
    throw parameterError('to', detail)
  }
  const wanted = timeframe === undefined ? timeframes : [timeframe]
  const days = wanted.flatMap((each) =>
    files.daysOf({ coin, timeframe: each }).map((day) => ({ coin, timeframe: each, day })),
  )
  const found = days
    .filter(({ day }) => day >= toIsoDay(from) && day < toIsoDay(to))
    .flatMap((place) => {
      const list = files.find(place)?.files ?? []
      const revision = newestRevision(list)
      return list.filter(
        (file) => file.revision === revision && file.kind === kind && file.numbers === numbers,
      )
    })
  const [first] = found
  if (found.length > ARCHIVE_FILES_MAX) {
    const message = `The range has ${count(found.length, 'file')}, and a view has at most ${ARCHIVE_FILES_MAX}. Send a shorter range, or \`timeframe\`.`
    throw parameterError('to', message)
  }
  if (first === undefined) {
    const detail = `There is no file of these days. GET /v1/${coin}/files?kind=${kind} lists the files.`
    throw new AppError('unknown_file', detail, { param: 'from' })
  }
  const linked = found.flatMap((file) => toLink?.(file) ?? [])
  const rows = found.reduce((sum, file) => sum + file.rows, 0)
  const name = [coin, timeframe ?? [], kind].flat().join('_')
  return `-- ${kind} of ${coin} by Bookfeed, ${count(found.length, 'day file')} with ${count(rows, 'row')}, from ${first.day} to ${found.at(-1)?.day}.
-- The links end at ${linked[0]?.linkExpires}: get this statement again after that.
CREATE OR REPLACE VIEW ${name} AS SELECT * FROM read_parquet([
${linked.map(({ link }) => `  '${link.replaceAll("'", "''")}'`).join(',\n')}
]);
`
}

type FileFilters = {
  coin: Coin
  timeframe?: Timeframe | undefined
  /** The UTC day. */
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
  { files, cursors }: Deps,
  coin: Coin,
  { limit, cursor, ...query }: FileQuery,
  toLink: ToLink | undefined,
): Promise<DataAnswer> {
  const day = query.day === undefined ? undefined : toIso(query.day).slice(0, DAY_LENGTH)
  const { timeframe, kind, numbers } = query
  const filters: FileFilters = { coin, timeframe, day, kind, numbers }
  return readList(cursors, {
    list: fileList,
    filters,
    cursor,
    read: (after) =>
      takeRows(filesAfter(files, filters, after), limit, {
        textOf: ({ file, newest }) => JSON.stringify(toBody(file, newest, toLink)),
        positionOf: ({ file: { timeframe, day, name } }): FilePosition => ({
          timeframe,
          day,
          name,
        }),
      }),
  })
}

/** By timeframe, then the newest day first, then in the order of creation. */
function* filesAfter(
  files: FileStore,
  { coin, timeframe, day: onDay, kind, numbers }: FileFilters,
  after: FilePosition | undefined,
): Generator<{ file: DayFile; newest: number }> {
  const wanted = timeframe === undefined ? timeframes : [timeframe]
  const rest = after === undefined ? wanted : wanted.slice(wanted.indexOf(after.timeframe))
  for (const each of rest) {
    const from = each === after?.timeframe ? after : undefined
    const days = files.daysOf({ coin, timeframe: each }).toReversed()
    for (const day of days.filter((one) => one === (onDay ?? one) && one <= (from?.day ?? one))) {
      const list = files.find({ coin, timeframe: each, day })?.files ?? []
      const newest = newestRevision(list)
      const start = day === from?.day ? list.findIndex(({ name }) => name === from.name) + 1 : 0
      for (const file of list.slice(start))
        if ((kind ?? file.kind) === file.kind && (numbers ?? file.numbers) === file.numbers)
          yield { file, newest }
    }
  }
}

const toBody = (file: DayFile, newest: number, toLink: ToLink | undefined): FileBody => ({
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
  ...(file.revision === newest ? toLink?.(file) : {}),
})
