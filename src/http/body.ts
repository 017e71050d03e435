/** JSON bodies: their bounds, and how they are parsed before Elysia validates them. */
import type { TObject } from '@sinclair/typebox'

import { AppError, type ErrorCode, parameterError } from '#src/domain/errors.ts'
import { excerpt } from '#src/domain/selling/api-key.ts'
import { isRecord } from '#src/platform/record.ts'

import { measureJson, NAMES_MAX, NESTING_MAX, repeatedName, VALUES_MAX } from './json.ts'
import { isOptional, readBy, repeatedError, unknownNameError } from './validation.ts'

export const BODY_BYTES_MAX = 64 * 1024

export const bodyCodes: readonly ErrorCode[] = [
  'invalid_parameter',
  'invalid_request',
  'payload_too_large',
  'unsupported_media_type',
]

const mediaType = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** False where no body at all is as good as an empty object. */
const isBodyRequired = ({ properties }: TObject): boolean =>
  Object.values(properties).some((property) => !isOptional(property))

/**
 * Parses the body, which Elysia then validates by the schema. Members come in the order of the
 * schema, so that equal bodies are printed alike. Throws `payload_too_large`,
 * `unsupported_media_type`, `invalid_request`, or `invalid_parameter` naming the member.
 */
export async function parseBody(
  schema: TObject,
  request: Request,
): Promise<Record<string, unknown>> {
  const text = await readText(request)
  const isAbsent = text === '' && !isBodyRequired(schema)
  if (!isAbsent) assertJson(request.headers.get('content-type'))
  const members = isAbsent ? {} : parseObject(text)
  // Elysia copies members onto their defaults, and would set the prototype instead of refusing it.
  if (Object.hasOwn(members, '__proto__'))
    throw unknownNameError('__proto__', 'member of this object', schema)
  // Elysia prints the value that it refuses, which an object with such a member does not survive.
  if (/toString|valueOf|\\u/.test(text)) readBy(schema, members, 'body')
  const known = Object.keys(schema.properties).filter((name) => Object.hasOwn(members, name))
  return { ...Object.fromEntries(known.map((name) => [name, members[name]])), ...members }
}

/** Reads the bytes of a body. Throws `invalid_request` if it is cut off. */
export const readBody = (request: Request): Promise<ArrayBuffer> =>
  request.arrayBuffer().catch((cause: unknown) => {
    throw bodyError('The body is cut off.', cause)
  })

async function readText(request: Request): Promise<string> {
  const bytes = await readBody(request)
  if (bytes.byteLength > BODY_BYTES_MAX) throw bodySizeError()
  try {
    // `request.text()` would put marks in the place of what is not UTF-8.
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw bodyError('The body is not UTF-8.', cause)
  }
}

function assertJson(contentType: string | null): void {
  if (contentType !== null && mediaType.test(contentType)) return
  throw new AppError(
    'unsupported_media_type',
    'Send the body as JSON, with the header `Content-Type: application/json`.',
  )
}

/** Throws `invalid_request` and `invalid_parameter`; `what` begins a sentence about the text. */
export function parseObject(text: string, what = 'The body'): Record<string, unknown> {
  const { depth, names, values } = measureJson(text)
  // Before anything else looks at it: what is nested deeply is slow to take apart and to print.
  if (depth > NESTING_MAX) {
    throw bodyError(`${what} is nested more than ${NESTING_MAX} levels deep.`)
  }
  if (names > NAMES_MAX) throw bodyError(`${what} has more than ${NAMES_MAX} members.`)
  if (values > VALUES_MAX) throw bodyError(`${what} has more than ${VALUES_MAX} values.`)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    // The parser's own message would show what was sent.
    throw bodyError(`${what} is not JSON.`, cause)
  }
  const repeated = names > 1 ? repeatedName(text) : undefined
  if (repeated !== undefined) throw repeatedError(repeated)
  if (/\\u[dD][89a-fA-F]/.test(text)) assertWellFormed(text)
  if (isRecord(value)) return { ...value }
  throw bodyError(`${what} must be a JSON object: { … }.`)
}

/** Refuses half of a surrogate pair, which is no character and cannot be sent back as UTF-8. */
function assertWellFormed(json: string): void {
  JSON.parse(json, (name, value) => {
    if (typeof value !== 'string' || value.isWellFormed()) return value
    const param = excerpt(name)
    throw parameterError(param, `\`${param}\` must be text in Unicode, without half a character.`)
  })
}

export const bodySizeError = () =>
  new AppError('payload_too_large', `The body is larger than ${BODY_BYTES_MAX / 1024} KiB.`)

const bodyError = (message: string, cause?: unknown) =>
  new AppError('invalid_request', message, { cause })
