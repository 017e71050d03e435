/** Answers with JSON of known length, so that the access log can tell it. */
export function jsonResponse(
  value: unknown,
  init: { status?: number; headers?: Record<string, string> } = {},
) {
  const body = JSON.stringify(value)
  return new Response(body, {
    status: init.status ?? 200,
    headers: {
      'Content-Type': 'application/json',
      'Content-Length': String(Buffer.byteLength(body)),
      ...init.headers,
    },
  })
}
