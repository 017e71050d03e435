/** The payment methods that are available now, and the faults of the others. */
import type { PaymentChain, PaymentToken } from '#src/domain/selling/payment-chain.ts'

import type { BillingOptions, ChainStatus, SalesFault, SalesState, SoldChain } from './billing.ts'
import { describeDrift, readMoment } from './chain-clock.ts'

export const toChainStatus = (
  chain: PaymentChain,
  findReason: (token: PaymentToken) => string | undefined,
): ChainStatus => ({
  chain,
  tokens: chain.tokens.map((token) => ({ token, reason: findReason(token) })),
})

/** The reason why a token is unavailable before the first check of its chain. */
export const UNCHECKED = 'It is being checked.'

/** The state of sales if nothing is sold by configuration. */
export const closedSales = (chains: readonly ChainStatus[], reason: string): SalesState => ({
  state: 'closed',
  sinceMs: undefined,
  faults: [
    {
      part: 'configuration',
      text: reason,
      sinceMs: undefined,
      tokens: chains.flatMap(({ chain, tokens }) =>
        tokens.map(({ token }) => nameToken(chain, token)),
      ),
    },
  ],
})

const nameToken = (chain: PaymentChain, token: PaymentToken): string =>
  `${token.symbol} on ${chain.name}`

/** The result of a check of one chain. */
type Checked = {
  /** Why a token is unavailable, in words for buyers; undefined if it is available. */
  reasonOf: (token: PaymentToken) => string | undefined
  faults: readonly SalesFault[]
}

/** Creates the checks. Everything is unavailable until it was checked. */
export function createAvailability({
  chains,
  payTo,
  log,
  clock,
}: Pick<BillingOptions, 'chains' | 'payTo' | 'log' | 'clock'>) {
  const lastChecks = new Map<SoldChain, Checked>()
  let state: 'open' | 'failing' | 'paused' = 'open'
  let failedSinceMs: number | undefined

  const findReason = (sold: SoldChain, token: PaymentToken): string | undefined => {
    const checked = lastChecks.get(sold)
    if (checked !== undefined) return checked.reasonOf(token)
    return missingPart({ payTo }, sold) ?? UNCHECKED
  }
  const listStatuses = (): readonly ChainStatus[] =>
    chains.map((sold) => toChainStatus(sold.chain, (token) => findReason(sold, token)))

  const drifts = new Map<SoldChain, string>()

  /** Logs once when the clocks begin to differ, and once when they agree again. */
  async function compareClocks(sold: SoldChain): Promise<void> {
    const drift = describeDrift(await readMoment(clock, sold.view), sold.chain)
    const was = drifts.get(sold)
    if (drift === undefined) drifts.delete(sold)
    else drifts.set(sold, drift)
    if (drift !== undefined && was === undefined) log(`billing: ${drift}`, 'warn')
    if (drift === undefined && was !== undefined) {
      log(`billing: the clock of this server agrees with ${sold.chain.name} again`)
    }
  }

  async function refresh(sold: SoldChain): Promise<void> {
    const [checked] = await Promise.all([check(sold), compareClocks(sold)])
    for (const token of sold.chain.tokens) {
      const reason = checked.reasonOf(token)
      if (reason === findReason(sold, token)) continue
      const name = `${sold.chain.network} ${token.symbol}`
      log(
        `billing: ${name} ${reason ?? 'can be paid with'}`,
        reason === undefined ? 'info' : 'warn',
      )
    }
    lastChecks.set(sold, checked)
  }

  async function check(sold: SoldChain): Promise<Checked> {
    const { chain, view, facilitator } = sold
    const missing = missingPart({ payTo }, sold)
    if (missing !== undefined) return { reasonOf: () => missing, faults: [] }
    const [node, fault] = await Promise.all([view?.check(), checkFacilitator(sold)])
    const faults: SalesFault[] = []
    const add = (
      part: SalesFault['part'],
      text: string,
      tokens: readonly PaymentToken[],
      todo?: string,
    ): void => {
      const names = tokens.map((token) => nameToken(chain, token))
      const before = lastChecks
        .get(sold)
        ?.faults.find((known) => known.part === part && known.tokens[0] === names[0])
      faults.push({ part, text, sinceMs: before?.sinceMs ?? clock(), tokens: names, todo })
    }
    if (node?.chain !== undefined) add('node', node.chain, chain.tokens)
    for (const token of chain.tokens) {
      const reason = node?.tokens[token.symbol]
      if (reason !== undefined) add('token', reason, [token])
    }
    // A facilitator in this process uses the same node.
    const isOfNode = node?.chain !== undefined && facilitator?.name === 'local'
    if (fault !== undefined && !isOfNode) add('facilitator', fault.text, chain.tokens, fault.todo)
    return {
      reasonOf: ({ symbol }) => node?.chain ?? node?.tokens[symbol] ?? fault?.reason,
      faults,
    }
  }

  return {
    chains: listStatuses,
    findReason,
    warnings: (): readonly string[] => [...drifts.values()],
    sales(): SalesState {
      const missing = chains.map((sold) => missingPart({ payTo }, sold))
      if (missing.every((part) => part !== undefined)) {
        return closedSales(listStatuses(), missing[0] ?? 'Nothing is sold here.')
      }
      const faults = chains.flatMap((sold) => lastChecks.get(sold)?.faults ?? [])
      return { state, sinceMs: failedSinceMs, faults: joinFaults(faults) }
    },
    async refresh(): Promise<void> {
      await Promise.all(chains.map(refresh))
      const isFailing = listStatuses().every(({ tokens }) =>
        tokens.every(({ reason }) => reason !== undefined),
      )
      if (!isFailing) state = 'open'
      else state = state === 'open' ? 'failing' : 'paused'
      failedSinceMs = isFailing ? (failedSinceMs ?? clock()) : undefined
    },
  }
}

