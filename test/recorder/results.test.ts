/** How markets end, and what their trades cost, as the venue's catalogue says it over time. */
import { describe, expect, test } from 'bun:test'

import type { GeneratedOptions } from '../support/venue/generated.ts'
import { startRig } from './rig.ts'

const LIMIT_MS = 600_000
/** Ten seconds before the end of a window. */
const START_MS = Date.UTC(2026, 10, 22, 10, 4, 50)

async function startAtEnd(generated: Partial<GeneratedOptions>) {
  const rig = await startRig({
    startMs: START_MS,
    stepMs: 250,
    generated: { stepsPerSecond: 1, ...generated },
    venue: { resolutionDelayMs: 20_000 },
  })
  const [market] = rig.openMarkets()
  if (market === undefined) throw new Error('no market')
  const read = async () =>
    (await rig.ask(`/v1/btc/markets/${market.conditionId}`)) as Record<string, unknown>
  return { rig, market, read }
}

describe('startRecorder', () => {
  test(
    'behavior: a voided market is resolved without a winner, ten minutes after its window',
    async () => {
      const { rig, market, read } = await startAtEnd({ resolution: 'void' })
      await using _rig = rig
      await rig.advance(300_000)
      expect(await read()).toMatchObject({ status: 'closed', result: null })
      await rig.advance(400_000)
      expect(await read()).toMatchObject({
        status: 'resolved',
        result: 'void',
        winner: null,
        winnerSource: 'venue',
      })
      const listed = async (query: string) =>
        ((await rig.ask(`/v1/btc/markets?${query}`)) as { data: { conditionId: string }[] }).data
          .map(({ conditionId }) => conditionId)
          .includes(market.conditionId)
      expect(await listed('status=resolved')).toBe(true)
      expect(await listed('status=closed')).toBe(false)
      expect(await listed('outcome=up')).toBe(false)
      expect(await listed('outcome=down')).toBe(false)
    },
    LIMIT_MS,
  )

  test(
    'behavior: a market that is settled has its winner like one that is resolved',
    async () => {
      const { rig, market, read } = await startAtEnd({ resolution: 'settled' })
      await using _rig = rig
      await rig.advance(70_000)
      const winner = market.winner === 0 ? 'up' : 'down'
      expect(await read()).toMatchObject({ status: 'resolved', result: winner, winner })
    },
    LIMIT_MS,
  )

  test(
    'behavior: fees are those of the catalogue, and what they were before stays on record',
    async () => {
      const { rig, market, read } = await startAtEnd({})
      await using _rig = rig
      await rig.advance(5000)
      const fees = { rate: 0.07, exponent: 1, takerOnly: true, rebateRate: 0.2 }
      expect(await read()).toMatchObject({ feeSchedule: fees })
      rig.venue.inject({ kind: 'fee-rate', rate: 0.072 })
      await rig.advance(70_000)
      expect(await read()).toMatchObject({ feeSchedule: { ...fees, rate: 0.072 } })
      const { data } = (await rig.ask('/v1/revisions?coin=btc&since=2026-11-22T00:00:00Z')) as {
        data: { conditionId: string; facts: { fact: string; before: string; after: string }[] }[]
      }
      const changes = data
        .filter(({ conditionId }) => conditionId === market.conditionId)
        .flatMap(({ facts }) => facts.filter(({ fact }) => fact === 'feeSchedule'))
      expect(changes.at(-1)).toMatchObject({
        before: '{"rate":"0.07","exponent":"1","takerOnly":true,"rebateRate":"0.2"}',
        after: '{"rate":"0.072","exponent":"1","takerOnly":true,"rebateRate":"0.2"}',
      })
    },
    LIMIT_MS,
  )
})
