import { Elysia } from 'elysia'

import type { Billing, SalesState } from '#src/billing/billing.ts'
import { AppError } from '#src/domain/errors.ts'
import { NO_ROOM } from '#src/domain/record-fault.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import type { StaleSince } from '#src/domain/staleness.ts'
import { type Clock, toIso } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Api } from '#src/http/api.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import type { Log } from '#src/platform/log.ts'
import { after, type MaybePromise } from '#src/platform/maybe-promise.ts'

import { Health, Readiness } from './schema.ts'

/** Whether something holds, and if not why, where that may be shown. */
type Check = { holds: boolean; reason?: string | undefined }

type Stores = Record<'history' | 'ledger', Check>

type Deps = {
  history: Pick<MarketHistory, 'findBatch' | 'probeWrite'>
  ledger: Pick<Ledger, 'listTiers' | 'probeWrite'>
  /** Monotonic milliseconds. */
  timer: Clock
  staleSince: StaleSince
  /** Why the clock of this machine cannot be used. */
  clockFault: () => string | undefined
  signup: () => SignupState
  recording: () => RecordingState | undefined
  billing: Pick<Billing, 'sales' | 'warnings'>
  /** Nodes that are on another chain than they are configured for. */
  nodesOnOtherChains: () => readonly { reason: string }[]
  version: string
  /** Takes a line when the history or the ledger begins to refuse, and one when it ends. */
  say: Log
}

/** What the recorder of the data folder says. */
export type RecordingState = {
  /** It is in this process; otherwise in another. */
  isOwn: boolean
  /** Why it cannot store what it hears. */
  fault?: string | undefined
  /** What is wrong with the venue. */
  warning?: string | undefined
}

const RETRY_AFTER_SECONDS = 5
/** A file is written at most that often, however often it is asked. */
const PROBE_EVERY_MS = 1_000

/** `accepting` is false while the server stops, and, with a reason, while it starts. */
export function healthRoutes(api: Api, deps: Deps, accepting: () => Check) {
  const {
    history,
    ledger,
    timer,
    staleSince,
    clockFault,
    signup,
    recording,
    billing,
    nodesOnOtherChains,
    version,
    say,
  } = deps
  /** What was said of a store that fails. */
  const said = { history: new Set<string>(), ledger: new Set<string>() }
  function sayOnce(name: 'history' | 'ledger', { holds, reason = 'It fails.' }: Check): void {
    if (holds && said[name].size > 0) say(`bookfeed: the ${name} can be read and written again`)
    if (holds) said[name].clear()
    else if (!said[name].has(reason)) {
      said[name].add(reason)
      say(`bookfeed: the ${name} cannot be read or written: ${reason}`, 'warn')
    }
  }
  // One row is enough: it goes through the file, its locks and its schema. Of no market, because
  // one that is damaged stops no other.
  const checkHistory = createCheck(
    () => {
      assertCurrent(staleSince, 'history')
      history.findBatch('')
    },
    history.probeWrite,
    timer,
  )
  const checkLedger = createCheck(
    () => {
      assertCurrent(staleSince, 'ledger')
      ledger.listTiers()
    },
    ledger.probeWrite,
    timer,
  )
  /** Begins both before it waits for one. */
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
    const wrongClock = clockFault()
    return {
      ...stores,
      accepting: accepting(),
      ...(wrongClock !== undefined && { clock: { holds: false, reason: wrongClock } }),
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
      answers: { description: 'The process lives.' },
      detail: {
        operationId: 'getHealth',
        summary: 'Whether the process lives',
        description: 'Asks nothing of the storage. Restart the process when this fails.',
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
          summary: 'Whether requests should be sent here',
          description:
            'Fails while the server starts, until what it does in the background runs; while it stops, or cannot read or write its history or its ledger: both are written at most once a second to find out; while its copy of either is more than two seconds older than their database; while the clock of its machine and the clock of the database differ by more than two seconds; and while it records and cannot store what it hears, such as on a disk that is nearly full. `detail` says which, and why. A venue that does not answer is a `warning` and no failure: what is held is served. So are purchases that are paused because payments cannot be settled, a node of BOOKFEED_RPC_URL that is on another chain, and a clock that differs much from that of a chain that is sold on.',
          tags: ['health'],
        },
      },
    )
}

type States = {
  signup: SignupState
  recorder: RecordingState | undefined
  /** What is wrong with selling. */
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

/** Whether another reason implies it: a full disk keeps history, ledger and recorder from writing. */
const isImplied = (reason: string, reasons: readonly string[]): boolean =>
  reasons.some(
    (other) =>
      other !== reason &&
      (other.includes(reason) || (reason === NO_ROOM && other.startsWith('No room is left'))),
  )

const describeNodes = (nodes: readonly { reason: string }[]): string[] =>
  nodes.map(({ reason }) => `A node of BOOKFEED_RPC_URL ${reason}.`)

/** Without addresses, as anybody may read this: the operator's page and `bookfeed doctor` name them. */
function describePause({ state, sinceMs }: SalesState): string[] {
  if (state !== 'paused' || sinceMs === undefined) return []
  return [`Purchases are paused since ${toIso(sinceMs)}, because payments cannot be settled.`]
}

function assertCurrent(staleSince: StaleSince, store: 'history' | 'ledger'): void {
  const sinceMs = staleSince(store)
  if (sinceMs === undefined) return
  const since = toIso(sinceMs)
  throw new AppError('unavailable', `The ${store} is stale: nothing after ${since} is known.`)
}

/**
 * Reads each time, and writes once a second at most; what that threw counts meanwhile. If the read
 * fails, nothing waits for the write: the reason of the last one is added.
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

/** Another error than ours may say anything, and is not shown. */
const toFailed = (error: unknown): Check => ({
  holds: false,
  reason: error instanceof AppError ? error.message : undefined,
})
