/**
 * A strict S3-compatible bucket on loopback: it checks each signature (AWS Signature Version 4),
 * lists in short pages, and stores only complete objects.
 */
import { createHash, createHmac } from 'node:crypto'

export const s3Env = (endpoint: string) => ({
  S3_ENDPOINT: endpoint,
  S3_REGION: 'eu-test-1',
  S3_ACCESS_KEY_ID: 'AKIDBOOKFEED',
  S3_SECRET_ACCESS_KEY: SECRET,
})

const SECRET = 'a/secret+key'
const PAGE = 7

const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest()
const sha256 = (data: string | Uint8Array): string =>
  createHash('sha256').update(data).digest('hex')
const encode = (text: string): string =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )

const authorization =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/

/** The reason why a request is refused; undefined for a correctly signed one. */
function faultOf({ method, url, headers }: Request, body: Uint8Array): string | undefined {
  const match = authorization.exec(headers.get('authorization') ?? '')
  if (match === null) return 'MissingAuthorization'
  const [, key, day = '', region, signed = '', signature] = match
  const payload = headers.get('x-amz-content-sha256') ?? ''
  const date = headers.get('x-amz-date') ?? ''
  if (key !== 'AKIDBOOKFEED' || region !== 'eu-test-1' || !date.startsWith(day)) return 'BadScope'
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) return 'BadDigest'
  const { pathname, searchParams } = new URL(url)
  const query = [...searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort()
  const names = signed.split(';')
  if (!names.includes('host') || !names.includes('x-amz-date')) return 'UnsignedHeaders'
  const canonical = [
    method,
    pathname,
    query.join('&'),
    ...names.map((name) => `${name}:${headers.get(name)?.trim() ?? ''}`),
    '',
    signed,
    payload,
  ].join('\n')
  const scope = `${day}/${region}/s3/aws4_request`
  const text = ['AWS4-HMAC-SHA256', date, scope, sha256(canonical)].join('\n')
  const signingKey = [day, region ?? '', 's3', 'aws4_request'].reduce<string | Buffer>(
    hmac,
    `AWS4${SECRET}`,
  )
  return hmac(signingKey, text).toString('hex') === signature ? undefined : 'SignatureDoesNotMatch'
}

const xml = (text: string, status = 200) =>
  new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    status,
    headers: { 'content-type': 'application/xml' },
  })
const refuse = (code: string, status: number) =>
  xml(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`, status)

export type S3Server = ReturnType<typeof startS3Server>

export function startS3Server(bucket: string) {
  const objects = new Map<string, Uint8Array>()
  const refused: string[] = []
  /** The number of further requests that fail as under load. */
  const state = { failing: 0 }

  function list(query: URLSearchParams): Response {
    const prefix = query.get('prefix') ?? ''
    const after = query.get('continuation-token') ?? ''
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, PAGE)
    const isTruncated = keys.length > PAGE
    return xml(
      `<ListBucketResult><Name>${bucket}</Name><Prefix>${prefix}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${PAGE}</MaxKeys><IsTruncated>${isTruncated}</IsTruncated>${isTruncated ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''}${page.map((key) => `<Contents><Key>${key}</Key><Size>${objects.get(key)?.length}</Size><ETag>"x"</ETag><LastModified>2026-01-01T00:00:00.000Z</LastModified><StorageClass>STANDARD</StorageClass></Contents>`).join('')}</ListBucketResult>`,
    )
  }

  function answer({ method, url }: Request, key: string, body: Uint8Array): Response {
    const held = objects.get(key)
    if (method === 'GET' || method === 'HEAD')
      return held ? new Response(held) : refuse('NoSuchKey', 404)
    // Multipart uploads have a query.
    if (new URL(url).search !== '') return refuse('NotImplemented', 501)
    if (method === 'DELETE') objects.delete(key)
    if (method === 'DELETE') return new Response(null, { status: 204 })
    objects.set(key, body)
    return new Response(null, { headers: { etag: '"x"' } })
  }

  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const body = await request.bytes()
      const { pathname, searchParams } = new URL(request.url)
      const fault = faultOf(request, body)
      if (fault !== undefined) refused.push(`${fault} ${request.method} ${pathname}`)
      if (fault !== undefined) return refuse(fault, 403)
      if (state.failing > 0 && state.failing-- > 0) return refuse('SlowDown', 503)
      const [, name, key = ''] = /^\/([^/]+)\/?(.*)$/.exec(decodeURIComponent(pathname)) ?? []
      if (name !== bucket) return refuse('NoSuchBucket', 404)
      return key === '' ? list(searchParams) : answer(request, key, body)
    },
  })
  return {
    env: s3Env(server.url.origin),
    objects,
    refused,
    state,
    stop: () => server.stop(true),
  }
}
