/** Re-reads the audit chain and every table that it speaks of, and finds what does not agree. */
import { messageOf } from '#src/lib/message.ts'
import { type Database, readConsistently } from '#src/sqlite/database.ts'

import { type AuditChain, chainStart, hashOf } from './audit-chain.ts'
import { type AuditedRow, type AuditedRows, isEnd, kindOf } from './audited-rows.ts'
import type { AuditRow } from './ledger.ts'

/** What the chain says last of a row, by `kind id`. */
type LastStates = Map<string, Pick<AuditRow, 'seq' | 'state' | 'action'>>

type Tables = { db: Database; chain: AuditChain; rows: AuditedRows }

/** Returns the function that finds the faults, each a sentence; none in a sound ledger. */
export const createAuditVerify = (tables: Tables) => (): string[] =>
  // In one state of the file, so that what is being written agrees with itself.
  readConsistently(tables.db, () => collect(verify(tables)))

function* verify({ chain, rows }: Tables): Generator<string> {
  const lastStates: LastStates = new Map()
  yield* verifyChain(chain.all(), lastStates)
  for (const row of rows.all()) {
    const name = `${row.kind} ${row.id}`
    yield* compare(name, row, lastStates.get(name))
    lastStates.delete(name)
  }
  for (const [name, { seq, action }] of lastStates) {
    if (!isEnd(action)) yield `${name} is gone, though audit row ${seq} records it.`
  }
}

function* verifyChain(rows: Iterable<AuditRow>, lastStates: LastStates): Generator<string> {
  let before: Pick<AuditRow, 'seq' | 'hash'> = chainStart
  for (const row of rows) {
    if (row.seq !== before.seq + 1) {
      yield `Audit row ${before.seq + 1} is missing: ${row.seq} is in its place.`
    }
    if (!isSame(row.hash, hashOf(before.hash, row))) {
      yield `Audit row ${row.seq} does not carry the hash of all before it and itself.`
    }
    const kind = kindOf(row.action, row.subject)
    const name = `${kind} ${row.subject}`
    const known = lastStates.get(name)
    if (known && isEnd(known.action)) {
      yield `${name} was forgotten by audit row ${known.seq}, and row ${row.seq} uses it again.`
    }
    if (kind !== undefined) lastStates.set(name, row)
    before = row
  }
}

/** Collects what can be read, and says why the rest cannot: the file may be damaged. */
function collect(faults: Iterable<string>): string[] {
  const collected: string[] = []
  try {
    for (const fault of faults) collected.push(fault)
  } catch (error) {
    const reason = messageOf(error)
    collected.push(`The rest cannot be read: ${reason}`)
  }
  return collected
}

function* compare(
  name: string,
  row: AuditedRow,
  audited: Pick<AuditRow, 'seq' | 'state' | 'action'> | undefined,
): Generator<string> {
  if (audited === undefined) {
    yield `${name} is in no audit row.`
    return
  }
  if (isEnd(audited.action)) {
    yield `${name} is there, though audit row ${audited.seq} says that it was forgotten.`
    return
  }
  const [now, then] = [parse(row.state), parse(audited.state)]
  const fields = Object.keys({ ...then, ...now }).filter((field) => now[field] !== then[field])
  if (fields.length === 0) return
  yield `${name} differs from its last audited state, row ${audited.seq}, in ${fields.join(', ')}.`
}

/** The fields of a state; one that is no longer JSON has none. */
function parse(state: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(state)
    return typeof parsed === 'object' && parsed !== null ? { ...parsed } : {}
  } catch {
    return {}
  }
}

/** Rows may have been written by hand, with anything for a hash. */
const isSame = (a: unknown, b: Uint8Array): boolean =>
  a instanceof Uint8Array && a.toHex() === b.toHex()
