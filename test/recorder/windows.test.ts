/** Windows that are not recorded are seen: of a new protocol, of none that is known, or not listed. */
import { describe, expect, test } from 'bun:test'

import { parseConditionId } from '#src/domain/market.ts'
import { createCatalogue } from '#src/venue/polymarket/catalogue.ts'

import type { GeneratedOptions } from '../support/venue/generated.ts'
import { START_MS } from '../support/venue/ground.ts'
import type { VenueOptions } from '../support/venue/venue.ts'
import { faultsOf } from './judge.ts'
import { startRig } from './rig.ts'

const LIMIT_MS = 600_000
const GRACE_MS = 30_000
/** Until the next window, of which only the warnings are looked at. */
const LONG_STEP_MS = 500

const startWith = (
  generated: Partial<GeneratedOptions>,
  coins: readonly ('btc' | 'eth')[] = ['btc'],
  venue: Partial<VenueOptions> = {},
) =>
  startRig({
    stepMs: 50,
    generated: { stepsPerSecond: 2, ...generated },
    recorder: { coins },
    venue,
  })

describe('startRecorder', () => {
  test.each([{ socketIds: undefined }, { socketIds: 'padded' as const }])(
    'default: markets of the second protocol are recorded and verified: %j',
    async (ids) => {
      await using rig = await startWith({ conditionIdBytes: 31, ...ids })
      await rig.advance(GRACE_MS + 5000)
      const [market] = rig.openMarkets()
      const shortId = market?.conditionId ?? ''
      const kept = rig.history.findMarket(parseConditionId(shortId) ?? '')
      expect(kept?.verifiedCounts.up).toBeGreaterThan(10)
      expect(kept?.assetIds).toEqual({ up: market?.assetIds[0], down: market?.assetIds[1] })
      expect(rig.recorder().status()).toMatchObject({
        windows: { open: 1, missing: [] },
        warning: undefined,
        unfollowed: 0,
      })
      // Requests may name it by either form.
      for (const id of [shortId, `${shortId}00`, market?.slug])
        expect(await rig.ask(`/v1/btc/markets/${id}`)).toMatchObject({
          conditionId: `${shortId}00`,
        })
      await rig.quiet()
      const judgements = await rig.judgeAll()
      expect(judgements.length).toBeGreaterThan(0)
      expect(faultsOf(judgements)).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'default: markets of both protocols are recorded side by side, and all books are verified',
    async () => {
      const generated = { versions: ['v1', 'v2'] as const, coins: ['btc', 'eth'] }
      await using rig = await startWith(generated, ['btc', 'eth'])
      await rig.advance(GRACE_MS + 5000)
      const recorded = rig.venue.markets().flatMap(({ conditionId, version }) => {
        const market = rig.history.findMarket(parseConditionId(conditionId) ?? '')
        return market?.lastSnapshotMs === undefined ? [] : [{ market, version }]
      })
      expect(new Set(recorded.map(({ version }) => version))).toEqual(new Set(['v1', 'v2']))
      for (const { market } of recorded) {
        expect(market.verifiedCounts.up).toBeGreaterThan(2)
        expect(market.verifiedCounts).toEqual(market.snapshotCounts)
      }
      const { books } = rig.recorder().status()
      expect(books).toMatchObject({ mismatched: 0, unknown: 0, unchecked: 0 })
      await rig.quiet()
      expect(faultsOf(await rig.judgeAll())).toEqual([])
    },
    LIMIT_MS,
  )

  test(
    'behavior: hashes that nothing known reproduces are one line, and neither a gap nor a loss',
    async () => {
      await using rig = await startWith({ untilMs: START_MS + GRACE_MS - 5000 }, ['btc'], {
        recipe: 'unheard',
      })
      await rig.advance(GRACE_MS)
      const markets = rig.venue
        .markets()
        .flatMap(({ conditionId }) => rig.history.findMarket(conditionId) ?? [])
      expect(markets).toHaveLength(3)
      for (const market of markets) {
        expect(market.snapshotCounts.up).toBeGreaterThan(10)
        expect(market.verifiedCounts).toEqual({ up: 0, down: 0 })
        const gaps = rig.history.gaps(market).filter(({ reason }) => reason === 'hash_mismatch')
        expect(gaps).toEqual([])
      }
      const { books } = rig.recorder().status()
      expect(books.unknown).toBeGreaterThan(60)
      expect(books.mismatched).toBe(0)
      expect(rig.lines.filter((line) => line.includes('Nothing known reproduces'))).toHaveLength(1)
      await rig.quiet()
      expect(faultsOf(await rig.judgeAll())).toEqual([])
    },
    LIMIT_MS,
  )

  test.each<[Partial<GeneratedOptions>, string]>([
    [{ version: 'v3' }, 'listed, but not usable: version: neither v1 nor v2'],
    [
      { version: 'v2', hidesIds: true },
      'listed, but not usable: positionIds: missing, in a market of version v2',
    ],
    [{ coins: ['eth'] }, 'not listed'],
    [{ socketIds: 'others' }, 'messages for markets that are not followed: '],
    [{ untilMs: 0 }, 'no message'],
  ])(
    'behavior: after 30 s, what is not recorded at a venue with %j is a warning and a line',
    async (generated, reason) => {
      await using rig = await startWith(generated)
      await rig.advance(GRACE_MS - 2000)
      expect(rig.recorder().warning()).toBeUndefined()
      await rig.advance(4000)
      const text = `Not recorded: 1 of 1 open windows. btc-updown-5m-1795341600: ${reason}`
      expect(rig.recorder().warning()).toContain(text)
      expect(rig.lines.filter((line) => line.includes(text))).toHaveLength(1)
      expect(rig.recorder().status().windows.missing).toMatchObject([
        { name: 'btc-updown-5m-1795341600' },
      ])
      // It goes on with the next window, and is not said again.
      await rig.advance(200_000, LONG_STEP_MS)
      expect(rig.recorder().warning()).toContain(reason)
      expect(rig.lines.filter((line) => line.includes('Not recorded:'))).toHaveLength(1)
    },
    LIMIT_MS,
  )

  test(
    'behavior: a series that the venue does not have is said once, and is no warning beside others',
    async () => {
      await using rig = await startWith({ coins: ['btc'] }, ['btc', 'eth'])
      await rig.advance(GRACE_MS + 2000)
      expect(rig.recorder().status().windows).toMatchObject({
        open: 2,
        missing: [{ name: 'eth-updown-5m-1795341600', reason: 'never_listed' }],
      })
      expect(rig.recorder().warning()).toBeUndefined()
      expect(rig.lines.filter((line) => line.includes('eth-updown-5m-'))).toHaveLength(1)
    },
    LIMIT_MS,
  )

  test(
    'behavior: a series that was recorded before and is not listed any more is a warning, after a restart too',
    async () => {
      await using rig = await startRig({
        stepMs: 50,
        generated: { coins: ['btc', 'eth'], stepsPerSecond: 2, ahead: 0 },
        recorder: { coins: ['btc', 'eth'] },
        catalogueOf(ports) {
          const catalogue = createCatalogue(ports)
          return {
            ...catalogue,
            find: async (window, asking) =>
              window.coin === 'eth' && window.startMs > START_MS
                ? undefined
                : catalogue.find(window, asking),
          }
        },
      })
      // Into the next window, which begins three minutes after the start.
      await rig.advance(3 * 60_000 + GRACE_MS + 5000, LONG_STEP_MS)
      const text = 'eth-updown-5m-1795341900: not listed.'
      expect(rig.recorder().warning()).toContain(text)
      await rig.restart(1000)
      expect(rig.recorder().warning()).toBeUndefined()
      await rig.advance(GRACE_MS + 5000)
      expect(rig.recorder().warning()).toContain(text)
    },
    LIMIT_MS,
  )
})
