/**
 * Routes of the operator: the command line over HTTP. They have a document of their own and are not
 * in the public one.
 */

import type { Static } from '@sinclair/typebox'
import { type AnyElysia, Elysia } from 'elysia'

import { parameterError } from '#src/domain/errors.ts'
import { DAY_MS } from '#src/domain/time.ts'
import type { Api } from '#src/http/api.ts'
import { completePaths, createComponents, generateDocument } from '#src/http/openapi.ts'
import { byOperator } from '#src/ledger/actor.ts'
import { giveKey, GRANT_DAYS_MAX, sanctionedFault, unknownKeys } from '#src/operator/keys.ts'
import {
  findPayments,
  listOffers,
  listTransfers,
  releaseOffers,
  resolveReview,
  searchPayments,
  showPayment,
  sumSales,
} from '#src/operator/payments.ts'
import { changeTier, planTier, readTierChange } from '#src/operator/tiers.ts'
import { integerIn, readAddress, readAs, readText } from '#src/operator/values.ts'
import { isFault } from '#src/platform/fault.ts'

import { toActivitySeries } from './activity.ts'
import type { AdminDeps } from './ports.ts'
import {
  AccountList,
  AccountQuery,
  ActivityQuery,
  ActivitySeries,
  AuditList,
  AuditQuery,
  Decision,
  Done,
  JobList,
  JobStart,
  KeyDraft,
  MadeKey,
  OneId,
  Overview,
  PaymentList,
  PaymentQuery,
  Sales,
  TierDraft,
  TierList,
  TierPlan,
} from './schema.ts'
import {
  countFollowers,
  toAccount,
  toAudit,
  toJob,
  toOffer,
  toOverview,
  toPayment,
  toTier,
} from './views.ts'

const reading = { openTo: 'operator', caching: 'no-store' } as const
const writing = { ...reading, fails: ['storage_unavailable'] } as const
const WRITES = 'Written to the audit chain, by `operator`.'
const READS = 'Reads the same state as the command line.'
const PAGE = 25

export function adminRoutes(api: Api, deps: AdminDeps) {
  const app = new Elysia({ name: 'admin' })
    .use(stateRoutes(api, deps))
    .use(accountRoutes(api, deps))
    .use(tierRoutes(api, deps))
    .use(paymentRoutes(api, deps))
  let document: Promise<object> | undefined
  const readDocument = (): Promise<object> => {
    document ??= describe(app, deps)
    return document
  }
  return app.use(api).get('/admin/api/openapi.json', async () => await readDocument(), {
    ...reading,
    answers: { description: 'OpenAPI 3.0.' },
    detail: {
      tags: ['operator'],
      operationId: 'adminDocument',
      summary: 'This document',
      description: READS,
    },
  })
}

async function describe(app: AnyElysia, { version }: AdminDeps): Promise<object> {
  const components = createComponents({
    'Cross-Origin-Resource-Policy': '`same-origin`: pages of other origins cannot load it.',
  })
  const info = { title: 'Bookfeed for its operator', version }
  const generated = await generateDocument(app, { info })
  const paths = completePaths(generated.paths, components, () => true)
  const apiKey = { type: 'http', scheme: 'bearer', description: 'The token.' }
  return { ...generated, paths, components: { ...components.all, securitySchemes: { apiKey } } }
}

