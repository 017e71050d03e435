import { existsSync } from 'node:fs'

import { Command } from 'commander'

import type { Config } from '#src/config/config.ts'
import { DAY_MS } from '#src/domain/time.ts'
import { isStale, type Ledger } from '#src/ledger/ledger.ts'
import { openLedger } from '#src/ledger/open.ts'
import { count } from '#src/platform/count.ts'
import { isFault } from '#src/platform/fault.ts'
import { isFile } from '#src/platform/folder.ts'
import { messageOf } from '#src/platform/message.ts'
import { homeVenue } from '#src/venue/venues.ts'

import { createShop } from '../server/billing.ts'
import { createTimeFloor } from '../server/clocks.ts'
import { commandError } from '../server/command-end.ts'
import { type CliContext, finder, type Finding } from '../server/extension.ts'
import { asTyped } from '../server/invocation.ts'
import { createNodes } from '../server/nodes.ts'
import { ledgerOf } from '../server/open-data-folder.ts'
import { readToken } from '../server/operator.ts'
import { openTradeNodes } from '../server/trade-chain.ts'
import { renderJson } from './command-line.ts'
import {
  checkBackup,
  checkDisk,
  checkHistory,
  checkLedger,
  checkPermissions,
  checkRecorder,
} from './doctor-checks.ts'

const help = `
Checks the configuration, the clock, the disk, permissions, both stores, PostgreSQL with its standbys, the bucket, day
files, backups, the recorder, the chain, the nodes for trades, the facilitator, the sanctions list, the payment address
and prices, with the variables of the server. It changes nothing, and a server may keep running. Without a network, the
clock is not compared.

--json prints an object: ok, and findings with check, state (ok, skipped, warning, wrong), text, todo.

Exit code: 0 if nothing is wrong, 1 otherwise.`

/** `bookfeed doctor`: finds faults and names the action for each. */
export const doctorCommand = (context: CliContext): Command =>
  new Command('doctor')
    .description('check everything that a server needs, and print what to do')
    .option('--json', 'print a JSON object')
    .addHelpText('after', help)
    .action((flags: { json?: true }) => examine(context, flags))

async function examine(context: CliContext, { json }: { json?: true }): Promise<void> {
  const findings = await listFindings(context)
  const wrong = findings.filter(({ state }) => state === 'wrong').length
  if (json) context.print(renderJson({ ok: wrong === 0, findings }))
  else
    for (const finding of findings)
      for (const line of toLines(finding)) context.print(asTyped(line, context))
  if (wrong > 0) throw commandError(`${count(wrong, 'thing')} wrong.`)
}

const STATE_WIDTH = 'skipped '.length

const toLines = ({ check, state, text, todo }: Finding): string[] => [
  `${state.padEnd(STATE_WIDTH)} ${check}: ${text}`,
  ...(todo === undefined ? [] : [`${' '.repeat(STATE_WIDTH)} to do: ${todo}`]),
]

async function listFindings(context: CliContext): Promise<Finding[]> {
  const configuration = checkConfiguration(context)
  if (configuration.state === 'wrong') return [configuration]
  const config = context.config()
  const { dataPath, freeBytesMin } = config
  if (isFile(dataPath)) {
    const todo = 'Set BOOKFEED_DATA to a folder.'
    return [
      configuration,
      finder('permissions')('wrong', `${dataPath} is a file, not a folder.`, todo),
    ]
  }
  // Runs before any store is opened, because opening adds files.
  const permissions = await examined('permissions', () => checkPermissions(dataPath))
  const disk = await examined('disk', () => checkDisk(dataPath, freeBytesMin))
  const findings = [configuration, ...permissions, ...disk]
  const ledger = openExisting(context)
  try {
    const ofExtensions = context.extensions.flatMap(({ checks = {} }) =>
      Object.entries(checks).map(([name, look]): Check => [name, () => look(context)]),
    )
    const checks: Check[] = [
      ['history', () => checkHistory(context)],
      ['ledger', () => checkLedger(context, ledger)],
      ...ofExtensions,
      ['backup', () => checkBackup(context)],
      ['recorder', () => checkRecorder(context)],
      ['clock', () => checkClock(context, findings)],
      ['stored time', () => checkKeptTime(context)],
      ['payments', () => checkPayments(context, ledger)],
      ['trade nodes', () => checkTradeNodes(context)],
      ['sanctions', () => checkSanctions(context, ledger)],
      ['payee', () => checkPayee(config, ledger)],
    ]
    for (const [check, look] of checks) findings.push(...(await examined(check, look)))
    return findings
  } finally {
    ledger?.dispose()
  }
}

type Check = [name: string, look: () => Looked]
type Looked = Finding | Finding[] | Promise<Finding | Finding[]>

