import { afterEach, beforeEach, describe, expect, test } from 'bun:test'

import type { OracleAnswer, Verdict } from '#src/domain/selling/screening.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { createScreener, type ScreenerOptions } from '#src/screening/screener.ts'

import { madeUpAddress } from '../support/ofac-xml.ts'

const NOW_MS = Date.UTC(2026, 10, 21)
const STALE_MS = 7 * 86_400_000
const address = madeUpAddress(1)

let ledger: Ledger
beforeEach(() => {
  ledger = openLedger(':memory:', { nowMs: NOW_MS })
})
afterEach(() => ledger.dispose())

const create = (options: Partial<ScreenerOptions> = {}) =>
  createScreener({
    ledger,
    clock: () => NOW_MS,
    staleAfterMs: STALE_MS,
    isListConfigured: true,
    ...options,
  })

type ListState = 'absent' | 'fresh, clear' | 'fresh, hit' | 'stale, clear' | 'stale, hit'
const listStates: ListState[] = [
  'absent',
  'fresh, clear',
  'fresh, hit',
  'stale, clear',
  'stale, hit',
]
const answers: OracleAnswer[] = ['clear', 'hit', 'silent', 'absent']

async function putList(state: ListState): Promise<void> {
  if (state === 'absent') return
  const listed = state.endsWith('hit') ? address : madeUpAddress(2)
  const ageMs = state.startsWith('stale') ? STALE_MS + 1 : STALE_MS
  await ledger.putSanctionsList(
    {
      publishedOn: '2026-11-20',
      confirmedMs: NOW_MS - ageMs,
      sha256: 'ab'.repeat(32),
      addresses: new Set([listed.toLowerCase()]),
    },
    { actor: 'system', nowMs: NOW_MS },
  )
}

/** The rules once more, as a list: the first line that fits. */
function expected(list: ListState, oracle: OracleAnswer, issuers: OracleAnswer) {
  if (list.endsWith('hit')) return 'hit'
  if (oracle === 'hit') return 'hit'
  if (issuers === 'hit') return 'hit'
  if (list === 'fresh, clear') return 'clear'
  if (oracle === 'clear') return 'clear'
  return 'unknown'
}

const table = listStates.flatMap((list) =>
  answers.flatMap((oracle) => answers.map((issuers) => [list, oracle, issuers] as const)),
)

const auditOf = () => ledger.listAudit(0, 1000).filter(({ action }) => /screen/.test(action))

