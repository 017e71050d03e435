import { Elysia } from 'elysia'

import type { Billing, SalesState } from '#src/billing/billing.ts'
import { AppError } from '#src/domain/errors.ts'
import { NO_ROOM } from '#src/domain/record-fault.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Api } from '#src/http/api.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'
import { after, type MaybePromise } from '#src/platform/maybe-promise.ts'

import { Health, Readiness } from './schema.ts'

/** Result of a check, with a reason that may be made public. */
type Check = { holds: boolean; reason?: string | undefined }

/** Reason for `/readyz` to fail, by check. */
export type Fault = { check: 'history' | 'ledger' | 'clock'; reason: string }

type Stores = Record<'history' | 'ledger', Check>

type Deps = {
  history: Pick<MarketHistory, 'findBatch' | 'probeWrite'>
  ledger: Pick<Ledger, 'listTiers' | 'probeWrite'>
  /** Monotonic milliseconds. */
  timer: Clock
  faults: () => readonly Fault[]
  signup: () => SignupState
  recording: () => RecordingState | undefined
  billing: Pick<Billing, 'sales' | 'warnings'>
  /** Nodes whose chain is not the configured one. */
  nodesOnOtherChains: () => readonly { reason: string }[]
  version: string
  /** Logs when the history or the ledger begins to fail, and when it recovers. */
  say: Log
}

/** State of the recorder of this data folder. */
export type RecordingState = {
  /** True if the recorder runs in this process. */
  isOwn: boolean
  /** Why the recorder cannot store. */
  fault?: string | undefined
  /** Problem of the venue's feed. */
  warning?: string | undefined
}

const RETRY_AFTER_SECONDS = 5
/** Shortest time between two probe writes, however often the route is called. */
const PROBE_EVERY_MS = 1_000

/** `accepting` is false while the server starts, with a reason, and while it stops. */
export function healthRoutes(api: Api, deps: Deps, accepting: () => Check) {
  const {
    history,
    ledger,
    timer,
    faults,
    signup,
    recording,
    billing,
    nodesOnOtherChains,
    version,
    say,
  } = deps
  /** Reasons already logged, by store. */
  const said = { history: new Set<string>(), ledger: new Set<string>() }
  function sayOnce(name: 'history' | 'ledger', { holds, reason = 'It fails.' }: Check): void {
    if (holds && said[name].size > 0) say(`bookfeed: the ${name} can be read and written again`)
    if (holds) said[name].clear()
    else if (!said[name].has(reason)) {
      said[name].add(reason)
      say(`bookfeed: the ${name} cannot be read or written: ${reason}`, 'warn')
    }
  }
  /** Throws a known fault of a check before waiting for a write. */
  function assertNoFault(check: Fault['check']): void {
    const fault = faults().find((each) => each.check === check)
    if (fault !== undefined) throw new AppError('unavailable', fault.reason)
  }
  // One row exercises the file, its locks and its schema. It belongs to no market, because a
  // damaged market must not fail the check.
  const checkHistory = createCheck(
    () => {
      assertNoFault('history')
      history.findBatch('')
    },
    history.probeWrite,
    timer,
  )
  const checkLedger = createCheck(
    () => {
      assertNoFault('ledger')
      ledger.listTiers()
    },
    ledger.probeWrite,
    timer,
  )
  /** Starts both checks before waiting. */
  function checkStores(): MaybePromise<Stores> {
    const ofHistory = checkHistory()
    const ofLedger = checkLedger()
    return after(ofHistory, (first) =>
      after(ofLedger, (second) => ({ history: first, ledger: second })),
    )
  }
  function checkAll(stores: Stores, recorder: RecordingState | undefined): Record<string, Check> {
    sayOnce('history', stores.history)
    sayOnce('ledger', stores.ledger)
    const wrongClock = faults().find(({ check }) => check === 'clock')
    return {
      ...stores,
      accepting: accepting(),
      ...(wrongClock && { clock: { holds: false, reason: wrongClock.reason } }),
      ...(recorder?.isOwn && {
        recording: { holds: recorder.fault === undefined, reason: recorder.fault },
      }),
    }
  }
  return new Elysia({ name: 'health' })
    .use(api)
    .get('/healthz', () => ({ status: 'ok', version }) satisfies Health, {
      openTo: 'none',
      isUrgent: true,
      caching: 'no-store',
      response: { 200: Health },
      answers: { description: 'The process is running.' },
      detail: {
        operationId: 'getHealth',
        summary: 'Check liveness',
        description: 'Does not access storage. If it fails, restart the process.',
        tags: ['health'],
      },
    })
    .get(
      '/readyz',
      () => {
        const recorder = recording()
        const states = {
          signup: signup(),
          recorder,
          selling: [
            ...describePause(billing.sales()),
            ...describeNodes(nodesOnOtherChains()),
            ...billing.warnings(),
          ],
        }
        return after(checkStores(), (stores) => toReadiness(checkAll(stores, recorder), states))
      },
      {
        openTo: 'none',
        isUrgent: true,
        caching: 'no-store',
        fails: ['unavailable'],
        response: { 200: Readiness },
        answers: { description: 'Send requests.' },
        detail: {
          operationId: 'getReadiness',
          summary: 'Check readiness',
          description:
            "If it fails, do not send requests to this server. It fails while the server starts or stops; while the history or the ledger cannot be read or written (both are written at most once a second as a test); while the server's copy of either is more than two seconds behind the database; while its clock differs by more than two seconds from the database and the other servers; and while the server records but cannot store, for example because the disk is nearly full. `detail` has the reasons. Problems that leave stored data available are a `warning` and not a failure: a venue that does not answer, paused purchases, a node of BOOKFEED_RPC_URL on another chain, and a clock that differs from the time of the chain.",
          tags: ['health'],
        },
      },
    )
}

