/** What each state of a payment means for whoever pays. None says "try again" too early. */

import type { Payment } from './billing.ts'
import { serverNowMs } from './clock.ts'
import { showStamp } from './format.ts'

type State = Payment['paymentState']
type Text = { title: string; text: string; tone: 'wait' | 'good' | 'bad' }

export const stepNames = ['Signed', 'Checked', 'Sent', 'Arrived', 'Yours']

/** How many of the steps are done. */
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
    title: 'Your payment is here',
    text: 'It is stored, and nothing was sent to the chain yet. Do not sign another.',
    tone: 'wait',
  },
  screened: {
    title: 'Your wallet passed the sanctions check',
    text: 'Next the payment is sent to the chain. Do not sign another.',
    tone: 'wait',
  },
  settling: {
    title: 'Your payment is being sent to the chain',
    text: 'This takes seconds. Do not sign another.',
    tone: 'wait',
  },
  pending: {
    title: 'Your payment is in a transaction that is not final yet',
    text: 'It counts once the block is final, usually within minutes. Do not sign another.',
    tone: 'wait',
  },
  unknown: {
    title: 'Your money may or may not have moved',
    text: 'The answer about your payment was lost on the way, so the chain is asked until it is certain. You may close this page: it is either booked, or proved never to have happened. Do not sign another.',
    tone: 'wait',
  },
  settled: {
    title: 'Your money has arrived',
    text: 'The period is being booked.',
    tone: 'wait',
  },
  provisioned: { title: 'Paid, and yours', text: 'The period is booked.', tone: 'good' },
  rejected: {
    title: 'This payment was not accepted',
    text: 'We sent nothing. What you signed stays valid until its time is over: sign no other before this page says that it can never happen.',
    tone: 'bad',
  },
  void: {
    title: 'This payment did not happen, and never can',
    text: 'The chain proves it: no money moved. You can pay with a new quote.',
    tone: 'bad',
  },
  review: {
    title: 'The operator has to look at this payment',
    text: 'Do not pay again. Ask the operator, and name the payment.',
    tone: 'bad',
  },
}

/** A tier below that of a period which runs begins when that ends. */
export const showStart = (startsAt: string): string =>
  Date.parse(startsAt) > serverNowMs() + 60_000
    ? `on ${showStamp(startsAt)}, when what you have of the same or a higher tier ends`
    : 'at once'

export const reasonTexts: Readonly<Record<string, string>> = {
  insufficient_balance: 'The wallet holds less than the amount.',
  allowance_required: 'Permit2 may not move this token yet.',
  payer_blocked: 'The issuer of the token blocks this wallet.',
  sanctioned: 'The paying wallet is on a sanctions list.',
  signature_invalid: 'The signature is not one of the paying wallet.',
  expired: 'It ended before it was made.',
  expires_too_soon: 'It ended before it could be sent.',
  canceled: 'It was canceled on the chain.',
  paid_twice: 'Another payment had paid this quote already.',
  paid_before_offer: 'It was made before the quote.',
  foreign_payer: 'It was sent by a wallet that is not that of this account.',
  used_elsewhere: 'What was signed was spent on something else.',
}
