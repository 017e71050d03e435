import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'

import { createExactFacilitator, type ExactFacilitatorOptions } from './exact-facilitator.ts'

/** A facilitator over HTTP, like those of third parties, on a free port of this machine. */
export type HttpFacilitator = {
  url: string
  stop(): Promise<void>
}

export type FacilitatorRequest = {
  paymentPayload: PaymentPayload
  paymentRequirements: PaymentRequirements
}

/** A facilitator in another process; see `startFacilitatorProcess`. */
export type FacilitatorProcess = { url: string; pid: number; stop(): Promise<void> }

const program = new URL('./facilitator-process.ts', import.meta.url).pathname

export function startHttpFacilitator(options: ExactFacilitatorOptions): HttpFacilitator {
  const facilitator = createExactFacilitator(options)
  const post = (act: (request: FacilitatorRequest) => Promise<unknown>) => ({
    POST: async (request: Request) => {
      try {
        return Response.json(await act((await request.json()) as FacilitatorRequest))
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        return Response.json({ error: reason }, { status: 400 })
      }
    },
  })
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    routes: {
      '/supported': { GET: () => Response.json(facilitator.getSupported()) },
      '/verify': post(({ paymentPayload, paymentRequirements }) =>
        facilitator.verify(paymentPayload, paymentRequirements),
      ),
      '/settle': post(({ paymentPayload, paymentRequirements }) =>
        facilitator.settle(paymentPayload, paymentRequirements),
      ),
    },
    fetch: () => new Response('Not found', { status: 404 }),
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    stop: () => server.stop(true),
  }
}

/** Starts a facilitator in a separate process, which ends with this one even if it is killed. */
export async function startFacilitatorProcess(
  options: ExactFacilitatorOptions,
): Promise<FacilitatorProcess> {
  const child = Bun.spawn([process.execPath, program], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'ignore',
  })
  // Passes the key through a pipe, because lists of processes show arguments. The process ends when
  // the pipe closes.
  child.stdin.write(`${JSON.stringify(options)}\n`)
  await child.stdin.flush()
  const stop = async () => {
    await child.stdin.end()
    await child.exited
  }
  const { value } = await child.stdout.getReader().read()
  const url = value && /^http:\S+/.exec(new TextDecoder().decode(value))?.[0]
  if (url) return { url, pid: child.pid, stop }
  await stop()
  throw new Error('the facilitator ended before it listened')
}
