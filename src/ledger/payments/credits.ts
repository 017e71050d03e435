/** Requests that payments have bought, and what payments for single requests have read. */
import { credit, paidAnswer } from '#db/ledger/schema.ts'
import { type Credit, mayAnswer, type PaidAnswer } from '#src/domain/selling/credit.ts'
import type { Terms } from '#src/domain/selling/tier.ts'

import { printTerms } from '../accounts.ts'
import type { LedgerCore } from '../core.ts'
import type { PaymentStore } from '../payments.ts'
import { change, createRows } from '../rows.ts'
import { SEAL_PRIME, sealNames } from '../seals.ts'

export function createCredits({ db, atomically, seals }: LedgerCore) {
  const credits = createRows(db, credit, {
    what: 'credit',
    parse: ({ terms, seal, ...row }): Credit => ({ ...row, terms: JSON.parse(terms) as Terms }),
  })
  const setUsed = (step: '+ 1' | '- 1', where: string) =>
    change<[{ id: string; growth: number }]>(
      db,
      `UPDATE credit SET used = used ${step}, seal = (seal + CAST($growth AS BIGINT)) % ${SEAL_PRIME}
       WHERE id = $id AND ${where}`,
    )
  const use = setUsed('+ 1', 'used < requests')
  const giveBack = setUsed('- 1', 'used > 0')
  const growthOf = (id: string, used: number) => seals.ofGrowth(sealNames.credit(id), [used])
  /** False if none is left. */
  const useOne = (id: string): boolean => use({ id, growth: growthOf(id, 1) })

  const answers = createRows(db, paidAnswer, {
    what: 'paid answer',
    parse: ({ seal: _, ...row }): PaidAnswer => row,
  })
  const updateAnswer = answers.update('address', 'answers', 'deliveredMs', 'seal')
  function putAnswer({ id, address, answers: count, deliveredMs }: PaidAnswer): void {
    const row = { id, address, answers: count, deliveredMs }
    const sealed = { ...row, seal: seals.ofRow(sealNames.paidAnswer(row)) }
    if (answers.find(id) === undefined) answers.insert(sealed)
    else updateAnswer(sealed)
  }

  return {
    find: credits.find,
    insert({ terms, ...row }: Credit): void {
      const seal = seals.ofCounters(sealNames.credit(row.id), [row.used])
      credits.insert({ ...row, terms: printTerms(terms), seal })
    },

    verbs: {
      findCredit: credits.find,
      listCredits: credits.list<[accountId: string]>(
        'WHERE account_id = $1 AND used < requests ORDER BY created_ms, id',
      ),
      findPack: credits.one<[accountId: string]>(
        'WHERE account_id = $1 AND requests > 1 ORDER BY created_ms DESC, id DESC LIMIT 1',
      ),
      useCredit: (id) => atomically(() => useOne(id)),
      returnCredit: (id) => atomically(() => void giveBack({ id, growth: growthOf(id, -1) })),

      findPaidAnswer: answers.find,
      listUndelivered: answers.list<[{ accountId: string; address: string; sinceMs: number }]>(
        `WHERE delivered_ms IS NULL AND address = $address AND id IN
           (SELECT id FROM payment WHERE account_id = $accountId AND created_ms > $sinceMs)
         ORDER BY id`,
      ),

      aimPaidAnswer: (id, address) =>
        atomically(() => {
          const known = answers.find(id)
          if (known === undefined || known.answers === 0) putAnswer({ id, address, answers: 0 })
        }),

      beginPaidAnswer: (id, { address, nowMs }) =>
        atomically(() => {
          const bought = credits.find(id)
          if (bought === undefined) return false
          const isUsed = bought.used >= bought.requests
          const known = answers.find(id)
          if (!mayAnswer(known, { address, isUsed, nowMs })) return false
          const begun = (known?.answers ?? 0) + 1
          putAnswer({ id, address, answers: begun, deliveredMs: known?.deliveredMs })
          return true
        }),

      deliverPaidAnswer: (id, nowMs) =>
        atomically(() => {
          const known = answers.find(id)
          if (known === undefined || known.deliveredMs !== undefined) return
          putAnswer({ ...known, deliveredMs: nowMs })
          useOne(id)
        }),

      deliverPurchase: (id, { address, nowMs }) =>
        atomically(() => {
          if (answers.find(id)?.deliveredMs !== undefined) return
          putAnswer({ id, address, answers: 1, deliveredMs: nowMs })
        }),
    } satisfies Partial<PaymentStore>,
  }
}
