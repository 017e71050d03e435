/**
 * Unusual properties of a request besides its parameters: method, spelling, host, key, more
 * headers.
 */
import fc, { type Arbitrary } from 'fast-check'

/** Keys: of every tier, of the best tier, of a tier with few requests, and one that has ended. */
export type Keys = { all: readonly string[]; best: string; slow: string; ended: string }

/** The unusual property of a request; most have none. */
export type Twist = {
  method: string | undefined
  spell: (target: string) => string
  host: string
  authorization: string | undefined
  more: string
  version: string
}

const often = <T>(value: T, ...others: T[]): Arbitrary<T> =>
  fc.oneof(
    { weight: 11, arbitrary: fc.constant(value) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )

const spellings: ((target: string) => string)[] = [
  (target) => `http://example.com${target}`,
  (target) => `https://x${target}`,
  (target) => `/${target}`,
  (target) => `/healthz/..${target}`,
  (target) => `/%2e%2E${target}`,
  (target) => target.replace('/v1/', '/v1//'),
  (target) => target.replace('/v1/', '/V1/'),
  (target) => target.replace('/v1/', '/%76%31/'),
  (target) => target.replace('/v1/', '/v1%2f'),
  (target) => target.replaceAll('/', '\\').replace('\\', '/'),
  (target) => target.replace(/(?=\?|$)/, '/'),
  (target) => target.replace(/(?=\?|$)/, '.'),
  (target) => `${target}#top`,
  (target) => target.toUpperCase(),
  (target) => target.slice(1),
  () => '*',
  () => `/${'a'.repeat(20_000)}`,
]
const hosts = ['', 'Host:', 'Host: a b', 'Host: a:99999', 'Host: [::1', 'Host: a/b?', 'Host: \xe9']
const authorizationsOf = ({ best, ended, slow }: Keys) => [
  undefined,
  'Basic eDp5',
  'Bearer',
  'bearer  ',
  'Bearer \xff',
  `Bearer ${best.slice(0, -1)}x`,
  `Bearer ${ended}`,
  `bearer ${best}`,
  `Bearer ${slow}`,
  `Bearer ${'a'.repeat(5_000)}`,
]
const methods = ['HEAD', 'OPTIONS', 'GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'CONNECT']
const more = [
  'X-Request-Id: bad id\r\n',
  'X-Request-Id: good-id\r\n',
  'X-Forwarded-For: a, 203.0.113.9\r\n',
  'Origin: https://a\r\nAccess-Control-Request-Method: GET\r\n',
  'If-None-Match: "x"\r\nIf-None-Match: *\r\n',
  'Expect: 100-continue\r\n',
  'Upgrade: websocket\r\nConnection: Upgrade\r\n',
  'Range: bytes=0-1\r\n',
  'Content-Encoding: gzip\r\n',
  `Cookie: ${'a'.repeat(4_000)}\r\n`,
  'X-Strange: \xff\x01\t\r\n',
  'Transfer-Encoding: chunked\r\n',
]

const asIs = (target: string): string => target
export const isUsual = ({ method, spell, host, more: lines, version }: Twist): boolean =>
  method === undefined && spell === asIs && host === 'Host: a' && lines === '' && version === '1.1'

export const twistsOf = (keys: Keys): Arbitrary<Twist> =>
  fc.record({
    method: often<string | undefined>(undefined, ...methods),
    spell: often(asIs, ...spellings),
    host: often('Host: a', ...hosts),
    authorization: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...keys.all.map((key) => `Bearer ${key}`)) },
      { weight: 1, arbitrary: fc.constantFrom(...authorizationsOf(keys)) },
    ),
    more: often('', ...more),
    version: often('1.1', '1.0'),
  })
