/** A server that asks two nodes of a local chain for the transactions of trades. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { openHistory } from '#src/history/open.ts'
import { openLedger } from '#src/ledger/open.ts'

import { aSnapshot, conditionIdOf } from '../history/books.ts'
import { type Anvil, hasAnvil, startAnvil } from '../support/anvil.ts'
import { createCommandLine } from '../support/command-line.ts'
import { revertingCode } from '../support/evm-code.ts'
import { addKey } from '../support/harness.ts'
import { startKillableServer } from '../support/killable-server.ts'
import { until } from '../support/until.ts'
import { systemClock } from '../support/venue/venue.ts'

const TEST_MS_MAX = 60_000
const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const reverting = `0x${'79'.repeat(20)}`
const conditionId = conditionIdOf(1)
const path = `/v1/btc/markets/${conditionId}/trades`

/** More than the two epochs after which a block is final. */
const FINAL_BLOCKS = '0x80'

type Row = { price: number; chain?: string; transactionHash: string | null }

describe.skipIf(!hasAnvil)('BOOKFEED_TRADE_NODES', () => {
  const folder = mkdtempSync(join(tmpdir(), 'bookfeed-trade-nodes-'))
  let anvil: Anvil
  let hashes = { succeeded: '', reverted: '' }
  let key = ''

  beforeAll(async () => {
    anvil = await startAnvil()
    const [from] = (await anvil.rpc('eth_accounts')) as string[]
    await anvil.rpc('anvil_setCode', [reverting, revertingCode])
    const send = async (to: string) =>
      String(await anvil.rpc('eth_sendTransaction', [{ from, to, gas: '0x186a0' }]))
    hashes = { succeeded: await send(`0x${'11'.repeat(20)}`), reverted: await send(reverting) }
    await anvil.rpc('anvil_mine', [FINAL_BLOCKS])
    await fill()
    using ledger = openLedger(join(folder, 'ledger.db'), { nowMs: systemClock() })
    key = addKey(ledger, 'pro')
  })
  afterAll(async () => {
    await anvil?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  /** A closed market with a trade of each state. */
  async function fill(): Promise<void> {
    const nowMs = systemClock()
    const windowStartMs = nowMs - 20 * MINUTE_MS
    const history = openHistory(join(folder, 'history.db'))
    const about = { conditionId, coin: 'btc', timeframe: '5m', source: 'recorded' } as const
    await history.putMarket({
      ...about,
      windowStartMs,
      windowEndMs: windowStartMs + 5 * MINUTE_MS,
    })
    await history.append({
      id: 'books',
      source: 'recorded',
      snapshots: [aSnapshot({ conditionId, timestampMs: windowStartMs })],
    })
    const trade = (price: number, transactionHash?: string, timestampMs = windowStartMs) => ({
      timestampMs,
      price: price * 10_000,
      outcome: 'up' as const,
      transactionHash,
    })
    await history.putTrades({
      id: 'trades',
      conditionId,
      trades: [
        trade(1, hashes.succeeded),
        trade(2, hashes.succeeded),
        trade(3, hashes.reverted),
        trade(4, `0x${'9'.repeat(64)}`),
        trade(5),
        trade(6, `0x${'8'.repeat(64)}`, nowMs - DAY_MS - MINUTE_MS),
      ],
    })
    await history.close(conditionId)
    history.dispose()
  }

  /** The nodes on two hosts, which are one here. */
  const nodes = (): string => [anvil.url, anvil.url.replace('127.0.0.1', 'localhost')].join(',')

  async function serve(body: (get: Get) => Promise<void>, env: Record<string, string>) {
    const all = { BOOKFEED_DATA: folder, BOOKFEED_PORT: '0', BOOKFEED_SAMPLE: 'off', ...env }
    const server = await startKillableServer(all)
    try {
      await body((query = '', headers = {}) =>
        fetch(`${server.origin}${path}${query}`, {
          headers: { authorization: `Bearer ${key}`, ...headers },
        }),
      )
    } finally {
      await server.kill()
    }
  }
  type Get = (query?: string, headers?: Record<string, string>) => Promise<Response>

  const statesIn = async (response: Response) => {
    expect(response.status).toBe(200)
    const { data } = (await response.json()) as { data: Row[] }
    return Object.fromEntries(data.map(({ price, chain }) => [Math.round(price * 100), chain]))
  }

  test(
    'default: without nodes trades have no state, in JSON and in tables',
    () =>
      serve(async (get) => {
        const response = await get()
        expect(response.headers.get('cache-control')).toContain('immutable')
        expect(Object.values(await statesIn(response))).toEqual(Array(6).fill(undefined))
        expect(await (await get('?format=csv')).text()).toStartWith(
          'timestamp,outcome,price,size,side,transaction_hash\n',
        )
      }, {}),
    TEST_MS_MAX,
  )

  test(
    'behavior: two nodes decide what is confirmed and failed; what may change is not kept',
    () =>
      serve(
        async (get) => {
          let etag = ''
          await until(async () => {
            const response = await get()
            const states = await statesIn(response)
            if (states[3] === 'pending') etag = response.headers.get('etag') ?? ''
            return states[3] === 'failed'
          })
          const response = await get('', { 'if-none-match': etag })
          expect(response.status).toBe(200)
          expect(response.headers.get('cache-control')).toBe('private, no-cache')
          const tag = response.headers.get('etag') ?? ''
          expect(await statesIn(response)).toEqual({
            1: 'confirmed',
            2: 'confirmed',
            3: 'failed',
            4: 'pending',
            5: 'unknown',
            6: 'unknown',
          })
          expect((await get('', { 'if-none-match': tag })).status).toBe(304)
          const old = await get('?limit=1')
          expect(old.headers.get('cache-control')).toContain('immutable')
          const lines = (await (await get('?format=csv')).text()).trimEnd().split('\n')
          expect(lines[0]).toBe('timestamp,outcome,price,size,side,transaction_hash,chain')
          expect(lines.filter((line) => line.endsWith(',failed'))).toHaveLength(1)
        },
        { BOOKFEED_TRADE_NODES: nodes() },
      ),
    TEST_MS_MAX,
  )

  test(
    'behavior: what was decided stays when no node is configured any more',
    () =>
      serve(async (get) => {
        expect(await statesIn(await get())).toMatchObject({ 1: 'confirmed', 3: 'failed' })
      }, {}),
    TEST_MS_MAX,
  )

  test(
    'error: the doctor names a node on another chain, one that is away, and that one is few',
    async () => {
      const find = async (value: string) => {
        using cli = createCommandLine({ BOOKFEED_TRADE_NODES: value, BOOKFEED_FREE_MB: '0' })
        const { printed } = await cli.run('doctor', '--json')
        const { findings } = JSON.parse(printed.join('\n')) as {
          findings: { check: string; state: string; text: string }[]
        }
        return findings
          .filter(({ check }) => check === 'trade nodes')
          .map(({ state, text }) => [state, text])
      }
      const { origin } = new URL(anvil.url)
      const other = await startAnvil({ chainId: 1 })
      try {
        const known = expect.stringMatching(/knows final blocks up to \d+\.$/)
        expect(await find('')).toEqual([])
        expect(await find(nodes())).toEqual([
          ['ok', known],
          ['ok', known],
        ])
        expect(await find(`${origin},${other.url.replace('127.0.0.1', 'localhost')}`)).toEqual([
          ['ok', known],
          ['wrong', expect.stringMatching(/ is on chain 1, not on 137\.$/)],
        ])
        await other.stop()
        expect(await find(other.url)).toEqual([
          ['wrong', expect.stringMatching(/ cannot be reached\.$/)],
          ['warning', 'Only one node is asked.'],
        ])
      } finally {
        await other.stop()
      }
    },
    TEST_MS_MAX,
  )
})
