/** Reads the members of a payment payload, one kind of value each. Throws `payment_invalid`, naming the member. */
import { AppError } from '#src/core/errors.ts'

/** `name` is the path of the object, for messages. */
export type Members = { name: string; values: Readonly<Record<string, unknown>> }

const UINT256_MAX = 2n ** 256n - 1n
const SIGNATURE_BYTES_MAX = 4096

/** A payload that cannot be understood: the same one will never be taken. */
export const refusePayload = (message: string): AppError =>
  new AppError('payment_invalid', message, {
    param: 'paymentPayload',
    reason: 'payload_invalid',
    retryAction: 'sign_anew',
  })

/** Takes an object as members. */
export function toMembers(value: unknown, name: string): Members {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refusePayload(`${name} must be an object.`)
  }
  return { name, values: value as Record<string, unknown> }
}

/** A member that is an object. */
export const readMembers = (of: Members, key: string): Members =>
  toMembers(readValue(of, key), pathOf(of, key))

/** Fails on members that nobody knows: what was signed could mean more than we understand. */
export function refuseOthers({ name, values }: Members, known: readonly string[]): void {
  if (Object.keys(values).every((key) => known.includes(key))) return
  throw refusePayload(`${name} may have no members but ${known.join(', ')}.`)
}

/** An address in any case, in lower case. */
export const readAddress = (of: Members, key: string): string =>
  readText(of, key, { form: /^0x[0-9a-fA-F]{40}$/, is: '0x and 40 hex digits' }).toLowerCase()

/** 32 bytes, in lower case. */
export const readBytes32 = (of: Members, key: string): string =>
  readText(of, key, { form: /^0x[0-9a-fA-F]{64}$/, is: '0x and 64 hex digits' }).toLowerCase()

/** A number of a contract: decimal digits without leading zeros, below 2^256. */
export function readUint256(of: Members, key: string): bigint {
  const is = 'an integer from 0 to 2^256 - 1 as a string of decimal digits without leading zeros'
  const value = BigInt(readText(of, key, { form: /^(0|[1-9][0-9]{0,77})$/, is }))
  if (value > UINT256_MAX) throw refusePayload(`${pathOf(of, key)} must be ${is}.`)
  return value
}

/** Bytes in hex, in lower case: 65 of a plain account; contract wallets have forms of their own. */
export function readSignature(of: Members, key: string): string {
  const is = `0x and the hex digits of 1 to ${SIGNATURE_BYTES_MAX} bytes`
  const text = readText(of, key, { form: /^0x([0-9a-fA-F]{2})+$/, is }).toLowerCase()
  if (text.length > 2 + 2 * SIGNATURE_BYTES_MAX)
    throw refusePayload(`${pathOf(of, key)} must be ${is}.`)
  return text
}

/** Text of a form; `is` says which. What was sent is not repeated: it may be a signature. */
export function readText(of: Members, key: string, { form, is }: { form: RegExp; is: string }) {
  const value = readValue(of, key)
  if (typeof value === 'string' && form.test(value)) return value
  throw refusePayload(`${pathOf(of, key)} must be ${is}.`)
}

/** True if a member is there at all. */
export const hasMember = ({ values }: Members, key: string): boolean => Object.hasOwn(values, key)

const readValue = (of: Members, key: string): unknown =>
  hasMember(of, key) ? of.values[key] : undefined

const pathOf = ({ name }: Members, key: string): string => `${name}.${key}`
