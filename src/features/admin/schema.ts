import { type Static, Type } from '@sinclair/typebox'

import { paymentStates } from '#src/domain/selling/payment.ts'
import {
  choice,
  count,
  group,
  groups,
  nullable,
  object,
  text,
  textOrNull,
  time,
  timeOrNull,
} from '#src/http/fields.ts'

const flag = (description: string) => Type.Boolean({ description })
const flagText = (description: string) => choice(['yes', 'no'], description)
const sent = (description: string, maxLength = 200) =>
  Type.String({ description, minLength: 1, maxLength })
const optional = (description: string) => Type.Optional(sent(description))

export const Recorder = object('AdminRecorder', {
  startedMs: Type.Integer(),
  writtenMs: Type.Integer({ description: 'When it said so, in Unix milliseconds.' }),
  fault: Type.Optional(text('Why it cannot store.')),
  warning: Type.Optional(text('What is wrong with the venue.')),
  perSecond: group('In the last two seconds.', { messages: count('Heard.'), rows: count('Kept.') }),
  messages: count('Since the start.'),
  faults: count('Messages that were not understood.'),
  driftMs: nullable(Type.Number(), "How far the venue's clock is behind; null until it is heard."),
  sink: group('What is stored.', {
    rows: count('Stored since the start.'),
    waiting: count('Not stored yet.'),
    dropped: count('Not stored for lack of room.'),
    lagMs: nullable(Type.Number(), "From the venue's time to the disk; null before the first."),
  }),
  connections: groups('To the venue.', {
    lane: count('Which of the parallel ones.'),
    state: text('`live` or `opening`.'),
    tokens: count('Books that it carries.'),
    withoutBook: count('Of these, not heard yet.'),
    sinceMs: Type.Integer(),
    lastMessageMs: Type.Optional(Type.Integer()),
  }),
  markets: groups('Recorded now.', {
    slug: text('Name of the market.'),
    lastMs: Type.Optional(Type.Integer({ description: 'Its newest state.' })),
    unknown: Type.Array(Type.String(), { description: 'Outcomes with an open gap.' }),
  }),
})
export type Recorder = Static<typeof Recorder>

export const Disk = object('AdminDisk', {
  files: groups('Of the data folder.', { name: text('File.'), bytes: count('Size.') }),
  freeBytes: nullable(
    Type.Integer(),
    'Room on the disk; null where the system does not report it.',
  ),
})
export type Disk = Static<typeof Disk>

const Held = group('In the history.', {
  markets: count('Markets.'),
  snapshots: count('States.'),
  bytes: count('Used bytes.'),
})
const reason = textOrNull('Why not; null if it is.')

export const Finding = object('AdminFinding', {
  level: choice(['fault', 'warning', 'notice', 'ok'], 'How urgent it is.'),
  about: choice(['sales', 'sign-ups', 'recorder', 'server'], 'What it is about.'),
  text: text('The finding, in one or two sentences.'),
  todo: textOrNull('What to do; null where the text says it.'),
  link: textOrNull('The part of the page that shows more; null if none does.'),
})
export type Finding = Static<typeof Finding>

export const Overview = object('AdminOverview', {
  version: text('Of the server.'),
  now: time('Of the server.'),
  startedAt: time('Of the server.'),
  findings: Type.Array(Finding, { description: 'What to know first, most urgent first.' }),
  recorder: nullable(Recorder, 'Null where nothing is recorded.'),
  disk: Disk,
  held: nullable(Held, 'Null where the history is damaged.'),
  signup: group('Whether wallets may sign up.', { isOpen: flag('They may.'), reason }),
  accounts: group('Made.', {
    all: count('Ever.'),
    lastDay: count('In a day.'),
    lastWeek: count('In seven.'),
  }),
  chains: groups('What is sold on.', {
    name: text('Of the chain.'),
    tokens: groups('Tokens.', { symbol: text('Of the token.'), reason }),
  }),
  sanctions: nullable(
    Type.Object({
      publishedOn: text('Date of the list.'),
      confirmedAt: time('When it was last seen to be the published one.'),
      entryCount: count('Addresses.'),
      isStale: flag('Too old to be relied upon.'),
    }),
    'Null without a list.',
  ),
  review: group('What waits for a decision.', {
    payments: count('In review.'),
    transfers: count('That no payment explains.'),
    inFlight: count('Payments that are not decided yet.'),
  }),
})
export type Overview = Static<typeof Overview>

const measured = (description: string) =>
  nullable(Type.Number(), `${description} Null where no server ran.`)

