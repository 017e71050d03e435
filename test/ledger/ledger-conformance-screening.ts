/** The ledger's conformance suite on sanctions. */
import { describe, expect, test } from 'bun:test'

import type { Verdict } from '#src/selling/screening.ts'

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
      use((ledger) => {
        const revision = ledger.revision()
        const verdicts = (['clear', 'hit', 'unknown'] as const).map((verdict): Verdict => ({
          ...{ verdict, address: addressOf(1), timeMs: NOW_MS + 3 },
          grounds: {
            list: { answer: 'clear', isStale: true, publishedOn: '2026-11-20' },
            ...{ oracle: 'silent', issuers: 'absent' },
          },
        }))
        for (const verdict of verdicts) ledger.recordScreening(verdict, by(NOW_MS + 4, 'system'))
        expect(auditOf(ledger)).toEqual(
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
  test(
    'default: a new ledger has no list; one that is put is in force, in whatever case it is asked',
    use((ledger) => {
      expect(ledger.sanctionsList()).toBeUndefined()
      expect(ledger.isSanctioned(addressOf(1))).toBe(false)
      ledger.putSanctionsList({ ...someList, addresses }, by(NOW_MS, 'system'))
      expect(ledger.sanctionsList()).toEqual(someList)
      expect([1, 2, 3].map((number) => ledger.isSanctioned(addressOf(number)))).toEqual([
        ...[true, true, false],
      ])
      expect(ledger.isSanctioned(addressOf(1).toUpperCase())).toBe(true)
      expect(auditOf(ledger)).toEqual([
        {
          deed: `system sanctions_list.replaced ${someList.sha256}`,
          timeMs: NOW_MS,
          state: someList,
        },
      ])
    }),
  )

  test(
    'behavior: a list that is the same but for the time is confirmed, without audit',
    use((ledger) => {
      ledger.putSanctionsList({ ...someList, addresses }, by())
      const confirmed = { ...someList, confirmedMs: NOW_MS + 9 }
      ledger.putSanctionsList({ ...confirmed, addresses: new Set(addresses) }, by())
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
  for (const [name, change] of changes) {
    test(
      `behavior: another ${name} replaces the list and its addresses`,
      use((ledger) => {
        ledger.putSanctionsList({ ...someList, addresses }, by())
        const next = { ...someList, addresses, ...change }
        ledger.putSanctionsList(next, by())
        const { addresses: listed, ...facts } = next
        expect(ledger.sanctionsList()).toEqual(facts)
        for (const number of [1, 2, 3])
          expect(ledger.isSanctioned(addressOf(number))).toBe(listed.has(addressOf(number)))
        expect(deedsOf(ledger)).toHaveLength(2)
      }),
    )
  }
}
