/**
 * The page of the operator: what the command line can. Its routes are for the operator alone, have
 * a document of their own and are not in that of customers.
 */

import type { Billing } from '#src/billing/billing.ts'
import { parameterError } from '#src/domain/errors.ts'
import type { Screen, SignupState } from '#src/domain/selling/screening.ts'
import type { Clock } from '#src/domain/time.ts'
import type { MarketHistory } from '#src/history/history.ts'
import { createComponents } from '#src/http/openapi-operation.ts'
import { describeRoutes, type Route, route } from '#src/http/route.ts'
import { byOperator, type Ledger } from '#src/ledger/ledger.ts'
import type { JobBoard } from '#src/operator/jobs.ts'
import { giveKey, GRANT_DAYS_MAX, sanctionedFault, unknownKeys } from '#src/operator/keys.ts'
import {
  findPayments,
  listOffers,
  listTransfers,
  releaseOffers,
  resolveReview,
  showPayment,
} from '#src/operator/payments.ts'
import { changeTier, planTier, readTierChange } from '#src/operator/tiers.ts'
import { integerIn, readAddress, readAs, readText } from '#src/operator/values.ts'
import { isFault } from '#src/platform/fault.ts'

import {
  AccountList,
  AccountQuery,
  AuditList,
  AuditQuery,
  Decision,
  type Disk,
  Done,
  JobList,
  JobStart,
  KeyDraft,
  MadeKey,
  OneId,
  Overview,
  PaymentList,
  PaymentQuery,
  type Recorder,
  TierDraft,
  TierList,
  TierPlan,
} from './schema.ts'
import { followersOf, toAccount, toAudit, toJob, toOverview, toTier } from './views.ts'

/** What the process that serves knows of itself. */
export type OperatorPorts = {
  startedMs: number
  jobs: Pick<JobBoard, 'list' | 'run'>
  recorder: () => Heard | undefined
  disk: () => Disk
}

/** As `bookfeed status --json` has it. */
export type Heard = Omit<
  Recorder,
  'fault' | 'warning' | 'driftMs' | 'sink' | 'connections' | 'markets'
> & {
  driftMs?: number | undefined
  sink: Omit<Recorder['sink'], 'lagMs'> & { lagMs?: number | undefined }
  fault?: string | undefined
  warning?: string | undefined
  connections: (Omit<Recorder['connections'][number], 'lastMessageMs'> & {
    lastMessageMs?: number | undefined
  })[]
  markets: { slug: string; lastMs?: number | undefined; unknown: string[] }[]
}

export type AdminDeps = {
  history: Pick<MarketHistory, 'totals'>
  ledger: Ledger
  clock: Clock
  mint: () => string
  randomBytes: (length: number) => Uint8Array
  screen: Screen
  signup: () => SignupState
  billing: Pick<Billing, 'chains'>
  config: { keysPerAccountMax: number; sanctionsDaysMax: number }
  version: string
  operator: OperatorPorts
}

const shared = { access: 'operator', tag: 'operator', caching: 'no-store' } as const
const writing = {
  ...shared,
  method: 'POST',
  description: 'Written to the audit chain, by `operator`.',
  fails: ['storage_unavailable'],
} as const
const reading = { ...shared, description: 'What the command line shows.' } as const
const PAGE = 25

export function adminRoutes(deps: AdminDeps): Route[] {
  const routes: Route[] = [
    ...stateRoutes(deps),
    ...accountRoutes(deps),
    ...tierRoutes(deps),
    ...paymentRoutes(deps),
  ]
  let document: object | undefined
  return [
    ...routes,
    route({
      ...reading,
      path: '/admin/api/openapi.json',
      operationId: 'adminDocument',
      summary: 'This document',
      ok: { description: 'OpenAPI 3.0.' },
      answer: () => (document ??= describe(routes, deps)),
    }),
  ]
}

