/**
 * What a node answers to the question with this number, in place of its
 * own answer; undefined for that.
 */
export type Meddling = (method: string, index: number, params: readonly unknown[]) => unknown

type Question = { id: number; method: string; params: unknown[] }

export type FaultyNode = { url: string; methods: string[]; stop(): Promise<void> }

/**
 * Stands before a real node and answers as it does, but for what is
 * meddled with; 'dead' is no answer.
 */
export function startFaultyNode(url: string, meddle: Meddling = () => undefined): FaultyNode {
  const methods: string[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const text = await request.text()
      const { id, method, params } = JSON.parse(text) as Question
      methods.push(method)
      const result = meddle(method, methods.length - 1, params)
      if (result === 'dead') return Response.json({ jsonrpc: '2.0', id, error: { code: -1 } })
      if (result !== undefined) return Response.json({ jsonrpc: '2.0', id, result })
      const headers = { 'content-type': 'application/json' }
      return fetch(url, { method: 'POST', headers, body: text })
    },
  })
  return { url: String(server.url), methods, stop: () => server.stop(true) }
}
