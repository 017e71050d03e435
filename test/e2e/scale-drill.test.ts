/**
 * Several machines under load (pages, recording, purchases) of which one after the other is killed:
 * a recorder, a server that is settling a payment, Redis, the bucket, the primary. Rows are judged
 * by what the venue played and what was read, money by the chain.
 */
import { describe, expect, test } from 'bun:test'

import { digestOf } from '#src/domain/selling/api-key.ts'
import { openHistory } from '#src/history/open.ts'
import { byOperator } from '#src/ledger/ledger.ts'

import { judgeStored, rowsOf } from '../recorder/judge-stored.ts'
import { hasAnvil } from '../support/anvil.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import { redisProgram } from '../support/engines/redis.ts'
import { hasS3 } from '../support/engines/s3.ts'
import { findBrokenInvariants, readTransfers } from '../support/payment-invariants.ts'
import { type Load, pageOf, startLoad, watchCommits } from '../support/scale-load.ts'
import {
  addDrillKey,
  portOf,
  type ScaleWorld,
  startScaleWorld,
  withLedger,
} from '../support/scale-world.ts'
import { systemClock } from '../support/venue/venue.ts'

const DRILL_MS_MAX = 400_000
const TRIES_MAX = 100
const RETRY_MS = 100
const PAUSE_MS_MAX = 5_000
const REVOKED_MS = 1_000
const hasAll = postgresPrograms !== undefined && redisProgram !== null && hasS3 && hasAnvil

async function killRecorder({ recorders }: ScaleWorld, load: Load): Promise<void> {
  await recorders[0]?.kill()
  await load.progress()
}

/** The money has moved, and the server that had it moved does not hear of it any more. */
async function killServer(world: ScaleWorld, load: Load): Promise<void> {
  const {
    servers: [, server],
    facilitator,
  } = world
  const before = facilitator.settles().length
  await server?.gate.hold({ text: 'post /settle', side: 'answer' })
  await facilitator.reached(before + 1)
  await server?.kill()
  server?.gate.open()
  await load.progress()
  await server?.restart()
  // From its first use on, a key is known to a server whose database is slow.
  await untilAll(world, { key: load.key, path: pageOf(world.hot), status: 200 })
}

async function killRedis(world: ScaleWorld, load: Load): Promise<void> {
  const failuresOf = load.mark()
  await world.redis.kill()
  await load.progress()
  await expectRevoked(world)
  expect(failuresOf('page', 'hot')).toEqual([])
  await world.redis.restart()
}

async function killBucket(world: ScaleWorld, load: Load): Promise<void> {
  const { s3, cold, hot } = world
  const key = addDrillKey(world)
  await untilAll(world, { key, path: pageOf(hot), status: 200 })
  const failuresOf = load.mark()
  await s3.kill()
  await untilAll(world, { key, path: pageOf(cold), status: 503, retryAfter: '2' })
  // Another page of what was read before: its chunks are in memory.
  await untilAll(world, { key, path: pageOf(hot, 'limit=50'), status: 200 })
  await load.progress()
  expect(failuresOf('page', 'hot')).toEqual([])
  await s3.start()
  await untilAll(world, { key, path: pageOf(cold), status: 200 })
}

type Wanted = { key: string; path: string; status: number; retryAfter?: string }

/** Asks every server until it answers so; it may be too busy at first. */
async function untilAll(
  { servers }: ScaleWorld,
  { key, path, status, retryAfter }: Wanted,
): Promise<void> {
  const headers = { authorization: `Bearer ${key}` }
  for (const server of servers) {
    let answer: Response | undefined
    for (let tries = 0; answer?.status !== status && tries < TRIES_MAX; tries++) {
      if (answer !== undefined) await Bun.sleep(RETRY_MS)
      answer = await fetch(`${server.life()?.origin}${path}`, { headers })
      await answer.body?.cancel()
    }
    expect([path, answer?.status]).toEqual([path, status])
    if (retryAfter !== undefined) expect(answer?.headers.get('retry-after')).toBe(retryAfter)
  }
}

