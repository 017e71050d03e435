import { Elysia } from 'elysia'

import { type CursorCodec, type CursorList, idPosition } from '#src/domain/cursor.ts'
import { formatMillionths } from '#src/domain/decimal.ts'
import type { Coin } from '#src/domain/market.ts'
import type { FactChange, Revision } from '#src/domain/revision.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { assertEntitled } from '#src/http/rights.ts'
import { listLane, type TableForm, tableOf, tableQuery, tableTask } from '#src/http/table.ts'
import type { TaskPorts, Tasks } from '#src/http/tasks.ts'

import { manifestRoutes } from './manifests.ts'
import { RevisionList, RevisionQuery, type RevisionRow } from './schema.ts'

type Deps = {
  history: Pick<
    MarketHistory,
    'manifests' | 'revisions' | 'ready' | 'listMarkets' | 'skipMarkets' | 'lines' | 'trades'
  >
  cursors: CursorCodec
  listTiers: () => readonly Tier[]
  tasks: Tasks
}
type Given = { query: RevisionQuery; coins: readonly string[]; table: TableForm }

export const revisionsTask = tableTask('revisions', RevisionList, revisionPage)

export const trustRoutes = (api: Api, deps: Deps) => [
  revisionRoutes(api, deps),
  manifestRoutes(api, deps),
]

const revisionRoutes = (api: Api, { listTiers, tasks }: Deps) =>
  new Elysia({ name: 'trust', tags: ['trust'] }).use(api).get(
    '/v1/revisions',
    ({ reply, request, caller, query }) => {
      const { coin } = query
      if (coin !== undefined) assertEntitled({ access: 'markets', caller, coin }, listTiers)
      const coins = coin === undefined ? caller.standing.terms.coins : [coin]
      const table = tableOf(request, query)
      const given = { query, coins, table }
      const lane = listLane(RevisionQuery, query, table)
      return reply(request, tasks.data(request, revisionsTask, given, lane))
    },
    {
      access: 'markets',
      query: tableQuery(RevisionQuery),
      caching: 'digest',
      response: { 200: RevisionList },
      answers: {
        description: 'A page of changes.',
        resume: 'Cursor after the last change, even if `nextCursor` is null.',
      },
      detail: {
        operationId: 'listRevisions',
        summary: 'List changes of published data',
        description:
          'Every later change of data that could have been served, with its reason: rows that arrived late or by an import, facts that became known or were corrected, gaps, and deletions. New data that extends a market while it is recorded is not a change. `completeSince` is the time since when changes are recorded; earlier changes are unknown. Keep `X-Resume-Cursor` to get later changes.',
      },
    },
  )

/** Changes in one read. */
const BLOCK = 50

const revisionList: CursorList<{ coin?: Coin | undefined; since?: number | undefined }, number> = {
  name: 'revisions',
  filters: ({ coin, since }) => [coin ?? 'all', since],
  position: idPosition,
  start: () => 0,
}

/** Rejects with `cursor_invalid` and `cursor_mismatch`. */
function revisionPage(
  { history: { revisions }, cursors }: TaskPorts,
  { query: { since, coin, limit, cursor }, coins }: Given,
): Promise<DataAnswer> {
  return readList(cursors, {
    list: revisionList,
    filters: { coin, since },
    cursor,
    read(after = revisions.lastIdBefore(since ?? 0)) {
      const page = takeRows(walk(revisions, { afterId: after, coins }), limit, {
        textOf: (each) => JSON.stringify(describeRevision(each)),
        positionOf: ({ id }) => id,
      })
      const completeSince = toIso(revisions.sinceMs())
      return { ...page, last: page.last ?? after, members: { completeSince } }
    },
  })
}

/** Changes of some coins after a position. */
function* walk(
  revisions: Deps['history']['revisions'],
  { afterId, coins }: { afterId: number; coins: readonly string[] },
) {
  for (let last = afterId; ;) {
    const block = revisions.list(last, BLOCK)
    yield* block.filter(({ coin }) => coins.includes(coin))
    if (block.length < BLOCK) return
    last = block.at(-1)?.id ?? last
  }
}

const describeRevision = (revision: Revision): RevisionRow => ({
  id: String(revision.id),
  time: toIso(revision.atMs),
  why: revision.why,
  symbol: revision.coin,
  conditionId: revision.conditionId,
  timeframe: revision.timeframe,
  windowStart: toIso(revision.orderMs),
  revision: revision.revision,
  added: revision.added,
  changed: revision.changed,
  removed: revision.removed,
  from: toIsoOrNull(revision.fromMs),
  to: toIsoOrNull(revision.toMs),
  facts: revision.facts.map(({ fact, before, after }) => ({
    fact: servedNames[fact] ?? fact,
    before: printFact(fact, before),
    after: printFact(fact, after),
  })),
})

const servedNames: Partial<Record<FactChange['fact'], string>> = {
  windowStartMs: 'windowStart',
  windowEndMs: 'windowEnd',
  strikeMs: 'strikeTime',
  finalPriceMs: 'finalPriceTime',
}

function printFact(fact: FactChange['fact'], value: FactChange['before']): string | null {
  if (typeof value !== 'number') return value
  return fact === 'tickSize' ? formatMillionths(value) : toIso(value)
}
