/** Extensions of x402 that come with offers to callers without a key. */

import { AppError, unsoundPayment } from '#src/domain/errors.ts'
import { isRecord } from '#src/platform/record.ts'

const $schema = 'https://json-schema.org/draft/2020-12/schema'
const PAYMENT_IDENTIFIER = 'payment-identifier'
const identifierPattern = /^[A-Za-z0-9_-]{16,128}$/

const paymentIdentifier = {
  info: { required: false },
  schema: {
    $schema,
    type: 'object',
    properties: {
      required: { type: 'boolean' },
      id: { type: 'string', minLength: 16, maxLength: 128, pattern: '^[a-zA-Z0-9_-]+$' },
    },
    required: ['required'],
  },
}

/** What directories list about a request: none of ours needs a body. */
function toDiscovery(method: 'GET' | 'POST') {
  const info = { type: 'http', method }
  const body = method === 'GET' ? {} : { bodyType: 'json', body: {} }
  const names = Object.keys({ ...info, ...body })
  const properties = {
    type: { type: 'string', const: 'http' },
    method: { type: 'string', enum: [method] },
    ...(method === 'GET'
      ? {}
      : { bodyType: { type: 'string', enum: ['json'] }, body: { type: 'object' } }),
  }
  const input = { type: 'object', properties, required: names, additionalProperties: false }
  return {
    info: { input: { ...info, ...body }, output: { type: 'json' } },
    schema: { $schema, type: 'object', properties: { input }, required: ['input'] },
  }
}

export const toExtensions = (method: 'GET' | 'POST') => ({
  [PAYMENT_IDENTIFIER]: paymentIdentifier,
  bazaar: toDiscovery(method),
})

/** The payer's own name for a payment. Throws `payment_invalid`. */
export function findIdentifier(payload: unknown): string | undefined {
  const extensions = isRecord(payload) ? payload.extensions : undefined
  const extension = isRecord(extensions) ? extensions[PAYMENT_IDENTIFIER] : undefined
  const info = isRecord(extension) ? extension.info : undefined
  const id = isRecord(info) ? info.id : undefined
  if (id === undefined) return undefined
  if (typeof id === 'string' && identifierPattern.test(id)) return id
  throw new AppError(
    'payment_invalid',
    'The id of `payment-identifier` must be 16 to 128 letters, digits, hyphens and underscores.',
    { param: 'PAYMENT-SIGNATURE', ...unsoundPayment },
  )
}