/** Runs a check; if it fails, the other checks still run. */
async function examined(check: string, look: () => Looked): Promise<Finding[]> {
  try {
    return [await look()].flat()
  } catch (error) {
    return [finder(check)('wrong', `It cannot be checked: ${messageOf(error)}.`)]
  }
}

function checkConfiguration({ config, env }: CliContext): Finding {
  const found = finder('configuration')
  try {
    readToken(config().adminToken)
    const set = Object.keys(env).filter((name) => name.startsWith('BOOKFEED_') && env[name])
    return found('ok', `${count(set.length, 'variable')} set, the others have their defaults.`)
  } catch (error) {
    const todo = isFault(error, 'config') ? 'See docs/configuration.md.' : undefined
    return found('wrong', messageOf(error), todo)
  }
}

/** Opens the ledger; undefined if none can be read, which `checkLedger` explains. */
function openExisting(context: CliContext): Ledger | undefined {
  const path = ledgerOf(context)
  if (!existsSync(path)) return undefined
  try {
    return openLedger(path, { nowMs: context.clock(), isReadOnly: true })
  } catch {
    return undefined
  }
}

const ASK_MS_MAX = 3000
/** The tolerance: headers contain whole seconds, and transfer takes time. */
const AHEAD_MS_MAX = 2500
/** The difference that breaks signatures and five-minute windows. */
const WRONG_MS = 30_000

/** `before`: an extension may have compared the clock already. */
async function checkClock(
  { config, clock }: CliContext,
  before: readonly Finding[],
): Promise<Finding[]> {
  const found = finder('clock')
  const { rpcUrls, facilitator, publicUrl, catalogueUrl, isRecording } = config()
  const venue = isRecording ? [catalogueUrl || homeVenue.catalogueUrl] : []
  const urls = [...Object.values(rpcUrls), facilitator, publicUrl, ...venue]
  const asked = urls.filter((url) => /^https?:/.test(url)).map((url) => driftOf(url, clock))
  const drifts = (await Promise.all(asked)).filter((drift) => drift !== undefined)
  // A single server may itself be wrong.
  const [drift] = drifts.sort((a, b) => Math.abs(a) - Math.abs(b))
  if (drift === undefined) {
    if (before.some(({ check }) => check === 'clock')) return []
    return [found('skipped', 'There is no other clock to compare it with.')]
  }
  const seconds = `${(Math.abs(drift) / 1000).toFixed(1)} s ${drift > 0 ? 'ahead of' : 'behind'}`
  const text = `It is ${seconds} ${count(drifts.length, 'other clock')}.`
  const todo = 'Synchronize the clock with NTP: timedatectl, chrony.'
  if (Math.abs(drift) > WRONG_MS) return [found('wrong', text, todo)]
  return [Math.abs(drift) > AHEAD_MS_MAX ? found('warning', text, todo) : found('ok', text)]
}

/**
 * Checks the stored time of a server whose clock was ahead: the next server continues from that
 * time.
 */
function checkKeptTime({ clock, config }: CliContext): Finding[] {
  const aheadMs = (createTimeFloor(config().dataPath).get() ?? 0) - clock()
  if (aheadMs <= WRONG_MS) return []
  const found = finder('stored time')
  const seconds = Math.round(aheadMs / 1000)
  const text = `The last time that a server of this folder stored is ${seconds} s ahead of the clock: the clock was wrong then, or is wrong now.`
  const todo =
    'Synchronize the clock with NTP. A server continues from the stored time at half speed until the clock has caught up; payments are judged by the time of their chain.'
  return [found('warning', text, todo)]
}

/** Milliseconds by which our clock is ahead of a server's. */
async function driftOf(url: string, clock: () => number): Promise<number | undefined> {
  try {
    const signal = AbortSignal.timeout(ASK_MS_MAX)
    const sentMs = clock()
    const response = await fetch(url, { method: 'HEAD', redirect: 'manual', signal })
    const theirs = Date.parse(response.headers.get('date') ?? '')
    // On average half of the named second has passed.
    return Number.isNaN(theirs) ? undefined : (sentMs + clock()) / 2 - (theirs + 500)
  } catch {
    return undefined
  }
}

