import { expect, test } from 'bun:test'

import { matchesEtag } from '#src/http/conditional.ts'

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