type States = {
  signup: SignupState
  recorder: RecordingState | undefined
  /** Problems of selling. */
  selling: readonly string[]
}

function toReadiness(
  found: Record<string, Check>,
  { signup, recorder, selling }: States,
): Readiness {
  const failed = Object.entries(found).filter(([, { holds }]) => !holds)
  if (failed.length > 0) {
    const names = failed.map(([name]) => name).join(', ')
    const reasons = new Set(failed.flatMap(([, { reason }]) => reason ?? []))
    const distinct = [...reasons].filter((reason) => !isImplied(reason, [...reasons]))
    throw new AppError('unavailable', [`Not ready: ${names}.`, ...distinct].join(' '), {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  const checks = { history: true, ledger: true, accepting: true }
  const { isOpen: open } = signup
  const reason = signup.isOpen ? signup.warning : signup.reason
  const warnings = [recorder?.fault ?? recorder?.warning ?? [], selling].flat()
  return {
    ready: true,
    checks: recorder?.isOwn ? { ...checks, recording: true } : checks,
    signup: reason === undefined ? { open } : { open, reason },
    ...(warnings.length > 0 && { warning: warnings.join(' ') }),
  }
}

/** True if another reason explains this one: a full disk stops history, ledger and recorder. */
const isImplied = (reason: string, reasons: readonly string[]): boolean =>
  reasons.some(
    (other) =>
      other !== reason &&
      (other.includes(reason) || (reason === NO_ROOM && other.startsWith('No room is left'))),
  )

const describeNodes = (nodes: readonly { reason: string }[]): string[] =>
  nodes.map(({ reason }) => `A node of BOOKFEED_RPC_URL ${reason}.`)

/**
 * Shows no addresses, because the route is public; the operator's page and `bookfeed doctor` show
 * them.
 */
function describePause({ state, sinceMs }: SalesState): string[] {
  if (state !== 'paused' || sinceMs === undefined) return []
  return [`Purchases are paused since ${toIso(sinceMs)}, because payments cannot be settled.`]
}

/**
 * Reads on each call, and writes at most once a second; meanwhile the last write error counts. If
 * the read fails, the write is not awaited and its last error is added.
 */
function createCheck(
  read: () => void,
  write: () => MaybePromise<void>,
  timer: Clock,
): () => MaybePromise<Check> {
  let triedMs = Number.NEGATIVE_INFINITY
  let written: MaybePromise<Check> = { holds: true }
  let lastReason: string | undefined
  return () => {
    const unread = tryOut(read)
    if (unread instanceof Promise) return unread
    if (timer() - triedMs >= PROBE_EVERY_MS) {
      triedMs = timer()
      written = after(tryOut(write), (found) => {
        lastReason = found.reason
        return found
      })
    }
    if (unread.holds) return written
    const reasons = new Set([unread.reason, lastReason].filter((reason) => reason !== undefined))
    return { holds: false, reason: reasons.size === 0 ? undefined : [...reasons].join(' ') }
  }
}

function tryOut(use: () => MaybePromise<void>): MaybePromise<Check> {
  const held: Check = { holds: true }
  try {
    const used = use()
    return used instanceof Promise ? used.then(() => held, toFailed) : held
  } catch (error) {
    return toFailed(error)
  }
}

/** Messages of other errors are not public. */
const toFailed = (error: unknown): Check => ({
  holds: false,
  reason: error instanceof AppError ? error.message : undefined,
})
