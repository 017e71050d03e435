import { type Static, Type } from '@sinclair/typebox'

import { paymentStates } from '#src/domain/selling/payment.ts'
import {
  choice,
  count,
  group,
  groupOrNull,
  groups,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'
import { integer } from '#src/http/kinds.ts'

const flag = (description: string) => Type.Boolean({ description })
const flagText = (description: string) => choice(['yes', 'no'], description)
const sent = (description: string, maxLength = 200) =>
  Type.String({ description, minLength: 1, maxLength })
const optional = (description: string) => Type.Optional(sent(description))

export const Recorder = object('AdminRecorder', {
  startedMs: Type.Integer(),
  writtenMs: Type.Integer({ description: 'Time of the report, in Unix milliseconds.' }),
  fault: Type.Optional(text('Why the recorder cannot store.')),
  warning: Type.Optional(text("Problem of the venue's feed.")),
  perSecond: group('Rates of the last two seconds.', {
    messages: count('Messages received.'),
    rows: count('Rows stored.'),
  }),
  messages: count('Messages since the start.'),
  faults: count('Messages that could not be parsed.'),
  driftMs: nullable(
    Type.Number(),
    "Milliseconds that the venue's clock is behind; null before its first message.",
  ),
  sink: group('Writes to the history.', {
    rows: count('Rows stored since the start.'),
    waiting: count('Rows that wait to be stored.'),
    dropped: count('Rows dropped because the queue was full.'),
    lagMs: nullable(
      Type.Number(),
      "Milliseconds from the venue's time to the disk; null before the first row.",
    ),
  }),
  connections: groups('Connections to the venue.', {
    lane: count('Number of the parallel connection.'),
    state: text('`live` or `opening`.'),
    tokens: count('Order books that the connection carries.'),
    withoutBook: count('Order books without a first message.'),
    sinceMs: Type.Integer(),
    lastMessageMs: Type.Optional(Type.Integer()),
  }),
  markets: groups('Markets recorded now.', {
    slug: text('Slug of the market.'),
    lastMs: Type.Optional(
      Type.Integer({ description: 'Time of the newest snapshot, in Unix milliseconds.' }),
    ),
    unknown: Type.Array(Type.String(), { description: 'Outcomes with an open gap.' }),
  }),
})
export type Recorder = Static<typeof Recorder>

export const Disk = object('AdminDisk', {
  files: groups('Files of the data folder.', {
    name: text('Name of the file.'),
    bytes: count('Size in bytes.'),
  }),
  freeBytes: nullable(
    Type.Integer(),
    'Free bytes on the disk; null if the system does not report them.',
  ),
})
export type Disk = Static<typeof Disk>

const Held = group('Contents of the history.', {
  markets: count('Number of markets.'),
  snapshots: count('Number of snapshots.'),
  bytes: count('Bytes used.'),
})
const reason = textOrNull('Why it is closed or unusable; null if it is not.')

export const Finding = object('AdminFinding', {
  level: choice(['fault', 'warning', 'notice', 'ok'], 'Urgency.'),
  about: choice(
    ['sales', 'sign-ups', 'recorder', 'server'],
    'Part of the service that the finding concerns.',
  ),
  text: text('The finding, in one or two sentences.'),
  todo: textOrNull('What to do; null if `text` says it.'),
  link: textOrNull('The part of the page with details; null if there is none.'),
})
export type Finding = Static<typeof Finding>

export const Overview = object('AdminOverview', {
  version: text('Version of the server.'),
  now: time('Clock of the server.'),
  startedAt: time('Start of the server.'),
  findings: Type.Array(Finding, { description: 'Findings, most urgent first.' }),
  recorder: nullable(Recorder, 'Null if no recorder runs.'),
  disk: Disk,
  held: nullable(Held, 'Null if the history is damaged.'),
  signup: group('Sign-up of wallets.', { isOpen: flag('True if wallets can sign up.'), reason }),
  accounts: group('Accounts made.', {
    all: count('Accounts in total.'),
    lastDay: count('Accounts made in the last 24 hours.'),
    lastWeek: count('Accounts made in the last seven days.'),
  }),
  chains: groups('Chains on which payments are accepted.', {
    name: text('Name of the chain.'),
    tokens: groups('Tokens that are accepted on the chain.', {
      symbol: text('Symbol of the token.'),
      reason,
    }),
  }),
  sanctions: groupOrNull('Null without a sanctions list.', {
    publishedOn: text('Publication date of the list.'),
    confirmedAt: time('When the list was last confirmed to be the published one.'),
    entryCount: count('Number of addresses.'),
    isStale: flag('True if the list is too old to be relied upon.'),
  }),
  review: group('Payments and transfers that need a decision.', {
    payments: count('In review.'),
    transfers: count('Transfers that no payment explains.'),
    inFlight: count('Payments that are not decided yet.'),
  }),
})
export type Overview = Static<typeof Overview>

const measured = (description: string) =>
  nullable(Type.Number(), `${description} Null where no server ran.`)

export const ActivityQuery = Type.Object({
  range: Type.Optional(choice(['day', 'week', 'month'], 'Length of the range; by default a day.')),
})
export const ActivitySeries = object('AdminActivity', {
  from: time('Start of the first step.'),
  to: time('End of the last step, which is still running.'),
  stepSeconds: count('Length of a step in seconds.'),
  servers: count('Processes that served in the last 24 hours; each start counts as one.'),
  steps: groups('Sums over all servers, oldest first.', {
    at: time('Start of the step.'),
    requests: measured('Requests, without those of the operator and of health checks.'),
    errors: measured('Responses with a status of 500 or above.'),
    p99Ms: measured(
      '99th percentile of the response time in milliseconds: the upper bound of its bucket, or 10001 above 10 seconds.',
    ),
    statesPerSecond: measured('Snapshots stored a second.'),
    lagMs: measured("Longest time from the venue's timestamp to the disk, in milliseconds."),
    payments: count('Payments that bought something.'),
    failedPayments: count('Payments that ended as `rejected`, `void` or `review`.'),
    revenue: text('Revenue of these payments, in dollars.'),
    signups: count('Accounts made by sign-up.'),
  }),
  problems: groups('Refusals and failures of the range, most frequent first.', {
    code: text('See docs/errors.md.'),
    status: count('HTTP status.'),
    title: text('Title of the code.'),
    count: count('Number of responses.'),
  }),
})
export type ActivitySeries = Static<typeof ActivitySeries>

export const Key = object('AdminKey', {
  id: text('Id of the key.'),
  label: textOrNull('Label set by its owner or the operator.'),
  hint: text('Last characters of the key.'),
  status: text('`valid`, `expiring`, `expired` or `revoked`.'),
  createdAt: time('Time of creation.'),
  lastUsedAt: timeOrNull('Time of the last use.'),
  expiresAt: timeOrNull('Time of expiry.'),
})
export const Account = object('AdminAccount', {
  id: text('Id of the account.'),
  address: textOrNull('Wallet of the account.'),
  label: textOrNull('Label set by its owner or the operator.'),
  createdAt: time('Time of creation.'),
  isBlocked: flag('True if the wallet is on a sanctions list.'),
  tier: text('Id of the current tier.'),
  tierName: text('Name of the current tier.'),
  tierUntil: timeOrNull('End of the current tier; null if it never ends.'),
  keys: Type.Array(Key),
})
export type Account = Static<typeof Account>
export const AccountList = Type.Object({
  data: Type.Array(Account, { description: 'Newest first.' }),
  next: textOrNull('Send as `after` to get the next page.'),
})
export const AccountQuery = Type.Object({
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  after: Type.Optional(Type.String({ pattern: '^\\d{1,16}:\\w{1,80}$' })),
  limit: Type.Optional(integer({ minimum: 1, maximum: 200, default: 25 })),
})

export const KeyDraft = Type.Object({
  tier: sent('Id of the tier to grant.'),
  label: optional('Purpose of the key.'),
  days: optional('Length of the grant in days; without it the grant never ends.'),
  address: optional('Wallet of the account.'),
  account: optional('Id of an existing account.'),
})
export const MadeKey = object('AdminMadeKey', {
  key: text('The key, shown only once.'),
  id: text('Id of the key.'),
  accountId: text('Id of the account.'),
  warning: textOrNull('Check that could not be made.'),
})
export type MadeKey = Static<typeof MadeKey>
export const OneId = Type.Object({ id: sent('Id of the key, quote or account.') })
export const Done = object('AdminDone', { changed: flag('False if nothing had to be changed.') })

export const Tier = object('AdminTier', {
  id: text('Id of the tier.'),
  name: text('Name of the tier.'),
  rank: count('Rank among the tiers, the highest last.'),
  coins: Type.Array(Type.String()),
  routes: Type.Array(Type.String()),
  requestsPerMinute: count('Requests a minute for each key.'),
  priceUsdc: textOrNull('Price of a period in USDC.'),
  periodDays: nullable(Type.Integer(), 'Length of a period in days.'),
  isForSale: flag('True if the tier can be bought.'),
  contact: textOrNull('Where to ask for the tier.'),
  bought: count('Accounts that bought it, which keep what they bought.'),
  granted: count('Accounts that were granted it; they follow the catalogue.'),
})
export type Tier = Static<typeof Tier>
export const TierList = Type.Object({
  data: Type.Array(Tier),
  accounts: count('Accounts of all tiers.'),
})
export const TierDraft = Type.Object({
  id: sent('Id of the tier; an unknown id makes a new tier.'),
  mode: choice(['preview', 'apply'], '`preview` writes nothing.'),
  name: optional('Display name.'),
  coins: optional('Such as `btc,eth`, or `all`.'),
  routes: optional('Such as `markets,prices`, or `all`.'),
  requestsPerMinute: optional('Requests a minute for each key.'),
  price: optional('Price of a period in USDC, or `none`.'),
  periodDays: optional('Length of a period in days, or `none`.'),
  forSale: Type.Optional(flagText('`yes` if the tier can be bought.')),
  contact: optional('Where to ask for the tier, or `none`.'),
  rank: optional('Rank among the tiers, the highest last.'),
})
export const TierPlan = object('AdminTierPlan', {
  differences: Type.Array(Type.String(), { description: 'What changes.' }),
  bought: count('Accounts that keep what they bought.'),
  followers: count('Accounts that get the change at once.'),
})
export type TierPlan = Static<typeof TierPlan>

const money = {
  network: text('Chain.'),
  token: text('Token.'),
  amount: text('Amount in units of the token.'),
  transaction: textOrNull('Hash of the transaction.'),
  resolution: textOrNull('Decision of the operator.'),
}
export const Payment = object('AdminPayment', {
  id: text('Id of the payment.'),
  state: text('See docs/payments.md.'),
  reason: textOrNull('Code of the reason for the state.'),
  reasonText: textOrNull('Reason in words.'),
  accountId: text('Account of the buyer.'),
  accountName: text('Label of the account, else its wallet, else its id.'),
  product: text('Name of the tier or pack.'),
  payer: text('Address of the payer.'),
  ...money,
  createdAt: time('Time of submission.'),
  updatedAt: time('Time of the last change.'),
})
export type Payment = Static<typeof Payment>
export const Transfer = object('AdminTransfer', {
  id: text('Id of the transfer.'),
  from: text('Address of the payer.'),
  ...money,
  foundAt: time('Time when the transfer was found.'),
})
export type Transfer = Static<typeof Transfer>
const Offer = object('AdminOffer', {
  id: text('Id of the quote.'),
  accountId: text('Account that requested the quote.'),
  accountName: text('Label of the account, else its wallet, else its id.'),
  amount: text('Reserved amount.'),
  token: text('Token.'),
  tierId: text('Id of the tier.'),
  tierName: text('Name of the tier.'),
  reservedUntil: time('End of the reservation.'),
})
export const PaymentList = object('AdminPayments', {
  payments: Type.Array(Payment, { description: 'Newest first.' }),
  transfers: Type.Array(Transfer, { description: 'Transfers that no payment explains.' }),
  offers: Type.Array(Offer, { description: 'Quotes that reserve an amount.' }),
})
export type PaymentList = Static<typeof PaymentList>
export const PaymentQuery = Type.Object({
  state: Type.Optional(choice(paymentStates, 'Only undecided payments in this state.')),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  limit: Type.Optional(integer({ minimum: 1, maximum: 1000, default: 100 })),
})

const sold = (description: string) =>
  group(description, {
    payments: count('Payments that bought something.'),
    revenue: text('Revenue of these payments, in dollars.'),
    failed: count('Payments that ended as `rejected` or `void`.'),
  })
export const Sales = object('AdminSales', {
  day: sold('In the last 24 hours.'),
  week: sold('In the last 7 days.'),
  month: sold('In the last 30 days.'),
  all: sold('In total.'),
})
export type Sales = Static<typeof Sales>
export const Decision = Type.Object({
  id: sent('Id of a payment (pay_…) or transfer (transfer_…).'),
  note: sent('The decision.'),
})

export const Job = object('AdminJob', {
  name: text('Name of the job.'),
  about: text('Description of the job.'),
  isRunning: flag('True while the job runs.'),
  isFailed: flag('True if the last run failed.'),
  canRun: flag('True if the job can be started.'),
  outcome: textOrNull('Outcome of the last run.'),
  startedAt: timeOrNull('Start of the last run.'),
  endedAt: timeOrNull('End of the last run.'),
  nextAt: timeOrNull('Start of the next run.'),
  progress: groupOrNull('Null unless the job runs and reports progress.', {
    done: count('Units done.'),
    total: count('Units in total.'),
  }),
})
export type Job = Static<typeof Job>
export const JobList = Type.Object({ data: Type.Array(Job) })
export const JobStart = Type.Object({
  name: sent('Name of the job.'),
  acceptLoss: Type.Optional(flagText('`yes` lets the job sanctions-list delete addresses.')),
})

export const AuditRow = object('AdminAuditRow', {
  seq: count('Sequence number, from 1.'),
  time: time('Time of the change.'),
  actor: text('Actor as the chain stores it.'),
  actorKind: choice(
    ['operator', 'system', 'account'],
    'Kind of the actor: `system` is the server itself.',
  ),
  actorId: textOrNull('Id of the account, if the actor is an account.'),
  actorName: textOrNull('Label of the account, else its wallet, else its first key.'),
  action: text('Kind of the change.'),
  subject: text('Id of what was changed.'),
  subjectName: textOrNull('Name of the subject, if it has one.'),
  state: text('State after the change, as JSON.'),
})
export const AuditList = object('AdminAudit', {
  data: Type.Array(AuditRow, { description: 'Newest first.' }),
  next: nullable(Type.Integer(), 'Send as `before` to get older rows; null on the last page.'),
  head: textOrNull('Sequence number and hash of the newest row; keep a copy elsewhere.'),
})
export type AuditList = Static<typeof AuditList>
export const AuditQuery = Type.Object({
  before: Type.Optional(integer({ minimum: 1 })),
  limit: Type.Optional(integer({ minimum: 1, maximum: 1000, default: 50 })),
})
