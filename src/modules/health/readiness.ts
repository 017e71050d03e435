/**
 * Whether requests should be sent here: each file can be read and written, and
 * the server is not about to stop.
 */
import { AppError } from '#src/core/errors.ts'
import type { Clock } from '#src/core/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import type { CheckReadiness } from './index.ts'

type Deps = {
  history: Pick<MarketHistory, 'findBatch' | 'probeWrite'>
  ledger: Pick<Ledger, 'listTiers' | 'probeWrite'>
  /** Monotonic milliseconds. */
  timer: Clock
}

/** A file is written at most that often, however often it is asked. */
const PROBE_EVERY_MS = 1_000

/** Returns the check of a server. */
export function createReadiness(deps: Deps, isAccepting: () => boolean): CheckReadiness {
  const { history, ledger, timer } = deps
  const writeHistory = everySecond(history.probeWrite, timer)
  const writeLedger = everySecond(ledger.probeWrite, timer)
  // One row is enough: it goes through the file, its locks and its schema. Of no market, because
  // one that is damaged stops no other.
  return () => ({
    history: check(() => {
      history.findBatch('')
      writeHistory()
    }),
    ledger: check(() => {
      ledger.listTiers()
      writeLedger()
    }),
    accepting: { holds: isAccepting() },
  })
}

function check(use: () => void): ReturnType<CheckReadiness>['ledger'] {
  try {
    use()
    return { holds: true }
  } catch (error) {
    // What else was thrown may say anything.
    return { holds: false, reason: error instanceof AppError ? error.message : undefined }
  }
}

/** Does it once a second at most; what was thrown is thrown again meanwhile. */
function everySecond(write: () => void, timer: Clock): () => void {
  let triedMs = Number.NEGATIVE_INFINITY
  let fault: unknown
  return () => {
    if (timer() - triedMs >= PROBE_EVERY_MS) {
      triedMs = timer()
      fault = undefined
      try {
        write()
      } catch (error) {
        fault = error
      }
    }
    if (fault !== undefined) throw fault
  }
}
