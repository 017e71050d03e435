import { describe, expect, test } from 'bun:test'

import { matchesEtag, preferredType } from '#src/http/negotiation.ts'

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
test.each([
  ['"a"', true],
  ['W/"a"', true],
  [' "b" , W/"a"', true],
  ['*', true],
  [' * ', true],
  ['"b"', false],
  ['"a,*,b"', false],
  ['"b", *', false],
  ['a', false],
  ['"x"a"', false],
  ['""a""', false],
  ['"a"x', false],
  ['"b", "a" ,"c"', true],
  ['', false],
])('matchesEtag: %s names "a": %p', (header, isNamed) => {
  expect(matchesEtag(header, '"a"')).toBe(isNamed)
})

test('matchesEtag: without a header nothing is named', () => {
  expect(matchesEtag(null, '"a"')).toBe(false)
})
