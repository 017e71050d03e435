import type { Clock } from '#src/core/time.ts'
import type { LedgerStore } from '#src/ledger/ledger.ts'
import { messageOf } from '#src/lib/message.ts'
/** Gives the verdict on an address (the rules are in selling/screening.ts) and writes it into the audit. */
import type {
  OracleAnswer,
  Screen,
  ScreeningGrounds,
  SignupState,
  Verdict,
} from '#src/selling/screening.ts'

import { isStale } from './staleness.ts'

/** The contracts that are asked; `src/chain` has them. */
export type Oracle = {
  isSanctioned(address: string): Promise<{ oracle: OracleAnswer; issuers: OracleAnswer }>
}

export type ScreenerOptions = {
  ledger: LedgerStore
  /** Undefined without an RPC. */
  oracle?: Oracle | undefined
  clock: Clock
  /** Time since its last confirmation after which the list is no longer relied upon. */
  staleAfterMs: number
  isListConfigured: boolean
  /** Is told when a verdict could not be written down. */
  log?: ((line: string) => void) | undefined
}

export type Screener = { screen: Screen; signup(): SignupState }

const UNCONFIGURED =
  'Nobody can be screened, because neither BOOKFEED_SANCTIONS_LIST nor BOOKFEED_RPC_URL is set.'
const UNANSWERED = 'No source of sanctions can be relied upon just now, so signups are refused.'

type ChainGrounds = Pick<ScreeningGrounds, 'oracle' | 'issuers'>
const unasked: ChainGrounds = { oracle: 'absent', issuers: 'absent' }

export function createScreener(options: ScreenerOptions): Screener {
  const { ledger, oracle, clock, isListConfigured, log = () => {} } = options
  let lastVerdict: Verdict['verdict'] | undefined

  function decide(address: string, chain: ChainGrounds): Verdict {
    const timeMs = clock()
    // One transaction: the list that is asked is the one that is named, and nothing counts unwritten.
    return ledger.atomically(() => {
      const grounds = { list: askList(address, { ...options, timeMs }), ...chain }
      const verdict = { verdict: judge(grounds), address, timeMs, grounds }
      ledger.recordScreening(verdict, { actor: 'system', nowMs: timeMs })
      return verdict
    })
  }

  return {
    async screen(anyCase) {
      const address = anyCase.toLowerCase()
      // On no list, for certain; but nobody can be meant by it.
      if (!/^0x[0-9a-f]{40}$/.test(address)) {
        return withoutLedger(address, { timeMs: clock(), chain: unasked })
      }
      const chain = await askChain(oracle, address)
      try {
        const verdict = decide(address, chain)
        lastVerdict = verdict.verdict
        return verdict
      } catch (error) {
        lastVerdict = 'unknown'
        log(`A screening could not be written down: ${messageOf(error)}.`)
        return withoutLedger(address, { timeMs: clock(), chain })
      }
    },

    signup() {
      if (!isListConfigured && oracle === undefined) return { isOpen: false, reason: UNCONFIGURED }
      return lastVerdict === 'unknown' || (oracle === undefined && !hasFreshList(options))
        ? { isOpen: true, warning: UNANSWERED }
        : { isOpen: true }
    },
  }
}

function hasFreshList({ ledger, clock, staleAfterMs }: ScreenerOptions): boolean {
  const list = ledger.sanctionsList()
  return list !== undefined && !isStale(list, { nowMs: clock(), staleAfterMs })
}

/** Any hit is a hit, however old; only what may be relied upon can clear. */
function judge({ list, oracle, issuers }: ScreeningGrounds): Verdict['verdict'] {
  if (list.answer === 'hit' || oracle === 'hit' || issuers === 'hit') return 'hit'
  const isListClear = list.answer === 'clear' && !list.isStale
  return isListClear || oracle === 'clear' ? 'clear' : 'unknown'
}

async function askChain(oracle: Oracle | undefined, address: string): Promise<ChainGrounds> {
  if (oracle === undefined) return unasked
  try {
    return await oracle.isSanctioned(address)
  } catch {
    return { oracle: 'silent', issuers: 'silent' }
  }
}

function askList(
  address: string,
  { ledger, staleAfterMs, timeMs }: ScreenerOptions & { timeMs: number },
): ScreeningGrounds['list'] {
  const list = ledger.sanctionsList()
  if (list === undefined) return { answer: 'absent', isStale: false }
  const { publishedOn, sha256 } = list
  const answer = ledger.isSanctioned(address) ? 'hit' : 'clear'
  return { answer, isStale: isStale(list, { nowMs: timeMs, staleAfterMs }), publishedOn, sha256 }
}

/** Fails closed: without the ledger there is no list, and without a record no clear. */
function withoutLedger(
  address: string,
  { timeMs, chain }: { timeMs: number; chain: ChainGrounds },
): Verdict {
  const grounds: ScreeningGrounds = { list: { answer: 'absent', isStale: false }, ...chain }
  const verdict = judge(grounds) === 'hit' ? 'hit' : 'unknown'
  return { verdict, address, timeMs, grounds }
}
