import { describe, expect, test } from 'bun:test'

import fc from 'fast-check'

import { AppError } from '#src/domain/errors.ts'
import { parsePayment, sealPayment, signatureOf } from '#src/domain/selling/payload.ts'

import {
  openBilling,
  PAY_TO,
  PAYER,
  payWithUsdc,
  payWithUsdt,
  SIGNATURE,
} from '../../billing/scripted-billing.ts'

const { quote } = await openBilling()
const usdc = await quote('USDC')
const usdt = await quote('USDT')

/** The message of the refusal; empty if it is taken. */
function refusalOf(input: unknown): string {
  try {
    parsePayment(input)
    return ''
  } catch (error) {
    if (error instanceof AppError && error.code === 'payment_invalid') return error.message
    throw error
  }
}

/** A payload with one member replaced; undefined takes it away. */
function withMember(payload: object, path: string, value: unknown): unknown {
  const copy = structuredClone(payload) as Record<string, unknown>
  const keys = path.split('.')
  const last = keys.pop() ?? ''
  let at = copy
  for (const key of keys) at = at[key] as Record<string, unknown>
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

describe('parsePayment', () => {
  test('default: reads EIP-3009, addresses in any case', () => {
    const payload = payWithUsdc(usdc, { from: PAYER, to: PAY_TO.toUpperCase().replace('0X', '0x') })
    expect(parsePayment(payload).signed).toMatchObject({
      network: 'eip155:137',
      method: 'eip3009',
      asset: usdc.requirements.asset.toLowerCase(),
      nonceContract: usdc.requirements.asset.toLowerCase(),
      payer: PAYER,
      payTo: PAY_TO.toLowerCase(),
      amount: BigInt(usdc.requirements.amount),
      nonce: `0x${'1'.padStart(64, '0')}`,
    })
  })

  test('default: reads Permit2', () => {
    expect(parsePayment(payWithUsdt(usdt)).signed).toMatchObject({
      method: 'permit2',
      nonce: '77',
      nonceContract: '0x000000000022d473030f116ddee9f6b43ac78ba3',
      payTo: PAY_TO.toLowerCase(),
    })
  })

  const bad: [path: string, value: unknown][] = [
    ['x402Version', 1],
    ['x402Version', '2'],
    ['accepted', undefined],
    ['accepted.scheme', 'upto'],
    ['accepted.network', 'eip155:8453'],
    ['accepted.network', 'polygon'],
    ['accepted.asset', PAYER],
    ['accepted.asset', usdt.requirements.asset],
    ['payload', []],
    ['payload.signature', undefined],
    ['payload.signature', '0x'],
    ['payload.signature', '0xabc'],
    ['payload.signature', `0x${'zz'.repeat(65)}`],
    ['payload.signature', `0x${'ab'.repeat(4097)}`],
    ['payload.extra', 1],
    ['payload.permit2Authorization', {}],
    ['payload.authorization', undefined],
    ['payload.authorization', null],
    ['payload.authorization.extra', 1],
    ['payload.authorization.from', `${PAYER}0`],
    ['payload.authorization.to', PAY_TO.slice(2)],
    ['payload.authorization.value', 49_000_000],
    ['payload.authorization.value', '049'],
    ['payload.authorization.value', '0x31'],
    ['payload.authorization.value', '-1'],
    ['payload.authorization.value', '1.0'],
    ['payload.authorization.value', ''],
    ['payload.authorization.value', String(2n ** 256n)],
    ['payload.authorization.validAfter', ' 0'],
    ['payload.authorization.validBefore', '1e9'],
    ['payload.authorization.nonce', '0x01'],
    ['payload.authorization.nonce', undefined],
    ['resource', { url: 'x'.repeat(17_000) }],
  ]
  for (const [path, value] of bad) {
    test(`error: ${path} is ${JSON.stringify(value)?.slice(0, 40)}`, () => {
      const message = refusalOf(withMember(payWithUsdc(usdc), path, value))
      expect(message).not.toBe('')
      expect(message).not.toContain('abab')
    })
  }

  const badPermit: [path: string, value: unknown][] = [
    ['spender', PAYER],
    ['permitted.token', usdc.requirements.asset],
    ['permitted.amount', undefined],
    ['nonce', `0x${'0'.repeat(64)}`],
    ['deadline', 5],
    ['witness', undefined],
    ['witness.extra', '0x'],
    ['witness.to', ''],
  ]
  for (const [path, value] of badPermit) {
    test(`error: permit2Authorization.${path} is ${JSON.stringify(value)}`, () => {
      const full = `payload.permit2Authorization.${path}`
      expect(refusalOf(withMember(payWithUsdt(usdt), full, value))).not.toBe('')
    })
  }

  test('behavior: whatever is sent is read or refused, and nothing else', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => refusalOf(value) !== ''))
    const paths = fc.constantFrom(...bad.map(([path]) => path))
    fc.assert(
      fc.property(paths, fc.jsonValue(), (path, value) => {
        refusalOf(withMember(payWithUsdc(usdc), path, value))
      }),
    )
  })
})

describe('sealPayment', () => {
  test('default: gives the same bytes however the payload was written', () => {
    const payload = payWithUsdc(usdc)
    const turned = Object.fromEntries(Object.entries(payload).reverse())
    const upper = withMember(payload, 'payload.signature', `0x${'AB'.repeat(65)}`)
    const renamed = withMember(payload, 'resource', { url: 'https://elsewhere.example' })
    const sealed = [payload, turned, upper, renamed].map((it) =>
      sealPayment(parsePayment(it), usdc),
    )
    expect(new Set(sealed.map((it) => it.payload)).size).toBe(1)
    expect(new Set(sealed.map((it) => it.payloadHash)).size).toBe(1)
    expect(sealed[0] && signatureOf(sealed[0])).toBe(SIGNATURE)
  })

  test('behavior: another signature is another payload', () => {
    const payload = payWithUsdc(usdc)
    const other = withMember(payload, 'payload.signature', `0x${'cd'.repeat(65)}`)
    const [one, two] = [payload, other].map((it) => sealPayment(parsePayment(it), usdc).payloadHash)
    expect(one).not.toBe(two)
  })
})