async function checkPayments(context: CliContext, ledger: Ledger | undefined): Promise<Finding[]> {
  const found = finder('payments')
  const config = context.config()
  const { payTo, facilitator, rpcUrls } = config
  const wanted = [payTo, facilitator, ...Object.keys(rpcUrls)].filter((text) => text !== '')
  try {
    using empty = ledger ? undefined : openLedger(':memory:', { nowMs: context.clock() })
    const held = ledger ?? empty
    if (held === undefined) return []
    const quiet = { ...context, printError: () => {} }
    const screen = () => Promise.reject(new Error('This server screens no addresses.'))
    const nodes = createNodes(quiet)
    const shop = createShop(quiet, held, { screen, origin: () => config.publicUrl }, nodes)
    if (shop.closedReason !== undefined) {
      const isMeant = payTo === '' && facilitator === ''
      const text = `Nothing is sold: ${shop.closedReason}`
      // Nodes are also needed to screen wallets and to sign in.
      await nodes.check()
      const todo = 'Correct BOOKFEED_RPC_URL.'
      const wrong = nodes
        .onOtherChains()
        .map(({ origin, reason }) => found('wrong', `The RPC at ${origin} ${reason}.`, todo))
      if (isMeant || wanted.length === 0) return [found('skipped', text), ...wrong]
      const rest = 'Set all of these variables, or none: docs/configuration.md.'
      return [found('wrong', text, rest), ...wrong]
    }
    await shop.billing.refresh()
    const clocks = shop.billing.warnings().map((text) => {
      return found(
        'warning',
        text,
        'Compare both with a third clock. Payments are judged by the time of the chain.',
      )
    })
    const faults = shop.billing.sales().faults.map(({ part, text, tokens }) => {
      const todo = `Check ${part === 'facilitator' ? 'BOOKFEED_FACILITATOR' : 'BOOKFEED_RPC_URL'} and the network.`
      return found('wrong', `Buyers cannot pay with ${tokens.join(', ')}: ${text}`, todo)
    })
    const works = shop.billing.chains().flatMap(({ chain, tokens }) =>
      tokens.flatMap(({ token, reason }) => {
        const name = `${token.symbol} on ${chain.name} (chain ${chain.chainId})`
        return reason === undefined ? [found('ok', `Buyers can pay with ${name}.`)] : []
      }),
    )
    return [...faults, ...works, ...clocks]
  } catch (error) {
    return [found('wrong', messageOf(error))]
  }
}

/** Checks that each node answers for Polygon, with a final block. */
async function checkTradeNodes(context: CliContext): Promise<Finding[]> {
  const found = finder('trade nodes')
  const nodes = openTradeNodes({ ...context, printError: () => {} })
  const todo = 'Correct BOOKFEED_TRADE_NODES, or check the network.'
  const answers = nodes.map(async (node) => {
    try {
      const block = await node.getBlock(node.chain.finality)
      if (block === undefined)
        return found('wrong', `The RPC at ${node.origin} returned no final block.`, todo)
      return found('ok', `The RPC at ${node.origin} knows final blocks up to ${block.number}.`)
    } catch (error) {
      return found('wrong', messageOf(error), todo)
    }
  })
  const more = 'A failed transaction shows only if two nodes agree: set a second one.'
  return [
    ...(await Promise.all(answers)),
    ...(nodes.length === 1 ? [found('warning', 'Only one node is asked.', more)] : []),
  ]
}

function checkSanctions({ config, clock }: CliContext, ledger: Ledger | undefined): Finding {
  const found = finder('sanctions')
  const { sanctionsList, sanctionsDaysMax, rpcUrls } = config()
  if (sanctionsList === '') {
    const hasOracle = Object.keys(rpcUrls).length > 0
    if (hasOracle) return found('ok', 'Wallets are screened by the oracle on the chain alone.')
    return found('skipped', 'Signup is closed: neither a list nor a node is configured.')
  }
  const list = ledger?.sanctionsList()
  const todo = 'Run bookfeed sanctions refresh, and read its output.'
  if (list === undefined) return found('warning', 'No list has been read yet.', todo)
  const days = Math.floor((clock() - list.confirmedMs) / DAY_MS)
  const text = `The list of ${list.publishedOn} with ${count(list.entryCount, 'address', 'addresses')} was confirmed ${count(days, 'day')} ago.`
  const limits = { nowMs: clock(), staleAfterMs: sanctionsDaysMax * DAY_MS }
  return isStale(list, limits) ? found('wrong', text, todo) : found('ok', text)
}

function checkPayee({ payTo }: Config, ledger: Ledger | undefined): Finding[] {
  const found = finder('payee')
  if (payTo === '' || ledger === undefined) return []
  const strangers = ledger.payments.listUnmatchedTransfers(false).length
  if (strangers === 0)
    return [found('ok', 'Every transfer to BOOKFEED_PAY_TO belongs to a payment.')]
  const text = `${count(strangers, 'transfer')} to BOOKFEED_PAY_TO ${strangers === 1 ? 'belongs' : 'belong'} to no payment of this server.`
  const todo =
    'Run bookfeed payments list, and decide on each transfer. If another server sells to this address, give each server its own.'
  return [found('wrong', text, todo)]
}