function describe(routes: readonly Route[], { version }: AdminDeps): object {
  const components = createComponents()
  return {
    openapi: '3.0.3',
    info: { title: 'Bookfeed, for its operator', version },
    paths: describeRoutes(routes, components),
    components: {
      ...components.all,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'The token.' } },
    },
  }
}

const stateRoutes = (deps: AdminDeps) => [
  route({
    ...reading,
    path: '/admin/api/overview',
    operationId: 'adminOverview',
    summary: 'How the server does',
    ok: { description: 'Now.', schema: Overview },
    answer: () => toOverview(deps),
  }),
  route({
    ...reading,
    path: '/admin/api/jobs',
    operationId: 'adminJobs',
    summary: 'What is done in the background',
    ok: { description: 'Jobs.', schema: JobList },
    answer: () => ({ data: deps.operator.jobs.list().map(toJob) }),
  }),
  route({
    ...writing,
    path: '/admin/api/jobs/run',
    operationId: 'adminRunJob',
    summary: 'Start a job',
    body: JobStart,
    ok: { description: 'It runs.', schema: Done },
    answer: ({ body: { name, acceptLoss } }) =>
      attempt(() => {
        const options = { acceptsLoss: acceptLoss === 'yes' }
        const by = byOperator(deps.clock())
        deps.operator.jobs.run(name, options, () => deps.ledger.noteJob({ name, ...options }, by))
        return { changed: true }
      }),
  }),
  route({
    ...reading,
    path: '/admin/api/audit',
    operationId: 'adminAudit',
    summary: 'What was done',
    query: AuditQuery,
    ok: { description: 'Rows.', schema: AuditList },
    answer: ({ query: { before, limit = PAGE } }) => toAudit(deps, { before, limit }),
  }),
]

const accountRoutes = (deps: AdminDeps) => [
  route({
    ...reading,
    path: '/admin/api/accounts',
    operationId: 'adminAccounts',
    summary: 'Accounts and their keys',
    query: AccountQuery,
    ok: { description: 'A page.', schema: AccountList },
    answer({ query: { search, after, limit = PAGE } }) {
      const [ms = '', id = ''] = after?.split(':') ?? []
      const place = after === undefined ? undefined : { createdMs: Number(ms), id }
      // One more than asked for says whether there is a next page.
      const found = deps.ledger.listAccounts({ search, after: place, limit: limit + 1 })
      const last = found.length > limit ? found[limit - 1] : undefined
      return {
        data: found.slice(0, limit).map((account) => toAccount(deps, account)),
        next: last === undefined ? null : `${last.createdMs}:${last.id}`,
      }
    },
  }),
  route({
    ...writing,
    path: '/admin/api/keys',
    operationId: 'adminCreateKey',
    summary: 'Make a key',
    body: KeyDraft,
    ok: { status: 200, description: 'The key, shown this once.', schema: MadeKey },
    answer: ({ body }) => makeKey(deps, body),
  }),
  route({
    ...writing,
    path: '/admin/api/keys/revoke',
    operationId: 'adminRevokeKey',
    summary: 'Revoke a key for good',
    body: OneId,
    ok: { description: 'It is revoked.', schema: Done },
    answer: ({ body: { id } }) =>
      attempt(() => {
        if (!deps.ledger.findKey(id)) throw unknownKeys(id)
        return { changed: deps.ledger.revokeKey(id, byOperator(deps.clock())) }
      }),
  }),
]

type Draft = { tier: string; label?: string; days?: string; address?: string; account?: string }