export const ActivityQuery = Type.Object({
  range: Type.Optional(choice(['day', 'week', 'month'], 'How far back; by default a day.')),
})
export const ActivitySeries = object('AdminActivity', {
  from: time('Start of the first step.'),
  to: time('End of the last step, which is not over yet.'),
  stepSeconds: count('Length of a step.'),
  servers: count('Processes that served within a day; each start is another one.'),
  steps: groups('Of all servers together, oldest first.', {
    at: time('Start of the step.'),
    requests: measured('Requests, without those of the operator and of health checks.'),
    errors: measured('Responses of 500 and above.'),
    p99Ms: measured(
      '99 of 100 requests took no longer, in milliseconds: the bound of a bucket, or 10001 if it is above 10 seconds.',
    ),
    statesPerSecond: measured('States that recorders stored each second.'),
    lagMs: measured("The largest time from the venue's to the disk."),
    payments: count('Payments that bought something.'),
    failedPayments: count('Payments that ended as `rejected`, `void` or `review`.'),
    revenue: text('Of these payments, in dollars.'),
    signups: count('Wallets that got an account.'),
  }),
  problems: groups('Refusals and failures in this time, the most frequent first.', {
    code: text('See docs/errors.md.'),
    status: count('HTTP status.'),
    title: text('In words.'),
    count: count('How many.'),
  }),
})
export type ActivitySeries = Static<typeof ActivitySeries>

export const Key = object('AdminKey', {
  id: text('Name of the key.'),
  label: textOrNull('Its label.'),
  hint: text('The last characters of the key.'),
  status: text('`valid`, `expiring`, `expired` or `revoked`.'),
  createdAt: time('When it was made.'),
  lastUsedAt: timeOrNull('When it was used last.'),
  expiresAt: timeOrNull('When it ends.'),
})
export const Account = object('AdminAccount', {
  id: text('Name of the account.'),
  address: textOrNull('Its wallet.'),
  label: textOrNull('Its label.'),
  createdAt: time('When it was made.'),
  isBlocked: flag('It is on a sanctions list.'),
  tier: text('What it has now.'),
  tierName: text('Name of the tier.'),
  tierUntil: timeOrNull('Until when; null for ever.'),
  keys: Type.Array(Key),
})
export type Account = Static<typeof Account>
export const AccountList = Type.Object({
  data: Type.Array(Account, { description: 'Newest first.' }),
  next: textOrNull('Send it as `after` for the next page.'),
})
export const AccountQuery = Type.Object({
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  after: Type.Optional(Type.String({ pattern: '^\\d{1,16}:\\w{1,80}$' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 25 })),
})

export const KeyDraft = Type.Object({
  tier: sent('Tier to grant.'),
  label: optional('What the key is for.'),
  days: optional('Length of the grant; absent for ever.'),
  address: optional('Wallet of the account.'),
  account: optional('Account that exists.'),
})
export const MadeKey = object('AdminMadeKey', {
  key: text('The key; it is shown this once.'),
  id: text('Its name.'),
  accountId: text('Its account.'),
  warning: textOrNull('What could not be checked.'),
})
export type MadeKey = Static<typeof MadeKey>
export const OneId = Type.Object({ id: sent('What it is about.') })
export const Done = object('AdminDone', { changed: flag('False if it was so before.') })

export const Tier = object('AdminTier', {
  id: text('Of the tier.'),
  name: text('Of the tier.'),
  rank: count('Place.'),
  coins: Type.Array(Type.String()),
  routes: Type.Array(Type.String()),
  requestsPerMinute: count('Of each key.'),
  priceUsdc: textOrNull('Of a period.'),
  periodDays: nullable(Type.Integer(), 'Length of a period.'),
  isForSale: flag('It can be bought.'),
  contact: textOrNull('Where to ask for it.'),
  bought: count('Accounts that bought it, which keep what they bought.'),
  granted: count('Accounts that were granted it, which follow the catalogue.'),
})
export type Tier = Static<typeof Tier>
export const TierList = Type.Object({ data: Type.Array(Tier), accounts: count('Of all tiers.') })
export const TierDraft = Type.Object({
  id: sent('Of the tier; an unknown one is made.'),
  mode: choice(['preview', 'apply'], '`preview` writes nothing.'),
  name: optional('What people call it.'),
  coins: optional('Such as `btc,eth`, or `all`.'),
  routes: optional('Such as `markets,prices`, or `all`.'),
  requestsPerMinute: optional('Allowance of each key.'),
  price: optional('In USDC, or `none`.'),
  periodDays: optional('Or `none`.'),
  forSale: Type.Optional(flagText('Whether it can be bought.')),
  contact: optional('Where to ask for it, or `none`.'),
  rank: optional('Place among the tiers, the highest last.'),
})
export const TierPlan = object('AdminTierPlan', {
  differences: Type.Array(Type.String(), { description: 'What changes.' }),
  bought: count('Accounts that keep what they bought.'),
  followers: count('Accounts that the change holds for at once.'),
})
export type TierPlan = Static<typeof TierPlan>

