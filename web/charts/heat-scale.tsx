/** The colours of sizes, with numbers: none, that of half of the colour, and of all of it. */

import { showCompact } from '../lib/format.ts'
import { halfOf, type SizeScale } from './heat-colors.ts'

type Props = { cutOff: number; scale: SizeScale }

export const HeatScale = ({ cutOff, scale }: Props) => (
  <div
    class="scale num"
    role="img"
    aria-label={`Colours of sizes, from no orders to ${showCompact(cutOff)} shares and more`}
  >
    <i class="scale-bids" />
    <i class="scale-asks" />
    <b>0</b>
    <b>{showCompact(halfOf(cutOff, scale))}</b>
    <b>{`${showCompact(cutOff)}+ shares`}</b>
  </div>
)
