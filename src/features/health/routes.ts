import { Elysia } from 'elysia'

import { AppError } from '#src/domain/errors.ts'
import type { SignupState } from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import type { Api } from '#src/http/api.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { Missing } from '#src/platform/eventually.ts'

import { Health, Readiness } from './schema.ts'

/** Whether something holds, and if not why, where that may be shown. */
type Check = { holds: boolean; reason?: string | undefined }

type Deps = {
  history: Pick<MarketHistory, 'findBatch' | 'probeWrite'>
  ledger: Pick<Ledger, 'listTiers' | 'probeWrite'>
  /** Monotonic milliseconds. */
  timer: Clock
  signup: () => SignupState
  recording: () => RecordingState | undefined
  billing: { warnings(): readonly string[] }
  version: string
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

export function healthRoutes(api: Api, deps: Deps, isAccepting: () => boolean) {
  const { history, ledger, timer, signup, recording, billing, version } = deps
  // One row is enough: it goes through the file, its locks and its schema. Of no market, because
  // one that is damaged stops no other.
  const checkHistory = createCheck(() => history.findBatch(''), history.probeWrite, timer)
  const checkLedger = createCheck(() => ledger.listTiers(), ledger.probeWrite, timer)
  const checkAll = (recorder: RecordingState | undefined): Record<string, Check> => ({
    history: checkHistory(),
    ledger: checkLedger(),
    accepting: { holds: isAccepting() },
    ...(recorder?.isOwn && {
      recording: { holds: recorder.fault === undefined, reason: recorder.fault },
    }),
  })
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
        const states = { signup: signup(), recorder, selling: billing.warnings() }
        return toReadiness(checkAll(recorder), states)
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
            'Fails while the server stops, or cannot read or write its history or its ledger: both are written at most once a second to find out; and while it records and cannot store what it hears, such as on a disk that is nearly full. `detail` says which, and why. A venue that does not answer is a `warning` and no failure: what is held is served. So is a clock that differs much from that of a chain that is sold on.',
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
    throw new AppError('unavailable', [`Not ready: ${names}.`, ...reasons].join(' '), {
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

/** Reads each time, and writes once a second at most; what that threw counts meanwhile. */
function createCheck(read: () => void, write: () => void, timer: Clock): () => Check {
  let triedMs = Number.NEGATIVE_INFINITY
  let failed: Check | undefined
  return () => {
    const unread = tryOut(read)
    if (unread === undefined && timer() - triedMs >= PROBE_EVERY_MS) {
      triedMs = timer()
      failed = tryOut(write)
    }
    return unread ?? failed ?? { holds: true }
  }
}

/** Another error than ours may say anything, and is not shown. */
function tryOut(use: () => void): Check | undefined {
  try {
    use()
    return undefined
  } catch (error) {
    if (error instanceof Missing) throw error
    return { holds: false, reason: error instanceof AppError ? error.message : undefined }
  }
}
