/** The states of a payment in words for its payer. None says "try again" too early. */

import type { Payment } from './billing.ts'
import { serverNowMs } from './clock.ts'
import { showStamp } from './format.ts'

type State = Payment['paymentState']
type Text = { title: string; text: string; tone: 'wait' | 'good' | 'bad' }

export const stepNames = ['Signed', 'Checked', 'Sent', 'Arrived', 'Yours']

/** Number of completed steps. */
export const stepsDone: Record<State, number> = {
  received: 1,
  screened: 2,
  settling: 2,
  pending: 3,
  unknown: 3,
  settled: 4,
  provisioned: 5,
  rejected: 1,
  void: 1,
  review: 2,
}

export const stateTexts: Record<State, Text> = {
  received: {
    title: 'The server has your payment',
    text: 'The payment is stored, and is not sent to the chain yet. Do not sign another.',
    tone: 'wait',
  },
  screened: {
    title: 'Your wallet passed the sanctions check',
    text: 'Next, the server sends the payment to the chain. Do not sign another.',
    tone: 'wait',
  },
  settling: {
    title: 'Your payment is being sent to the chain',
    text: 'This takes seconds. Do not sign another.',
    tone: 'wait',
  },
  pending: {
    title: 'Your payment is in a transaction that is not final yet',
    text: 'The payment counts when the block is final, usually within minutes. Do not sign another.',
    tone: 'wait',
  },
  unknown: {
    title: 'Your money may or may not have moved',
    text: 'The result of your payment was lost in transit, so the server checks the chain until the result is certain. You can close this page: the payment is then either booked, or proved never to have happened. Do not sign another.',
    tone: 'wait',
  },
  settled: {
    title: 'Your money has arrived',
    text: 'The period is being booked.',
    tone: 'wait',
  },
  provisioned: { title: 'Payment complete', text: 'The period is booked.', tone: 'good' },
  rejected: {
    title: 'This payment was not accepted',
    text: 'The server sent nothing. Your signature stays valid until it expires: do not sign another before this page shows that the payment can never happen.',
    tone: 'bad',
  },
  void: {
    title: 'This payment did not happen, and never can',
    text: 'The chain proves it: no money moved. You can pay with a new quote.',
    tone: 'bad',
  },
  review: {
    title: 'The operator must review this payment',
    text: 'Do not pay again. Send the id of the payment to the operator.',
    tone: 'bad',
  },
}

/** A period of a lower tier begins when the running period ends. */
export const showStart = (startsAt: string): string =>
  Date.parse(startsAt) > serverNowMs() + 60_000
    ? `on ${showStamp(startsAt)}, when your period of the same or a higher tier ends`
    : 'at once'

export const reasonTexts: Readonly<Record<string, string>> = {
  insufficient_balance: 'The wallet holds less than the amount.',
  allowance_required: 'Permit2 has no approval for this token yet.',
  payer_blocked: 'The issuer of the token blocks this wallet.',
  sanctioned: 'The paying wallet is on a sanctions list.',
  signature_invalid: 'The signature is not from the paying wallet.',
  expired: 'The signature expired before the payment was on the chain.',
  expires_too_soon: 'The signature expired before the payment was sent.',
  canceled: 'The authorization was canceled on the chain.',
  paid_twice: 'Another payment has already paid this quote.',
  paid_before_offer: 'The transfer was made before the quote.',
  foreign_payer: 'The transfer came from a wallet that does not belong to this account.',
  used_elsewhere: 'The authorization was spent on something else.',
}
