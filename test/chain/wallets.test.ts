import { afterAll, beforeAll, describe, expect, test } from 'bun:test'

import { hashMessage } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'

import { createRpc } from '#src/chain/rpc.ts'
import { createWallets } from '#src/chain/wallets.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'
import type { SignIn } from '#src/domain/selling/wallet.ts'

import { type Anvil, hasAnvil, startAnvil } from '../support/anvil.ts'
import { revertingCode, toWord, walletCode } from '../support/evm-code.ts'

const plain = createWallets(undefined)
const account = privateKeyToAccount(generatePrivateKey())
const message = 'What is signed.'

/** Order of secp256k1. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The other signature that the same key could have made: s mirrored, v flipped. */
function mirror(signature: string): string {
  const s = N - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

const signIn: SignIn = {
  domain: 'api.example.com',
  address: account.address.toLowerCase(),
  statement: 'Sign in to example.',
  uri: 'https://api.example.com',
  chainId: 137,
  nonce: 'abcdefgh12345678',
  issuedMs: Date.UTC(2026, 10, 21, 1, 2, 3, 4),
  expiresMs: Date.UTC(2026, 10, 21, 1, 7, 3, 4),
}

describe('writeSignIn', () => {
  test('default: writes the message of EIP-4361 to the letter', async () => {
    expect(await plain.writeSignIn(signIn))
      .toBe(`api.example.com wants you to sign in with your Ethereum account:
${account.address}

Sign in to example.

URI: https://api.example.com
Version: 1
Chain ID: 137
Nonce: abcdefgh12345678
Issued At: 2026-11-21T01:02:03.004Z
Expiration Time: 2026-11-21T01:07:03.004Z`)
  })

  test.each(['localhost', '127.0.0.1:3000'])('behavior: signs in to %s', async (domain) => {
    const text = await plain.writeSignIn({ ...signIn, domain, uri: `http://${domain}` })
    expect(text).toStartWith(`${domain} wants you`)
  })

  test('error: refuses a statement that would forge a field', async () => {
    const statement = 'Hello\n\nURI: https://evil.example'
    const fault: unknown = await plain.writeSignIn({ ...signIn, statement }).catch((e) => e)
    expect(String(fault)).toContain('Statement must not include')
  })
})

describe('readSignIn', () => {
  test('default: reads what was written, the address checksummed', async () => {
    const read = await plain.readSignIn(await plain.writeSignIn(signIn))
    expect(read).toEqual({ ...signIn, address: account.address })
  })

  test('error: leaves out what is malformed or missing', async () => {
    const text = await plain.writeSignIn(signIn)
    const broken = text.replace('2026-11-21T01:02:03.004Z', 'yesterday').split('\nExpiration')[0]
    const { issuedMs: _, expiresMs: __, ...rest } = { ...signIn, address: account.address }
    expect(await plain.readSignIn(broken ?? '')).toEqual(rest)
    expect(await plain.readSignIn('Hello')).toEqual({})
    expect(await plain.readSignIn('')).toEqual({})
  })
})

describe('checkSignature, without an RPC', async () => {
  const signature = await account.signMessage({ message })
  const check = (changed: Partial<Record<'address' | 'message' | 'signature', string>> = {}) =>
    plain.checkSignature({ address: account.address, message, signature, ...changed })

  test('default: knows the signature of a plain account, whatever the case', async () => {
    expect(await check()).toBe('valid')
    expect(await check({ address: account.address.toLowerCase() })).toBe('valid')
    expect(await check({ signature: `0x${signature.slice(2).toUpperCase()}` })).toBe('valid')
  })

  test('error: anything else could be that of a contract', async () => {
    const other = privateKeyToAccount(generatePrivateKey())
    for (const changed of [
      { message: `${message} ` },
      { address: other.address },
      { signature: await other.signMessage({ message }) },
      { signature: signature.slice(0, -2) },
      { signature: `${signature}00` },
      { signature: `${signature.slice(0, -2)}1d` },
      { signature: `0x${'00'.repeat(65)}` },
      { signature: `0x${'ff'.repeat(65)}` },
    ]) {
      expect([changed, await check(changed)]).toEqual([changed, 'contract_unsupported'])
    }
  })

  test('error: a mirrored signature is not that of the account', async () => {
    expect(await check({ signature: mirror(mirror(signature)) })).toBe('valid')
    expect(await check({ signature: mirror(signature) })).toBe('contract_unsupported')
  })

  test('error: what is not hex is no signature, what is not an address never signed', async () => {
    for (const changed of [
      { signature: '' },
      { signature: '0x' },
      { signature: signature.slice(2) },
      { signature: `${signature}0` },
      { signature: `${signature.slice(0, -1)}g` },
      { signature: `0x${'00'.repeat(8193)}` },
      { address: '' },
      { address: account.address.slice(0, -1) },
    ]) {
      expect([changed, await check(changed)]).toEqual([changed, 'invalid'])
    }
  })
})

describe('checkSignature, dead RPC', () => {
  const wallets = createWallets(createRpc({ chain: homeChain, url: 'http://127.0.0.1:1' }))

  test('default: a plain account needs no RPC', async () => {
    const signature = await account.signMessage({ message })
    expect(await wallets.checkSignature({ address: account.address, message, signature })).toBe(
      'valid',
    )
  })

  test('error: an outage is not told as a forged signature', async () => {
    const signature = await account.signMessage({ message: 'another' })
    expect(await wallets.checkSignature({ address: account.address, message, signature })).toBe(
      'unavailable',
    )
  })
})

describe.skipIf(!hasAnvil)('checkSignature, contract wallet', () => {
  const wallet = `0x${'77'.repeat(20)}`
  const signature = `0x${'5a'.repeat(70)}`
  let anvil: Anvil
  beforeAll(async () => {
    anvil = await startAnvil()
    await anvil.rpc('anvil_setCode', [wallet, walletCode])
    const slot = toWord(hashMessage(message))
    await anvil.rpc('anvil_setStorageAt', [wallet, slot, toWord('5a'.repeat(32))])
  })
  afterAll(() => anvil.stop())

  const check = (changed: Partial<Record<'address' | 'message' | 'signature', string>> = {}) =>
    createWallets(createRpc({ chain: homeChain, url: anvil.url })).checkSignature({
      address: wallet,
      message,
      signature,
      ...changed,
    })

  test('default: the contract accepts, whatever the length of the signature', async () => {
    expect(await check()).toBe('valid')
    expect(await check({ signature: `0x${'5a'.repeat(65)}` })).toBe('valid')
  })

  test('error: the contract does not accept', async () => {
    expect(await check({ message: 'another' })).toBe('invalid')
    expect(await check({ signature: `0x${'5b'.repeat(70)}` })).toBe('invalid')
  })

  test('error: where there is no contract, nobody signed', async () => {
    expect(await check({ address: `0x${'78'.repeat(20)}` })).toBe('invalid')
    const other = await account.signMessage({ message: 'another' })
    expect(await check({ address: account.address, signature: other })).toBe('invalid')
  })

  test('error: a contract that reverts does not accept', async () => {
    const reverting = `0x${'79'.repeat(20)}`
    await anvil.rpc('anvil_setCode', [reverting, revertingCode])
    expect(await check({ address: reverting })).toBe('invalid')
  })

  test('error: the chain is another', async () => {
    const other = await startAnvil({ chainId: 1 })
    try {
      await other.rpc('anvil_setCode', [wallet, walletCode])
      const wallets = createWallets(createRpc({ chain: homeChain, url: other.url }))
      expect(await wallets.checkSignature({ address: wallet, message, signature })).toBe(
        'unavailable',
      )
    } finally {
      await other.stop()
    }
  })
})