describe('screen', () => {
  test.each(table)('default: list %s, oracle %s, issuers %s', async (list, oracle, issuers) => {
    await putList(list)
    const chain = { isSanctioned: async () => ({ oracle, issuers }) }
    const verdict = await create({ oracle: chain }).screen(address)
    const [, answer] = list.split(', ')
    expect(verdict).toEqual({
      verdict: expected(list, oracle, issuers),
      address: address.toLowerCase(),
      timeMs: NOW_MS,
      grounds: {
        list:
          answer === undefined
            ? { answer: 'absent', isStale: false }
            : {
                answer: answer as 'clear' | 'hit',
                isStale: list.startsWith('stale'),
                publishedOn: '2026-11-20',
                sha256: 'ab'.repeat(32),
              },
        oracle,
        issuers,
      },
    } satisfies Verdict)
    expect(auditOf()).toHaveLength(1)
  })

  test('behavior: each verdict is in the audit, by whom, when and on what grounds', async () => {
    await putList('fresh, hit')
    const { grounds } = await create().screen(address)
    const [row] = auditOf()
    expect([row?.actor, row?.timeMs]).toEqual(['system', NOW_MS])
    expect(`${row?.subject} ${row?.state}`).toContain(address.toLowerCase())
    expect(JSON.stringify(JSON.parse(row?.state ?? ''))).toContain(JSON.stringify(grounds))
  })

  test('behavior: the contracts are asked in lower case; without an RPC they are absent', async () => {
    const asked: string[] = []
    const isSanctioned = async (text: string) => {
      asked.push(text)
      return { oracle: 'clear', issuers: 'clear' } as const
    }
    await create({ oracle: { isSanctioned } }).screen(address.toUpperCase().replace('X', 'x'))
    expect(asked).toEqual([address.toLowerCase()])
    const { grounds } = await create().screen(address)
    expect([grounds.oracle, grounds.issuers]).toEqual(['absent', 'absent'])
  })

  test('error: an oracle that throws is silent', async () => {
    const isSanctioned = () => Promise.reject(new Error('down'))
    const { verdict, grounds } = await create({ oracle: { isSanctioned } }).screen(address)
    expect([verdict, grounds.oracle, grounds.issuers]).toEqual(['unknown', 'silent', 'silent'])
  })

  test('error: a list that a wrong clock confirmed in the future is stale', async () => {
    await putList('fresh, clear')
    const { verdict } = await create({ clock: () => NOW_MS - 3 * STALE_MS }).screen(address)
    expect(verdict).toBe('unknown')
  })

  test('error: nothing is clear that could not be written down, but a hit is a hit', async () => {
    const lines: string[] = []
    const fail = () => {
      throw new Error('disk full')
    }
    const screenWith = (oracle: OracleAnswer) =>
      create({
        ledger: { ...ledger, recordScreening: fail },
        oracle: { isSanctioned: async () => ({ oracle, issuers: 'clear' }) },
        log: (line) => void lines.push(line),
      }).screen(address)
    await putList('fresh, clear')
    expect((await screenWith('clear')).verdict).toBe('unknown')
    expect((await screenWith('hit')).verdict).toBe('hit')
    expect(lines[0]).toBe('A screening could not be recorded: disk full.')
  })

  test.each(['', '0x', 'acc_1', `${address}0`])('error: %j is nobody', async (text) => {
    await putList('fresh, clear')
    expect((await create().screen(text)).verdict).toBe('unknown')
    expect(auditOf()).toEqual([])
  })
})

describe('signup', () => {
  test('default: is open with a list or an oracle', () => {
    const isSanctioned = async () => ({ oracle: 'clear', issuers: 'clear' }) as const
    expect(create().signup()).toEqual({ isOpen: true, warning: expect.any(String) })
    const onChain = create({ isListConfigured: false, oracle: { isSanctioned } })
    expect(onChain.signup()).toEqual({ isOpen: true })
  })

  test('error: is closed without either, and names what is missing', () => {
    const state = create({ isListConfigured: false }).signup()
    expect(state.isOpen).toBe(false)
    expect(JSON.stringify(state)).toMatch(/BOOKFEED_SANCTIONS_LIST.*BOOKFEED_RPC_URL/)
  })
})

describe('check', () => {
  test('behavior: notices that nothing answers, and that it does again, without a sign-up', async () => {
    let isDown = true
    const isSanctioned = async () => {
      if (isDown) throw new Error('down')
      return { oracle: 'clear', issuers: 'clear' } as const
    }
    const { signup, check, screen } = create({ oracle: { isSanctioned } })
    expect(signup()).toEqual({ isOpen: true })
    await check()
    expect(signup()).toHaveProperty('warning')
    isDown = false
    await check()
    expect(signup()).toEqual({ isOpen: true })
    isDown = true
    await screen(address)
    expect(signup()).toHaveProperty('warning')
    isDown = false
    const before = auditOf().length
    await check()
    expect(signup()).toEqual({ isOpen: true })
    expect(auditOf()).toHaveLength(before)
  })

  test('behavior: does not ask the contracts while the list is fresh', async () => {
    await putList('fresh, clear')
    let asked = 0
    const isSanctioned = async () => {
      asked++
      throw new Error('down')
    }
    const { signup, check } = create({ oracle: { isSanctioned } })
    await check()
    expect(signup()).toEqual({ isOpen: true })
    expect(asked).toBe(0)
  })
})
