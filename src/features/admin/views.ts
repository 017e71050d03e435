/** Response bodies of the operator's API. They hold no key, digest, signature or secret setting. */
import { ifSound } from '#src/domain/errors.ts'
import { openStates } from '#src/domain/selling/payment.ts'
import { standingAt } from '#src/domain/selling/subscription.ts'
import { FREE_TIER_ID, type Tier as StoredTier } from '#src/domain/selling/tier.ts'
import { DAY_MS, formatTime, toIso, toIsoOrNull } from '#src/domain/time.ts'
import { type Account as StoredAccount, isStale } from '#src/ledger/ledger.ts'
import { createActors } from '#src/operator/actors.ts'
import type { JobBoard } from '#src/operator/jobs.ts'
import { toKeyStatus } from '#src/operator/keys.ts'
import { describeReason, type OfferJson, type PaymentJson } from '#src/operator/payments.ts'
import { toTierJson } from '#src/operator/tiers.ts'

import { listFindings } from './findings.ts'
import type { AdminDeps, RecorderReport } from './ports.ts'
import type {
  Account,
  AuditList,
  Job,
  Overview,
  Payment,
  PaymentList,
  Recorder,
  Tier,
} from './schema.ts'

export function toOverview(deps: AdminDeps): Overview {
  const { history, ledger, clock, signup, billing, version, operator } = deps
  const nowMs = clock()
  const state = signup()
  const { payments } = ledger
  const waiting = payments.listPaymentsIn(['review'])
  const held = ifSound(() => history.totals())
  return {
    version,
    now: toIso(nowMs),
    startedAt: toIso(operator.startedMs),
    findings: listFindings(deps, held === undefined),
    recorder: toRecorder(operator.recorder()),
    disk: operator.disk(),
    held: held ?? null,
    signup: { isOpen: state.isOpen, reason: (state.isOpen ? state.warning : state.reason) ?? null },
    accounts: {
      all: ledger.countAccounts(0),
      lastDay: ledger.countAccounts(nowMs - DAY_MS),
      lastWeek: ledger.countAccounts(nowMs - 7 * DAY_MS),
    },
    chains: billing.chains().map(({ chain, tokens }) => ({
      name: chain.name,
      tokens: tokens.map(({ token, reason = null }) => ({ symbol: token.symbol, reason })),
    })),
    sanctions: toSanctions(deps, nowMs),
    review: {
      payments: waiting.filter(({ resolution }) => resolution === undefined).length,
      transfers: payments.listUnmatchedTransfers(false).length,
      inFlight: payments.listPaymentsIn(openStates).length,
    },
  }
}

/** Lists each member, so that nothing added to the report becomes public by itself. */
function toRecorder(report: RecorderReport | undefined): Recorder | null {
  if (report === undefined) return null
  const { fault, warning } = report
  const { rows, waiting, dropped, lagMs = null } = report.sink
  return {
    startedMs: report.startedMs,
    writtenMs: report.writtenMs,
    perSecond: report.perSecond,
    messages: report.messages,
    faults: report.faults,
    driftMs: report.driftMs ?? null,
    ...(fault === undefined ? {} : { fault }),
    ...(warning === undefined ? {} : { warning }),
    sink: { rows, waiting, dropped, lagMs },
    connections: report.connections.map(({ lastMessageMs, ...connection }) => ({
      ...connection,
      ...(lastMessageMs === undefined ? {} : { lastMessageMs }),
    })),
    markets: report.markets.map(({ slug, lastMs, unknown }) => ({
      slug,
      unknown,
      ...(lastMs === undefined ? {} : { lastMs }),
    })),
  }
}

function toSanctions({ ledger, config }: AdminDeps, nowMs: number): Overview['sanctions'] {
  const list = ledger.sanctionsList()
  if (list === undefined) return null
  const { publishedOn, confirmedMs, entryCount } = list
  const staleAfterMs = config.sanctionsDaysMax * DAY_MS
  const stale = isStale(list, { nowMs, staleAfterMs })
  return { publishedOn, confirmedAt: toIso(confirmedMs), entryCount, isStale: stale }
}

export function toAccount({ ledger, clock }: AdminDeps, account: StoredAccount): Account {
  const { id, address = null, label = null, createdMs, blockedMs } = account
  const nowMs = clock()
  const standing = standingAt(ledger.listSubscriptions(id), ledger.listTiers(), nowMs)
  return {
    id,
    address,
    label,
    createdAt: formatTime(createdMs),
    isBlocked: blockedMs !== undefined,
    tier: standing.terms.tierId,
    tierName: standing.terms.name,
    tierUntil: formatTime(standing.subscription?.endMs) ?? null,
    keys: ledger.listKeys(id).map((key) => ({
      id: key.id,
      label: key.label ?? null,
      hint: key.hint,
      status: toKeyStatus(key, nowMs),
      createdAt: formatTime(key.createdMs),
      lastUsedAt: formatTime(key.lastUsedMs) ?? null,
      expiresAt: formatTime(key.expiresMs) ?? null,
    })),
  }
}

