/** The colours of sizes, with numbers. Half of a colour is a quarter of the size of all of it. */

import { showCompact } from '../lib/format.ts'

export const HeatScale = ({ cutOff }: { cutOff: number }) => (
  <div
    class="scale num"
    role="img"
    aria-label={`Colours of sizes, from no orders to ${showCompact(cutOff)} shares and more`}
  >
    <i class="scale-bids" />
    <i class="scale-asks" />
    <b>0</b>
    <b>{showCompact(cutOff / 4)}</b>
    <b>{`${showCompact(cutOff)}+ shares`}</b>
  </div>
)
