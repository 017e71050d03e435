import { describe, expect, test } from 'bun:test'

import { preferredType } from '#src/http/media-type.ts'

const types = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present',
  parquet: 'application/vnd.apache.parquet',
}

const preferredOf = (accept: string | undefined) => {
  const headers: Record<string, string> = accept === undefined ? {} : { accept }
  return preferredType(new Request('http://a/', { headers }), types, 'ndjson')
}

describe('preferredType', () => {
  test.each([
    [undefined, 'ndjson'],
    ['', 'ndjson'],
    ['*/*', 'ndjson'],
    ['text/csv', 'csv'],
    ['TEXT/CSV', 'csv'],
    ['text/*', 'csv'],
    ['application/*', 'ndjson'],
    ['text/csv;header=present', 'csv'],
    ['text/csv, application/vnd.apache.parquet', 'csv'],
    ['application/vnd.apache.parquet, text/csv', 'parquet'],
    ['text/csv;q=0.1, application/vnd.apache.parquet;q=0.9', 'parquet'],
    ['*/*;q=0.1, text/csv', 'csv'],
    ['text/html, */*', 'ndjson'],
    ['application/x-ndjson;q=0.4, text/csv ; q=0.5', 'csv'],
    ['application/vnd.apache.parquet;note="a, text/csv"', 'ndjson'],
  ] as const)('default: "%s" asks for %s', (accept, name) => {
    expect(preferredOf(accept)).toBe(name)
  })

  test.each([
    ['text/csv;q=0, */*', 'ndjson'],
    ['application/x-ndjson;q=0, */*', 'csv'],
    ['application/x-ndjson;q=0.000, text/csv;q=0, */*', 'parquet'],
    ['*/*, application/*;q=0', 'csv'],
  ] as const)('behavior: what has no weight is not taken: "%s" asks for %s', (accept, name) => {
    expect(preferredOf(accept)).toBe(name)
  })

  test.each(['text/csv;q=0', '*/*;q=0', 'text/html', 'text/csvx', 'csv', ';;', 'text/csv;q=x'])(
    'behavior: "%s" leaves nothing, and is passed over',
    (accept) => {
      expect(preferredOf(accept)).toBe('ndjson')
    },
  )
})
