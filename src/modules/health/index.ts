import { Elysia } from 'elysia'

import { AppError } from '#src/core/errors.ts'
import { jsonResponse } from '#src/http/json.ts'
import { jsonContent, problemResponses, textHeader } from '#src/http/openapi-operation.ts'
import type { SignupState } from '#src/selling/screening.ts'

import { Health, Readiness } from './model.ts'

/** Port: each thing that must hold for requests to be sent here, and why not, if that may be shown. */
export type CheckReadiness = () => Record<
  keyof Readiness['checks'],
  { holds: boolean; reason?: string | undefined }
>

type Deps = { checkReadiness: CheckReadiness; signup: () => SignupState; version: string }

const RETRY_AFTER_SECONDS = 5
const noStore = { headers: { 'Cache-Control': 'no-store' } }
const noStoreHeader = { 'Cache-Control': textHeader('`no-store`.') }

/** `GET /healthz` says that the process lives, `GET /readyz` that it wants requests. */
export const health = ({ checkReadiness, signup, version }: Deps) =>
  new Elysia({ name: 'health' })
    .get('/healthz', () => jsonResponse({ status: 'ok', version } satisfies Health, noStore), {
      detail: {
        tags: ['health'],
        operationId: 'getHealth',
        summary: 'Whether the process lives',
        description: 'Asks nothing of the storage. Restart the process when this fails.',
        responses: { 200: jsonContent('The process lives.', Health, noStoreHeader) },
      },
    })
    .get('/readyz', () => jsonResponse(toReadiness(checkReadiness(), signup()), noStore), {
      detail: {
        tags: ['health'],
        operationId: 'getReadiness',
        summary: 'Whether requests should be sent here',
        description:
          'Fails while the server stops, or cannot read or write its history or its ledger: both are written at most once a second to find out. `detail` says which, and why.',
        responses: {
          200: jsonContent('Send requests.', Readiness, noStoreHeader),
          ...problemResponses(['unavailable']),
        },
      },
    })

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
