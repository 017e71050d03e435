import { onOff } from '#src/platform/setting.ts'

export const variables = {
  makesFiles: {
    name: 'BOOKFEED_FILES',
    default: 'off',
    ...onOff,
    description:
      'Whether the server makes Parquet files of each final day, in the folder files of the data folder.',
  },
}
