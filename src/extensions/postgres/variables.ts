import { addressOf, POSTGRES_FORM } from './address.ts'

/** Parses an address, which may contain a password; empty means none. */
function parseAddress(text: string): string | undefined {
  try {
    if (text !== '') addressOf(text)
    return text
  } catch {
    return undefined
  }
}

export const variables = {
  history: {
    name: 'BOOKFEED_HISTORY',
    default: '',
    isSecret: true,
    accepts: POSTGRES_FORM,
    parse: parseAddress,
    description:
      'PostgreSQL database that stores the books, in place of a file; `?schema=name` chooses the schema, `bookfeed` by default. Several servers and recorders may share it. Empty: a file in the data folder. A secret; never shown.',
  },
  ledger: {
    name: 'BOOKFEED_LEDGER',
    default: '',
    isSecret: true,
    accepts: POSTGRES_FORM,
    parse: parseAddress,
    description:
      'PostgreSQL database that stores accounts, keys and payments, in place of a file; `?schema=name` chooses the schema, `bookfeed_ledger` by default. Several servers may share it. Empty: a file in the data folder. A secret; never shown.',
  },
}
