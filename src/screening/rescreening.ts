/** Screens every account that has an address, again and again: sanctions come after signup too. */
import { setImmediate } from 'node:timers/promises'

import type { Clock } from '#src/core/time.ts'
import type { Account, Ledger } from '#src/ledger/ledger.ts'
import { messageOf } from '#src/lib/message.ts'
import type { Screen, Verdict } from '#src/selling/screening.ts'

/** Few enough for a public RPC, each of which costs three questions. */
const CONCURRENCY = 4

export type RescreeningOptions = {
  ledger: Ledger
  screen: Screen
  clock: Clock
  log: (line: string) => void
}

type Tally = Record<Verdict['verdict'], number> & { failed: number }

/** Screens all accounts once, or until aborted. False asks for a retry. Never rejects. */
export async function rescreen(options: RescreeningOptions, signal: AbortSignal): Promise<boolean> {
  const tally: Tally = { clear: 0, hit: 0, unknown: 0, failed: 0 }
  try {
    const accounts = options.ledger.listAddressedAccounts().values()
    const worker = async () => {
      for (const account of accounts) {
        await screenAccount(account, { ...options, signal, tally })
        if (signal.aborted) return
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  } catch (error) {
    tally.failed++
    options.log(`Accounts could not be screened: ${messageOf(error)}.`)
  }
  if (!signal.aborted) report(tally, options.log)
  return tally.failed === 0
}

async function screenAccount(
  { id, address }: Account,
  context: RescreeningOptions & { signal: AbortSignal; tally: Tally },
): Promise<void> {
  const { ledger, screen, clock, log, signal, tally } = context
  if (address === undefined) return
  // Without an RPC nothing below waits, and requests would have to until all accounts are done.
  await setImmediate()
  if (signal.aborted) return
  const verdict = await screen(address)
  if (signal.aborted) return
  tally[verdict.verdict]++
  const isBlocked = toBlocked(verdict)
  if (isBlocked === undefined) return
  try {
    if ((ledger.findAccount(id)?.blockedMs !== undefined) === isBlocked) return
    ledger.setBlocked(id, isBlocked, { actor: 'system', nowMs: clock() })
    log(`Account ${id} is ${isBlocked ? 'blocked: its address is sanctioned' : 'unblocked'}.`)
  } catch (error) {
    tally.failed++
    log(`Account ${id} could not be ${isBlocked ? 'blocked' : 'unblocked'}: ${messageOf(error)}.`)
  }
}

/** Whether the account is to be blocked from now on; undefined leaves it as it is. */
function toBlocked({ verdict, grounds }: Verdict): boolean | undefined {
  if (verdict === 'hit') return true
  // The source that named the address may be the one that does not answer now.
  const isDefinite = grounds.oracle !== 'silent' && grounds.issuers !== 'silent'
  return verdict === 'clear' && isDefinite ? false : undefined
}

function report({ clear, hit, unknown }: Tally, log: RescreeningOptions['log']): void {
  const count = clear + hit + unknown
  if (count === 0) return
  log(`Screened ${count} accounts: ${clear} clear, ${hit} sanctioned, ${unknown} unknown.`)
}
