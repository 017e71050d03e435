/**
 * The steps of a purchase. What was signed is kept until it is decided: from then on the same
 * payment is submitted again, and nothing else is signed.
 */

import { useState } from 'preact/hooks'

import { type Problem, request, toProblem } from '../../lib/api.ts'
import { draftPayment, type Quote, settle } from '../../lib/billing.ts'
import { type Payer, signTypedData, WalletError } from '../../lib/wallet.ts'

/** `anotherPeriod`: allowed although another payment for the same tier and token is open. */
export type Order = { tierId: string; network: string; token: string; anotherPeriod?: boolean }

export type Stage =
  | { at: 'choose'; problem?: Problem }
  | { at: 'review'; quote: Quote; fault?: string }
  | { at: 'wait'; text: string }
  /** Signed, and not taken: `problem` says what to do. */
  | { at: 'held'; quote: Quote; payload: object; problem: Problem }
  /** `quote` is that of this page; undefined where another payment was on its way before. */
  | { at: 'sent'; paymentId: string; quote?: Quote }

export type Purchase = {
  stage: Stage
  ask: (order: Order) => Promise<void>
  pay: (quote: Quote) => Promise<void>
  submit: (quote: Quote, payload: object) => Promise<void>
  reset: () => void
}

export function usePurchase(payer: Payer): Purchase {
  const [stage, setStage] = useState<Stage>({ at: 'choose' })

  const submit = async (quote: Quote, payload: object) => {
    setStage({ at: 'wait', text: 'Your signed payment is being submitted. Do not sign another.' })
    try {
      const answer = await settle(payload)
      const { paymentId } = answer.status === 'active' ? answer.settlement : answer
      setStage({ at: 'sent', paymentId, quote })
    } catch (error) {
      setStage({ at: 'held', quote, payload, problem: toProblem(error) })
    }
  }

  return {
    stage,
    submit,
    reset: () => setStage({ at: 'choose' }),
    async ask(order) {
      setStage({ at: 'wait', text: 'Requesting a quote…' })
      try {
        const body = { ...order, payer: payer.address }
        const quote = await request<Quote>('/v1/billing/x402/quote', { method: 'POST', body })
        const { paymentInFlight: other } = quote
        setStage(other ? { at: 'sent', paymentId: other.paymentId } : { at: 'review', quote })
      } catch (error) {
        setStage({ at: 'choose', problem: toProblem(error) })
      }
    },
    async pay(quote) {
      setStage({ at: 'wait', text: `Sign in ${payer.wallet.info.name}.` })
      const draft = draftPayment(quote, payer.address)
      try {
        const signature = await signTypedData(payer, draft.typedData)
        await submit(quote, draft.payload(signature))
      } catch (error) {
        if (!(error instanceof WalletError)) throw error
        setStage({ at: 'review', quote, fault: error.message })
      }
    },
  }
}

/** Advice for a payment that was signed and not accepted. */
export type Remedy = 'new_quote' | 'same_by_itself' | 'same_by_hand' | 'approve' | 'stop'

/** An unknown outcome may mean that money is on its way: the same payment is submitted again. */
export function remedyOf({ retryAction, status }: Problem): Remedy {
  switch (retryAction) {
    case 'sign_anew':
      return 'new_quote'
    case 'wait_and_retry':
      return 'same_by_hand'
    case 'approve_then_retry':
      return 'approve'
    case 'abandon':
    case 'ask_operator':
      return 'stop'
    default:
      return status === 0 || status === 429 || status >= 500 ? 'same_by_itself' : 'same_by_hand'
  }
}