async function makeKey(deps: AdminDeps, body: Draft): Promise<MadeKey> {
  const asked = attempt(() => ({
    tierId: body.tier,
    label: body.label === undefined ? undefined : readAs('label', readText, body.label),
    days:
      body.days === undefined ? undefined : readAs('days', integerIn(1, GRANT_DAYS_MAX), body.days),
    address: body.address === undefined ? undefined : readAs('address', readAddress, body.address),
    accountId: body.account,
  }))
  const { address } = asked
  const verdict = address === undefined ? 'clear' : (await deps.screen(address)).verdict
  return attempt(() => {
    if (verdict === 'hit') throw sanctionedFault(address ?? '')
    const keysMax = deps.config.keysPerAccountMax
    const given = giveKey(deps.ledger, deps, { ...asked, keysMax, nowMs: deps.clock() })
    const { key, apiKey, account } = given
    const warning = verdict === 'clear' ? null : 'The address could not be screened.'
    return { key, id: apiKey.id, accountId: account.id, warning }
  })
}

const tierRoutes = (deps: AdminDeps) => [
  route({
    ...reading,
    path: '/admin/api/tiers',
    operationId: 'adminTiers',
    summary: 'What is offered, and who has it',
    ok: { description: 'Lowest first.', schema: TierList },
    answer: () => ({
      data: deps.ledger.listTiers().map((tier) => toTier(deps, tier)),
      accounts: deps.ledger.countAccounts(0),
    }),
  }),
  route({
    ...writing,
    path: '/admin/api/tiers',
    operationId: 'adminPutTier',
    summary: 'Change a tier, or make one',
    body: TierDraft,
    ok: { description: 'What changes, or has changed.', schema: TierPlan },
    answer: ({ body: { id: tierId, mode, ...texts } }) =>
      attempt(() => {
        const change = readTierChange(texts)
        const { bought } = deps.ledger.countHolders(tierId, deps.clock())
        const { differences } =
          mode === 'preview'
            ? planTier(deps.ledger, tierId, change)
            : changeTier(deps.ledger, { tierId, change, nowMs: deps.clock() })
        return { differences, bought, followers: followersOf(deps, tierId) }
      }),
  }),
]

const paymentRoutes = (deps: AdminDeps) => [
  route({
    ...reading,
    path: '/admin/api/payments',
    operationId: 'adminPayments',
    summary: 'Payments, unexplained transfers and held amounts',
    query: PaymentQuery,
    ok: { description: 'Newest first.', schema: PaymentList },
    answer: ({ query: { state, limit = PAGE } }) => ({
      payments: findPayments(deps.ledger, { states: state && [state], limit }),
      transfers: listTransfers(deps.ledger),
      offers: listOffers(deps.ledger, deps.clock()),
    }),
  }),
  route({
    ...reading,
    path: '/admin/api/payments/:id',
    operationId: 'adminPayment',
    summary: 'A payment or transfer, with all that was done to it',
    id: OneId.properties.id,
    ok: { description: 'It, and its rows of the audit chain.' },
    answer: ({ id }) => attempt(() => showPayment(deps.ledger, id)),
  }),
  route({
    ...writing,
    path: '/admin/api/payments/resolve',
    operationId: 'adminResolve',
    summary: 'Note what was decided; moves no money',
    body: Decision,
    ok: { description: 'It is noted.', schema: Done },
    answer: ({ body }) =>
      attempt(() => {
        const note = readAs('note', readText, body.note)
        resolveReview(deps.ledger, { id: body.id, note, nowMs: deps.clock() })
        return { changed: true }
      }),
  }),
  route({
    ...writing,
    path: '/admin/api/offers/release',
    operationId: 'adminRelease',
    summary: 'Free the amount of a quote, or of all of an account',
    body: OneId,
    ok: { description: 'It is free.', schema: Done },
    answer: ({ body: { id } }) =>
      attempt(() => ({ changed: releaseOffers(deps.ledger, [id], deps.clock()).length > 0 })),
  }),
]

/** A fault of the operator's is one of the request. Throws `invalid_parameter`. */
function attempt<T>(act: () => T): T {
  try {
    return act()
  } catch (error) {
    if (!isFault(error, 'wrong_value', 'wrong_state')) throw error
    throw Object.assign(parameterError(error.param ?? '', error.message), { cause: error })
  }
}
