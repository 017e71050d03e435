/** Whether the document requires of the bodies of data what is always there, and nothing else. */
import { describe, expect, test } from 'bun:test'

import { coins } from '#src/domain/market.ts'
import { openHistory } from '#src/history/open.ts'

import { addKey, createHarness, NOW_MS } from '../support/harness.ts'
import { createMarketHistory, type KnownMarket } from '../support/market-history.ts'
import { type Entry, faultsOf, readDocument, type Schema } from '../support/openapi-document.ts'
import { addressOf } from '../support/operation-requests.ts'
import { withParams } from '../support/page-client.ts'
import { asJson } from '../support/signup-client.ts'

const { history, both, single, open } = await createMarketHistory(openHistory(':memory:'))
const { send, sendAs, ledger } = createHarness({ history })
const limited = addKey(ledger, {
  tierId: 'limited',
  name: 'Limited',
  rank: 9,
  coins,
  requestsPerMinute: 1000,
  routes: ['markets', 'snapshots', 'quotes'],
  isForSale: false,
})
const { document, entries } = await readDocument(send)
const markets = [both, single, open]

const ofData = entries.filter(
  ({ path, responses }) =>
    path.startsWith('/v1/{coin}') && responses[200]?.content?.['application/json'] !== undefined,
)

const fields = ['bids', 'asks', 'receivedAt'].map((name) => ({ fields: name }))
const views = [{}, ...fields, { view: 'consolidated' }]

/** What makes bodies of a route differ in their members. */
const kinds: Record<string, Record<string, string>[]> = {
  listSnapshots: views,
  getHeatmap: [{}, { include: 'removed' }],
  listFiles: [{}, { links: '1h' }],
  getSnapshotsAt: views,
  listSnapshotsAt: views,
  listQuotes: [{}, { interval: '1s' }, { fields: 'bid' }, { fields: 'receivedAt' }],
  listPrices: [{}, { interval: '1m' }],
  listSpot: [{}, { interval: '1m' }],
}

const momentsOf = ({ conditionId }: KnownMarket) =>
  (['up', 'down'] as const).map((outcome) => ({ conditionId, outcome, ts: NOW_MS }))

/** A fill of money instead of shares, which the address has. */
const spending = (address: string): string => address.replace('size=1', 'usdc=1')

/** The bodies of a route, of each market and in each way that it is asked. */
async function readBodies(entry: Entry): Promise<unknown[]> {
  const bodies: unknown[] = []
  for (const market of markets) {
    const { coin, conditionId } = market
    const address = addressOf(entry, { coin, conditionId })
    for (const kind of kinds[entry.operationId] ?? [{}]) {
      const asked = asJson({ requests: momentsOf(market), ...kind })
      const responses =
        entry.method === 'POST'
          ? [await send(address, asked)]
          : [
              await send(withParams(address, kind)),
              await send(withParams(spending(address), kind)),
              await sendAs(limited, withParams(address, kind)),
            ]
      for (const response of responses) {
        if (response.status === 200) bodies.push(await response.json())
      }
    }
  }
  return bodies
}

/** Tells of each optional member of the objects in a value whether it is there. */
function* optionalsIn(schema: Schema, value: unknown, at = ''): Generator<[string, boolean]> {
  const fits = (each: Schema) => faultsOf(document, each, value).length === 0
  const fitting = schema.anyOf?.find(fits) ?? schema
  if (Array.isArray(value)) {
    for (const item of value) yield* optionalsIn(fitting.items ?? {}, item, at)
  } else if (typeof value === 'object' && value !== null) {
    yield* optionalsOf(fitting, value, at)
  }
}

function* optionalsOf(
  { properties = {}, required = [] }: Schema,
  value: object,
  at: string,
): Generator<[string, boolean]> {
  const members = new Map(Object.entries(value))
  for (const [name, member] of Object.entries(properties)) {
    if (!required.includes(name)) yield [`${at}/${name}`, members.has(name)]
    yield* optionalsIn(member, members.get(name), `${at}/${name}`)
  }
}

const schemaOf = ({ responses }: Entry): Schema =>
  responses[200]?.content?.['application/json']?.schema ?? {}

describe('members of data', () => {
  test('default: one that is not required is sometimes there and sometimes not', async () => {
    expect(ofData.length).toBeGreaterThan(9)
    for (const entry of ofData) {
      const bodies = await readBodies(entry)
      if (entry.operationId === 'listTrades') {
        // From now on trades say whether the chain has them.
        await history.putReceipts([], 1)
        bodies.push(...(await readBodies(entry)))
      }
      expect([entry.operationId, bodies.length > 0]).toEqual([entry.operationId, true])
      const seen = bodies.flatMap((body) => [...optionalsIn(schemaOf(entry), body)])
      const told = (isThere: boolean) =>
        [...new Set(seen.filter((each) => each[1] === isThere).map(([place]) => place))].sort()
      expect([entry.operationId, ...told(true)]).toEqual([entry.operationId, ...told(false)])
    }
  })

  test('default: one that is required is there whatever is asked for', async () => {
    for (const entry of ofData) {
      for (const body of await readBodies(entry)) {
        const faults = faultsOf(document, schemaOf(entry), body)
        expect([entry.operationId, ...faults]).toEqual([entry.operationId])
      }
    }
  })

  test('behavior: without `fields` a snapshot has every member that it can have', async () => {
    const names = (schema: Schema | undefined): string[] => Object.keys(schema?.properties ?? {})
    const listed = schemaNamed('listSnapshots')
    const page = (await (await send(both.path)).json()) as { data: object[] }
    const known = names(listed.properties?.data?.items).filter((name) => name !== 'receivedAt')
    for (const row of page.data) {
      expect([...Object.keys(row), 'sources']).toEqual(known)
    }
    const consolidated = await send(withParams(both.path, { view: 'consolidated' }))
    const { data } = (await consolidated.json()) as { data: object[] }
    for (const row of data) expect(Object.keys(row)).toEqual(known)
  })
})

/** The schema of what an operation answers. */
function schemaNamed(operationId: string): Schema {
  const entry = entries.find((each) => each.operationId === operationId)
  if (entry === undefined) throw new Error(`There is no ${operationId}.`)
  return schemaOf(entry)
}
