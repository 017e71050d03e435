/** The two XML formats of OFAC's list: SDN.XML and SDN_ADVANCED.XML. */

import { count } from '#src/platform/count.ts'
import { Fault } from '#src/platform/fault.ts'

/** A sanctions list must not be used. The message is its predicate: "is cut off". */
export const listFault = (message: string, options: ErrorOptions = {}): Fault =>
  new Fault(message, { kind: 'sanctions_list', ...options })

/** Callbacks for an element. Text is only collected for `close`, without the text of children. */
export type ElementHandler = {
  open?(attributes: Readonly<Record<string, string>>): unknown
  close?(text: string): unknown
}

/** A format of the list. Throws only `sanctions_list` faults. */
export type ListFormat = {
  /** By `parent/name`. */
  elements: Readonly<Record<string, ElementHandler>>
  /** The publisher's date, `2026-11-20`. Throws if the list as a whole is invalid. */
  finish(): string
}

export const listFormats: ReadonlyMap<string, (addresses: Set<string>) => ListFormat> = new Map([
  ['sdnList', createSdnFormat],
  ['Sanctions', createSdnAdvancedFormat],
])

/** Far more than was ever listed; it bounds the memory that a list can take. */
const ADDRESSES_MAX = 1_000_000

/** The label names a coin, which is not a chain: most addresses are valid on any EVM chain. */
const isCurrencyLabel = (text: string): boolean =>
  text.trim().startsWith('Digital Currency Address - ')

function takeAddress(addresses: Set<string>, value: string): void {
  const address = value.trim().toLowerCase()
  if (!/^0x[0-9a-f]{40}$/.test(address)) return
  addresses.add(address)
  if (addresses.size > ADDRESSES_MAX) throw listFault('has more addresses than can be')
}

/** `2026-11-20`; undefined for a day that does not exist. */
function toIsoDay(year: string, month: string, day: string): string | undefined {
  const text = `${year.trim()}-${month.trim().padStart(2, '0')}-${day.trim().padStart(2, '0')}`
  const timeMs = Date.parse(`${text}T00:00:00.000Z`)
  if (Number.isNaN(timeMs)) return undefined
  return new Date(timeMs).toISOString().startsWith(text) ? text : undefined
}

/**
 *     sdnList ─┬─ publshInformation ─┬─ Publish_Date   11/20/2026
 *              │                     └─ Record_Count   how many sdnEntry follow
 *              └─ sdnEntry ─ idList ─ id ─┬─ idType    Digital Currency Address - ETH
 *                                         └─ idNumber  0x…
 */
function createSdnFormat(addresses: Set<string>): ListFormat {
  let publishedOn: string | undefined
  let recordCount: number | undefined
  let entryCount = 0
  const id = { type: '', number: '' }

  return {
    elements: {
      'publshInformation/Publish_Date': {
        close(text) {
          const [month = '', day = '', year = '', ...rest] = text.split('/')
          publishedOn = rest.length === 0 ? toIsoDay(year, month, day) : undefined
        },
      },
      'publshInformation/Record_Count': {
        close(text) {
          recordCount = /^\d{1,9}$/.test(text.trim()) ? Number(text) : undefined
        },
      },
      'sdnList/sdnEntry': { open: () => entryCount++ },
      'idList/id': {
        open: () => Object.assign(id, { type: '', number: '' }),
        close: () => isCurrencyLabel(id.type) && takeAddress(addresses, id.number),
      },
      'id/idType': { close: (type) => Object.assign(id, { type }) },
      'id/idNumber': { close: (number) => Object.assign(id, { number }) },
    },
    finish() {
      if (publishedOn === undefined) throw listFault('has no Publish_Date')
      if (recordCount === undefined) throw listFault('has no Record_Count')
      if (recordCount === entryCount) return publishedOn
      throw listFault(
        `says that it has ${count(recordCount, 'entry', 'entries')}, but has ${entryCount}`,
      )
    },
  }
}

/**
 * A feature names its type by a number, which the file declares earlier:
 *
 *     Sanctions ─┬─ DateOfIssue ─ Year, Month, Day
 *                ├─ ReferenceValueSets ─ FeatureTypeValues ─ FeatureType ID=…
 *                └─ DistinctParties ─ … Profile ─ Feature FeatureTypeID=… ─ … VersionDetail   0x…
 */
function createSdnAdvancedFormat(addresses: Set<string>): ListFormat {
  const date = { isOpen: false, year: '', month: '', day: '' }
  const currencyTypes = new Set<string | undefined>()
  let declared: string | undefined
  let isCurrency = false
  let hasFeature = false
  return {
    elements: {
      // Other dates may have parts with the same names.
      'Sanctions/DateOfIssue': {
        open: () => Object.assign(date, { isOpen: true }),
        close: () => Object.assign(date, { isOpen: false }),
      },
      'DateOfIssue/Year': { close: (year) => date.isOpen && Object.assign(date, { year }) },
      'DateOfIssue/Month': { close: (month) => date.isOpen && Object.assign(date, { month }) },
      'DateOfIssue/Day': { close: (day) => date.isOpen && Object.assign(date, { day }) },
      'FeatureTypeValues/FeatureType': {
        open({ ID }) {
          // Earlier features were read before their type was known.
          if (hasFeature) throw listFault('explains a feature type after features')
          declared = ID
        },
        close: (text) => isCurrencyLabel(text) && currencyTypes.add(declared),
      },
      'Profile/Feature': {
        open({ FeatureTypeID }) {
          hasFeature = true
          isCurrency = FeatureTypeID !== undefined && currencyTypes.has(FeatureTypeID)
        },
      },
      'FeatureVersion/VersionDetail': {
        close: (text) => isCurrency && takeAddress(addresses, text),
      },
    },
    finish() {
      const publishedOn = toIsoDay(date.year, date.month, date.day)
      if (publishedOn === undefined) throw listFault('has no DateOfIssue')
      return publishedOn
    },
  }
}
