import { Elysia } from 'elysia'

import { type CursorCodec, type CursorList, idPosition } from '#src/domain/cursor.ts'
import { formatMillionths } from '#src/domain/decimal.ts'
import type { Coin } from '#src/domain/market.ts'
import type { FactChange, Revision } from '#src/domain/revision.ts'
import type { Caller } from '#src/domain/selling/caller.ts'
import type { Tier } from '#src/domain/selling/tier.ts'
import { toIso, toIsoOrNull } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { DataAnswer } from '#src/http/answer.ts'
import type { Api } from '#src/http/api.ts'
import { readList, takeRows } from '#src/http/cursor-list.ts'
import { assertEntitled } from '#src/http/gate.ts'
import { createTable, tableQuery } from '#src/http/table.ts'
import type { Steps } from '#src/platform/scheduler.ts'

import { manifestRoutes } from './manifests.ts'
import { RevisionList, RevisionQuery, type RevisionRow } from './schema.ts'

type Deps = {
  history: Pick<
    MarketHistory,
    'manifests' | 'revisions' | 'ready' | 'listMarkets' | 'skipMarkets' | 'lines' | 'trades'
  >
  cursors: CursorCodec
  listTiers: () => readonly Tier[]
}

const asTable = createTable(RevisionList)

export const trustRoutes = (api: Api, deps: Deps) => [
  revisionRoutes(api, deps),
  manifestRoutes(api, deps),
]

const revisionRoutes = (api: Api, deps: Deps) =>
  new Elysia({ name: 'trust', tags: ['trust'] })
    .use(api)
    .get(
      '/v1/revisions',
      ({ reply, request, caller, query }) =>
        reply.data(request, asTable({ request, query }, revisionPage(deps, caller, query))),
      {
        access: 'markets',
        query: tableQuery(RevisionQuery),
        isTable: true,
        caching: 'digest',
        response: { 200: RevisionList },
        answers: {
          description: 'A page of changes.',
          resume: 'The place after the last change, also when `nextCursor` is null.',
        },
        detail: {
          operationId: 'listRevisions',
          summary: 'What changed after it was served',
          description:
            'Every change of what could be served before, and why: rows that came late or by an import, facts that became known or were corrected, gaps, deletions. What a market gains after its last snapshot while it is recorded is no change of what was served, and is not listed. `completeSince` says since when changes are noted; what changed before is not known. Keep `X-Resume-Cursor` to ask for what is new.',
        },
      },
    )

/** Changes that are read at once: a millisecond of work. */
const BLOCK = 50

const revisionList: CursorList<{ coin?: Coin | undefined; since?: number | undefined }, number> = {
  name: 'revisions',
  filters: ({ coin, since }) => [coin ?? 'all', since],
  position: idPosition,
  start: () => 0,
}

/** Throws `tier_coin`, `cursor_invalid` and `cursor_mismatch`. */
function revisionPage(
  { history: { revisions }, cursors, listTiers }: Deps,
  caller: Caller,
  { since, coin, limit, cursor }: RevisionQuery,
): Steps<DataAnswer> {
  if (coin !== undefined) assertEntitled({ access: 'markets', caller, coin }, listTiers)
  const coins = coin === undefined ? caller.standing.terms.coins : [coin]
  return readList(cursors, {
    list: revisionList,
    filters: { coin, since },
    cursor,
    *read(after = revisions.lastIdBefore(since ?? 0)) {
      const page = yield* takeRows(walk(revisions, { afterId: after, coins }), limit, {
        textOf: (each) => JSON.stringify(describeRevision(each)),
        positionOf: ({ id }) => id,
      })
      const completeSince = toIso(revisions.sinceMs())
      return { ...page, last: page.last ?? after, members: { completeSince } }
    },
  })
}

/** All changes of coins after one; undefined between blocks. */
function* walk(
  revisions: Deps['history']['revisions'],
  { afterId, coins }: { afterId: number; coins: readonly string[] },
) {
  for (let last = afterId; ;) {
    const block = revisions.list(last, BLOCK)
    yield* block.filter(({ coin }) => coins.includes(coin))
    if (block.length < BLOCK) return
    last = block.at(-1)?.id ?? last
    yield undefined
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
