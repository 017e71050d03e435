/**
 * A local chain that payments cannot tell from Polygon, or from another supported chain: it has the
 * chain id, USDC with the issuer's code, USDT, Permit2 and the sanctions list, each at its real
 * address. The money is not real.
 */
import { type Abi, encodeFunctionData, type Hex, keccak256, maxUint256, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'

import {
  homeChain,
  type Network,
  type PaymentChain,
  type TokenSymbol,
} from '#src/domain/selling/payment-chain.ts'

import { addresses, usdcOn } from './addresses.ts'
import { type Anvil, reachAnvil, startAnvil } from './anvil.ts'
import { type ChainControls, controlChain } from './chain-controls.ts'
import { permit2Abi, sanctionsAbi, usdcAbi, usdtAbi } from './contract-abis.ts'
import { knownCode, placedCode } from './placed-code.ts'

export type SandboxWallet = { address: Hex; key: Hex }

/** A signed EIP-3009 transfer in the format of x402 payloads. */
export type SignedTransfer = {
  authorization: {
    from: Hex
    to: Hex
    value: string
    validAfter: string
    validBefore: string
    nonce: Hex
  }
  signature: Hex
}

export type LittlePolygonOptions = {
  /** Chain to imitate; by default Polygon. A chain without USDT gets it at Polygon's address. */
  chain?: PaymentChain
  /** A block is `finalized` when two epochs are above it; with 0, each block is final at once. */
  slotsInAnEpoch?: number
  /** Private keys of the funded wallets, by default the same on every such chain. */
  keys?: { payer?: Hex; facilitator?: Hex; payee?: Hex }
}

/**
 * Amounts are in atomic units. All actions except `stop` wait for a block, so the chain must be
 * mining.
 */
type Actions = {
  mintUsdc(to: string, amount: bigint): Promise<void>
  mintUsdt(to: string, amount: bigint): Promise<void>
  balanceOf(symbol: TokenSymbol, owner: string): Promise<bigint>
  /** A plain transfer, without an offer. */
  transfer(symbol: TokenSymbol, transfer: { key: Hex; to: string; amount: bigint }): Promise<Hex>
  /** Sets the gas balance of an address, in wei. */
  setGas(address: string, wei: bigint): Promise<void>
  /** Lets Permit2 spend the USDT of a wallet; an amount of 0 revokes it. */
  approvePermit2(key: Hex, amount?: bigint): Promise<void>
  /** Adds an address to the block list of the token's issuer. */
  block(symbol: TokenSymbol, address: string): Promise<void>
  unblock(symbol: TokenSymbol, address: string): Promise<void>
  /** Pauses all transfers of USDC, as Circle can. */
  pauseUsdc(): Promise<void>
  unpauseUsdc(): Promise<void>
  /** Adds an address to the list of the sanctions oracle. */
  sanction(address: string): Promise<void>
  unsanction(address: string): Promise<void>
  /** Cancels an EIP-3009 nonce of the payer. */
  cancelAuthorization(key: Hex, nonce: Hex): Promise<Hex>
  /** Invalidates a Permit2 nonce of the payer. */
  invalidatePermit2Nonce(key: Hex, nonce: bigint): Promise<Hex>
  /** Submits a signed USDC transfer as a third party; returns the hash. */
  frontRun(signed: SignedTransfer): Promise<Hex>
}

type Node = Omit<Anvil, 'stop'>

/** Actions on such a chain from any process of this machine. */
export type ReachedPolygon = Node &
  Actions & {
    chainId: number
    network: Network
    /** The imitated chain. */
    chain: PaymentChain
  }

export type LittlePolygon = Anvil &
  ChainControls &
  ReachedPolygon & {
    /** Has 1,000 USDC, 1,000 USDT and gas, but no approvals. */
    payer: SandboxWallet
    /** Has gas only. */
    facilitator: SandboxWallet
    /** Has no balance. */
    payee: SandboxWallet
  }

type Call = { from: Hex; to: Hex; abi: Abi; name: string; args?: readonly unknown[] }

const FUNDS = 1_000_000_000n
const GAS = 10n ** 20n
/** Owner of the tokens: the account whose key the node has. */
const owner = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

const walletOf = (key: Hex): SandboxWallet => ({ key, address: privateKeyToAccount(key).address })
const keyOf = (name: string): Hex => keccak256(toHex(`bookfeed sandbox ${name}`))

/** Starts the chain. Call `stop` to end it; it ends with this process at the latest. */
export async function startLittlePolygon({
  chain = homeChain,
  slotsInAnEpoch = 1,
  keys = {},
}: LittlePolygonOptions = {}): Promise<LittlePolygon> {
  const options = ['--accounts', '1', '--auto-impersonate', '--slots-in-an-epoch']
  // Runs in parallel; an error is thrown below, when the node can be stopped.
  void knownCode().catch(() => {})
  const { chainId, network } = chain
  const node = await startAnvil({ chainId, options: [...options, String(slotsInAnEpoch)] })
  try {
    await placeContracts(node, [...placedCode(chain), ...(await knownCode())])
    await initializeUsdc(node, usdcOn(chain))
    const actions = actOn(node, chain)
    const [payer, facilitator, payee] = [
      walletOf(keys.payer ?? keyOf('payer')),
      walletOf(keys.facilitator ?? keyOf('facilitator')),
      walletOf(keys.payee ?? keyOf('payee')),
    ]
    await actions.mintUsdc(payer.address, FUNDS)
    await actions.mintUsdt(payer.address, FUNDS)
    await Promise.all([payer, facilitator].map(({ address }) => actions.setGas(address, GAS)))
    const controls = controlChain(node, slotsInAnEpoch)
    const wallets = { payer, facilitator, payee }
    return { ...node, ...controls, ...actions, ...wallets, chainId, network, chain }
  } catch (error) {
    await node.stop()
    throw error
  }
}

/** The chain of a sandbox in another process, which also stops it. */
export function reachLittlePolygon(url: string): ReachedPolygon {
  const node = reachAnvil(url)
  const { chainId, network } = homeChain
  return { ...node, ...actOn(node, homeChain), chainId, network, chain: homeChain }
}

async function placeContracts(
  { rpc }: Anvil,
  contracts: Awaited<ReturnType<typeof knownCode>>,
): Promise<void> {
  const place = async ({ address, code, storage = [] }: (typeof contracts)[number]) => {
    await rpc('anvil_setCode', [address, code])
    for (const [slot, value] of storage) await rpc('anvil_setStorageAt', [address, slot, value])
  }
  await Promise.all(contracts.map(place))
}

/** Sends a call from any address; returns the hash. Throws if the call reverts. */
async function send({ rpc }: Node, { from, to, abi, name, args = [] }: Call): Promise<Hex> {
  const data = encodeFunctionData({ abi, functionName: name, args })
  const receipt = await rpc('eth_sendTransactionSync', [{ from, to, data, gas: '0x4c4b40' }])
  const { status, transactionHash } = receipt as { status: string; transactionHash: Hex }
  if (status === '0x1') return transactionHash
  // The receipt has no reason; repeating the call on the current state usually gives one.
  await rpc('eth_call', [{ from, to, data }, 'latest'])
  throw new Error(`${name} was undone`)
}

/** Initializes USDC as Circle did, with one owner for all roles. */
async function initializeUsdc(node: Anvil, usdc: Hex): Promise<void> {
  const offices = [owner, owner, owner, owner]
  const calls: [string, readonly unknown[]][] = [
    ['initialize', ['USD Coin', 'USDC', 'USD', 6, ...offices]],
    ['initializeV2', ['USD Coin']],
    ['initializeV2_1', [owner]],
    ['initializeV2_2', [[], 'USDC']],
    ['configureMinter', [owner, maxUint256]],
  ]
  for (const [name, args] of calls) {
    await send(node, { from: owner, to: usdc, abi: usdcAbi, name, args })
  }
}

function actOn(node: Node, chain: PaymentChain): Actions {
  const tokens = {
    USDC: { to: usdcOn(chain), abi: usdcAbi, block: 'blacklist', unblock: 'unBlacklist' },
    USDT: {
      to: addresses.usdt,
      abi: usdtAbi,
      block: 'addToBlockedList',
      unblock: 'removeFromBlockedList',
    },
  } as const
  const usdc = async (name: string, ...args: unknown[]) =>
    send(node, { from: owner, to: tokens.USDC.to, abi: usdcAbi, name, args })
  const usdt = async (name: string, ...args: unknown[]) =>
    send(node, { from: owner, to: addresses.usdt, abi: usdtAbi, name, args })
  const list = async (name: string, ...args: unknown[]) =>
    send(node, { from: owner, to: chain.sanctionsOracle as Hex, abi: sanctionsAbi, name, args })
  const setGas = async (address: string, wei: bigint) => {
    await node.rpc('anvil_setBalance', [address, toHex(wei)])
  }
  /** Sends a call as the wallet, after funding it with gas if needed. */
  const sendAs = async (key: Hex, call: Omit<Call, 'from'>) => {
    const from = privateKeyToAccount(key).address
    const balance = BigInt(String(await node.rpc('eth_getBalance', [from, 'latest'])))
    if (balance < GAS / 100n) await setGas(from, GAS)
    return send(node, { from, ...call })
  }
  return {
    setGas,
    mintUsdc: async (to, amount) => void (await usdc('mint', to, amount)),
    mintUsdt: async (to, amount) => void (await usdt('mint', to, amount)),
    balanceOf: async (symbol, account) => {
      const { to, abi } = tokens[symbol]
      const data = encodeFunctionData({
        abi: abi as Abi,
        functionName: 'balanceOf',
        args: [account],
      })
      return BigInt(String(await node.rpc('eth_call', [{ to, data }, 'latest'])))
    },
    transfer: async (symbol, { key, to, amount }) =>
      sendAs(key, { ...tokens[symbol], name: 'transfer', args: [to, amount] }),
    approvePermit2: async (key, amount = maxUint256) => {
      const args = [addresses.permit2, amount]
      await sendAs(key, { ...tokens.USDT, name: 'approve', args })
    },
    block: async (symbol, address) => {
      const { to, abi, block } = tokens[symbol]
      await send(node, { from: owner, to, abi, name: block, args: [address] })
    },
    unblock: async (symbol, address) => {
      const { to, abi, unblock } = tokens[symbol]
      await send(node, { from: owner, to, abi, name: unblock, args: [address] })
    },
    pauseUsdc: async () => void (await usdc('pause')),
    unpauseUsdc: async () => void (await usdc('unpause')),
    sanction: async (address) => void (await list('addToSanctionsList', [address])),
    unsanction: async (address) => void (await list('removeFromSanctionsList', [address])),
    cancelAuthorization: async (key, nonce) => {
      const { address } = privateKeyToAccount(key)
      return usdc('cancelAuthorization', address, nonce, await signCancel(chain, key, nonce))
    },
    invalidatePermit2Nonce: async (key, nonce) => {
      const args = [nonce >> 8n, 1n << (nonce & 255n)]
      const name = 'invalidateUnorderedNonces'
      return sendAs(key, { to: addresses.permit2, abi: permit2Abi, name, args })
    },
    frontRun: async ({ authorization: { from, to, value, ...rest }, signature }) => {
      const { validAfter, validBefore, nonce } = rest
      const times = [BigInt(validAfter), BigInt(validBefore)]
      return usdc('transferWithAuthorization', from, to, BigInt(value), ...times, nonce, signature)
    },
  }
}

const signCancel = (chain: PaymentChain, key: Hex, nonce: Hex): Promise<Hex> => {
  const account = privateKeyToAccount(key)
  const domain = { name: 'USD Coin', version: '2', chainId: chain.chainId } as const
  return account.signTypedData({
    domain: { ...domain, verifyingContract: usdcOn(chain) },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: account.address, nonce },
  })
}
