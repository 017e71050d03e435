/** The ledger's conformance suite on what the operator is shown over time. */
import { describe, expect, test } from 'bun:test'

import { type Activity, ACTIVITY_STEP_MS } from '#src/ledger/ledger.ts'

import type { UseLedger } from './ledger-conformance.ts'
import { by, DAY_MS, deedsOf, NOW_MS } from './ledger-records.ts'

const HOUR_MS = 3_600_000

const aStep = (stepMs: number, server: string, changes: Partial<Activity> = {}): Activity => ({
  stepMs,
  server,
  requests: 3,
  errors: 1,
  durations: [2, 0, 1],
  problems: { unavailable: 1 },
  recorder: { startedMs: NOW_MS - 1, rows: 9_007_199_254_740_991, lagMs: 12 },
  ...changes,
})

export function conformActivity(use: UseLedger): void {
  describe('putActivity', () => {
    test(
      'default: gives back steps of each server in order, the last that it wrote; no deed, no new revision',
      use(async (ledger) => {
        const revision = ledger.revision()
        const first = aStep(NOW_MS, 'a')
        const other = aStep(NOW_MS, 'b', { recorder: undefined, problems: {}, durations: [] })
        const next = aStep(NOW_MS + ACTIVITY_STEP_MS, 'a', {
          recorder: { startedMs: NOW_MS, rows: 0, lagMs: undefined },
        })
        await ledger.putActivity([next, first], 0)
        await ledger.putActivity([other], 0)
        const more = { ...first, requests: 4, durations: [2, 0, 2], problems: { internal: 2 } }
        await ledger.putActivity([more], 0)
        expect(ledger.listActivity(0)).toEqual([more, other, next])
        expect(ledger.listActivity(NOW_MS + 1)).toEqual([next])
        expect([ledger.revision(), deedsOf(ledger)]).toEqual([revision, []])
      }),
    )

    test(
      'behavior: forgets the steps of all servers before a moment',
      use(async (ledger) => {
        await ledger.putActivity([aStep(NOW_MS, 'a'), aStep(NOW_MS + 1, 'a')], 0)
        await ledger.putActivity([aStep(NOW_MS + 2, 'b')], NOW_MS + 1)
        expect(ledger.listActivity(0).map(({ stepMs }) => stepMs)).toEqual([NOW_MS + 1, NOW_MS + 2])
      }),
    )
  })

  test(
    'countSignups counts accounts of wallets by steps, those of the operator left out',
    use(async (ledger) => {
      const make = async (id: string, atMs: number, hasWallet = true) => {
        const address = `0x${Buffer.from(id).toString('hex').padStart(40, '0')}`
        await ledger.createAccount({ id: `acc_${id}`, ...(hasWallet && { address }) }, by(atMs))
      }
      await make('old', NOW_MS - 1)
      await make('a', NOW_MS)
      await make('b', NOW_MS + HOUR_MS - 1)
      await make('operator', NOW_MS, false)
      await make('c', NOW_MS + HOUR_MS)
      const since = { sinceMs: NOW_MS, stepMs: HOUR_MS }
      expect(ledger.countSignups(since)).toEqual([
        { stepMs: NOW_MS, count: 2 },
        { stepMs: NOW_MS + HOUR_MS, count: 1 },
      ])
      expect(ledger.countSignups({ ...since, sinceMs: NOW_MS + DAY_MS })).toEqual([])
    }),
  )

  test(
    'listAuditOfOperator lists what the operator did to one subject, newest first',
    use(async (ledger) => {
      const [tier] = ledger.listTiers()
      if (tier === undefined) throw new Error('There is no tier.')
      await ledger.putTier({ ...tier, name: 'One' }, by(NOW_MS + 1))
      await ledger.putTier({ ...tier, name: 'Two' }, by(NOW_MS + 2))
      await ledger.putTier({ ...tier, name: 'Three' }, by(NOW_MS + 3, 'system'))
      const rows = ledger.listAuditOfOperator(tier.tierId, 5)
      expect(rows.map(({ timeMs }) => timeMs)).toEqual([NOW_MS + 2, NOW_MS + 1])
      expect(ledger.listAuditOfOperator(tier.tierId, 1)).toEqual(rows.slice(0, 1))
      expect(ledger.listAuditOfOperator('nothing', 5)).toEqual([])
    }),
  )
}