const stateRoutes = (api: Api, deps: AdminDeps) =>
  new Elysia({ name: 'admin-state', tags: ['operator'] })
    .use(api)
    .get('/admin/api/overview', () => toOverview(deps), {
      ...reading,
      response: { 200: Overview },
      answers: { description: 'Now.' },
      detail: {
        operationId: 'adminOverview',
        summary: 'Get the state of the server',
        description: READS,
      },
    })
    .get(
      '/admin/api/activity',
      ({ query: { range = 'day' } }) =>
        toActivitySeries(
          {
            ledger: deps.ledger,
            unwritten: deps.operator.activity.listUnwritten(),
            silentMs: deps.operator.silentMs(),
            nowMs: deps.clock(),
          },
          range,
        ),
      {
        ...reading,
        query: ActivityQuery,
        response: { 200: ActivitySeries },
        answers: { description: 'Activity by step, with counts of refusals and failures.' },
        detail: {
          operationId: 'adminActivity',
          summary: 'Get the activity of all servers over time',
          description:
            'Steps of five minutes for a day, of half an hour for a week, of two hours for a month. Kept for 30 days.',
        },
      },
    )
    .get('/admin/api/jobs', () => ({ data: deps.operator.jobs.list().map(toJob) }), {
      ...reading,
      response: { 200: JobList },
      answers: { description: 'Jobs.' },
      detail: {
        operationId: 'adminJobs',
        summary: 'List background jobs',
        description: READS,
      },
    })
    .post(
      '/admin/api/jobs/run',
      ({ body: { name, acceptLoss } }) =>
        attempt(async () => {
          const options = { acceptsLoss: acceptLoss === 'yes' }
          const by = byOperator(deps.clock())
          const note = () => deps.ledger.noteJob({ name, ...options }, by)
          await deps.operator.jobs.run(name, options, note)
          return { changed: true }
        }),
      {
        ...writing,
        body: JobStart,
        response: { 200: Done },
        answers: { description: 'It runs.' },
        detail: { operationId: 'adminRunJob', summary: 'Start a job', description: WRITES },
      },
    )
    .get(
      '/admin/api/audit',
      ({ query: { before, limit = PAGE } }) => toAudit(deps, { before, limit }),
      {
        ...reading,
        query: AuditQuery,
        response: { 200: AuditList },
        answers: { description: 'Rows.' },
        detail: { operationId: 'adminAudit', summary: 'List the audit chain', description: READS },
      },
    )

const accountRoutes = (api: Api, deps: AdminDeps) =>
  new Elysia({ name: 'admin-account', tags: ['operator'] })
    .use(api)
    .get(
      '/admin/api/accounts',
      ({ query: { search, after, limit = PAGE } }) => {
        const [ms = '', id = ''] = after?.split(':') ?? []
        const place = after === undefined ? undefined : { createdMs: Number(ms), id }
        // One row more than requested shows whether there is a next page.
        const nowMs = deps.clock()
        const found = deps.ledger.listAccounts({ search, nowMs, after: place, limit: limit + 1 })
        const last = found.length > limit ? found[limit - 1] : undefined
        return {
          data: found.slice(0, limit).map((account) => toAccount(deps, account)),
          next: last === undefined ? null : `${last.createdMs}:${last.id}`,
        }
      },
      {
        ...reading,
        query: AccountQuery,
        response: { 200: AccountList },
        answers: { description: 'A page.' },
        detail: {
          operationId: 'adminAccounts',
          summary: 'List accounts and their keys',
          description: READS,
        },
      },
    )
    .post('/admin/api/keys', ({ body }) => makeKey(deps, body), {
      ...writing,
      body: KeyDraft,
      response: { 200: MadeKey },
      answers: { status: 200, description: 'The key, shown only once.' },
      detail: { operationId: 'adminCreateKey', summary: 'Make a key', description: WRITES },
    })
    .post(
      '/admin/api/keys/revoke',
      ({ body: { id } }) =>
        attempt(async () => {
          if (!deps.ledger.findKey(id)) throw unknownKeys(id)
          return { changed: await deps.ledger.revokeKey(id, byOperator(deps.clock())) }
        }),
      {
        ...writing,
        body: OneId,
        response: { 200: Done },
        answers: { description: 'The key is revoked.' },
        detail: {
          operationId: 'adminRevokeKey',
          summary: 'Revoke a key permanently',
          description: WRITES,
        },
      },
    )

async function makeKey(deps: AdminDeps, body: Static<typeof KeyDraft>): Promise<MadeKey> {
  const asked = await attempt(() => ({
    tierId: body.tier,
    label: body.label === undefined ? undefined : readAs('label', readText, body.label),
    days:
      body.days === undefined ? undefined : readAs('days', integerIn(1, GRANT_DAYS_MAX), body.days),
    address: body.address === undefined ? undefined : readAs('address', readAddress, body.address),
    accountId: body.account,
  }))
  const { address } = asked
  const verdict = address === undefined ? 'clear' : (await deps.screen(address)).verdict
  return attempt(async () => {
    if (verdict === 'hit') throw sanctionedFault(address ?? '')
    const keysMax = deps.config.keysPerAccountMax
    const given = await giveKey(deps.ledger, deps, { ...asked, keysMax, nowMs: deps.clock() })
    const { key, apiKey, account } = given
    const warning = verdict === 'clear' ? null : 'The address could not be screened.'
    return { key, id: apiKey.id, accountId: account.id, warning }
  })
}

