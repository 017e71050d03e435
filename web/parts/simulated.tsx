/** Marks what was made by the simulator: no one ever traded it. */
export const SimulatedTag = ({ source }: { source: string | undefined }) =>
  source === 'simulated' ? <span class="tag warn">simulated</span> : null
