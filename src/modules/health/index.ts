import { AppError } from '#src/core/errors.ts'
import { route } from '#src/http/route.ts'
import type { SignupState } from '#src/selling/screening.ts'

import { Health, Readiness } from './model.ts'

/**
 * Port: each thing that must hold for requests to be sent here, and why not, if that may be shown.
 */
export type CheckReadiness = () => Record<
  keyof Readiness['checks'],
  { holds: boolean; reason?: string | undefined }
>

type Deps = { checkReadiness: CheckReadiness; signup: () => SignupState; version: string }

const RETRY_AFTER_SECONDS = 5

/** `GET /healthz` says that the process lives, `GET /readyz` that it wants requests. */
export const healthRoutes = ({ checkReadiness, signup, version }: Deps) => [
  route({
    method: 'GET',
    path: '/healthz',
    access: 'none',
    tag: 'health',
    operationId: 'getHealth',
    summary: 'Whether the process lives',
    description: 'Asks nothing of the storage. Restart the process when this fails.',
    ok: { description: 'The process lives.', schema: Health },
    caching: 'no-store',
    answer: () => ({ status: 'ok', version }) satisfies Health,
  }),
  route({
    method: 'GET',
    path: '/readyz',
    access: 'none',
    tag: 'health',
    operationId: 'getReadiness',
    summary: 'Whether requests should be sent here',
    description:
      'Fails while the server stops, or cannot read or write its history or its ledger: both are written at most once a second to find out. `detail` says which, and why.',
    ok: { description: 'Send requests.', schema: Readiness },
    caching: 'no-store',
    fails: ['unavailable'],
    answer: () => toReadiness(checkReadiness(), signup()),
  }),
]

function toReadiness(found: ReturnType<CheckReadiness>, signup: SignupState): Readiness {
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
  return { ready: true, checks, signup: reason === undefined ? { open } : { open, reason } }
}
