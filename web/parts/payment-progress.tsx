import { useEffect, useState } from 'preact/hooks'

import { type Problem, ProblemError, send, toProblem } from '../lib/api.ts'
import type { Payment } from '../lib/billing.ts'
import { showStamp } from '../lib/format.ts'
import { reasonTexts, showStart, stateTexts, stepNames, stepsDone } from '../lib/payment-texts.ts'
import { refreshRights } from '../lib/rights.ts'

const POLL_SECONDS = 10
/** True once the server does no more by itself. The payer may still execute a rejected payment. */
const isOver = ({ paymentState }: Payment): boolean =>
  paymentState === 'provisioned' || paymentState === 'void' || paymentState === 'review'

type Asked = { payment?: Payment; problem?: Problem }

async function look(id: string, signal: AbortSignal) {
  const response = await send(`/v1/billing/x402/payments/${id}`, { signal })
  const wait = Number(response.headers.get('retry-after') ?? POLL_SECONDS)
  const payment = (await response.json()) as Payment
  if (payment.paymentState === 'provisioned') refreshRights()
  return { payment, wait }
}

/** Requests the payment at the interval that the server names, until it is decided. */
export function usePayment(id: string): Asked {
  const [asked, setAsked] = useState<Asked>({})
  useEffect(() => {
    const aborter = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const poll = async () => {
      let seconds = POLL_SECONDS
      try {
        const { payment, wait } = await look(id, aborter.signal)
        setAsked({ payment })
        if (isOver(payment)) return
        seconds = wait
      } catch (error) {
        if (aborter.signal.aborted) return
        const problem = toProblem(error)
        setAsked((before) => ({ ...before, problem }))
        if (error instanceof ProblemError) seconds = problem.retryAfterSeconds ?? POLL_SECONDS
      }
      timer = setTimeout(poll, seconds * 1000)
    }
    void poll()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [id])
  return asked
}

/** Progress of a payment, in words that stay true whatever its outcome. */
export function PaymentProgress({ payment, problem, id }: Asked & { id: string }) {
  if (payment === undefined) {
    return (
      <p class="note" role="status">
        {problem ? `Your payment is not lost. ${unanswered(problem)}` : 'Looking…'}
      </p>
    )
  }
  const { title, text, tone } = stateTexts[payment.paymentState]
  const done = stepsDone[payment.paymentState]
  const reason = payment.reason === undefined ? undefined : reasonTexts[payment.reason]
  return (
    <div class={`progress tone-${tone}`} data-state={payment.paymentState}>
      <ol class="steps" aria-label="Steps of the payment">
        {stepNames.map((name, index) => (
          <li key={name} class={classOf(index, done)} aria-current={index === done && 'step'}>
            {name}
            <span class="sr">{index < done ? ' (done)' : ' (to come)'}</span>
          </li>
        ))}
      </ol>
      <div role="status" class="stack">
        <h3>{title}</h3>
        <p>
          {reason} {text}{' '}
          {payment.subscription && `The period begins ${showStart(payment.subscription.startsAt)}.`}
        </p>
        {payment.authorizationExpiresAt !== undefined && !isOver(payment) && (
          <p class="note">
            The payment is decided soon after {showStamp(payment.authorizationExpiresAt)} at the
            latest. After that, your signature can move nothing.
          </p>
        )}
        {problem && <p class="note">{unanswered(problem)}</p>}
        <p class="note">
          Payment <code>{id}</code>
        </p>
      </div>
    </div>
  )
}

/** Never says "try again": the visitor would pay twice. */
const unanswered = ({ title }: Problem): string =>
  `${title}: this page keeps checking. Do not sign another.`

const classOf = (index: number, done: number): string => {
  if (index < done) return 'is-done'
  return index === done ? 'is-now' : ''
}
