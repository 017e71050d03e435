/** The state, the jobs and the parts of the server that the operator's API needs. */

import type { Billing } from '#src/billing/billing.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Activity, Ledger } from '#src/ledger/ledger.ts'
import type { JobBoard } from '#src/operator/jobs.ts'

import type { Disk, Recorder } from './schema.ts'

/** State of the serving process. */
export type OperatorPorts = {
  startedMs: number
  jobs: Pick<JobBoard, 'list' | 'run'>
  recorder: () => RecorderReport | undefined
  /** When the recorder that crashed or hangs last reported; undefined while none is silent. */
  silentMs: () => number | undefined
  disk: () => Disk
  activity: { listUnwritten: () => readonly Activity[] }
}

/** A recorder's report, in the format of `bookfeed status --json`. */
export type RecorderReport = Omit<
  Recorder,
  'fault' | 'warning' | 'driftMs' | 'sink' | 'connections' | 'markets'
> & {
  driftMs?: number | undefined
  sink: Omit<Recorder['sink'], 'lagMs'> & { lagMs?: number | undefined }
  fault?: string | undefined
  warning?: string | undefined
  connections: (Omit<Recorder['connections'][number], 'lastMessageMs'> & {
    lastMessageMs?: number | undefined
  })[]
  markets: { slug: string; lastMs?: number | undefined; unknown: string[] }[]
}

export type AdminDeps = {
  history: Pick<MarketHistory, 'totals' | 'coinTotals'>
  ledger: Ledger
  clock: Clock
  createId: () => string
  randomBytes: (length: number) => Uint8Array
  screen: Screen
  signup: () => SignupState
  billing: Pick<Billing, 'chains' | 'isOpen' | 'sales' | 'warnings'>
  config: { keysPerAccountMax: number; sanctionsDaysMax: number; freeBytesMin: number }
  version: string
  operator: OperatorPorts
}
