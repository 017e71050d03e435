import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'

import { createRpc } from '#src/chain/rpc.ts'
import { createSanctionsOracle } from '#src/chain/sanctions-oracle.ts'
import { homeChain } from '#src/domain/selling/payment-chain.ts'

import { type Anvil, hasAnvil, startAnvil } from '../support/anvil.ts'
import {
  emptyAnswerCode,
  listCode,
  revertingCode,
  selectors,
  toWord,
  twoCode,
} from '../support/evm-code.ts'

const chainalysis = '0x40C57923924B5c5c5455c48D93317139ADDaC8fb'
const usdc = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359'
const usdt = '0xc2132D05D31c914a87C6611C10748AEb04B58e8F'
/** Made up. */
const address = `0xAbCd${'00'.repeat(16)}Ef01`

const oracleCode = listCode(selectors['isSanctioned(address)'])
const usdcCode = listCode(selectors['isBlacklisted(address)'])
const usdtCode = listCode(selectors['isBlocked(address)'])

describe.skipIf(!hasAnvil)('isSanctioned', () => {
  let anvil: Anvil
  let pristine: unknown
  beforeAll(async () => {
    anvil = await startAnvil()
  })
  beforeEach(async () => {
    if (pristine !== undefined) await anvil.rpc('evm_revert', [pristine])
    pristine = await anvil.rpc('evm_snapshot')
  })
  afterAll(() => anvil.stop())

  const put = (contract: string, code: string) => anvil.rpc('anvil_setCode', [contract, code])
  const list = (contract: string, listed = address) =>
    anvil.rpc('anvil_setStorageAt', [contract, toWord(listed), toWord('1')])
  const ask = (asked = address) =>
    createSanctionsOracle(createRpc({ chain: homeChain, url: anvil.url })).isSanctioned(asked)
  const putAll = () =>
    Promise.all([put(chainalysis, oracleCode), put(usdc, usdcCode), put(usdt, usdtCode)])

  test('default: every contract answers, none names the address', async () => {
    await putAll()
    await list(chainalysis, `0x${'11'.repeat(20)}`)
    expect(await ask()).toEqual({ oracle: 'clear', issuers: 'clear' })
  })

  test('default: the oracle names it, in whatever case it is asked', async () => {
    await putAll()
    await list(chainalysis)
    expect(await ask()).toEqual({ oracle: 'hit', issuers: 'clear' })
    expect(await ask(address.toLowerCase())).toEqual({ oracle: 'hit', issuers: 'clear' })
  })

  test.each([usdc, usdt])('behavior: one issuer is enough: %s', async (issuer) => {
    await putAll()
    await list(issuer)
    expect(await ask()).toEqual({ oracle: 'clear', issuers: 'hit' })
  })

  test('error: a chain without the contracts is not a clear one', async () => {
    expect(await ask()).toEqual({ oracle: 'absent', issuers: 'absent' })
  })

  test('behavior: one issuer answers for both, unless the other names it', async () => {
    await put(usdc, usdcCode)
    expect(await ask()).toEqual({ oracle: 'absent', issuers: 'clear' })
    await put(usdt, revertingCode)
    expect(await ask()).toEqual({ oracle: 'absent', issuers: 'clear' })
    await list(usdc)
    expect(await ask()).toEqual({ oracle: 'absent', issuers: 'hit' })
  })

  test.each([
    ['empty data', emptyAnswerCode],
    ['a revert', revertingCode],
    ['no boolean', twoCode],
    ['another function', usdcCode],
  ])('error: %s is no answer', async (_, code) => {
    await put(chainalysis, code)
    await put(usdt, code)
    expect(await ask()).toEqual({ oracle: 'silent', issuers: 'silent' })
  })

  test('error: a wrong chain is no answer, not even for a hit', async () => {
    const other = await startAnvil({ chainId: 1 })
    try {
      await other.rpc('anvil_setCode', [chainalysis, oracleCode])
      const oracle = createSanctionsOracle(createRpc({ chain: homeChain, url: other.url }))
      expect(await oracle.isSanctioned(address)).toEqual({ oracle: 'silent', issuers: 'silent' })
    } finally {
      await other.stop()
    }
  })

  test('error: a dead RPC is no answer', async () => {
    const oracle = createSanctionsOracle(createRpc({ chain: homeChain, url: 'http://127.0.0.1:1' }))
    expect(await oracle.isSanctioned(address)).toEqual({ oracle: 'silent', issuers: 'silent' })
  })
})
