/**
 * SDN.XML:
 *
 *     sdnList ─┬─ publshInformation ─┬─ Publish_Date   11/20/2026
 *              │                     └─ Record_Count   how many sdnEntry follow
 *              └─ sdnEntry ─ idList ─ id ─┬─ idType    Digital Currency Address - ETH
 *                                         └─ idNumber  0x…
 */
import {
  isCurrencyLabel,
  ListFault,
  type ListFormat,
  takeAddress,
  toIsoDay,
} from './list-format.ts'

export const SDN_ROOT = 'sdnList'

export function createSdnFormat(addresses: Set<string>): ListFormat {
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
        close() {
          if (isCurrencyLabel(id.type)) takeAddress(addresses, id.number)
        },
      },
      'id/idType': { close: (type) => Object.assign(id, { type }) },
      'id/idNumber': { close: (number) => Object.assign(id, { number }) },
    },

    finish() {
      if (publishedOn === undefined) throw new ListFault('has no Publish_Date')
      if (recordCount === undefined) throw new ListFault('has no Record_Count')
      if (recordCount !== entryCount) {
        throw new ListFault(`says that it has ${recordCount} entries, but has ${entryCount}`)
      }
      return publishedOn
    },
  }
}