/** Joins equal faults of several chains or tokens, dated by the first. */
function joinFaults(faults: readonly SalesFault[]): SalesFault[] {
  const joined = new Map<string, SalesFault>()
  for (const fault of faults) {
    const same = joined.get(fault.text)
    if (same === undefined) {
      joined.set(fault.text, fault)
      continue
    }
    joined.set(fault.text, {
      ...same,
      sinceMs: Math.min(same.sinceMs ?? Infinity, fault.sinceMs ?? Infinity),
      tokens: [...same.tokens, ...fault.tokens],
    })
  }
  return [...joined.values()]
}

export function missingPart(
  { payTo }: Pick<BillingOptions, 'payTo'>,
  { view, facilitator }: SoldChain,
): string | undefined {
  if (payTo === '') return 'Nothing is sold here: no address to pay to is configured.'
  if (view === undefined) return 'Nothing is sold here: no node of the chain is configured.'
  if (facilitator === undefined) return 'Nothing is sold here: no facilitator is configured.'
  return undefined
}

/**
 * Explains why the facilitator is unusable: `text` for the operator, `reason` for buyers, without
 * its address.
 */
async function checkFacilitator({
  facilitator,
  chain,
}: SoldChain): Promise<{ text: string; reason: string; todo?: string | undefined } | undefined> {
  const name =
    facilitator?.name === 'local'
      ? 'The facilitator of this server'
      : `The facilitator at ${facilitator?.name}`
  const answer = await facilitator?.supported()
  if (answer?.kinds === undefined) {
    const why = answer?.reason
    const silence = `does not answer${why === undefined ? '' : `: ${why}`}`
    return {
      text: `${name} ${describeFailure(why) ?? silence}.`,
      reason: `The facilitator ${silence}.`,
      todo:
        answer?.gasAddress === undefined
          ? undefined
          : `Send ${chain.gasSymbol} on ${chain.name} to ${answer.gasAddress}, which pays for gas.`,
    }
  }
  const isThere = answer.kinds.some(
    ({ x402Version, scheme, network }) =>
      x402Version === 2 && scheme === 'exact' && network === chain.network,
  )
  if (isThere) return undefined
  const rest = `does not settle payments on ${chain.name}.`
  return { text: `${name} ${rest}`, reason: `The facilitator ${rest}` }
}

function describeFailure(code = ''): string | undefined {
  const [, status] = /^facilitator_http_(\d+)$/.exec(code) ?? []
  return status === undefined ? failures[code] : `answers with HTTP status ${status}`
}

/** Texts of failures, by the codes of `src/facilitator`. */
const failures: Readonly<Record<string, string>> = {
  facilitator_unreachable: 'cannot be reached',
  facilitator_timeout: 'gave no answer in 10 seconds',
  facilitator_redirect: 'answers with a redirect, which is not followed',
  facilitator_answer_invalid: 'answers with something other than the JSON of x402',
  facilitator_answer_too_large: 'answers with more than 64 KiB',
  facilitator_token_failed:
    'was not asked, because no token can be signed with BOOKFEED_FACILITATOR_KEY_SECRET',
  gas_exhausted: 'cannot pay for gas: its wallet is empty',
  rpc_unavailable: 'gets no answer from its node',
  rpc_wrong_chain: 'has a node of another chain',
}
