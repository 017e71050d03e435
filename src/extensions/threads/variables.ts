import { integer, orWord } from '#src/platform/setting.ts'

export const variables = {
  workers: {
    name: 'BOOKFEED_WORKERS',
    default: '0',
    ...orWord('auto', integer(0, 64)),
    description:
      'Threads that answer requests for data, in addition to the first thread, which records, writes and sells; `auto` is one for each core. 0: the first thread answers them too, but for a store in PostgreSQL, where 0 counts as 1.',
  },
}