const tierRoutes = (api: Api, deps: AdminDeps) =>
  new Elysia({ name: 'admin-tier', tags: ['operator'] })
    .use(api)
    .get(
      '/admin/api/tiers',
      () => ({
        data: deps.ledger.listTiers().map((tier) => toTier(deps, tier)),
        accounts: deps.ledger.countAccounts(0),
      }),
      {
        ...reading,
        response: { 200: TierList },
        answers: { description: 'Lowest first.' },
        detail: {
          operationId: 'adminTiers',
          summary: 'List tiers and the accounts that have them',
          description: READS,
        },
      },
    )
    .post(
      '/admin/api/tiers',
      ({ body: { id: tierId, mode, ...texts } }) =>
        attempt(async () => {
          const change = readTierChange(texts)
          const { bought } = deps.ledger.countHolders(tierId, deps.clock())
          const { differences } =
            mode === 'preview'
              ? planTier(deps.ledger, tierId, change)
              : await changeTier(deps.ledger, { tierId, change, nowMs: deps.clock() })
          return { differences, bought, followers: countFollowers(deps, tierId) }
        }),
      {
        ...writing,
        body: TierDraft,
        response: { 200: TierPlan },
        answers: { description: 'Changes of the tier, planned or applied.' },
        detail: {
          operationId: 'adminPutTier',
          summary: 'Change or make a tier',
          description: WRITES,
        },
      },
    )

const paymentRoutes = (api: Api, deps: AdminDeps) =>
  new Elysia({ name: 'admin-payment', tags: ['operator'] })
    .use(api)
    .get(
      '/admin/api/payments',
      ({ query: { state, search, limit = PAGE } }) => {
        const found =
          search === undefined
            ? findPayments(deps.ledger, { states: state && [state], limit })
            : searchPayments(deps.ledger, search, limit)
        return {
          payments: found
            .filter((payment) => state === undefined || payment.state === state)
            .map((payment) => toPayment(deps, payment)),
          transfers: listTransfers(deps.ledger),
          offers: listOffers(deps.ledger, deps.clock()).map((offer) => toOffer(deps, offer)),
        }
      },
      {
        ...reading,
        query: PaymentQuery,
        response: { 200: PaymentList },
        answers: { description: 'Newest first.' },
        detail: {
          operationId: 'adminPayments',
          summary: 'List payments, unexplained transfers and reserved amounts',
          description: READS,
        },
      },
    )
    .get(
      '/admin/api/sales',
      () => {
        const nowMs = deps.clock()
        return {
          day: sumSales(deps.ledger, nowMs - DAY_MS),
          week: sumSales(deps.ledger, nowMs - 7 * DAY_MS),
          month: sumSales(deps.ledger, nowMs - 30 * DAY_MS),
          all: sumSales(deps.ledger, 0),
        }
      },
      {
        ...reading,
        response: { 200: Sales },
        answers: { description: 'Sums.' },
        detail: { operationId: 'adminSales', summary: 'Get the sales', description: READS },
      },
    )
    .get(
      '/admin/api/payments/:id',
      ({ params: { id } }) => attempt(() => showPayment(deps.ledger, id)),
      {
        ...reading,
        id: OneId.properties.id,
        answers: { description: 'The payment or transfer, with its rows of the audit chain.' },
        detail: {
          operationId: 'adminPayment',
          summary: 'Get a payment or transfer with its audited changes',
          description: READS,
        },
      },
    )
    .post(
      '/admin/api/payments/resolve',
      ({ body }) =>
        attempt(async () => {
          const note = readAs('note', readText, body.note)
          await resolveReview(deps.ledger, { id: body.id, note, nowMs: deps.clock() })
          return { changed: true }
        }),
      {
        ...writing,
        body: Decision,
        response: { 200: Done },
        answers: { description: 'The decision is recorded.' },
        detail: {
          operationId: 'adminResolve',
          summary: 'Record a decision; moves no money',
          description: WRITES,
        },
      },
    )
    .post(
      '/admin/api/offers/release',
      ({ body: { id } }) =>
        attempt(async () => {
          const released = await releaseOffers(deps.ledger, [id], deps.clock())
          return { changed: released.length > 0 }
        }),
      {
        ...writing,
        body: OneId,
        response: { 200: Done },
        answers: { description: 'The amount is released.' },
        detail: {
          operationId: 'adminRelease',
          summary: 'Release the amount of a quote, or of all quotes of an account',
          description: WRITES,
        },
      },
    )

/** Turns a fault of a value or state into an error of the request. Throws `invalid_parameter`. */
async function attempt<T>(act: () => T | Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (!isFault(error, 'wrong_value', 'wrong_state')) throw error
    throw Object.assign(parameterError(error.param ?? '', error.message), { cause: error })
  }
}
