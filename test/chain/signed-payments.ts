import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import type { LittlePolygon } from '#dev/sandbox/little-polygon.ts'
import type { SignedPayment } from '#src/domain/selling/payment.ts'

import { permitTypes, plainPermitTypes, transferTypes } from '../support/typed-data.ts'

const usdc = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'
const usdt = '0xc2132D05D31c914a87C6611C10748AEb04B58e8F'
export const permit2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
export const permit2Proxy = '0x402085c248EeA27D92E8b30b2C58ed07f9E20001'
export const multicall = '0xcA11bde05977b3631167028862bE2a173976CA11'

export const AMOUNT = 48_990_137n

export type Draft = { signed: SignedPayment; signature: Hex }

export type Wish = Partial<
  Pick<SignedPayment, 'payer' | 'payTo' | 'amount' | 'validAfter' | 'validBefore' | 'nonce'>
>

/**
 * What a payer signs for the payee of a chain, unless something else is asked
 * for. The nonce is a fresh one.
 */
async function draftOf(chain: LittlePolygon, wish: Wish) {
  return {
    network: chain.network,
    payer: chain.payer.address.toLowerCase(),
    payTo: chain.payee.address.toLowerCase(),
    amount: AMOUNT,
    validAfter: 0n,
    validBefore: BigInt((await chain.time()) + 600),
    nonce: generatePrivateKey() as string,
    payloadHash: '',
    payload: '',
    ...wish,
  } as const
}

/** A payment in USDC (EIP-3009). */
export async function signUsdc(
  chain: LittlePolygon,
  wish: Wish = {},
  key = chain.payer.key,
): Promise<Draft> {
  const asset = usdc.toLowerCase()
  const fields = await draftOf(chain, wish)
  const signed: SignedPayment = { ...fields, method: 'eip3009', asset, nonceContract: asset }
  const signature = await privateKeyToAccount(key).signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId: 137, verifyingContract: usdc },
    types: transferTypes,
    primaryType: 'TransferWithAuthorization',
    message: {
      from: signed.payer as Hex,
      to: signed.payTo as Hex,
      value: signed.amount,
      validAfter: signed.validAfter,
      validBefore: signed.validBefore,
      nonce: signed.nonce as Hex,
    },
  })
  return { signed, signature }
}

/** A payment in USDT (Permit2). */
export async function signUsdt(chain: LittlePolygon, wish: Wish = {}): Promise<Draft> {
  const fields = await draftOf(chain, wish)
  const signed: SignedPayment = {
    ...fields,
    nonce: BigInt(fields.nonce).toString(),
    method: 'permit2',
    asset: usdt.toLowerCase(),
    nonceContract: permit2.toLowerCase(),
  }
  const { permit, witness } = permitOf(signed)
  const signature = await privateKeyToAccount(chain.payer.key).signTypedData({
    domain: { name: 'Permit2', chainId: 137, verifyingContract: permit2 },
    types: permitTypes,
    primaryType: 'PermitWitnessTransferFrom',
    message: { ...permit, spender: permit2Proxy, witness },
  })
  return { signed, signature }
}

const permitOf = ({ asset, amount, nonce, validBefore, validAfter, payTo }: SignedPayment) => ({
  permit: {
    permitted: { token: asset as Hex, amount },
    nonce: BigInt(nonce),
    deadline: validBefore,
  },
  witness: { to: payTo as Hex, validAfter },
})

/** Somebody sends a payment to the chain; the hash. */
export function settle(chain: LittlePolygon, { signed, signature }: Draft): Promise<Hex> {
  const { payer, payTo, amount, validAfter, validBefore, nonce } = signed
  if (signed.method === 'permit2') {
    return send(chain, { to: permit2Proxy, data: settleCall({ signed, signature }) })
  }
  const authorization = {
    from: payer as Hex,
    to: payTo as Hex,
    value: String(amount),
    validAfter: String(validAfter),
    validBefore: String(validBefore),
    nonce: nonce as Hex,
  }
  return chain.frontRun({ authorization, signature })
}

/** Somebody sends payments through another contract, all in one transaction. */
export function settleTogether(chain: LittlePolygon, drafts: readonly Draft[]): Promise<Hex> {
  const calls = drafts.map((draft) => ({
    target: permit2Proxy,
    allowFailure: false,
    callData: settleCall(draft),
  }))
  const data = encodeFunctionData({
    abi: parseAbi([
      'struct Call { address target; bool allowFailure; bytes callData; }',
      'function aggregate3(Call[] calls)',
    ]),
    args: [calls as never],
  })
  return send(chain, { to: multicall, data })
}

/**
 * Another shop than ours takes a token of a payer through Permit2, and a
 * nonce of his with it; the hash.
 */
export async function spendElsewhere(
  chain: LittlePolygon,
  { key, nonce, symbol }: { key: Hex; nonce: string; symbol: 'USDC' | 'USDT' },
): Promise<Hex> {
  const payer = privateKeyToAccount(key)
  const token = symbol === 'USDC' ? usdc : usdt
  if (symbol === 'USDC') {
    await chain.setGas(payer.address, 10n ** 18n)
    await chain.rpc('anvil_impersonateAccount', [payer.address])
    const data = encodeFunctionData({
      abi: parseAbi(['function approve(address spender, uint256 value)']),
      args: [permit2, 10n ** 12n],
    })
    await chain.rpc('eth_sendTransactionSync', [{ from: payer.address, to: token, data }])
  }
  const permit = {
    permitted: { token, amount: 1n },
    nonce: BigInt(nonce),
    deadline: BigInt((await chain.time()) + 600),
  } as const
  const signature = await payer.signTypedData({
    domain: { name: 'Permit2', chainId: 137, verifyingContract: permit2 },
    types: plainPermitTypes,
    primaryType: 'PermitTransferFrom',
    message: { ...permit, spender: chain.facilitator.address },
  })
  const data = encodeFunctionData({
    abi: parseAbi([
      'struct Permitted { address token; uint256 amount; }',
      'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
      'struct Details { address to; uint256 requestedAmount; }',
      'function permitTransferFrom(Permit permit, Details details, address owner, bytes signature)',
    ]),
    args: [permit, { to: `0x${'e1'.repeat(20)}`, requestedAmount: 1n }, payer.address, signature],
  })
  return send(chain, { to: permit2, data })
}

const settleCall = ({ signed, signature }: Draft): Hex => {
  const { permit, witness } = permitOf(signed)
  return encodeFunctionData({
    abi: parseAbi([
      'struct Permitted { address token; uint256 amount; }',
      'struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }',
      'struct Witness { address to; uint256 validAfter; }',
      'function settle(Permit permit, address owner, Witness witness, bytes signature)',
    ]),
    args: [permit, signed.payer as Hex, witness, signature],
  })
}

async function send(chain: LittlePolygon, call: { to: Hex; data: Hex }): Promise<Hex> {
  const transaction = { from: chain.facilitator.address, gas: '0x4c4b40', ...call }
  const receipt = await chain.rpc('eth_sendTransactionSync', [transaction])
  const { status, transactionHash } = receipt as { status: string; transactionHash: Hex }
  if (status !== '0x1') throw new Error('The settlement was undone')
  return transactionHash
}
