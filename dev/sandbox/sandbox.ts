/** `bookfeed sandbox`: a server that accepts payments in play money. */

import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

import { privateKeyToAccount } from 'viem/accounts'

import { readConfig } from '#src/config/config.ts'
import { FREE_TIER_ID } from '#src/domain/selling/tier.ts'
import { byOperator } from '#src/ledger/actor.ts'
import type { Ledger } from '#src/ledger/ledger.ts'
import { issueKey } from '#src/operator/keys.ts'
import { describeFolderFault } from '#src/platform/folder.ts'
import { commandError } from '#src/server/command-end.ts'
import { type CliContext, variablesOf } from '#src/server/extension.ts'
import { describeServer } from '#src/server/greeting.ts'
import { ledgerPathOf } from '#src/server/open-data-folder.ts'
import { serve } from '#src/server/serve.ts'

import { hasAnvil } from './anvil.ts'
import { renderBuyScript, renderKeylessScript } from './buy-script.ts'
import { listMissingPackages, packagesFolder } from './dev-packages.ts'
import type { LittlePolygon } from './little-polygon.ts'

const SCRIPT = 'buy.ts'
const KEYLESS_SCRIPT = 'buy-without-key.ts'
/** 10 USDC. */
const NEWCOMER_FUNDS = 10_000_000n
const KEY_BYTES = 32
const BLOCK_EVERY_MS = 30_000
const CHECK_MS_MAX = 60_000
/** Variables of the environment that a sandbox accepts; all others are for real servers. */
const kept = [
  'BOOKFEED_PORT',
  'BOOKFEED_HOST',
  'BOOKFEED_LOG',
  'BOOKFEED_SAMPLE',
  'BOOKFEED_KEYLESS',
] as const

/** Runs the server until the signal of the context is aborted. */
export async function sandbox(context: CliContext, data: string | undefined): Promise<void> {
  const root = findPackages()
  const folder = openFolder(data)
  try {
    const { startLittlePolygon } = await import('./little-polygon.ts')
    const payer = `0x${Buffer.from(context.randomBytes(KEY_BYTES)).toString('hex')}` as const
    // Each transaction gets its own block, which is final at once.
    const chain = await startLittlePolygon({ slotsInAnEpoch: 0, keys: { payer } })
    // Without new blocks, the server would report a broken node or clock.
    const mining = setInterval(() => void chain.mine().catch(() => undefined), BLOCK_EVERY_MS)
    try {
      await serveOn(context, { chain, folder, root })
    } finally {
      clearInterval(mining)
      await chain.stop()
    }
  } finally {
    if (data === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

/** Folder of the packages. A production install lacks those of the sandbox. */
function findPackages(): string {
  const missing = listMissingPackages()
  if (missing.length === 0 && hasAnvil) return packagesFolder
  if (missing.length === 0) {
    throw commandError('A sandbox needs anvil, which has no binary for this platform.')
  }
  throw commandError(
    `A sandbox needs packages that this install does not have: ${missing.join(', ')}. Run bun install in a checkout of the project, without --production.`,
  )
}

function openFolder(data: string | undefined): string {
  if (data === undefined) return mkdtempSync(join(tmpdir(), 'bookfeed-sandbox-'))
  // Its payments would be of an earlier chain or, worse, of the real one.
  if (existsSync(ledgerPathOf(data))) {
    throw commandError(
      `${data} has a ledger already. Every sandbox starts from scratch: choose an empty folder.`,
    )
  }
  try {
    mkdirSync(data, { recursive: true })
  } catch (cause) {
    const reason = describeFolderFault(data, cause)
    throw commandError(`--data: ${data} cannot be written (${reason}).`, { cause })
  }
  return resolve(data)
}

type Ground = { chain: LittlePolygon; folder: string; root: string }

async function serveOn(context: CliContext, ground: Ground): Promise<void> {
  const { chain, folder } = ground
  const env: Record<string, string | undefined> = {
    ...Object.fromEntries(kept.map((name) => [name, context.env[name]])),
    BOOKFEED_DATA: folder,
    BOOKFEED_RECORD: 'off',
    BOOKFEED_RPC_URL: chain.url,
    BOOKFEED_PAY_TO: chain.payee.address,
    BOOKFEED_FACILITATOR: 'local',
    BOOKFEED_GAS_KEY: chain.facilitator.key,
  }
  const config = readConfig(env, variablesOf(context.extensions))
  const newcomer = env.BOOKFEED_KEYLESS === 'on' ? await fundNewcomer(context, chain) : undefined
  await serve(
    { ...context, env, config: () => config },
    {
      // The commands must work at once.
      checkMsMax: CHECK_MS_MAX,
      greet: async (_, server) => [
        ...describeServer(server),
        '',
        ...(await greetBuyer(context, server, ground)),
        ...(newcomer === undefined ? [] : greetNewcomer(server.origin, newcomer, ground)),
      ],
    },
  )
}

/** Creates a wallet without an account: only such a wallet gets a key with its purchase. */
async function fundNewcomer(context: CliContext, chain: LittlePolygon): Promise<`0x${string}`> {
  const key = `0x${Buffer.from(context.randomBytes(KEY_BYTES)).toString('hex')}` as const
  await chain.mintUsdc(privateKeyToAccount(key).address, NEWCOMER_FUNDS)
  return key
}

function greetNewcomer(origin: string, privateKey: string, { folder }: Ground): string[] {
  const path = join(folder, KEYLESS_SCRIPT)
  writeFileSync(path, renderKeylessScript({ origin, privateKey }), { mode: 0o600 })
  return [
    '',
    'Without a key, buy a pack, read with its key, and pay for one request:',
    `  bun run ${path}`,
  ]
}

/** Gives the throw-away wallet a key of the Free tier, and writes the program that buys a tier. */
async function greetBuyer(
  context: CliContext,
  { origin, ledger }: { origin: string; ledger: Ledger },
  { chain, folder, root }: Ground,
): Promise<string[]> {
  const { address, key: privateKey } = chain.payer
  const apiKey = await makeFreeKey(context, ledger, address)
  const path = join(folder, SCRIPT)
  // Programs look for packages in the folders above their own.
  const packages = join(folder, 'node_modules')
  if (!existsSync(packages)) symlinkSync(root, packages)
  const script = renderBuyScript({ origin, apiKey, privateKey })
  writeFileSync(path, script, { mode: 0o600 })
  return [
    `A chain of this machine that imitates Polygon: ${chain.url}`,
    `A wallet with play money: ${address}`,
    `Its API key, of the Free tier: ${apiKey}`,
    '',
    'Buy a month of Pro with it, and read a route that only Pro includes:',
    `  bun run ${path}`,
  ]
}

function makeFreeKey(context: CliContext, ledger: Ledger, address: string): Promise<string> {
  const nowMs = context.clock()
  return ledger.atomically((transaction) => {
    const id = `acc_${context.createId()}`
    const owner = { id, address: address.toLowerCase(), label: 'sandbox' }
    transaction.createAccount(owner, byOperator(nowMs))
    return issueKey(context, transaction, { accountId: id, tierId: FREE_TIER_ID, nowMs }).key
  })
}
