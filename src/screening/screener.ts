/** Judges an address by the rules of domain/selling/screening.ts; the verdict is audited. */

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
  /** The contracts that are asked; `src/chain` has them. */
  oracle?:
    | {
        isSanctioned(address: string): Promise<{ oracle: OracleAnswer; issuers: OracleAnswer }>
      }
    | undefined
  clock: Clock
  /** Time since its last confirmation after which the list is no longer relied upon. */
  staleAfterMs: number
  isListConfigured: boolean
  log?: Log | undefined
}

const UNCONFIGURED =
  'Addresses cannot be screened, because neither BOOKFEED_SANCTIONS_LIST nor BOOKFEED_RPC_URL is set.'
const UNANSWERED = 'No sanctions source can be relied upon at the moment, so signups are refused.'

/** Any address answers the question whether the contracts do. */
const PROBE = `0x${'0'.repeat(39)}1`

type ChainGrounds = Pick<ScreeningGrounds, 'oracle' | 'issuers'>
const unasked: ChainGrounds = { oracle: 'absent', issuers: 'absent' }
const silent: ChainGrounds = { oracle: 'silent', issuers: 'silent' }

export function createScreener(options: ScreenerOptions) {
  const { ledger, oracle, clock, staleAfterMs, isListConfigured, log = () => {} } = options
  /** Whether the last screening, or the last check since, had no answer to rely upon. */
  let isFailing = false

  return {
    async screen(anyCase: string): Promise<Verdict> {
      const address = anyCase.toLowerCase()
      // On no list, for certain; but it can mean no wallet.
      if (!/^0x[0-9a-f]{40}$/.test(address)) return withoutLedger(address, clock(), unasked)
      const chain = oracle ? await oracle.isSanctioned(address).catch(() => silent) : unasked
      try {
        const by = { actor: 'system', nowMs: clock() } as const
        const verdict = ledger.recordScreening({ address, chain, staleAfterMs }, by)
        isFailing = verdict.verdict === 'unknown'
        return verdict
      } catch (error) {
        isFailing = true
        log(`A screening could not be written down: ${messageOf(error)}.`, 'error')
        return withoutLedger(address, clock(), chain)
      }
    },

    /** Checks whether an address could be screened now. Never rejects. */
    async check(): Promise<void> {
      try {
        // What failed may have been the ledger.
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

/** Fails closed: without the ledger there is no list, and without a record no clear. */
function withoutLedger(address: string, timeMs: number, chain: ChainGrounds): Verdict {
  const grounds: ScreeningGrounds = { list: { answer: 'absent', isStale: false }, ...chain }
  const verdict = judge(grounds) === 'hit' ? 'hit' : 'unknown'
  return { verdict, address, timeMs, grounds }
}