/** Label of an account, else its wallet, else its id. */
function nameAccount({ ledger }: Pick<AdminDeps, 'ledger'>, id: string): string {
  const { label, address } = ledger.findAccount(id) ?? {}
  return label ?? address ?? id
}

export function toPayment(deps: AdminDeps, payment: PaymentJson): Payment {
  const { accountId, reason, quoteId } = payment
  return {
    ...payment,
    reasonText: reason === null ? null : describeReason(reason),
    accountName: nameAccount(deps, accountId),
    product: deps.ledger.payments.findOffer(quoteId)?.terms.name ?? quoteId,
  }
}

export function toOffer(deps: AdminDeps, offer: OfferJson): PaymentList['offers'][number] {
  return {
    ...offer,
    accountName: nameAccount(deps, offer.accountId),
    tierName: deps.ledger.payments.findOffer(offer.id)?.terms.name ?? offer.tierId,
  }
}

export function toTier({ ledger, clock }: AdminDeps, tier: StoredTier): Tier {
  const { coins, routes, ...rest } = toTierJson(tier)
  const holders = ledger.countHolders(tier.tierId, clock())
  return { ...rest, coins: [...coins], routes: [...routes], ...holders }
}

/** Number of accounts that get a change at once: those that did not buy. All others have Free. */
export function countFollowers({ ledger, clock }: AdminDeps, tierId: string): number {
  const nowMs = clock()
  if (tierId !== FREE_TIER_ID) return ledger.countHolders(tierId, nowMs).granted
  const others = ledger.listTiers().filter((tier) => tier.tierId !== FREE_TIER_ID)
  const holders = others.map((tier) => ledger.countHolders(tier.tierId, nowMs))
  const sum = holders.reduce((all, { bought, granted }) => all + bought + granted, 0)
  return Math.max(0, ledger.countAccounts(0) - sum)
}

export const toJob = (job: ReturnType<JobBoard['list']>[number]): Job => ({
  name: job.name,
  about: job.about,
  isRunning: job.isRunning,
  isFailed: job.isFailed,
  canRun: job.canRun,
  outcome: job.outcome ?? null,
  startedAt: toIsoOrNull(job.startedMs),
  endedAt: toIsoOrNull(job.endedMs),
  nextAt: toIsoOrNull(job.nextMs),
  progress: job.progress ?? null,
})

/** Name of the subject of an audited change; null if only the id is known. */
function nameSubject(deps: AdminDeps, subject: string): string | null {
  const { ledger } = deps
  const tier = [...ledger.listTiers(), ...ledger.listPacks()].find(
    (each) => each.tierId === subject,
  )
  if (tier !== undefined) return tier.name
  const key = subject.startsWith('key_') ? ledger.findKey(subject) : undefined
  const accountId =
    key?.accountId ??
    (subject.startsWith('pay_') ? ledger.payments.findPayment(subject)?.accountId : undefined) ??
    (subject.startsWith('quote_') ? ledger.payments.findOffer(subject)?.accountId : undefined) ??
    (subject.startsWith('acc_') ? subject : undefined) ??
    (subject.startsWith('0x') ? ledger.findAccountByAddress(subject)?.id : undefined)
  if (accountId === undefined) return null
  const name = nameAccount(deps, accountId)
  if (key === undefined) return name === subject ? null : name
  return `${key.label ?? `…${key.hint}`}, ${name}`
}

/** Sequence numbers have no holes, so a page is a range. */
export function toAudit(
  deps: AdminDeps,
  { before, limit }: { before: number | undefined; limit: number },
): AuditList {
  const { ledger } = deps
  const head = ledger.auditHead()
  const end = Math.min(before ?? Number.MAX_SAFE_INTEGER, (head?.seq ?? 0) + 1)
  const after = Math.max(0, end - 1 - limit)
  const rows = ledger.listAudit(after, end - 1 - after).reverse()
  const describeActor = createActors(ledger)
  return {
    data: rows.map(({ seq, timeMs, actor, action, subject, state }) => {
      return {
        seq,
        time: formatTime(timeMs),
        actor,
        ...describeActor(actor),
        action,
        subject,
        subjectName: nameSubject(deps, subject),
        state,
      }
    }),
    next: after === 0 ? null : after + 1,
    head: head === undefined ? null : `${head.seq}:${head.hash}`,
  }
}
