import { AppError } from '#src/core/errors.ts'
import { visitOf } from '#src/http/gate.ts'
import { route } from '#src/http/route.ts'

/** `GET /v1/stream`: live rows over WebSocket. */
export const streamRoutes = () => [
  route({
    method: 'GET',
    path: '/v1/stream',
    access: 'open',
    tag: 'live',
    operationId: 'openStream',
    summary: 'Live rows over WebSocket',
    description:
      'Upgrade to WebSocket and send JSON operations: `{"op":"auth","key":"bf_live_…"}` (not needed with the header `Authorization`; never send a key in a URL), then `{"op":"subscribe","id":"btc","channel":"quotes","coin":"btc"}`. Rows are exactly those of the route of the same name, each with a cursor that both take. docs/live.md describes every message and close code.',
    ok: { status: 200, description: 'Never without an upgrade: that is answered with 101.' },
    caching: 'no-store',
    fails: ['upgrade_required'],
    answer({ request }) {
      const authorization = request.headers.get('authorization')
      const { peers, caller } = visitOf(request)
      if (authorization !== null && caller === undefined)
        throw new AppError('unauthenticated', 'The key is not valid.')
      if (peers?.upgrade?.(request, { data: { authorization } })) return new Response(null)
      throw new AppError('upgrade_required', 'Connect with a WebSocket client.')
    },
  }),
]
