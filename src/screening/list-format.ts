/** What the formats of OFAC's list share: how they are called, and what is looked for. */

/** A sanctions list that must not be used. `message` is its predicate: "is cut off". */
export class ListFault extends Error {
  override name = 'ListFault'
}

/** What is done at an element. Text is only collected for `close`, and never that of children. */
export type ElementHandler = {
  open?(attributes: Readonly<Record<string, string>>): unknown
  close?(text: string): unknown
}

/** One way to write the list. Must throw `ListFault` only. */
export type ListFormat = {
  /** By `parent/name`. */
  elements: Readonly<Record<string, ElementHandler>>
  /** The publisher's date, `2026-11-20`. Throws what speaks against the list as a whole. */
  finish(): string
}

/** Far above what was ever listed; it bounds the memory that a list can take. */
const ADDRESSES_MAX = 1_000_000
/** A coin's name follows, which is not the chain: most addresses are valid on any EVM chain. */
const currencyLabel = 'Digital Currency Address - '

export const isCurrencyLabel = (text: string): boolean => text.trim().startsWith(currencyLabel)

/** Adds a value to `addresses` if it is an EVM address, in lower case. */
export function takeAddress(addresses: Set<string>, value: string): void {
  const address = value.trim().toLowerCase()
  if (!/^0x[0-9a-f]{40}$/.test(address)) return
  addresses.add(address)
  if (addresses.size > ADDRESSES_MAX) throw new ListFault('has more addresses than can be')
}

/** `2026-11-20`; undefined for a day that is on no calendar. */
export function toIsoDay(year: string, month: string, day: string): string | undefined {
  const text = `${year.trim()}-${month.trim().padStart(2, '0')}-${day.trim().padStart(2, '0')}`
  const timeMs = Date.parse(`${text}T00:00:00.000Z`)
  if (Number.isNaN(timeMs)) return undefined
  return new Date(timeMs).toISOString().startsWith(text) ? text : undefined
}