const money = {
  network: text('Chain.'),
  token: text('Token.'),
  amount: text('In units of the token.'),
  transaction: textOrNull('Hash.'),
  resolution: textOrNull('What the operator decided.'),
}
export const Payment = object('AdminPayment', {
  id: text('Of the payment.'),
  state: text('See docs/payments.md.'),
  reason: textOrNull('Why it is where it is.'),
  reasonText: textOrNull('The same in words.'),
  accountId: text('Who bought.'),
  accountName: text('Its label, its wallet, or else its id.'),
  product: text('Name of the tier or pack.'),
  payer: text('Who paid.'),
  ...money,
  createdAt: time('When it was submitted.'),
  updatedAt: time('When it last changed.'),
})
export type Payment = Static<typeof Payment>
export const Transfer = object('AdminTransfer', {
  id: text('Of the transfer.'),
  from: text('Who paid.'),
  ...money,
  foundAt: time('When it was found.'),
})
export type Transfer = Static<typeof Transfer>
const Offer = object('AdminOffer', {
  id: text('Of the quote.'),
  accountId: text('Who asked for it.'),
  accountName: text('Its label, its wallet, or else its id.'),
  amount: text('That it holds.'),
  token: text('Token.'),
  tierId: text('What is bought.'),
  tierName: text('Name of the tier.'),
  reservedUntil: time('Until when the amount is held.'),
})
export const PaymentList = object('AdminPayments', {
  payments: Type.Array(Payment, { description: 'Newest first.' }),
  transfers: Type.Array(Transfer, { description: 'That no payment explains.' }),
  offers: Type.Array(Offer, { description: 'Quotes that hold an amount of their own.' }),
})
export type PaymentList = Static<typeof PaymentList>
export const PaymentQuery = Type.Object({
  state: Type.Optional(choice(paymentStates, 'Those without a decision, in this state.')),
  search: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 100 })),
})

const sold = (description: string) =>
  group(description, {
    payments: count('Payments that bought something.'),
    revenue: text('Of these, in dollars.'),
    failed: count('Payments that ended as `rejected` or `void`.'),
  })
export const Sales = object('AdminSales', {
  day: sold('In the last 24 hours.'),
  week: sold('In the last 7 days.'),
  month: sold('In the last 30 days.'),
  all: sold('Ever.'),
})
export type Sales = Static<typeof Sales>
export const Decision = Type.Object({
  id: sent('pay_… or transfer_…'),
  note: sent('What was decided.'),
})

export const Job = object('AdminJob', {
  name: text('Of the job.'),
  about: text('What it does.'),
  isRunning: flag('Now.'),
  isFailed: flag('The last time.'),
  canRun: flag('It can be started.'),
  outcome: textOrNull('How it ended.'),
  startedAt: timeOrNull('Last time.'),
  endedAt: timeOrNull('Last time.'),
  nextAt: timeOrNull('Next time.'),
  progress: nullable(
    Type.Object({ done: count('Done.'), total: count('Of so many.') }),
    'While it runs, where it is known.',
  ),
})
export type Job = Static<typeof Job>
export const JobList = Type.Object({ data: Type.Array(Job) })
export const JobStart = Type.Object({
  name: sent('Of the job.'),
  acceptLoss: Type.Optional(flagText('Of the sanctions list, after a delisting.')),
})

export const AuditRow = object('AdminAuditRow', {
  seq: count('1, 2, 3, …'),
  time: time('When.'),
  actor: text('Who, as in the chain.'),
  actorKind: choice(['operator', 'system', 'account'], 'Who: `system` is the server by itself.'),
  actorId: textOrNull('Of an account.'),
  actorName: textOrNull('What people know the account by: its label, wallet or first key.'),
  action: text('What.'),
  subject: text('Of what.'),
  subjectName: textOrNull('Its name, where it has one.'),
  state: text('What became of it, as JSON.'),
})
export const AuditList = object('AdminAudit', {
  data: Type.Array(AuditRow, { description: 'Newest first.' }),
  next: nullable(Type.Integer(), 'Send it as `before` for older rows; null at the first one.'),
  head: textOrNull('Number and hash of the newest row, to be noted elsewhere.'),
})
export type AuditList = Static<typeof AuditList>
export const AuditQuery = Type.Object({
  before: Type.Optional(Type.Integer({ minimum: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 50 })),
})
