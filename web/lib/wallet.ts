/** Wallets of the browser, found by EIP-6963 and asked by EIP-1193; no chain library is needed. */

import { createStore } from './store.ts'

type Call = { method: string; params?: readonly unknown[] }
export type Wallet = {
  info: { uuid: string; name: string; icon: string }
  provider: { request(call: Call): Promise<unknown> }
}
/** An account that its wallet shows to this page. */
export type Payer = { wallet: Wallet; address: string }

export const walletsStore = createStore<readonly Wallet[]>([])
/** The chosen account, until the page is closed. */
export const payerStore = createStore<Payer | undefined>(undefined)

let isListening = false

/** Asks the wallets of this browser to make themselves known. */
export function findWallets(): void {
  if (!isListening) addEventListener('eip6963:announceProvider', noteWallet)
  isListening = true
  dispatchEvent(new Event('eip6963:requestProvider'))
}

function noteWallet(event: Event): void {
  const { detail } = event as CustomEvent<Wallet>
  const known = walletsStore.get()
  if (known.some(({ info }) => info.uuid === detail.info.uuid)) return
  walletsStore.set([...known, detail])
}

/** A wallet's error as a sentence for the visitor. */
export class WalletError extends Error {}

const REFUSED = 4001
const sentences: Readonly<Record<number, string>> = {
  [REFUSED]: 'You declined in the wallet. Nothing was signed, and nothing was sent.',
  4100: 'The wallet does not show that account to this page. Choose it in the wallet, and connect again.',
  4900: 'The wallet is not connected to any network. Open the wallet and check.',
  4902: 'The wallet does not know this network. Add it in the settings of the wallet, and try again.',
  [-32_002]:
    'The wallet already has an open request. Open the wallet, and confirm or reject the request.',
}

async function ask<T>({ provider }: Wallet, method: string, params: readonly unknown[] = []) {
  try {
    return (await provider.request({ method, params })) as T
  } catch (cause) {
    const { code, message } = cause as { code?: number; message?: string }
    const sentence =
      sentences[code ?? 0] ?? `The wallet returned an error: ${message ?? 'no reason given'}.`
    throw new WalletError(sentence, { cause })
  }
}

export async function connect(wallet: Wallet): Promise<Payer> {
  const [address] = await ask<string[]>(wallet, 'eth_requestAccounts')
  if (address === undefined) throw new WalletError('The wallet showed no account to this page.')
  const payer = { wallet, address }
  payerStore.set(payer)
  return payer
}

const hexOf = (bytes: Uint8Array): string =>
  `0x${Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')}`

export const randomWord = (): string => hexOf(crypto.getRandomValues(new Uint8Array(32)))

export const signMessage = ({ wallet, address }: Payer, message: string): Promise<string> =>
  ask(wallet, 'personal_sign', [hexOf(new TextEncoder().encode(message)), address])

export const signTypedData = ({ wallet, address }: Payer, typedData: object): Promise<string> =>
  ask(wallet, 'eth_signTypedData_v4', [address, JSON.stringify(typedData)])

export const chainIdOf = async (wallet: Wallet): Promise<number> =>
  Number(await ask<string>(wallet, 'eth_chainId'))

export const switchChain = (wallet: Wallet, chainId: number): Promise<unknown> =>
  ask(wallet, 'wallet_switchEthereumChain', [{ chainId: `0x${chainId.toString(16)}` }])

/** A call of a token's contract: the selector, then words of 32 bytes. */
const callData = (selector: string, ...words: (string | bigint)[]): string =>
  selector +
  words
    .map((word) => (typeof word === 'bigint' ? word.toString(16) : word.slice(2).toLowerCase()))
    .map((word) => word.padStart(64, '0'))
    .join('')

async function read({ provider }: Wallet, to: string, data: string): Promise<bigint | undefined> {
  try {
    const params = [{ to, data }, 'latest']
    return BigInt(String(await provider.request({ method: 'eth_call', params })))
  } catch {
    // The wallet's node may be down; the server checks everything again.
    return undefined
  }
}

export const balanceOf = ({ wallet, address }: Payer, token: string) =>
  read(wallet, token, callData('0x70a08231', address))

export const allowanceOf = ({ wallet, address }: Payer, token: string, spender: string) =>
  read(wallet, token, callData('0xdd62ed3e', address, spender))

const RECEIPT_TRIES = 60
const RECEIPT_MS = 2000

/** Lets `spender` take so much of a token, and waits until that is on the chain. */
export async function approve(
  { wallet, address }: Payer,
  { token, spender, amount }: { token: string; spender: string; amount: bigint },
): Promise<void> {
  const data = callData('0x095ea7b3', spender, amount)
  const hash = await ask<string>(wallet, 'eth_sendTransaction', [
    { from: address, to: token, data },
  ])
  for (let tries = 0; tries < RECEIPT_TRIES; tries++) {
    const receipt = await ask<{ status: string } | null>(wallet, 'eth_getTransactionReceipt', [
      hash,
    ])
    if (receipt?.status === '0x1') return
    if (receipt) throw new WalletError('The approval failed on the chain. No payment was made.')
    await new Promise((resolve) => setTimeout(resolve, RECEIPT_MS))
  }
  throw new WalletError('The approval is not on the chain yet. Wait for it in the wallet.')
}
