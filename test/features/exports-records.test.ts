import { expect, test } from 'bun:test'

import { createExportRecords, type ExportReport } from '#src/features/exports/records.ts'

import { NOW_MS } from '../support/harness.ts'

const accountId = 'acc_1'
const reportOf = (
  number: number,
  state: ExportReport['record']['state'] = 'complete',
): ExportReport => ({
  accountId,
  record: {
    exportId: `exp_${number}`,
    name: 'btc',
    state,
    format: 'csv',
    contentEncoding: null,
    snapshots: number,
    bytes: 1,
    sha256: null,
    startedAt: new Date(NOW_MS).toISOString(),
    endedAt: null,
  },
})

const open = () => {
  const records = createExportRecords(() => NOW_MS)
  const listed = () => records.list(accountId).map(({ exportId, state }) => [exportId, state])
  return { ...records, listed }
}

test('default: the newest first, each as it was reported last', () => {
  const { put, listed } = open()
  put(reportOf(1, 'running'), 1)
  put(reportOf(2, 'running'), 2)
  put(reportOf(1), 1)
  expect(listed()).toEqual([
    ['exp_2', 'running'],
    ['exp_1', 'complete'],
  ])
})

test('behavior: beyond the newest twenty only those that run stay', () => {
  const { put, listed } = open()
  put(reportOf(1, 'running'))
  for (let number = 2; number < 30; number++) put(reportOf(number))
  expect(listed()).toHaveLength(21)
  expect(listed().at(-1)).toEqual(['exp_1', 'running'])
})

test('behavior: what a thread was sending when it ended is broken off, and nothing else', () => {
  const { put, endThread, list, listed } = open()
  put(reportOf(1, 'running'), 1)
  put(reportOf(2), 1)
  put(reportOf(3, 'running'), 2)
  endThread(1)
  expect(listed()).toEqual([
    ['exp_3', 'running'],
    ['exp_2', 'complete'],
    ['exp_1', 'broken_off'],
  ])
  expect(list(accountId).at(-1)?.endedAt).toBe(new Date(NOW_MS).toISOString())
})
