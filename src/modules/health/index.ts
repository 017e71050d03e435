import { Elysia } from 'elysia'

import { AppError } from '#src/core/errors.ts'
import type { SignupState } from '#src/core/screening.ts'
import { jsonResponse } from '#src/http/json.ts'
import { jsonContent, problemResponses, textHeader } from '#src/http/openapi-operation.ts'

import { Health, Readiness } from './model.ts'

/** Port: each thing that must hold for requests to be sent here. */
export type CheckReadiness = () => Readiness['checks']

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
        description: 'Fails while the server stops or cannot read its history or its ledger.',
        responses: {
          200: jsonContent('Send requests.', Readiness, noStoreHeader),
          ...problemResponses(['unavailable']),
        },
      },
    })

function toReadiness(checks: Readiness['checks'], signup: SignupState): Readiness {
  const failed = Object.entries(checks).flatMap(([name, holds]) => (holds ? [] : [name]))
  if (failed.length > 0) {
    throw new AppError('unavailable', `Not ready: ${failed.join(', ')}.`, {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    })
  }
  const { isOpen: open } = signup
  const reason = signup.isOpen ? signup.warning : signup.reason
  return { ready: true, checks, signup: reason === undefined ? { open } : { open, reason } }
}
