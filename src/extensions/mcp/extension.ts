/** Tools for agents (MCP): a tool is a route of the API with fewer parameters. */
import type { Extension } from '#src/server/extension.ts'

export const mcp: Extension = {
  name: 'mcp',
  load: async () => {
    const { MCP_PATH, mcpRoutes } = await import('./routes.ts')
    return { routes: mcpRoutes, pathsWithoutData: [MCP_PATH] }
  },
}