async function killPrimary(world: ScaleWorld, load: Load): Promise<void> {
  const { postgres, proxy } = world
  await postgres.killPrimary()
  await postgres.promote()
  proxy.leadTo(portOf(postgres.url))
  await load.progress()
  await expectRevoked(world)
}

/** A key that is revoked is let in by no server after a second. */
async function expectRevoked(world: ScaleWorld): Promise<void> {
  const key = addDrillKey(world)
  const path = '/v1/btc/markets'
  await untilAll(world, { key, path, status: 200 })
  withLedger(world, (ledger) => {
    const { id = '' } = ledger.findKeyByDigest(digestOf(key)) ?? {}
    ledger.revokeKey(id, byOperator(systemClock()))
  })
  await Bun.sleep(REVOKED_MS)
  const headers = { authorization: `Bearer ${key}` }
  for (const server of world.servers)
    expect((await fetch(`${server.life()?.origin}${path}`, { headers })).status).not.toBe(200)
  await untilAll(world, { key, path, status: 401 })
}

/** Every payment on the chain is one period, and nobody paid for what he did not sign. */
async function expectSoundMoney(world: ScaleWorld, { signed, given, buyers }: Load): Promise<void> {
  const { chain, postgres } = world
  const place = { rpcUrl: chain.url, payTo: chain.payee.address }
  const transfers = await readTransfers(place)
  const byPayer = (found: readonly { payer: string; amount: bigint }[]) =>
    buyers.map(({ wallet }) =>
      found.flatMap(({ payer, amount }) => (payer === wallet.address.toLowerCase() ? amount : [])),
    )
  expect(byPayer(transfers.map(({ from, ...each }) => ({ ...each, payer: from })))).toEqual(
    byPayer(signed),
  )
  const sum = signed.reduce((total, { amount }) => total + amount, 0n)
  expect(await chain.balanceOf('USDC', chain.payee.address)).toBe(sum)
  const periods = withLedger(world, (ledger) =>
    buyers.map(({ accountId }) =>
      ledger.listSubscriptions(accountId).filter((each) => each.paymentId !== undefined),
    ),
  )
  expect(periods.map(({ length }) => length)).toEqual(byPayer(signed).map(({ length }) => length))
  const evidence = { ...place, ledgerPath: postgres.url, answers: given }
  expect(await findBrokenInvariants(evidence)).toEqual([])
}

/** Every row that was read is there once, everything that the venue played is, and no gap. */
async function expectSoundRows({ postgres, venue }: ScaleWorld, load: Load, sinceMs: number) {
  const history = openHistory(postgres.url)
  const kept = await rowsOf(history, venue)
  expect([...load.rows.values()].filter((row) => !kept.has(row))).toEqual([])
  const { faults, gaps } = await judgeStored(history, venue)
  expect(faults).toEqual([])
  expect(gaps.filter(({ toMs }) => toMs > sinceMs)).toEqual([])
  history.dispose()
}

describe.skipIf(!hasAll)('two servers and two recorders', () => {
  test(
    'behavior: whatever is killed, no row and no payment is lost or doubled, and the rest goes on',
    async () => {
      await using stack = new AsyncDisposableStack()
      const world = await startScaleWorld(stack)
      const load = await startLoad(world)
      await load.progress()
      const sinceMs = systemClock()
      const stopWatching = watchCommits(world)
      for (const kill of [killRecorder, killServer, killRedis, killBucket, killPrimary])
        await kill(world, load)
      expect(await stopWatching()).toBeLessThan(PAUSE_MS_MAX)
      await load.stop()
      for (const process of [...world.recorders, ...world.servers]) await process.kill()
      expect(load.faults).toEqual([])
      await expectSoundRows(world, load, sinceMs)
      await expectSoundMoney(world, load)
      const silent = { exitCode: 0, printed: expect.stringMatching(/^sound: .*\n$/) }
      for (const words of [['verify'], ['audit', 'verify']])
        expect(await world.run(...words)).toMatchObject(silent)
    },
    DRILL_MS_MAX,
  )
})
