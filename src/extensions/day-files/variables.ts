import { matching, onOff } from '#src/platform/setting.ts'

export const variables = {
  makesFiles: {
    name: 'BOOKFEED_FILES',
    default: 'off',
    ...onOff,
    description: 'Makes Parquet files of each final day, in the folder `files` of the data folder.',
  },
  openDay: {
    name: 'BOOKFEED_SAMPLE_DAY',
    default: 'auto',
    ...matching(
      '`auto`, `off`, or a day in UTC such as 2026-04-14',
      /^(auto|off|\d{4}-\d\d-\d\d)$/,
    ),
    description:
      'Day whose files anyone may read without a key (`GET /v1/sample/files`). `auto`: the newest day of which every market is simulated. `off`: none, also if BOOKFEED_SAMPLE_MARKET is off.',
  },
}
