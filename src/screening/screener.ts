/** Screens an address by the rules of domain/selling/screening.ts; every verdict is audited. */

import {
  judge,
  type OracleAnswer,
  type ScreeningGrounds,
  type SignupState,
  type Verdict,
} from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import { isStale, type Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'
import { messageOf } from '#src/platform/message.ts'

export type ScreenerOptions = {
  ledger: Pick<Ledger, 'recordScreening' | 'sanctionsList' | 'probeWrite'>
  /** The contracts to ask, implemented in `src/chain`. */
  oracle?:
    | {
        isSanctioned(address: string): Promise<{ oracle: OracleAnswer; issuers: OracleAnswer }>
      }
    | undefined
  clock: Clock
  /** Time since its last confirmation after which the list is no longer trusted. */
  staleAfterMs: number
  isListConfigured: boolean
  log?: Log | undefined
}

const UNCONFIGURED =
  'Addresses cannot be screened, because neither BOOKFEED_SANCTIONS_LIST nor BOOKFEED_RPC_URL is set.'
const UNANSWERED = 'No sanctions source is reliable at the moment, so signups are refused.'

/** Any address shows whether the contracts answer. */
const PROBE = `0x${'0'.repeat(39)}1`

type ChainGrounds = Pick<ScreeningGrounds, 'oracle' | 'issuers'>
const unasked: ChainGrounds = { oracle: 'absent', issuers: 'absent' }
const silent: ChainGrounds = { oracle: 'silent', issuers: 'silent' }

export function createScreener(options: ScreenerOptions) {
  const { ledger, oracle, clock, staleAfterMs, isListConfigured, log = () => {} } = options
  /** True if the last screening, or a check since, had no reliable answer. */
  let isFailing = false

  return {
    async screen(anyCase: string): Promise<Verdict> {
      const address = anyCase.toLowerCase()
      // Certainly on no list, but it cannot be a wallet either.
      if (!/^0x[0-9a-f]{40}$/.test(address)) return withoutLedger(address, clock(), unasked)
      const chain = oracle ? await oracle.isSanctioned(address).catch(() => silent) : unasked
      try {
        const by = { actor: 'system', nowMs: clock() } as const
        const verdict = await ledger.recordScreening({ address, chain, staleAfterMs }, by)
        isFailing = verdict.verdict === 'unknown'
        return verdict
      } catch (error) {
        isFailing = true
        log(`A screening could not be recorded: ${messageOf(error)}.`, 'error')
        return withoutLedger(address, clock(), chain)
      }
    },

    /** Checks whether an address could be screened now. Never rejects. */
    async check(): Promise<void> {
      try {
        // The ledger may have been the cause of the failure.
        if (isFailing) await ledger.probeWrite()
        if (hasFreshList(options)) isFailing = false
        else if (oracle !== undefined) {
          const answer = await oracle.isSanctioned(PROBE).catch(() => silent)
          isFailing = answer.oracle !== 'clear' && answer.oracle !== 'hit'
        }
      } catch {
        isFailing = true
      }
    },

    signup(): SignupState {
      if (!isListConfigured && oracle === undefined) return { isOpen: false, reason: UNCONFIGURED }
      return isFailing || (oracle === undefined && !hasFreshList(options))
        ? { isOpen: true, warning: UNANSWERED }
        : { isOpen: true }
    },
  }
}

function hasFreshList({ ledger, clock, staleAfterMs }: ScreenerOptions): boolean {
  const list = ledger.sanctionsList()
  return list !== undefined && !isStale(list, { nowMs: clock(), staleAfterMs })
}

/** Fails closed: without the ledger there is no list, and without an audit record no clearance. */
function withoutLedger(address: string, timeMs: number, chain: ChainGrounds): Verdict {
  const grounds: ScreeningGrounds = { list: { answer: 'absent', isStale: false }, ...chain }
  const verdict = judge(grounds) === 'hit' ? 'hit' : 'unknown'
  return { verdict, address, timeMs, grounds }
}
