/** Answers with JSON of known length, so that the access log can tell it. */
export function jsonResponse(value: unknown, init: { headers?: Record<string, string> } = {}) {
  const body = JSON.stringify(value)
  return new Response(body, {
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...init.headers,
    },
  })
}
