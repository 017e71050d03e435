/** The ledger's conformance suite on sanctions. */
import { describe, expect, test } from 'bun:test'

import type { Verdict } from '#src/domain/selling/screening.ts'

import type { UseLedger } from './ledger-conformance.ts'
import { addressOf, auditOf, by, deedsOf, NOW_MS } from './ledger-records.ts'

const someList = {
  publishedOn: '2026-11-20',
  confirmedMs: NOW_MS,
  sha256: 'ab'.repeat(32),
  entryCount: 2,
}
const addresses = new Set([addressOf(1), addressOf(2)])

export function conformScreening(use: UseLedger): void {
  describe('putSanctionsList', () => {
    conformList(use)
  })
  describe('recordScreening', () => {
    test(
      'default: writes each verdict with its grounds into the chain',
      use(async (ledger) => {
        const revision = ledger.revision()
        const list = { answer: 'clear' as const, isStale: true, publishedOn: '2026-11-20' }
        const { sha256 } = someList
        await ledger.putSanctionsList({ ...someList, addresses: new Set([addressOf(2)]) }, by())
        const verdicts = (['clear', 'hit', 'silent'] as const).map((oracle): Verdict => ({
          verdict: oracle === 'silent' ? 'unknown' : oracle,
          address: addressOf(1),
          timeMs: NOW_MS + 4,
          grounds: { list: { ...list, sha256 }, oracle, issuers: 'absent' },
        }))
        for (const verdict of verdicts) {
          const chain = { oracle: verdict.grounds.oracle, issuers: verdict.grounds.issuers }
          const asked = { address: addressOf(1), chain, staleAfterMs: 3 }
          expect(await ledger.recordScreening(asked, by(NOW_MS + 4, 'system'))).toEqual(verdict)
        }
        expect(auditOf(ledger).slice(1)).toEqual(
          verdicts.map((verdict) => ({
            deed: `system screening.${verdict.verdict} ${addressOf(1)}`,
            timeMs: NOW_MS + 4,
            state: verdict,
          })),
        )
        expect(ledger.revision()).toBe(revision)
      }),
    )
  })
}

function conformList(use: UseLedger): void {
  const addressesSha256 = 'cd3840de251fe86955a640123a22ed4012d64b187252ca21b843109f062c9369'
  test(
    'default: a new ledger has no list; one that is put is in force, in whatever case it is asked',
    use(async (ledger) => {
      expect(ledger.sanctionsList()).toBeUndefined()
      expect(ledger.isSanctioned(addressOf(1))).toBe(false)
      await ledger.putSanctionsList({ ...someList, addresses }, by(NOW_MS, 'system'))
      expect(ledger.sanctionsList()).toEqual(someList)
      expect([1, 2, 3].map((number) => ledger.isSanctioned(addressOf(number)))).toEqual([
        true,
        true,
        false,
      ])
      expect(ledger.isSanctioned(addressOf(1).toUpperCase())).toBe(true)
      expect(auditOf(ledger)).toEqual([
        {
          deed: `system sanctions_list.replaced ${someList.sha256}`,
          timeMs: NOW_MS,
          state: { ...someList, addressesSha256 },
        },
      ])
    }),
  )

  test(
    'behavior: a list that is the same but for the time is confirmed, without audit',
    use(async (ledger) => {
      await ledger.putSanctionsList({ ...someList, addresses }, by())
      const confirmed = { ...someList, confirmedMs: NOW_MS + 9 }
      await ledger.putSanctionsList({ ...confirmed, addresses: new Set(addresses) }, by())
      expect(ledger.sanctionsList()).toEqual(confirmed)
      expect(ledger.isSanctioned(addressOf(2))).toBe(true)
      expect(deedsOf(ledger)).toHaveLength(1)
    }),
  )

  const changes: [string, Partial<typeof someList & { addresses: Set<string> }>][] = [
    ['date', { publishedOn: '2026-11-21' }],
    ['hash', { sha256: 'cd'.repeat(32) }],
    [
      'set of addresses, as another parser may find in the same file,',
      { addresses: new Set([addressOf(2), addressOf(3)]) },
    ],
  ]
  test(
    'error: one that is older, or lacks more than is allowed, changes nothing',
    use(async (ledger) => {
      await ledger.putSanctionsList({ ...someList, addresses }, by())
      const other = { ...someList, sha256: 'cd'.repeat(32), lossPercentMax: 49 }
      const half = { ...other, addresses: new Set([addressOf(1)]) }
      const older = { ...other, addresses, publishedOn: '2026-11-19' }
      expect(await ledger.putSanctionsList(half, by())).toEqual({ kind: 'lossy', lost: 1, of: 2 })
      expect(await ledger.putSanctionsList(older, by())).toEqual({ kind: 'older' })
      expect(ledger.sanctionsList()).toEqual(someList)
      expect(ledger.isSanctioned(addressOf(2))).toBe(true)
      expect(deedsOf(ledger)).toHaveLength(1)
      const put = await ledger.putSanctionsList({ ...half, lossPercentMax: 50 }, by())
      expect(put).toMatchObject({ kind: 'replaced', list: { entryCount: 1 } })
    }),
  )

  for (const [name, change] of changes) {
    test(
      `behavior: another ${name} replaces the list and its addresses`,
      use(async (ledger) => {
        await ledger.putSanctionsList({ ...someList, addresses }, by())
        const next = { ...someList, addresses, ...change }
        await ledger.putSanctionsList(next, by())
        const { addresses: listed, ...facts } = next
        expect(ledger.sanctionsList()).toEqual(facts)
        for (const number of [1, 2, 3])
          expect(ledger.isSanctioned(addressOf(number))).toBe(listed.has(addressOf(number)))
        expect(deedsOf(ledger)).toHaveLength(2)
      }),
    )
  }
}
