/** Marks data of the simulator, which was never traded. */
export const SimulatedTag = ({ source }: { source: string | undefined }) =>
  source === 'simulated' ? <span class="tag warn">simulated</span> : null
