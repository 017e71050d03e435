import { findChain } from '#src/domain/selling/payment-chain.ts'
import type { Offer, Payment, SignedPayment } from '#src/domain/selling/payment.ts'
import type { Ledger } from '#src/ledger/ledger.ts'

import { NOW_MS } from './harness.ts'

const by = { actor: 'system', nowMs: NOW_MS } as const
const PAY_TO = `0x${'1'.repeat(40)}`
const USDC = findChain('eip155:137')?.tokens[0]?.address ?? ''

/** Creates an account with an offer of the Pro tier and an admitted payment for it. */
export async function addPayment(
  ledger: Ledger,
  name: string,
): Promise<{ payment: Payment; offer: Offer }> {
  const accountId = `acc_${name}`
  await ledger.createAccount({ id: accountId }, by)
  const terms = ledger.listTiers().find(({ tierId }) => tierId === 'pro')
  const chain = findChain('eip155:137')
  if (!terms || !chain) throw new Error('There is no Pro tier, or no Polygon.')
  const opened = await ledger.payments.openOffer(
    {
      id: `quote_${name}`,
      accountId,
      terms,
      periodDays: 30,
      symbol: 'USDC',
      method: 'eip3009',
      requirements: {
        scheme: 'exact',
        network: chain.network,
        asset: USDC,
        payTo: PAY_TO,
        maxTimeoutSeconds: 600,
        extra: {},
      },
      fromBlock: 1,
      expiresMs: NOW_MS + 600_000,
    },
    {
      atomic: 49_000_000n,
      reservedUntilMs: NOW_MS + 1_800_000,
      offersMax: 20,
      uniqueMax: 5,
      usableUntilMs: NOW_MS,
    },
    by,
  )
  if (!('offer' in opened)) throw new Error(opened.kind)
  const { offer } = opened
  const signed = sign(offer, name)
  const { payment } = await ledger.payments.claim({ id: `pay_${name}`, offer, signed }, by)
  return { payment, offer }
}

const PAYLOAD = '{"signature":"0xc0ffee"}'

/** A payment as read from a wallet's payload. */
function sign({ requirements }: Offer, name: string): SignedPayment {
  const hex = Buffer.from(name).toString('hex')
  return {
    network: requirements.network,
    method: 'eip3009',
    asset: requirements.asset.toLowerCase(),
    payer: `0x${hex.padStart(40, '0').slice(-40)}`,
    payTo: requirements.payTo,
    amount: BigInt(requirements.amount),
    validAfter: 0n,
    validBefore: BigInt(Math.floor(NOW_MS / 1000) + 600),
    nonce: `0x${hex.padStart(64, '0').slice(-64)}`,
    nonceContract: requirements.asset.toLowerCase(),
    payload: PAYLOAD,
    payloadHash: new Bun.CryptoHasher('sha256').update(PAYLOAD).digest('hex'),
  }
}
