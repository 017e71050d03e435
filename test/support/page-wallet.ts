/** A wallet in a page, announced by EIP-6963, with the key and chain of a test. */
import type { Page } from 'playwright-core'
import { privateKeyToAccount } from 'viem/accounts'

import type { ReachedPolygon } from '#dev/sandbox/little-polygon.ts'

type Call = { method: string; params?: readonly unknown[] }

export type PageWallet = {
  /** Each call of the page, except those that read the chain. */
  asked: string[]
  /** The last data signed with `eth_signTypedData_v4`. */
  signed: () => Record<string, unknown>
  /** Refuses the next request of this kind, like a visitor. */
  refuse: (method: string) => void
  /** The current network of the wallet. */
  chainId: () => number
}

const ICON =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"%3E%3Ccircle cx="4" cy="4" r="4" fill="%237a5cff"/%3E%3C/svg%3E'

/** Adds the wallet. Call it before the page is loaded. */
export async function addWallet(
  page: Page,
  {
    chain,
    key,
    onChain = chain.chainId,
  }: { chain: ReachedPolygon; key: `0x${string}`; onChain?: number },
): Promise<PageWallet> {
  const account = privateKeyToAccount(key)
  const asked: string[] = []
  const refused = new Set<string>()
  let chainId = onChain
  let signed: Record<string, unknown> = {}

  // Each method has parameters of its own.
  // biome-ignore lint/suspicious/noExplicitAny: what a page sends to a wallet has no type
  const answers: Record<string, (params: any) => unknown> = {
    eth_requestAccounts: () => [account.address],
    eth_chainId: () => `0x${chainId.toString(16)}`,
    personal_sign: ([message]) => account.signMessage({ message: { raw: message } }),
    eth_signTypedData_v4: ([address, json]) => {
      const typed = JSON.parse(json)
      // Like real wallets: the domain must name the current network.
      if (typed.domain.chainId !== chainId)
        throw new Error('Provided chainId must match the active chainId')
      if (address !== account.address) throw Object.assign(new Error('unknown'), { code: 4100 })
      signed = typed
      const { EIP712Domain: _, ...types } = typed.types
      return account.signTypedData({ ...typed, types })
    },
    wallet_switchEthereumChain: ([{ chainId: wanted }]) => {
      chainId = Number(wanted)
      return null
    },
    eth_sendTransaction: async (params) => {
      await chain.setGas(account.address, 10n ** 18n)
      await chain.rpc('anvil_impersonateAccount', [account.address])
      return chain.rpc('eth_sendTransaction', params)
    },
  }
  await page.exposeFunction('askTestWallet', async ({ method, params = [] }: Call) => {
    try {
      if (method in answers) asked.push(method)
      if (refused.delete(method)) {
        return { error: { code: 4001, message: 'User rejected the request.' } }
      }
      const answer = answers[method]
      return { result: await (answer ? answer(params) : chain.rpc(method, params)) }
    } catch (error) {
      const { code = -32_603, message } = error as { code?: number; message: string }
      return { error: { code, message } }
    }
  })
  await page.addInitScript(announce, ICON)
  return {
    asked,
    signed: () => signed,
    refuse: (method) => refused.add(method),
    chainId: () => chainId,
  }
}

/** Runs in the page. */
function announce(icon: string): void {
  type Answer = { result?: unknown; error?: { code: number; message: string } }
  const page = globalThis as unknown as {
    askTestWallet(call: unknown): Promise<Answer>
  } & EventTarget
  const provider = {
    async request(call: unknown) {
      const { result, error } = await page.askTestWallet(call)
      if (error) throw Object.assign(new Error(error.message), { code: error.code })
      return result
    },
  }
  const info = {
    uuid: '350670db-19fa-4704-a166-e52e178b59d2',
    name: 'Test Wallet',
    icon,
    rdns: 'org.example',
  }
  const say = () =>
    page.dispatchEvent(
      new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }),
    )
  page.addEventListener('eip6963:requestProvider', say)
  say()
}
