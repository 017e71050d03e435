/** Requests bought by payments, and the responses to single paid requests. */
import { credit, paidAnswer } from '#db/ledger/schema.ts'
import { type Credit, mayAnswer, type PaidAnswer } from '#src/domain/selling/credit.ts'
import type { Terms } from '#src/domain/selling/tier.ts'

import { printTerms } from '../accounts.ts'
import { checksums, NEXT_CHECKSUM } from '../checksums.ts'
import type { LedgerCore } from '../core.ts'
import type { PaymentReads, PaymentVerbs } from '../payments.ts'
import { change, createRows } from '../rows.ts'

export function createCredits({ db }: LedgerCore) {
  const credits = createRows(db, credit, {
    what: 'credit',
    parse: ({ terms, checksum: _, ...row }): Credit => ({
      ...row,
      terms: JSON.parse(terms) as Terms,
    }),
  })
  const setUsed = change<[{ id: string; used: number; before: number; checksum: number }]>(
    db,
    `UPDATE credit SET used = $used, checksum = ${NEXT_CHECKSUM} WHERE id = $id`,
  )
  /** False if the count would become negative or exceed the bought requests. */
  function addUsed(id: string, count: 1 | -1): boolean {
    const row = credits.find(id)
    if (row === undefined) return false
    const used = row.used + count
    if (used < 0 || used > row.requests) return false
    const before = checksums.credit(row)
    setUsed({ id, used, before, checksum: checksums.credit({ id, used }) })
    return true
  }

  const answers = createRows(db, paidAnswer, {
    what: 'paid answer',
    parse: ({ checksum: _, ...row }): PaidAnswer => row,
  })
  const updateAnswer = change<[PaidAnswerChange]>(
    db,
    `UPDATE paid_answer SET address = $address, answers = $answers,
       delivered_ms = $deliveredMs, checksum = ${NEXT_CHECKSUM}
     WHERE id = $id`,
  )
  function putAnswer(row: PaidAnswer, known: PaidAnswer | undefined): void {
    const checksum = checksums.paidAnswer(row)
    if (known === undefined) {
      answers.insert({ ...row, checksum })
      return
    }
    const before = checksums.paidAnswer(known)
    updateAnswer({ ...row, deliveredMs: row.deliveredMs ?? null, before, checksum })
  }

  return {
    find: credits.find,
    insert({ terms, ...row }: Credit): void {
      credits.insert({ ...row, terms: printTerms(terms), checksum: checksums.credit(row) })
    },

    reads: {
      findCredit: credits.find,
      listCredits: credits.list<[accountId: string]>(
        'WHERE account_id = $1 AND used < requests ORDER BY created_ms, id',
      ),
      findPack: credits.one<[accountId: string]>(
        'WHERE account_id = $1 AND requests > 1 ORDER BY created_ms DESC, id DESC LIMIT 1',
      ),
      findPaidAnswer: answers.find,
      listUndelivered: answers.list<[{ accountId: string; address: string; sinceMs: number }]>(
        `WHERE delivered_ms IS NULL AND address = $address AND id IN
           (SELECT id FROM payment WHERE account_id = $accountId AND created_ms > $sinceMs)
         ORDER BY id`,
      ),
    } satisfies Partial<PaymentReads>,

    verbs: {
      useCredit: (id) => addUsed(id, 1),
      returnCredit: (id) => void addUsed(id, -1),

      aimPaidAnswer(id, address) {
        const known = answers.find(id)
        if (known === undefined || known.answers === 0)
          putAnswer({ id, address, answers: 0 }, known)
      },

      beginPaidAnswer(id, { address, nowMs }) {
        const bought = credits.find(id)
        if (bought === undefined) return false
        const isUsed = bought.used >= bought.requests
        const known = answers.find(id)
        if (!mayAnswer(known, { address, isUsed, nowMs })) return false
        const begun = (known?.answers ?? 0) + 1
        putAnswer({ id, address, answers: begun, deliveredMs: known?.deliveredMs }, known)
        return true
      },

      deliverPaidAnswer(id, nowMs) {
        const known = answers.find(id)
        if (known === undefined || known.deliveredMs !== undefined) return
        putAnswer({ ...known, deliveredMs: nowMs }, known)
        addUsed(id, 1)
      },

      deliverPurchase(id, { address, nowMs }) {
        const known = answers.find(id)
        if (known?.deliveredMs !== undefined) return
        putAnswer({ id, address, answers: 1, deliveredMs: nowMs }, known)
      },
    } satisfies Partial<PaymentVerbs>,
  }
}

/** A change of a row whose checksum was `before`. */
type PaidAnswerChange = Omit<PaidAnswer, 'deliveredMs'> & {
  deliveredMs: number | null
  before: number
  checksum: number
}
