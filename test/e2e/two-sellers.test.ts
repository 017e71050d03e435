/** Two servers that sell from one ledger, on a PostgreSQL, at the same time. */
import { describe, expect, test } from 'bun:test'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import { createRemoteFacilitator } from '#src/facilitator/remote.ts'

import { hasAnvil } from '../support/anvil.ts'
import { useChain } from '../support/chain-ground.ts'
import { usePostgres } from '../support/engines/each.ts'
import { postgresPrograms } from '../support/engines/postgres.ts'
import type { ScriptedFacilitator } from '../support/scripted-facilitator.ts'
import { type MortalNode, openWorld, startMortalNode, type World } from './recovery-world.ts'

const MS_MAX = 120_000
const CALLS = 50
const LEASE_MS = 90_000

describe.skipIf(!hasAnvil || postgresPrograms === undefined)('two servers of one ledger', () => {
  let chain: LittlePolygon
  let node: MortalNode
  let scripted: ScriptedFacilitator
  const { placeOf } = usePostgres()
  let schemas = 0
  useChain(
    ({ keep, ...ground }) => {
      ;({ chain, scripted } = ground)
      node = keep(startMortalNode(chain.url))
    },
    { slotsInAnEpoch: 0 },
  )

  /** `dies`: the first one's last deed is to take a payment for sending; it never sends it. */
  async function openTwo(dies = false): Promise<[World, World]> {
    const ledgerPlace = placeOf(`sold_${++schemas}`)
    const common = { chain, node, scripted, ledgerPlace }
    const settle = () => new Promise<never>(() => {})
    const dead = { ...createRemoteFacilitator(scripted.url), settle }
    const one = await openWorld({ ...common, facilitator: dies ? dead : undefined })
    return [one, await openWorld({ ...common, beside: one })]
  }

  /** The money has moved once, for one period, and both see it. */
  async function expectOne([one, two]: [World, World], before: bigint): Promise<void> {
    const [{ signed } = { signed: undefined }] = one.payments()
    expect((await one.received()) - before).toBe(signed?.amount ?? 0n)
    for (const world of [one, two]) {
      expect(world.states()).toEqual(['provisioned'])
      expect(world.subscriptions()).toHaveLength(1)
      expect([...world.ledger.verifyAudit()]).toEqual([])
      world.dispose()
    }
  }

  test(
    `behavior: ${CALLS} calls with one payment, to both at once, send it once`,
    async () => {
      const worlds = await openTwo()
      const [one, two] = worlds
      const [before, sent] = [await one.received(), scripted.settles().length]
      const { payload } = await one.signed()
      const call = (number: number) => (number % 2 === 0 ? one : two).settle(payload)
      await Promise.all(Array.from({ length: CALLS }, (_, number) => call(number)))
      for (const world of worlds)
        expect((await world.settle(payload)).payment.state).toBe('provisioned')
      expect(scripted.settles()).toHaveLength(sent + 1)
      await expectOne(worlds, before)
    },
    MS_MAX,
  )

  test(
    'behavior: when one dies that was about to send, the other sends after the lease, and once',
    async () => {
      const worlds = await openTwo(true)
      const [one, two] = worlds
      const [before, sent] = [await one.received(), scripted.settles().length]
      const { payload } = await one.signed()
      void one.settle(payload)
      for (let looks = 0; !two.states().includes('settling') && looks < 1000; looks++)
        await Bun.sleep(10)
      await two.billing.reconcile()
      expect([two.states(), scripted.settles().length]).toEqual([['settling'], sent])
      two.time.nowMs += LEASE_MS + 1
      await two.billing.reconcile()
      expect(scripted.settles()).toHaveLength(sent + 1)
      await expectOne(worlds, before)
    },
    MS_MAX,
  )
})
